package kfd

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"golang.org/x/sys/unix"
)

func TestBasics(t *testing.T) {
	r := newRig(t, "mi210", "rx6900xt")
	var v kfd.GetVersionArgs
	must(r, kfd.IocGetVersion, &v)
	if v.MajorVersion != 1 || v.MinorVersion != 17 {
		t.Errorf("%+v", v)
	}
	a := kfd.GetProcessAperturesNewArgs{}
	must(r, kfd.IocGetProcessAperturesNew, &a)
	if a.NumOfNodes != 2 {
		t.Errorf("%d nodes", a.NumOfNodes)
	}
	ap := make([]kfd.ProcessDeviceApertures, 4)
	escape(&ap[0])
	a = kfd.GetProcessAperturesNewArgs{ProcessDeviceAperturesPtr: uint64(uintptr(unsafe.Pointer(&ap[0]))), NumOfNodes: 4}
	must(r, kfd.IocGetProcessAperturesNew, &a)
	if a.NumOfNodes != 2 || ap[1].GPUID != 3 || ap[0].LDSBase != 1<<48 || ap[0].ScratchLimit != 2<<48|0xffffffff || ap[2].GPUID != 0 {
		t.Errorf("%d %+v", a.NumOfNodes, ap)
	}
	c := kfd.GetClockCountersArgs{GPUID: 2}
	must(r, kfd.IocGetClockCounters, &c)
	c0 := kfd.GetClockCountersArgs{GPUID: 0}
	must(r, kfd.IocGetClockCounters, &c0)
	if c.GPUClockCounter == 0 || c0.GPUClockCounter != 0 || c0.CPUClockCounter < c.CPUClockCounter || c.SystemClockFreq != 1e9 {
		t.Errorf("%+v %+v", c, c0)
	}
	tc := kfd.GetTileConfigArgs{GPUID: 3, NumTileConfigs: 40}
	must(r, kfd.IocGetTileConfig, &tc)
	if tc.GBAddrConfig == 0 || tc.GBAddrConfig>>3&7 != 0 {
		t.Errorf("%+v", tc)
	}
	av := kfd.AvailableMemoryArgs{GPUID: 2}
	must(r, kfd.IocAvailableMemory, &av)
	if av.Available == 0 || av.Available > 256<<20 || av.Available%(2<<20) != 0 {
		t.Errorf("%#x", av.Available)
	}
}

// TestAvailableMemoryRounds allocates pages, of which each costs the granule of AVAILABLE_MEMORY.
func TestAvailableMemoryRounds(t *testing.T) {
	r := newRig(t, "mi210").acquire()
	available := func() uint64 {
		a := kfd.AvailableMemoryArgs{GPUID: r.gpus[0]}
		must(r, kfd.IocAvailableMemory, &a)
		return a.Available
	}
	before := available()
	var handles []uint64
	for _, size := range []uint64{4096, 5 << 20} {
		a := kfd.AllocMemoryOfGPUArgs{GPUID: r.gpus[0], Size: size, Flags: kfd.AllocVRAM}
		must(r, kfd.IocAllocMemoryOfGPU, &a)
		handles = append(handles, a.Handle)
	}
	if used := before - available(); used != 2<<20+6<<20 {
		t.Errorf("%d bytes used", used)
	}
	for _, h := range handles {
		must(r, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: h})
	}
	if after := available(); after != before {
		t.Errorf("%d bytes available, before %d", after, before)
	}
}

// TestCopyByDMA goes the whole way: buffers, an SDMA queue, doorbell, copy, fence, trap, event.
func TestCopyByDMA(t *testing.T) {
	for _, gpu := range []string{"mi210", "radeonvii", "rx6900xt"} {
		t.Run(gpu, func(t *testing.T) {
			r := newRig(t, gpu).acquire()
			page, slots := r.alloc(0, 0x7e0000000000, kfd.EventPageSize, kfd.AllocGTT|kfd.AllocCoherent)
			ev := kfd.CreateEventArgs{EventPageOffset: page, EventType: kfd.EventSignal, AutoReset: 1}
			must(r, kfd.IocCreateEvent, &ev)
			if ev.EventPageOffset == 0 || ev.EventID == 0 || binary.LittleEndian.Uint64(slots[ev.EventID*8:]) != kfd.UnsignaledSlot {
				t.Fatalf("%+v", ev)
			}
			const src, dst, ring, ptrs = 0x7e1000000000, 0x7e2000000000, 0x7e3000000000, 0x7e4000000000
			_, from := r.alloc(0, src, 8<<20, kfd.AllocGTT)
			_, to := r.alloc(0, dst, 8<<20, kfd.AllocVRAM|kfd.AllocPublic)
			_, rb := r.alloc(0, ring, 1<<20, kfd.AllocGTT)
			ph, pm := r.alloc(0, ptrs, 4096, kfd.AllocGTT)
			rnd := rand.New(rand.NewPCG(1, 2))
			for i := 0; i < len(from); i += 8 {
				binary.LittleEndian.PutUint64(from[i:], rnd.Uint64())
			}
			q := kfd.CreateQueueArgs{RingBaseAddress: ring, RingSize: 1 << 20, ReadPointerAddress: ptrs + 8, WritePointerAddress: ptrs + 16,
				GPUID: 2, QueueType: kfd.QueueTypeSDMA, QueuePercentage: 100, QueuePriority: 7}
			must(r, kfd.IocCreateQueue, &q)
			ty, id, low := kfd.SplitMmapOffset(q.DoorbellOffset)
			if ty != kfd.MmapDoorbell || id != 2 || low%8 != 0 || low >= 8192 {
				t.Fatalf("doorbell offset %#x", q.DoorbellOffset)
			}
			segs, err := r.kfd.Mmap(q.DoorbellOffset&^0xffffffff, 8192)
			if err != nil || len(segs) != 1 {
				t.Fatal(err)
			}
			bell, err := unix.Mmap(segs[0].FD, int64(segs[0].Off), 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = unix.Munmap(bell) }()

			w := 0
			put := func(ws ...uint32) {
				for _, x := range ws {
					binary.LittleEndian.PutUint32(rb[w:], x)
					w += 4
				}
			}
			const piece = 0x3fffe0
			for off := 0; off < len(from); off += piece {
				n := min(piece, len(from)-off)
				s, d := uint64(src+off), uint64(dst+off)
				put(1, uint32(n-1), 0, uint32(s), uint32(s>>32), uint32(d), uint32(d>>32))
			}
			slot := uint64(0x7e0000000000) + uint64(ev.EventID)*8
			put(5, uint32(slot), uint32(slot>>32), ev.EventID) // fence
			put(6, ev.EventID)                                 // trap
			binary.LittleEndian.PutUint64(pm[16:], uint64(w))
			atomic.StoreUint64((*uint64)(unsafe.Pointer(&bell[low])), uint64(w))
			segs[0].Ring(segs[0].Off + low)

			if res := r.wait(t, 10_000, ev.EventID); res != kfd.WaitResultComplete {
				t.Fatalf("wait: %d, read pointer %d of %d", res, binary.LittleEndian.Uint64(pm[8:]), w)
			}
			if !bytes.Equal(from, to) {
				t.Error("the copy differs")
			}
			// What the queue uses cannot be freed, also not unmapped.
			if err := r.unmap(ph, 2); err != unix.EBUSY {
				t.Errorf("unmap of the pointers: %v", err)
			}
			must(r, kfd.IocDestroyQueue, &kfd.DestroyQueueArgs{QueueID: q.QueueID})
			if err := r.unmap(ph, 2); err != nil {
				t.Errorf("unmap after destroy: %v", err)
			}
			must(r, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: ph})
		})
	}
}

// wait waits for any of events and returns the result.
func (r *rig) wait(t testing.TB, ms uint32, events ...uint32) uint32 {
	t.Helper()
	d := make([]kfd.EventData, len(events))
	escape(&d[0])
	for i, id := range events {
		d[i].EventID = id
	}
	a := kfd.WaitEventsArgs{EventsPtr: uint64(uintptr(unsafe.Pointer(&d[0]))), NumEvents: uint32(len(d)), Timeout: ms}
	must(r, kfd.IocWaitEvents, &a)
	return a.WaitResult
}

func TestPeerCopyMapsBothGPUs(t *testing.T) {
	r := newRig(t, "mi210", "mi210").acquire()
	h, mem := r.alloc(0, 0x7e0000000000, 4<<20, kfd.AllocVRAM|kfd.AllocPublic)
	mem[123] = 7
	for i, pd := range r.drv.proc.pdds {
		e, ok := pd.vm.Lookup(0x7e0000000000)
		if !ok {
			t.Fatalf("not mapped on GPU %d", i)
		}
		if e.Is(2) != (i == 1) {
			t.Errorf("GPU %d: %s", i, e)
		}
	}
	if err := call(r, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: h}); err != unix.EBUSY {
		t.Errorf("free of a mapped buffer: %v", err)
	}
	if err := r.unmap(h, 2, 3); err != nil {
		t.Fatal(err)
	}
	must(r, kfd.IocFreeMemoryOfGPU, &kfd.FreeMemoryOfGPUArgs{Handle: h})
}

func TestTopology(t *testing.T) {
	r := newRig(t, "mi210", "rx6900xt")
	s := r.drv.Sysfs()
	read := func(p string) string {
		b, err := s.ReadFile(p)
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		return string(b)
	}
	top := "/sys/class/kfd/kfd/topology/"
	if got := read(top + "nodes/1/gpu_id"); got != "2\n" {
		t.Errorf("gpu_id %q", got)
	}
	for node, want := range map[string][]string{
		"0": {"cpu_cores_count ", "io_links_count 2\n"},
		"1": {"simd_count 416\n", "gfx_target_version 90010\n", "drm_render_minor 128\n", "vendor_id 4098\n", "device_id 29711\n", "p2p_links_count"},
		"2": {"simd_count 160\n", "gfx_target_version 100300\n", "drm_render_minor 129\n", "wave_front_size 32\n", "simd_arrays_per_engine 2\n"},
	} {
		got := read(top + "nodes/" + node + "/properties")
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("node %s lacks %q:\n%s", node, w, got)
			}
		}
		for _, l := range strings.Split(strings.TrimSuffix(got, "\n"), "\n") {
			if len(strings.Fields(l)) != 2 {
				t.Errorf("node %s: line %q", node, l)
			}
		}
		// The counts are those of the directories.
		for _, d := range []string{"mem_banks", "caches", "io_links", "p2p_links"} {
			names, err := s.ReadDir(top + "nodes/" + node + "/" + d)
			if err != nil {
				t.Fatal(err)
			}
			if want := d + "_count " + strconv.Itoa(len(names)) + "\n"; !strings.Contains(got, want) {
				t.Errorf("node %s has %d %s, but not %q", node, len(names), d, want)
			}
		}
	}
	// What AMD's management library looks for before it says that there are boards at all: the card beside each render node, and its sensors.
	for i, render := range []string{"renderD128", "renderD129"} {
		entries, err := s.ReadDir("/sys/class/drm/" + render + "/device/drm")
		var names []string
		for _, e := range entries {
			names = append(names, e.Name)
		}
		if want := []string{"card" + strconv.Itoa(i), render}; err != nil || !slices.Equal(names, want) {
			t.Errorf("%s's device has the nodes %q, want %q (%v)", render, names, want, err)
		}
		if got := read("/sys/class/drm/card" + strconv.Itoa(i) + "/device/hwmon/hwmon" + strconv.Itoa(i) + "/name"); got != "amdgpu\n" {
			t.Errorf("the sensors of card%d are %q's", i, got)
		}
	}
	for p, want := range map[string]error{
		"/dev/dri/card0": unix.ENOENT, "/dev/dri/card128": unix.ENOENT, "/sys/dev/char/226:200": unix.ENOENT, "/sys/class/kfd/kfd/topology/nodes/9": unix.ENOENT,
		"/sys/dev/char/226:128/device/drm": nil, "/dev/dri/renderD129": nil, "/sys/module/amdgpu/initstate": nil, "/proc/modules": nil,
	} {
		if _, err := s.Stat(p); err != want || !s.Owns(p) {
			t.Errorf("stat %s: %v, want %v; owned %v", p, err, want, s.Owns(p))
		}
	}
	for _, p := range []string{"/etc/passwd", "/sys/devices/system/node", "/dev/driver", "/sys/dev/char/1:3", "/proc/self/maps"} {
		if s.Owns(p) {
			t.Errorf("%s is claimed", p)
		}
	}
	if l, err := s.Realpath("/sys/dev/char/226:128/device"); err != nil || !strings.HasPrefix(l, "/sys/devices/pci") {
		t.Errorf("%q %v", l, err)
	}
}

func TestExitFreesEverything(t *testing.T) {
	r := newRig(t, "mi210").acquire()
	dev := r.drv.nodes[0].dev
	free := dev.VRAMFree()
	r.alloc(0, 0x7e0000000000, 16<<20, kfd.AllocVRAM|kfd.AllocPublic)
	r.alloc(0, 0x7e1000000000, 1<<20, kfd.AllocGTT)
	done := make(chan error)
	ev := kfd.CreateEventArgs{EventType: kfd.EventMemory}
	must(r, kfd.IocCreateEvent, &ev)
	d := []kfd.EventData{{EventID: ev.EventID}}
	escape(&d[0])
	go func() {
		a := kfd.WaitEventsArgs{EventsPtr: uint64(uintptr(unsafe.Pointer(&d[0]))), NumEvents: 1, Timeout: kfd.TimeoutInfinite}
		done <- call(r, kfd.IocWaitEvents, &a)
	}()
	time.Sleep(10 * time.Millisecond)
	r.drv.Exit()
	select {
	case err := <-done:
		if err != unix.EIO && err != unix.EBADF { // EBADF: it came after the end
			t.Errorf("waiter: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the waiter still waits")
	}
	if got := dev.Sys.Used(); got != 0 {
		t.Errorf("%#x bytes of system memory in use", got)
	}
	if got := dev.VRAMFree(); got < free-(1<<20) {
		t.Errorf("%#x of %#x bytes of VRAM free", got, free)
	}
	if err := call(r, kfd.IocGetVersion, &kfd.GetVersionArgs{}); err != unix.EBADF {
		t.Errorf("ioctl after exit: %v", err)
	}
	if f, err := r.drv.Open(kfd.DevicePath); err != nil {
		t.Errorf("a new process cannot open: %v", err)
	} else {
		r.kfd = f
		must(r, kfd.IocGetVersion, &kfd.GetVersionArgs{})
	}
}
