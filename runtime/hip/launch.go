package hip

import (
	"fmt"
	"strings"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// PushConfig keeps the configuration of a launch for the stub; PopConfig returns it.
func (a *API) PushConfig(t *Thread, grid, block clr.Dim3, shared uint64, s uintptr) Error {
	if t.Depth >= MaxPushed {
		return ErrInvalidConfiguration
	}
	t.Configs[t.Depth] = LaunchConfig{grid, block, shared, s}
	t.Depth++
	return Success
}

// PopConfig takes the last pushed configuration off.
func (a *API) PopConfig(t *Thread) (LaunchConfig, Error) {
	if t.Depth == 0 {
		return LaunchConfig{}, ErrMissingConfiguration
	}
	t.Depth--
	return t.Configs[t.Depth], Success
}

// Launch describes a launch of a kernel in any of HIP's ways. Grid is in blocks.
type Launch struct {
	Grid, Block clr.Dim3
	Items       bool    // Grid is in work-items (hipExtModuleLaunchKernel)
	Args        uintptr // void**, one pointer for each argument
	Extra       uintptr // void**, HIP_LAUNCH_PARAM_*; instead of Args
	Packed      []byte  // the arguments as they lie in memory; instead of both
	Shared      uint32
	Stream      uintptr
	Start, Stop uintptr // events
	Cooperative bool
	AnyOrder    bool
}

// LaunchKey launches a registered kernel by its host key.
func (a *API) LaunchKey(t *Thread, key uintptr, l *Launch) Error {
	if key == 0 {
		return ErrInvalidDeviceFunction
	}
	f := a.reg.function(key)
	if f == nil {
		return ErrInvalidDeviceFunction
	}
	return a.launch(t, f, l)
}

// LaunchFunction launches a kernel of a module.
func (a *API) LaunchFunction(t *Thread, fn uintptr, l *Launch) Error {
	f := a.funcs.get(fn)
	if f == nil {
		return ErrInvalidHandle
	}
	return a.launch(t, f, l)
}

func (a *API) launch(t *Thread, f *function, l *Launch) Error {
	q, e := a.queue(t, l.Stream)
	if e != Success {
		return e
	}
	if a.capturing() {
		if done, e := a.captured(t, l.Stream, func() (nodeOp, Error) { return a.launchOp(t, int32(q.Device().Index), f, l) }); done {
			return e
		}
	}
	k, c, e := a.resolve(t, f, l, q.Device())
	if e != Success {
		return e
	}
	c.Timed = l.Start != 0 || l.Stop != 0
	var start, stop *event
	if l.Start != 0 {
		if start = a.events.get(l.Start); start == nil {
			return ErrInvalidHandle
		}
		m, err := q.Marker()
		if err != nil {
			return a.fromErr(err)
		}
		start.set(m)
	}
	if l.Stop != 0 {
		if stop = a.events.get(l.Stop); stop == nil {
			return ErrInvalidHandle
		}
	}
	ev, err := q.Launch(k, &c)
	if err != nil {
		return a.launchError(err)
	}
	if stop != nil {
		stop.set(ev)
	}
	return Success
}

// tellNoCode says once on standard error what a program was compiled for, where that is not for the device: most programs show no more than the
// number of the error, and many nothing.
func (a *API) tellNoCode(f *function, d *clr.Device) {
	if f.bin == nil || f.bin.prog == nil {
		return
	}
	a.noCode.Do(func() {
		want := d.Agent.Target.Proc.Name
		clr.WriteText(true, fmt.Appendf(nil, "pumice: kernel %s cannot run on %s: the program has code for %s; compile it with --offload-arch=%s too, or run it "+
			"on a GPU that `pumice gpus` lists for one of these\n", f.name, want, strings.Join(f.bin.prog.Targets(), ", "), want))
	})
}

// resolve finds the kernel on a device, and brings the launch into clr's form.
func (a *API) resolve(t *Thread, f *function, l *Launch, d *clr.Device) (*clr.Kernel, clr.Launch, Error) {
	c := clr.Launch{Grid: l.Grid, Block: l.Block, SharedMem: l.Shared, Cooperative: l.Cooperative, AnyOrder: l.AnyOrder}
	k, err := a.kernel(f, d)
	if err != nil {
		switch codeOf(err) {
		case ErrNotFound:
			return nil, c, ErrInvalidDeviceFunction
		case ErrNoBinaryForGpu:
			a.tellNoCode(f, d)
		}
		return nil, c, a.fromErr(err)
	}
	zero := func(d clr.Dim3) bool { return d.X == 0 || d.Y == 0 || d.Z == 0 }
	if zero(l.Grid) || zero(l.Block) {
		if a.Face <= 5 || a.Face >= 7 && !zero(l.Block) {
			return nil, c, ErrInvalidValue
		}
		return nil, c, ErrInvalidConfiguration
	}
	if !l.Items {
		gx, gy, gz := uint64(l.Grid.X)*uint64(l.Block.X), uint64(l.Grid.Y)*uint64(l.Block.Y), uint64(l.Grid.Z)*uint64(l.Block.Z)
		if gx > 0xffffffff || gy > 0xffffffff || gz > 0xffffffff {
			return nil, c, a.tooLarge()
		}
		c.Grid = clr.Dim3{X: uint32(gx), Y: uint32(gy), Z: uint32(gz)}
	}
	switch {
	case l.Packed != nil:
		c.Packed = l.Packed
	case l.Extra != 0 && l.Args != 0:
		return nil, c, ErrInvalidValue
	case l.Extra != 0:
		b, e := packed(l.Extra)
		if e != Success {
			return nil, c, e
		}
		c.Packed = b
	case l.Args != 0 || k.NumArgs() == 0:
		args := l.Args
		if nearArgs(t, k, args) {
			c.Arg = func(i int, dst []byte) {
				if p := *(*uintptr)(pointer(args + 8*uintptr(i))); p != 0 {
					copy(dst, bytesAt(p, len(dst)))
				}
			}
			break
		}
		ok := true
		c.Arg = func(i int, dst []byte) {
			p, got := load[uintptr](args + 8*uintptr(i))
			ok = ok && got && (p == 0 || LoadMemory(dst, p))
		}
		p, err := k.Prepare(c)
		if err != nil {
			return nil, c, a.launchError(err)
		}
		if !ok {
			return nil, c, ErrInvalidValue
		}
		c = p.Launch
	default:
		return nil, c, ErrInvalidValue
	}
	return k, c, Success
}

// nearArgs reports whether Go may touch all arguments of a launch.
func nearArgs(t *Thread, k *clr.Kernel, args uintptr) bool {
	n := k.NumArgs()
	if !t.Near(args, 8*uintptr(n)) {
		return false
	}
	for i := range n {
		if p := *(*uintptr)(pointer(args + 8*uintptr(i))); p != 0 && !t.Near(p, uintptr(k.ArgSize(i))) {
			return false
		}
	}
	return true
}

// launchError maps what a launch refuses.
func (a *API) launchError(err error) Error {
	e := a.fromErr(err)
	if e == ErrInvalidValue {
		return a.tooLarge()
	}
	return e
}

// tooLarge is the code for more threads than a block or a grid may have. AMD's 5.2.3 and 7 agree; 6 is documented to say the other.
func (a *API) tooLarge() Error {
	if a.Face == 6 {
		return ErrInvalidValue
	}
	return ErrInvalidConfiguration
}

// noModule is the code for a module handle that is none.
func (a *API) noModule() Error {
	if a.Face <= 5 {
		return ErrNotFound
	}
	return ErrInvalidHandle
}

// packed reads HIP_LAUNCH_PARAM_BUFFER_POINTER and _SIZE.
func packed(extra uintptr) ([]byte, Error) {
	const bufferPointer, bufferSize, end = 1, 2, 3
	var buf uintptr
	var size uint64
	for i := uintptr(0); i < 16; i++ {
		x, ok := load[[2]uintptr](extra + 16*i)
		if !ok {
			// The last one has no value, and may end where memory ends.
			if x[0], ok = load[uintptr](extra + 16*i); !ok || x[0] != end {
				return nil, ErrInvalidValue
			}
		}
		switch x[0] {
		case bufferPointer:
			buf = x[1]
		case bufferSize:
			if size, ok = load[uint64](x[1]); !ok {
				return nil, ErrInvalidValue
			}
		case end:
			if buf == 0 && size != 0 || size > 1<<20 {
				return nil, ErrInvalidValue
			}
			b := make([]byte, size)
			if size > 0 && !LoadMemory(b, buf) {
				return nil, ErrInvalidValue
			}
			return b, Success
		default:
			return nil, ErrInvalidValue
		}
	}
	return nil, ErrInvalidValue
}

// FuncAttributes is hipFuncAttributes.
type FuncAttributes struct {
	BinaryVersion      int32
	CacheModeCA        int32
	ConstSizeBytes     uint64
	LocalSizeBytes     uint64
	MaxDynamicShared   int32
	MaxThreadsPerBlock int32
	NumRegs            int32
	PreferredCarveout  int32
	PTXVersion         int32
	_                  int32
	SharedSizeBytes    uint64
}

func (a *API) attributesOf(k *clr.Kernel) FuncAttributes {
	d := k.Device().Agent
	return FuncAttributes{
		BinaryVersion: int32(d.Target.Proc.Major*10 + d.Target.Proc.Minor), PTXVersion: int32(d.Target.Proc.Major*10 + d.Target.Proc.Minor),
		LocalSizeBytes: uint64(k.PrivateSegmentFixedSize), SharedSizeBytes: uint64(k.GroupSegmentFixedSize),
		MaxDynamicShared: int32(d.LDSSize - min(k.GroupSegmentFixedSize, d.LDSSize)), MaxThreadsPerBlock: int32(k.MaxThreads()), NumRegs: int32(k.VGPRCount),
	}
}

// kernelByKey finds the kernel of a host key on the current device.
func (a *API) kernelByKey(t *Thread, key uintptr) (*clr.Kernel, Error) {
	d, e := a.device(t)
	if e != Success {
		return nil, e
	}
	f := a.reg.function(key)
	if f == nil {
		return nil, ErrInvalidDeviceFunction
	}
	k, err := a.kernel(f, d)
	if err != nil {
		return nil, a.fromErr(err)
	}
	return k, Success
}

func (a *API) kernelOf(t *Thread, fn uintptr) (*clr.Kernel, Error) {
	f := a.funcs.get(fn)
	if f == nil {
		return nil, ErrInvalidHandle
	}
	d, e := a.device(t)
	if e != Success {
		return nil, e
	}
	if f.mod != nil {
		d = f.mod.dev
	}
	k, err := a.kernel(f, d)
	if err != nil {
		return nil, a.fromErr(err)
	}
	return k, Success
}

// FuncGetAttributes describes a registered kernel.
func (a *API) FuncGetAttributes(t *Thread, out *FuncAttributes, key uintptr) Error {
	if out == nil {
		return ErrInvalidValue
	}
	k, e := a.kernelByKey(t, key)
	if e != Success {
		return e
	}
	*out = a.attributesOf(k)
	return Success
}

// FuncGetAttribute returns one attribute of a module's kernel (hipFunction_attribute).
func (a *API) FuncGetAttribute(t *Thread, out *int32, attr int32, fn uintptr) Error {
	if out == nil {
		return ErrInvalidValue
	}
	k, e := a.kernelOf(t, fn)
	if e != Success {
		return e
	}
	f := a.attributesOf(k)
	values := []int32{f.MaxThreadsPerBlock, int32(f.SharedSizeBytes), int32(f.ConstSizeBytes), int32(f.LocalSizeBytes), f.NumRegs, f.PTXVersion, f.BinaryVersion, f.CacheModeCA, f.MaxDynamicShared, f.PreferredCarveout}
	if attr < 0 || int(attr) >= len(values) {
		return ErrInvalidValue
	}
	*out = values[attr]
	return Success
}

// FuncSetAttribute is hipFuncSetAttribute: 8 is the largest dynamic group memory, 9 the carve-out, which has no meaning here.
func (a *API) FuncSetAttribute(t *Thread, key uintptr, attr, value int32) Error {
	k, e := a.kernelByKey(t, key)
	if e != Success {
		return e
	}
	switch attr {
	case 8:
		if value < 0 || uint64(value)+uint64(k.GroupSegmentFixedSize) > uint64(k.Device().Agent.LDSSize) {
			return ErrInvalidValue
		}
	case 9:
	default:
		return ErrInvalidValue
	}
	return Success
}

// SetupArgument stores an argument for LaunchByPtr.
func (a *API) SetupArgument(t *Thread, p uintptr, n, off uint64) Error {
	if p == 0 || n > uint64(len(t.Arguments)) || off > uint64(len(t.Arguments))-n {
		return ErrInvalidValue
	}
	if !LoadMemory(t.Arguments[off:off+n], p) {
		return ErrInvalidValue
	}
	t.ArgSize = max(t.ArgSize, off+n)
	return Success
}

// LaunchByPtr launches a registered kernel with the configuration and arguments that were set up.
func (a *API) LaunchByPtr(t *Thread, key uintptr) Error {
	c, e := a.PopConfig(t)
	if e != Success {
		return e
	}
	b := append([]byte{}, t.Arguments[:t.ArgSize]...)
	t.ArgSize = 0
	return a.LaunchKey(t, key, &Launch{Grid: c.Grid, Block: c.Block, Shared: uint32(c.Shared), Stream: c.Stream, Packed: b})
}
