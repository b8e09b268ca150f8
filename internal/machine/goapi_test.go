package machine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/runtime/clr"
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// The Go API on a kernel made of instruction words: nothing but Go.
func TestGoAPI(t *testing.T) {
	rt := clr.New(newHSA(t, "mi210"), clr.SettingsFromEnv(func(string) (string, bool) { return "", false }))
	d := hip.Devices(rt)[0]
	if d.Arch() != "gfx90a:sramecc+:xnack-" {
		t.Error(d.Arch())
	}
	m, err := d.Load(Saxpy())
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.Kernel("saxpy")
	if err != nil {
		t.Fatal(err)
	}
	const n = 10000
	x, y := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i] = float32(i), 1
	}
	dx, err := hip.NewBuffer[float32](d, n)
	if err != nil {
		t.Fatal(err)
	}
	dy, _ := hip.NewBuffer[float32](d, n)
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(dx.Upload(s, x), dy.Upload(s, y)); err != nil {
		t.Fatal(err)
	}
	from, _ := s.Record()
	if err := k.Launch(s, hip.Launch1D(n, 256), dx, dy, float32(2), uint32(n)); err != nil {
		t.Fatal(err)
	}
	to, _ := s.Record()
	if err := to.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if to.Since(from) <= 0 {
		t.Error("no time passed")
	}
	if err := dy.Download(s, y); err != nil {
		t.Fatal(err)
	}
	for i := range y {
		if y[i] != 2*float32(i)+1 {
			t.Fatalf("y[%d] = %v", i, y[i])
		}
	}
	for _, args := range [][]any{{dx, dy, float32(2)}, {dx, dy, 2.0, uint32(n)}, {dx, "y", float32(2), uint32(n)}} {
		if err := k.Launch(s, hip.Launch1D(n, 256), args...); !errors.Is(err, hip.ErrInvalidValue) {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, err := hip.NewBuffer[*int](d, 4); err == nil {
		t.Error("a buffer of pointers")
	}
	if err := dx.Upload(s, make([]float32, n+1)); !errors.Is(err, hip.ErrInvalidValue) {
		t.Errorf("%v", err)
	}
	if _, err := m.Kernel("nothing"); !errors.Is(err, hip.ErrNotFound) || !errors.Is(err, clr.ErrNotFound) {
		t.Errorf("%v", err)
	}
	stuck := make(chan bool)
	_ = s.Do(func() error { <-stuck; return nil })
	short, cancel2 := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel2()
	if err := s.Synchronize(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	close(stuck)
	if err := errors.Join(s.Close(), dx.Free(), dy.Free(), m.Close()); err != nil {
		t.Error(err)
	}
}
