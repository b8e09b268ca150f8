package hip

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/runtime/clr"
)

// The API for Go programs: a device is explicit, memory is typed, waits take a context, and errors are values (an Error where HIP has a code).

// Device is a GPU.
type Device struct{ d *clr.Device }

// Devices lists the visible devices of a runtime.
func Devices(rt *clr.Runtime) (ds []*Device) {
	for _, d := range rt.Devices {
		ds = append(ds, &Device{d})
	}
	return
}

// Name returns the marketing name, Arch the target id: "gfx90a:sramecc+:xnack-".
func (d *Device) Name() string { return deviceName(d.d) }

// Arch returns the target id.
func (d *Device) Arch() string { return d.d.Agent.Target.String() }

// Properties returns what hipGetDeviceProperties tells.
func (d *Device) Properties() *Props { return properties(d.d) }

// Synchronize waits for everything on the device.
func (d *Device) Synchronize(ctx context.Context) error { return wait(ctx, d.d.Synchronize) }

// wait runs f and gives up waiting, but not f, when the context ends.
func wait(ctx context.Context, f func() error) error {
	if ctx.Done() == nil {
		return asError(f())
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return asError(err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// asError wraps an error of clr so that errors.As finds the HIP code and errors.Is still finds the cause.
func asError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w (%w)", codeOf(err), err)
}

// Buffer is an array of n elements of T in video memory. T must hold no Go pointers.
type Buffer[T any] struct {
	dev *Device
	mem *clr.Memory
	n   int
}

// NewBuffer allocates video memory for n elements.
func NewBuffer[T any](d *Device, n int) (*Buffer[T], error) {
	var t T
	size := uint64(unsafe.Sizeof(t))
	if n <= 0 || size == 0 || hasPointers(reflect.TypeFor[T]()) {
		return nil, fmt.Errorf("%w: %d elements of %T", ErrInvalidValue, n, t)
	}
	m, err := d.d.Alloc(size * uint64(n))
	if err != nil {
		return nil, asError(err)
	}
	return &Buffer[T]{d, m, n}, nil
}

func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int, reflect.Uint8, reflect.Uint16, reflect.Uint32,
		reflect.Uint64, reflect.Uint, reflect.Uintptr, reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return false
	case reflect.Array:
		return hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return true
}

// Len returns the number of elements.
func (b *Buffer[T]) Len() int { return b.n }

// Pointer returns the device address.
func (b *Buffer[T]) Pointer() uint64 { return b.mem.Ptr }

func (b *Buffer[T]) kernelArg() uint64 { return b.mem.Ptr }

// Upload copies from host memory, after the stream's work (nil: the null stream), and returns when it is done.
func (b *Buffer[T]) Upload(s *Stream, src []T) error {
	if len(src) > b.n {
		return fmt.Errorf("%w: %d elements into a buffer of %d", ErrInvalidValue, len(src), b.n)
	}
	return b.copy(s, src, func(q *clr.HostQueue, host, n uint64) error {
		_, err := q.Copy(b.mem.Ptr, host, clr.Linear(n), false)
		return err
	})
}

// Download copies to host memory, after the stream's work, and returns when it is done.
func (b *Buffer[T]) Download(s *Stream, dst []T) error {
	if len(dst) > b.n {
		return fmt.Errorf("%w: %d elements out of a buffer of %d", ErrInvalidValue, len(dst), b.n)
	}
	return b.copy(s, dst, func(q *clr.HostQueue, host, n uint64) error {
		_, err := q.Copy(host, b.mem.Ptr, clr.Linear(n), false)
		return err
	})
}

func (b *Buffer[T]) copy(s *Stream, host []T, f func(q *clr.HostQueue, host, n uint64) error) error {
	if len(host) == 0 {
		return nil
	}
	// The address is used while this frame is alive, and a slice that reached here through an interface call is in the heap.
	var pin runtime.Pinner
	pin.Pin(&host[0])
	defer pin.Unpin()
	q := b.dev.d.NullQueue()
	if s != nil {
		q = s.q
	}
	var t T
	return asError(f(q, uint64(uintptr(unsafe.Pointer(&host[0]))), uint64(len(host))*uint64(unsafe.Sizeof(t))))
}

// Free gives the memory back when the device is done with it.
func (b *Buffer[T]) Free() error { return asError(b.dev.d.Runtime().Free(b.mem)) }

// Stream is a queue of work that runs in order.
type Stream struct{ q *clr.HostQueue }

// NewStream makes a stream that is not ordered with the null stream.
func (d *Device) NewStream() (*Stream, error) {
	q, err := d.d.NewQueue(clr.NonBlocking, 0, nil)
	if err != nil {
		return nil, asError(err)
	}
	return &Stream{q}, nil
}

// Close ends a stream after its work.
func (s *Stream) Close() error { return asError(s.q.Destroy()) }

// Synchronize waits for the stream's work.
func (s *Stream) Synchronize(ctx context.Context) error { return wait(ctx, s.q.Finish) }

// Do runs a function after the stream's work and before what follows. It must not wait for the stream.
func (s *Stream) Do(f func() error) error {
	_, err := s.q.Host(f)
	return asError(err)
}

// Mark is a point in a stream.
type Mark struct{ e *clr.Event }

// Record marks the stream's work so far.
func (s *Stream) Record() (*Mark, error) {
	e, err := s.q.Marker()
	if err != nil {
		return nil, asError(err)
	}
	return &Mark{e}, nil
}

// After makes the stream's later work wait for a mark of any stream.
func (s *Stream) After(m *Mark) { s.q.WaitFor(m.e) }

// Done reports whether the mark has been reached, Wait waits for it.
func (m *Mark) Done() bool { return m.e.Done() }

// Wait waits for the mark.
func (m *Mark) Wait(ctx context.Context) error { return wait(ctx, m.e.Wait) }

// Since returns the device's time from an earlier mark to this one, 0 while one is pending.
func (m *Mark) Since(from *Mark) time.Duration {
	if !m.Done() || !from.Done() {
		return 0
	}
	_, a := from.e.Ticks()
	_, b := m.e.Ticks()
	if b < a {
		return 0
	}
	return m.e.Device().Agent.Duration(b - a)
}

// Module is loaded device code.
type Module struct {
	dev *Device
	p   *clr.Program
}

// Load loads a code object, or the fitting one of a bundle, on the device.
func (d *Device) Load(image []byte) (*Module, error) {
	p, err := d.d.Runtime().NewProgram(image)
	if err != nil {
		return nil, asError(err)
	}
	if _, _, err := p.Symbols(d.d); err != nil {
		_ = p.Unload()
		return nil, asError(err)
	}
	return &Module{d, p}, nil
}

// Close unloads the module after waiting for the device.
func (m *Module) Close() error { return asError(m.p.Unload()) }

// Kernels lists the kernels of the module.
func (m *Module) Kernels() ([]string, error) {
	ks, _, err := m.p.Symbols(m.dev.d)
	return ks, asError(err)
}

// Kernel is a device function that can be launched.
type Kernel struct{ k *clr.Kernel }

// Kernel finds a kernel by its (mangled) name.
func (m *Module) Kernel(name string) (*Kernel, error) {
	k, err := m.p.Kernel(m.dev.d, name)
	if err != nil {
		return nil, asError(err)
	}
	return &Kernel{k}, nil
}

// Grid is the shape of a launch: blocks of threads. Zero dimensions count as 1.
type Grid struct {
	Blocks, Threads clr.Dim3
	Shared          uint32 // bytes of dynamic shared memory
}

// Launch1D is a Grid of one dimension: enough blocks of the given size for n threads.
func Launch1D(n, block int) Grid {
	return Grid{Blocks: clr.Dim3{X: uint32((n + block - 1) / block)}, Threads: clr.Dim3{X: uint32(block)}}
}

type kernelArg interface{ kernelArg() uint64 }

// Launch starts the kernel on a stream (nil: the null stream). Arguments are buffers, numbers of the exact size that the kernel takes, or arrays and structs of those; they are
// copied before Launch returns.
func (k *Kernel) Launch(s *Stream, g Grid, args ...any) error {
	if len(args) != k.k.NumArgs() {
		return fmt.Errorf("%w: %d arguments, kernel %s takes %d", ErrInvalidValue, len(args), k.k.Name, k.k.NumArgs())
	}
	packed := make([][]byte, len(args))
	for i, a := range args {
		b, err := argBytes(a)
		if err != nil {
			return fmt.Errorf("%w: argument %d of kernel %s: %w", ErrInvalidValue, i, k.k.Name, err)
		}
		if len(b) != k.k.ArgSize(i) {
			return fmt.Errorf("%w: argument %d of kernel %s has %d bytes, the kernel takes %d", ErrInvalidValue, i, k.k.Name, len(b), k.k.ArgSize(i))
		}
		packed[i] = b
	}
	one := func(d clr.Dim3) clr.Dim3 { return clr.Dim3{X: max(d.X, 1), Y: max(d.Y, 1), Z: max(d.Z, 1)} }
	b, t := one(g.Blocks), one(g.Threads)
	q := k.k.Device().NullQueue()
	if s != nil {
		q = s.q
	}
	_, err := q.Launch(k.k, &clr.Launch{Grid: clr.Dim3{X: b.X * t.X, Y: b.Y * t.Y, Z: b.Z * t.Z}, Block: t, SharedMem: g.Shared, Arg: func(i int, dst []byte) { copy(dst, packed[i]) }})
	return asError(err)
}

// argBytes is an argument as the kernel sees it.
func argBytes(a any) ([]byte, error) {
	le := binary.LittleEndian
	switch v := a.(type) {
	case kernelArg:
		return le.AppendUint64(nil, v.kernelArg()), nil
	case uintptr:
		return le.AppendUint64(nil, uint64(v)), nil
	case int:
		return le.AppendUint64(nil, uint64(v)), nil
	case uint:
		return le.AppendUint64(nil, uint64(v)), nil
	case float32:
		return le.AppendUint32(nil, math.Float32bits(v)), nil
	case float64:
		return le.AppendUint64(nil, math.Float64bits(v)), nil
	}
	v := reflect.ValueOf(a)
	if !v.IsValid() || hasPointers(v.Type()) {
		return nil, fmt.Errorf("%T cannot be passed to a device", a)
	}
	// Go lays structs out as C does on this architecture.
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return append([]byte(nil), unsafe.Slice((*byte)(p.UnsafePointer()), v.Type().Size())...), nil
}
