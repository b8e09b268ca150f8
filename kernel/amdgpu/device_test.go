package amdgpu

import (
	"testing"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/pte"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/silicon"
	"github.com/pumice-gpu/pumice/silicon/profile"
	"golang.org/x/sys/unix"
)

// bringUp makes a chip without an engine: its queues can copy and signal, but run no kernels.
func bringUp(t *testing.T, name string, vram uint64) *Device {
	t.Helper()
	p, err := profile.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	w := sched.NewLive()
	sys, err := NewSystemMemory(w, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	line := &Line{}
	chip, err := silicon.New(p, silicon.Config{Interrupt: line.Raise, VRAMSize: vram, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(w, p, Silicon(chip), sys, line)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.Close()
		chip.Close()
		sys.Close()
	})
	return d
}

func TestBOIsZeroAndReturnsMemory(t *testing.T) {
	d := bringUp(t, "mi210", 64<<20)
	for _, dom := range []Domain{VRAM, GTT} {
		for range 3 {
			b, err := d.NewBO(dom, 5<<20+123)
			if err != nil {
				t.Fatal(err)
			}
			if b.Size != 5<<20+4096 {
				t.Errorf("%s: size %#x", dom, b.Size)
			}
			var n uint64
			for off := uint64(0); off < b.Size; {
				p, l := b.Host(off)
				s := unsafe.Slice((*byte)(p), l)
				for i := 0; i < len(s); i += 4096 {
					if s[i] != 0 {
						t.Fatalf("%s: byte %#x is %#x", dom, off, s[i])
					}
					s[i] = 0xaa
				}
				off += l
				n += l
			}
			if n != b.Size {
				t.Errorf("%s: %#x bytes reachable of %#x", dom, n, b.Size)
			}
			segs, err := b.Segments(4096, 1<<20)
			if err != nil || len(segs) == 0 {
				t.Fatal(err)
			}
			m, err := unix.Mmap(segs[0].FD, int64(segs[0].Off), int(segs[0].Len), unix.PROT_READ, unix.MAP_SHARED)
			if err != nil || m[0] != 0xaa {
				t.Errorf("%s: user mapping reads %#x, %v", dom, m[0], err)
			}
			_ = unix.Munmap(m)
			if got, within, ok := d.BOAt(b.MmapOffset + 8192); !ok || got != b || within != 8192 {
				t.Errorf("%s: BOAt found %v", dom, got)
			}
			b.Put()
			if _, _, ok := d.BOAt(b.MmapOffset); ok {
				t.Errorf("%s: freed buffer can be mapped", dom)
			}
		}
	}
	if d.VRAMFree() != d.VRAMTotal() || d.Sys.Used() != 0 {
		t.Errorf("VRAM %#x of %#x free, %#x of system memory used", d.VRAMFree(), d.VRAMTotal(), d.Sys.Used())
	}
}

func TestBOErrors(t *testing.T) {
	d := bringUp(t, "mi210", 64<<20)
	for _, c := range []struct {
		dom  Domain
		size uint64
		want error
	}{{VRAM, 0, unix.EINVAL}, {VRAM, 65 << 20, unix.ENOMEM}, {GTT, 2 << 30, unix.ENOMEM}, {VRAM, 1 << 60, unix.EINVAL}, {Userptr, 4096, unix.EINVAL}} {
		if _, err := d.NewBO(c.dom, c.size); err != c.want {
			t.Errorf("%s %#x: %v, want %v", c.dom, c.size, err, c.want)
		}
	}
	b, _ := d.NewBO(GTT, 8192)
	defer b.Put()
	for _, c := range [][2]uint64{{8192, 4096}, {0, 12288}, {1, 4096}, {4096, 8192}, {0, 0}, {^uint64(4095), 4096}} {
		if _, err := b.Segments(c[0], c[1]); err != unix.EINVAL {
			t.Errorf("segments %#x+%#x: %v", c[0], c[1], err)
		}
	}
	m, _ := unix.Mmap(-1, 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	a := uint64(uintptr(unsafe.Pointer(&m[0])))
	u, err := d.NewUserptr(a, 8192, true)
	if err != nil {
		t.Fatal(err)
	}
	if e := u.Extents(); len(e) != 1 || e[0] != (Extent{a, 8192, true}) {
		t.Errorf("%v", e)
	}
	_ = unix.Munmap(m)
	if _, err := d.NewUserptr(a, 8192, true); err != unix.EFAULT {
		t.Errorf("userptr of nothing: %v", err)
	}
	if _, err := d.NewUserptr(a+1, 8192, true); err != unix.EINVAL {
		t.Errorf("unaligned userptr: %v", err)
	}
}

func TestVMIDsAndSlots(t *testing.T) {
	d := bringUp(t, "mi210", 64<<20)
	var vms []*VM
	for i := range 9 {
		v, err := d.NewVM()
		if err != nil {
			t.Fatal(err)
		}
		err = d.Bind(v, silicon.VMContext{PASID: 1})
		if (err == nil) != (i < 8) {
			t.Errorf("bind %d: %v", i, err)
		}
		vms = append(vms, v)
	}
	d.Unbind(vms[3])
	if err := d.Bind(vms[8], silicon.VMContext{}); err != nil || vms[8].VMID() != FirstVMID+3 {
		t.Errorf("%v %d", err, vms[8].VMID())
	}
	b, err := d.NewBO(VRAM, 4<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := vms[0].Map(1<<30, b.Size, b.Extents(), PageFlags{Flags: pte.Read | pte.Write}, b); err != nil {
		t.Fatal(err)
	}
	if e, ok := vms[0].Lookup(1<<30 + 2<<20 + 4096); !ok || e.Frag < 9 {
		t.Errorf("4 MiB of VRAM are not mapped huge: %v", e)
	}
	n := 0
	for {
		if _, ok := d.AllocSDMA(-1, false); !ok {
			break
		}
		n++
	}
	if n != d.Profile.SDMA.Engines*d.Profile.SDMA.QueuesPerEngine {
		t.Errorf("%d SDMA queues", n)
	}
}
