package machine

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/runtime/clr"
	"github.com/pumice-gpu/pumice/runtime/hip"
)

func newHIP(t testing.TB, gpus string, face int) (*hip.API, *hip.Thread) {
	t.Helper()
	none := func(string) (string, bool) { return "", false }
	return hip.New(clr.New(newHSA(t, gpus), clr.SettingsFromEnv(none)), hip.NewRegistry(), face), &hip.Thread{}
}

// Bad input at every door gives the documented code, and the runtime works afterwards.
func TestHIPBadInput(t *testing.T) {
	a, th := newHIP(t, "mi210", 5)
	var dev, host, freed, managed, stream, gone, ev, goneEv uintptr
	must := func(e hip.Error) {
		t.Helper()
		if e != hip.Success {
			t.Fatal(e)
		}
	}
	must(a.Malloc(th, &dev, 4096))
	must(a.HostMalloc(th, &host, 4096, 0))
	must(a.MallocManaged(th, &managed, 4096, 1))
	must(a.Malloc(th, &freed, 4096))
	must(a.Free(th, freed))
	must(a.StreamCreate(th, &stream, 0, 0, nil))
	must(a.StreamCreate(th, &gone, 0, 0, nil))
	must(a.StreamDestroy(th, gone))
	must(a.EventCreate(th, &ev, 0))
	must(a.EventCreate(th, &goneEv, 0))
	must(a.EventDestroy(goneEv))
	// Memory of the program is no Go memory.
	own, err := unix.Mmap(-1, 0, 2*8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	ownPtr := uintptr(unsafe.Pointer(&own[0]))
	must(a.HostRegister(th, ownPtr, 8192, 0))
	var out uintptr
	var n32 int32
	var u32 uint32
	var u64 uint64
	var f32 float32
	var attrs hip.PointerAttributes
	for _, c := range []struct {
		name string
		got  hip.Error
		want hip.Error
	}{
		{"malloc null", a.Malloc(th, nil, 16), hip.ErrInvalidValue},
		{"malloc 0", a.Malloc(th, &out, 0), hip.Success},
		{"malloc too large", a.Malloc(th, &out, 1<<45), hip.ErrOutOfMemory},
		{"malloc bad flags", a.ExtMalloc(th, &out, 16, 77), hip.ErrInvalidValue},
		{"free null", a.Free(th, 0), hip.Success},
		{"free inside", a.Free(th, dev+16), hip.ErrInvalidValue},
		{"free freed", a.Free(th, freed), hip.ErrInvalidValue},
		{"free unknown", a.Free(th, ownPtr), hip.ErrInvalidValue},
		{"free host memory", a.Free(th, host), hip.ErrInvalidDevicePointer},
		{"hostfree device memory", a.HostFree(th, dev), hip.ErrInvalidValue},
		{"hostfree twice", a.HostFree(th, ownPtr), hip.ErrInvalidValue},
		{"hostmalloc bad flags", a.HostMalloc(th, &out, 16, 0xc0000000), hip.ErrInvalidValue},
		{"managed 0", a.MallocManaged(th, &out, 0, 1), hip.ErrInvalidValue},
		{"managed bad flags", a.MallocManaged(th, &out, 16, 9), hip.ErrInvalidValue},
		{"register null", a.HostRegister(th, 0, 16, 0), hip.ErrInvalidValue},
		{"register twice", a.HostRegister(th, ownPtr, 16, 0), hip.Success},
		{"register a part", a.HostRegister(th, ownPtr+4096, 16, 0), hip.ErrHostMemoryAlreadyRegistered},
		{"register more", a.HostRegister(th, ownPtr, 2*8192, 0), hip.ErrHostMemoryAlreadyRegistered},
		{"unregister unknown", a.HostUnregister(th, ownPtr+64), hip.ErrHostMemoryNotRegistered},
		{"device pointer of device memory", a.HostGetDevicePointer(th, &out, dev, 0), hip.ErrInvalidValue},
		{"host flags of nothing", a.HostGetFlags(th, &u32, 0), hip.ErrInvalidValue},
		{"memcpy null", a.Memcpy(th, 0, dev, 16, hip.Default, 0, false), hip.ErrInvalidValue},
		{"memcpy kind", a.Memcpy(th, dev, host, 16, 9, 0, false), hip.ErrInvalidMemcpyDirection},
		{"memcpy beyond", a.Memcpy(th, dev+4000, host, 4096, hip.HostToDevice, 0, false), hip.ErrInvalidValue},
		{"memcpy 0", a.Memcpy(th, 0, 0, 0, hip.Default, 0, false), hip.Success},
		{"memcpy on a destroyed stream", a.Memcpy(th, dev, host, 16, hip.Default, gone, true), hip.ErrContextIsDestroyed},
		{"memcpy2D pitch", a.Memcpy2D(th, dev, 8, host, 8, 16, 2, hip.Default, 0, false), hip.ErrInvalidPitchValue},
		{"memcpy3D null", a.Memcpy3D(th, nil, 0, false), hip.ErrInvalidValue},
		{"memset null", a.Memset(th, 0, 0, 1, 16, 0, false), hip.ErrInvalidValue},
		{"memset host heap", a.Memset(th, ownPtr+8192, 0, 1, 16, 0, false), hip.ErrInvalidValue},
		{"memset beyond", a.Memset(th, dev, 0, 1, 5000, 0, false), hip.ErrInvalidValue},
		{"memset overflow", a.Memset(th, dev, 0, 4, 1<<62, 0, false), hip.ErrInvalidValue},
		{"device count null", a.GetDeviceCount(nil), hip.ErrInvalidValue},
		{"set device 1", a.SetDevice(th, 1), hip.ErrInvalidDevice},
		{"set device -1", a.SetDevice(th, -1), hip.ErrInvalidDevice},
		{"properties of device 7", a.GetDeviceProperties(ownPtr, 7), hip.ErrInvalidDevice},
		{"attribute unknown", a.DeviceGetAttribute(&n32, 5555, 0), hip.ErrInvalidValue},
		{"limit unknown", a.DeviceGetLimit(th, &u64, 99), hip.ErrUnsupportedLimit},
		{"init flags", a.Init(1), hip.ErrInvalidValue},
		{"stream flags", a.StreamCreate(th, &out, 8, 0, nil), hip.ErrInvalidValue},
		{"destroy null stream", a.StreamDestroy(th, 0), hip.ErrInvalidHandle},
		{"destroy twice", a.StreamDestroy(th, gone), hip.ErrContextIsDestroyed},
		{"synchronize destroyed", a.StreamSynchronize(th, gone), hip.ErrContextIsDestroyed},
		{"wait flags", a.StreamWaitEvent(th, stream, ev, 1), hip.ErrInvalidValue},
		{"wait null", a.StreamWaitEvent(th, stream, 0, 0), hip.ErrInvalidHandle},
		{"event flags", a.EventCreate(th, &out, 0x100), hip.ErrInvalidValue},
		{"event destroy twice", a.EventDestroy(goneEv), hip.ErrContextIsDestroyed},
		{"record destroyed", a.EventRecord(th, goneEv, 0), hip.ErrInvalidHandle},
		{"query never recorded", a.EventQuery(ev), hip.Success},
		{"elapsed never recorded", a.EventElapsed(&f32, ev, ev), hip.ErrInvalidHandle},
		{"elapsed null", a.EventElapsed(nil, ev, ev), hip.ErrInvalidValue},
		{"pointer of nothing", a.PointerGetAttributes(&attrs, ownPtr+1<<20), hip.ErrInvalidValue},
		{"address range of nothing", a.MemGetAddressRange(nil, nil, 0x1000), hip.ErrInvalidDevicePointer},
		{"launch of nothing", a.LaunchKey(th, 0x1234, &hip.Launch{}), hip.ErrInvalidDeviceFunction},
		{"function handle", a.LaunchFunction(th, 0x1234, &hip.Launch{}), hip.ErrInvalidHandle},
		{"module of rubbish", a.ModuleLoadData(th, &out, ownPtr), hip.ErrInvalidKernelFile},
		{"module file", a.ModuleLoad(th, &out, "/nonexistent"), hip.ErrFileNotFound},
		{"unload nothing", a.ModuleUnload(77), hip.ErrNotFound},
		{"symbol unknown", a.GetSymbolAddress(th, &out, ownPtr), hip.ErrInvalidSymbol},
		{"copy to no symbol", a.MemcpyToSymbol(th, 0, host, 4, 0, hip.HostToDevice, 0, false), hip.ErrInvalidSymbol},
		{"peer of itself", a.DeviceEnablePeerAccess(th, 0, 0), hip.ErrInvalidDevice},
		{"advise device memory", a.MemAdvise(th, dev, 16, 1, 0), hip.ErrInvalidValue},
		{"advise", a.MemAdvise(th, managed, 16, 1, 0), hip.Success},
		{"freeasync host", a.FreeAsync(th, host, 0), hip.ErrInvalidValue},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got.Name(), c.want.Name())
		}
	}
	// It still works.
	copy(own, "after")
	must(a.HostUnregister(th, ownPtr))
	must(a.Memcpy(th, dev, ownPtr, 5, hip.HostToDevice, stream, true))
	must(a.Memcpy(th, host, dev, 5, hip.DeviceToHost, stream, true))
	must(a.StreamSynchronize(th, stream))
	if string(unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&host))), 5)) != "after" {
		t.Error("copies are broken")
	}
	must(a.DeviceSynchronize(th))
}

func TestLastError(t *testing.T) {
	for face, want := range map[int][2]hip.Error{5: {hip.Success, hip.Success}, 7: {hip.ErrInvalidValue, hip.Success}} {
		a, th := newHIP(t, "mi210", face)
		a.Call(th, "x", func() hip.Error { return hip.ErrInvalidValue })
		a.Call(th, "y", func() hip.Error { return hip.Success })
		if e := a.GetLastError(th); e != want[0] {
			t.Errorf("face %d: %v", face, e)
		}
		if e := a.GetLastError(th); e != want[1] {
			t.Errorf("face %d, again: %v", face, e)
		}
	}
}

// The two layouts of hipDeviceProp_t put the same values where the two headers have them.
func TestProperties(t *testing.T) {
	a, _ := newHIP(t, "mi210,rx6900xt", 6)
	five, six := new([792]byte), new([1472]byte)
	for d := int32(0); d < 2; d++ {
		if e := a.GetDeviceProperties(uintptr(unsafe.Pointer(&five[0])), d); e != hip.Success {
			t.Fatal(e)
		}
		if e := a.GetDevicePropertiesR0600(uintptr(unsafe.Pointer(&six[0])), d); e != hip.Success {
			t.Fatal(e)
		}
		i32 := func(b []byte, o int) int32 { return *(*int32)(unsafe.Pointer(&b[o])) }
		u64 := func(b []byte, o int) uint64 { return *(*uint64)(unsafe.Pointer(&b[o])) }
		for _, c := range []struct {
			name string
			x, y int64
			want [2]int64
		}{
			{"totalGlobalMem", int64(u64(five[:], 256)), int64(u64(six[:], 288)), [2]int64{64 << 30, 16 << 30}},
			{"warpSize", int64(i32(five[:], 276)), int64(i32(six[:], 308)), [2]int64{64, 32}},
			{"major", int64(i32(five[:], 328)), int64(i32(six[:], 360)), [2]int64{9, 10}},
			{"multiProcessorCount", int64(i32(five[:], 336)), int64(i32(six[:], 388)), [2]int64{104, 40}},
			{"managedMemory", int64(i32(five[:], 772)), int64(i32(six[:], 652)), [2]int64{1, 1}},
		} {
			if c.x != c.y || c.x != c.want[d] && c.name != "totalGlobalMem" {
				t.Errorf("device %d: %s %d and %d, want %d", d, c.name, c.x, c.y, c.want[d])
			}
		}
		arch := func(b []byte) string { return string(b[:6]) }
		if arch(five[396:]) != arch(six[1160:]) || five[396] != 'g' {
			t.Errorf("gcnArchName %q %q", five[396:420], six[1160:1180])
		}
	}
}
