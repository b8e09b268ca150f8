package kfd

import (
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// TestMemoryAgainstModel allocates, maps, unmaps and frees at random and compares results, page tables and the amount of free
// memory with a naive model of pages.
func TestMemoryAgainstModel(t *testing.T) {
	r := newRig(t, "mi210", "rx7900xtx").acquire()
	const base, pages = 0x7e0000000000, 64
	type buf struct {
		handle   uint64
		gpu      int
		va, size uint64
		gtt      bool
		on       [2]bool
	}
	rapid.Check(t, func(t *rapid.T) {
		var live []*buf
		inVRAM := [2]uint64{r.drv.nodes[0].dev.VRAMFree(), r.drv.nodes[1].dev.VRAMFree()}
		inGTT := r.drv.nodes[0].dev.Sys.Used()
		owner := [2]map[uint64]*buf{{}, {}}
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			op := rapid.IntRange(0, 3).Draw(t, "op")
			if len(live) == 0 {
				op = 0
			}
			switch op {
			case 0:
				b := &buf{gpu: rapid.IntRange(0, 1).Draw(t, "gpu"), gtt: rapid.Bool().Draw(t, "gtt")}
				b.va = base + uint64(rapid.IntRange(0, pages-1).Draw(t, "va"))<<12
				b.size = uint64(rapid.IntRange(1, 16).Draw(t, "size")) << 12
				fl := uint32(kfd.AllocVRAM | kfd.AllocPublic | kfd.AllocWritable)
				if b.gtt {
					fl = kfd.AllocGTT | kfd.AllocWritable
				}
				a := kfd.AllocMemoryOfGPUArgs{VAAddr: b.va, Size: b.size, GPUID: r.gpus[b.gpu], Flags: fl}
				if err := call(r, kfd.IocAllocMemoryOfGPU, &a); err != nil {
					t.Fatal(err)
				}
				b.handle = a.Handle
				for _, o := range live {
					if o.handle == b.handle {
						t.Fatalf("handle %#x given twice", b.handle)
					}
				}
				live = append(live, b)
			case 1, 2:
				b := rapid.SampledFrom(live).Draw(t, "which")
				g := rapid.IntRange(0, 1).Draw(t, "on")
				ids := []uint32{r.gpus[g]}
				escape(&ids[0])
				m := kfd.MapMemoryArgs{Handle: b.handle, DeviceIDsArrayPtr: uint64(uintptr(unsafe.Pointer(&ids[0]))), NDevices: 1}
				if op == 2 {
					if err := call(r, kfd.IocUnmapMemoryFromGPU, &m); err != nil {
						t.Fatal(err)
					}
					if b.on[g] {
						for p := b.va; p < b.va+b.size; p += 4096 {
							delete(owner[g], p)
						}
					}
					b.on[g] = false
					continue
				}
				var want error
				if !b.on[g] {
					for p := b.va; p < b.va+b.size; p += 4096 {
						if owner[g][p] != nil {
							want = unix.EINVAL
						}
					}
				}
				if err := call(r, kfd.IocMapMemoryToGPU, &m); err != want {
					t.Fatalf("map %+v on %d: %v, want %v", b, g, err, want)
				}
				if want == nil {
					b.on[g] = true
					for p := b.va; p < b.va+b.size; p += 4096 {
						owner[g][p] = b
					}
				}
			case 3:
				i := rapid.IntRange(0, len(live)-1).Draw(t, "free")
				b := live[i]
				var want error
				if b.on[0] || b.on[1] {
					want = unix.EBUSY
				}
				if err := call(r, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: b.handle}); err != want {
					t.Fatalf("free: %v, want %v", err, want)
				}
				if want == nil {
					live = append(live[:i], live[i+1:]...)
				}
			}
			// What the page tables say.
			for g := range 2 {
				vm := r.drv.proc.pdds[g].vm
				for p := uint64(base); p < base+(pages+16)<<12; p += 4096 {
					e, ok := vm.Lookup(p)
					b := owner[g][p]
					if ok != (b != nil) {
						t.Fatalf("GPU %d page %#x: mapped %v, want %v", g, p, ok, b != nil)
					}
					if ok && e.Is(2) != (b.gtt || b.gpu != g) {
						t.Fatalf("GPU %d page %#x: %s", g, p, e)
					}
				}
			}
		}
		for _, b := range live {
			for g, on := range b.on {
				if on {
					if err := r.unmap(b.handle, r.gpus[g]); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := call(r, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: b.handle}); err != nil {
				t.Fatal(err)
			}
		}
		for g := range 2 {
			// Page tables may have taken a chunk for good.
			if f := r.drv.nodes[g].dev.VRAMFree(); f > inVRAM[g] || inVRAM[g]-f > 512<<10 {
				t.Fatalf("GPU %d: %#x bytes of VRAM free, before %#x", g, f, inVRAM[g])
			}
		}
		if u := r.drv.nodes[0].dev.Sys.Used(); u != inGTT {
			t.Fatalf("%#x bytes of system memory in use, before %#x", u, inGTT)
		}
	})
}
