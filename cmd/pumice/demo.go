package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pumice-gpu/pumice/internal/machine"
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// demo runs a kernel by the Go API: it shows that nothing but Go is needed.
func demo(stdout, _ io.Writer, args []string) error {
	if err := noMore(nil, args); err != nil {
		return err
	}
	begin := time.Now()
	rt, err := machine.HIP()
	if err != nil {
		return err
	}
	d := hip.Devices(rt)[0]
	p := d.Properties()
	fmt.Fprintf(stdout, "%s, %s, %d compute units, %d GiB, ready after %v\n", d.Name(), d.Arch(), p.MultiProcessorCount, p.TotalGlobalMem>>30, time.Since(begin).Round(time.Millisecond))
	m, err := d.Load(machine.Saxpy())
	if err != nil {
		return fmt.Errorf("the demonstration's kernel is for gfx90a: %w", err)
	}
	k, err := m.Kernel("saxpy")
	if err != nil {
		return err
	}
	const n = 1 << 20
	x, y := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i] = float32(i%1000), float32(i%7)
	}
	dx, err := hip.NewBuffer[float32](d, n)
	if err != nil {
		return err
	}
	dy, err := hip.NewBuffer[float32](d, n)
	if err != nil {
		return err
	}
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	if err := errors.Join(dx.Upload(s, x), dy.Upload(s, y)); err != nil {
		return err
	}
	from, err := s.Record()
	if err != nil {
		return err
	}
	if err := k.Launch(s, hip.Launch1D(n, 256), dx, dy, float32(3), uint32(n)); err != nil {
		return err
	}
	to, err := s.Record()
	if err != nil {
		return err
	}
	if err := to.Wait(context.Background()); err != nil {
		return err
	}
	if err := dy.Download(s, y); err != nil {
		return err
	}
	for i := range y {
		if want := 3*float32(i%1000) + float32(i%7); y[i] != want {
			return fmt.Errorf("y[%d] is %v, must be %v", i, y[i], want)
		}
	}
	fmt.Fprintf(stdout, "saxpy of %d elements: every result right, %v on the device's clock\n", n, to.Since(from))
	return nil
}
