package hip

import (
	"fmt"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Versions that hipRuntimeGetVersion reports, by face: major*10000000 + minor*100000 + patch, as the release that each SONAME's tests were made with.
var runtimeVersions = map[int]int32{5: 50221153, 6: 60443483, 7: 70226015}

// Init is hipInit; flags must be 0.
func (a *API) Init(flags uint32) Error {
	if flags != 0 {
		return ErrInvalidValue
	}
	if len(a.devices()) == 0 {
		return a.noDevice()
	}
	return Success
}

// noDevice is what everything but hipGetDeviceCount says where there is no device.
func (a *API) noDevice() Error {
	if a.Face >= 6 {
		return ErrNoDevice
	}
	return ErrInvalidDevice
}

// Version is hipRuntimeGetVersion and hipDriverGetVersion.
func (a *API) Version(v *int32) Error {
	if v == nil {
		return ErrInvalidValue
	}
	*v = runtimeVersions[a.Face]
	return Success
}

// GetDeviceCount counts devices.
func (a *API) GetDeviceCount(n *int32) Error {
	if n == nil {
		return ErrInvalidValue
	}
	*n = int32(len(a.devices()))
	if *n == 0 {
		return ErrNoDevice
	}
	return Success
}

// GetDevice returns the thread's current device.
func (a *API) GetDevice(t *Thread, d *int32) Error {
	if d == nil {
		return ErrInvalidValue
	}
	if _, e := a.device(t); e != Success {
		return e
	}
	*d = t.Device
	return Success
}

// SetDevice changes the thread's current device.
func (a *API) SetDevice(t *Thread, d int32) Error {
	if _, e := a.deviceAt(d); e != Success {
		return e
	}
	t.Device = d
	return Success
}

// DeviceGet checks a device number and returns it as hipDevice_t.
func (a *API) DeviceGet(out *int32, d int32) Error {
	if out == nil {
		return ErrInvalidValue
	}
	if _, e := a.deviceAt(d); e != Success {
		return e
	}
	*out = d
	return Success
}

// DeviceGetName writes the marketing name, cut to n bytes with the final zero.
func (a *API) DeviceGetName(buf uintptr, n int32, d int32) Error {
	dev, e := a.deviceAt(d)
	if e != Success {
		return e
	}
	if buf == 0 || n <= 0 {
		return ErrInvalidValue
	}
	putString(bytesAt(buf, int(n)), deviceName(dev))
	return Success
}

// putString writes s and zeros; the last byte is always zero.
func putString(b []byte, s string) {
	clear(b)
	copy(b[:len(b)-1], s)
}

func deviceName(d *clr.Device) string {
	if d.Agent.Market != "" {
		return d.Agent.Market
	}
	return d.Agent.Name
}

// DeviceTotalMem returns the bytes of video memory.
func (a *API) DeviceTotalMem(out *uint64, d int32) Error {
	dev, e := a.deviceAt(d)
	if e != Success {
		return e
	}
	if out == nil {
		return ErrInvalidValue
	}
	*out, _ = dev.Agent.Node.LocalMemory()
	return Success
}

// DeviceComputeCapability returns major and minor of the target.
func (a *API) DeviceComputeCapability(major, minor *int32, d int32) Error {
	dev, e := a.deviceAt(d)
	if e != Success {
		return e
	}
	if major == nil || minor == nil {
		return ErrInvalidValue
	}
	*major, *minor = int32(dev.Agent.Target.Proc.Major), int32(dev.Agent.Target.Proc.Minor)
	return Success
}

func pciID(d *clr.Device) string {
	l := d.Agent.BDF()
	return fmt.Sprintf("%04x:%02x:%02x.%01x", d.Agent.Node.Props["domain"], l>>8&0xff, l>>3&0x1f, l&7)
}

// DeviceGetPCIBusID writes domain:bus:device.function.
func (a *API) DeviceGetPCIBusID(buf uintptr, n, d int32) Error {
	dev, e := a.deviceAt(d)
	if e != Success {
		return e
	}
	id := pciID(dev)
	if buf == 0 || int(n) < 1 {
		return ErrInvalidValue
	}
	putString(bytesAt(buf, int(n)), id)
	return Success
}

// DeviceGetByPCIBusID finds a device by domain:bus:device with or without .function.
func (a *API) DeviceGetByPCIBusID(out *int32, id uintptr) Error {
	if out == nil || id == 0 {
		return ErrInvalidValue
	}
	var dom, bus, dev uint32
	s := cstring(id)
	if n, _ := fmt.Sscanf(s, "%x:%x:%x", &dom, &bus, &dev); n != 3 {
		return ErrInvalidValue
	}
	for i, d := range a.devices() {
		l := d.Agent.BDF()
		if uint64(dom) == d.Agent.Node.Props["domain"] && bus == l>>8&0xff && dev == l>>3&0x1f {
			*out = int32(i)
			return Success
		}
	}
	return ErrInvalidValue
}

// DeviceGetUUID writes the 16 bytes of the UUID: the unique id in hexadecimal digits.
func (a *API) DeviceGetUUID(out uintptr, d int32) Error {
	dev, e := a.deviceAt(d)
	if e != Success {
		return e
	}
	if out == 0 {
		return ErrInvalidValue
	}
	copy(bytesAt(out, 16), fmt.Sprintf("%016x", dev.Agent.Node.Props["unique_id"]))
	return Success
}

// DeviceSynchronize waits for all streams of the current device.
func (a *API) DeviceSynchronize(t *Thread) Error {
	d, e := a.device(t)
	if e != Success {
		return e
	}
	if e := a.refuseAll(ErrStreamCaptureUnsupported); e != Success {
		return e
	}
	err := d.Synchronize()
	a.trimPools()
	return a.fromErr(err)
}

// DeviceReset ends what the program has on the current device: streams and events of the program stay valid handles of nothing, memory is
// freed.
func (a *API) DeviceReset(t *Thread) Error {
	d, e := a.device(t)
	if e != Success {
		return e
	}
	if err := d.Synchronize(); err != nil {
		return a.fromErr(err)
	}
	for _, m := range a.rt.AllMemory() {
		if m.Device == d && m.Kind != clr.ManagedMemory && !m.Mapped {
			_ = a.rt.Free(m)
		}
	}
	return Success
}

// Limits of hipDeviceGetLimit.
const (
	limitStackSize  = 0
	limitPrintfFIFO = 1
	limitMallocHeap = 2
)

// DeviceGetLimit returns a limit of the device.
func (a *API) DeviceGetLimit(t *Thread, out *uint64, limit uint32) Error {
	if _, e := a.device(t); e != Success {
		return e
	}
	if out == nil {
		return ErrInvalidValue
	}
	a.mu.Lock()
	v, set := a.limits[limit]
	a.mu.Unlock()
	switch {
	case set:
		*out = v
	case limit == limitMallocHeap:
		*out = 4 << 20
	case limit == limitPrintfFIFO:
		*out = 1 << 20
	case limit == limitStackSize:
		*out = 1024
	default:
		return ErrUnsupportedLimit
	}
	return Success
}

// scheduleFlags is the part of a device's flags that says how waits are made.
const scheduleFlags = 7

// GetDeviceFlags returns how waits are made, as SetDeviceFlags has set it; its other flags have no meaning on AMD devices.
func (a *API) GetDeviceFlags(t *Thread, out *uint32) Error {
	if out == nil {
		return ErrInvalidValue
	}
	if _, e := a.device(t); e != Success {
		return e
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	*out = a.flags[int(t.Device)] & scheduleFlags
	return Success
}

// SetDeviceFlags sets how waits are made; it is remembered, all waits spin shortly and then sleep.
func (a *API) SetDeviceFlags(t *Thread, f uint32) Error {
	//fidelity: approximate hipSetDeviceFlags: remembered, waiting is the same for all of them
	if _, e := a.device(t); e != Success {
		return e
	}
	const mapHost, lmem = 8, 16
	if f&^(scheduleFlags|mapHost|lmem) != 0 {
		return ErrInvalidValue
	}
	switch f & scheduleFlags {
	case 0, 1, 2, 4:
	default:
		return ErrInvalidValue
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.flags[int(t.Device)] = f
	return Success
}

// DeviceCanAccessPeer reports whether one device can reach another's memory.
func (a *API) DeviceCanAccessPeer(out *int32, d, peer int32) Error {
	if out == nil {
		return ErrInvalidValue
	}
	x, e1 := a.deviceAt(d)
	y, e2 := a.deviceAt(peer)
	if e1 != Success || e2 != Success {
		return ErrInvalidDevice
	}
	*out = 0
	if x != y && y.Agent.LargeBAR() {
		*out = 1
	}
	return Success
}

// DeviceEnablePeerAccess lets the current device reach the peer's memory.
func (a *API) DeviceEnablePeerAccess(t *Thread, peer int32, flags uint32) Error {
	if flags != 0 {
		return ErrInvalidValue
	}
	var can int32
	if e := a.DeviceCanAccessPeer(&can, t.Device, peer); e != Success || peer == t.Device {
		return ErrInvalidDevice
	}
	if can == 0 {
		return ErrPeerAccessUnsupported
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	k := [2]int{int(t.Device), int(peer)}
	if a.peers[k] {
		return ErrPeerAccessAlreadyEnabled
	}
	a.peers[k] = true
	d := a.devices()[t.Device]
	p := a.devices()[peer]
	return a.fromErr(a.rt.EnablePeer(d, p))
}

// DeviceDisablePeerAccess takes it back.
func (a *API) DeviceDisablePeerAccess(t *Thread, peer int32) Error {
	var can int32
	if e := a.DeviceCanAccessPeer(&can, t.Device, peer); e != Success || peer == t.Device {
		return ErrInvalidDevice
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	k := [2]int{int(t.Device), int(peer)}
	if !a.peers[k] {
		return ErrPeerAccessNotEnabled
	}
	delete(a.peers, k)
	return a.fromErr(a.rt.DisablePeer(a.devices()[t.Device], a.devices()[peer]))
}

// StreamPriorityRange returns the range of priorities.
func (a *API) StreamPriorityRange(t *Thread, least, greatest *int32) Error {
	if _, e := a.device(t); e != Success {
		return e
	}
	if least != nil {
		*least = 1
	}
	if greatest != nil {
		*greatest = -1
	}
	return Success
}
