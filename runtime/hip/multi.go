package hip

import "github.com/pumice-gpu/pumice/runtime/clr"

// Launches on several devices at once.

// LaunchParams is hipLaunchParams: a launch of one device.
type LaunchParams struct {
	Func   uintptr
	Grid   clr.Dim3
	Block  clr.Dim3
	Args   uintptr
	Shared uint64
	Stream uintptr
}

const (
	multiNoPreSync  = 1
	multiNoPostSync = 2
)

// LaunchMulti launches a kernel on each of several devices, on a stream of each. Unless the flags say otherwise, the kernels begin when all streams have come so far, and what follows on any of
// the streams waits for all of them. Cooperative kernels are one grid over all devices: they can meet in multi_grid.sync().
func (a *API) LaunchMulti(t *Thread, list []LaunchParams, flags uint32, cooperative bool) Error {
	if len(list) == 0 || flags&^uint32(multiNoPreSync|multiNoPostSync) != 0 {
		return ErrInvalidValue
	}
	if len(list) > len(a.devices()) {
		return ErrInvalidValue
	}
	qs := make([]*clr.HostQueue, len(list))
	ks := make([]*clr.Kernel, len(list))
	ls := make([]clr.Launch, len(list))
	used := map[*clr.Device]bool{}
	var total uint64
	for i := range list {
		x := &list[i]
		if x.Stream == 0 || x.Func == 0 {
			return ErrInvalidHandle
		}
		q, e := a.queue(t, x.Stream)
		if e != Success {
			return e
		}
		if used[q.Device()] {
			return ErrInvalidDevice
		}
		used[q.Device()] = true
		f := a.kernelFunction(x.Func)
		if f == nil {
			return ErrInvalidDeviceFunction
		}
		if cooperative && (x.Grid != list[0].Grid || x.Block != list[0].Block || x.Shared != list[0].Shared) {
			return ErrInvalidValue
		}
		k, l, e := a.resolve(t, f, &Launch{Grid: x.Grid, Block: x.Block, Args: x.Args, Shared: uint32(x.Shared), Cooperative: cooperative}, q.Device())
		if e != Success {
			return e
		}
		if _, err := k.Prepare(l); err != nil { // before anything is launched, everything is checked
			return a.launchError(err)
		}
		qs[i], ks[i], ls[i] = q, k, l
		total += uint64(x.Grid.X) * uint64(x.Grid.Y) * uint64(x.Grid.Z) * uint64(x.Block.X) * uint64(x.Block.Y) * uint64(x.Block.Z)
	}
	meet := func() Error {
		for i, q := range qs {
			m, err := q.Marker()
			if err != nil {
				return a.fromErr(err)
			}
			for j, o := range qs {
				if i != j {
					o.WaitFor(m)
				}
			}
		}
		return Success
	}
	if flags&multiNoPreSync == 0 {
		if e := meet(); e != Success {
			return e
		}
	}
	if cooperative {
		place, err := a.rt.MultiGridSync()
		if err != nil {
			return a.fromErr(err)
		}
		before := uint64(0)
		for i := range ls {
			ls[i].Multi = &clr.MultiGrid{Sync: place, ID: uint32(i), Grids: uint32(len(ls)), Before: before, All: total}
			before += total / uint64(len(ls))
		}
	}
	for i := range ls {
		if _, err := qs[i].Launch(ks[i], &ls[i]); err != nil {
			return a.launchError(err)
		}
	}
	if flags&multiNoPostSync == 0 {
		return meet()
	}
	return Success
}
