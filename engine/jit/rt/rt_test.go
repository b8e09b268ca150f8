//go:build linux && amd64

package rt

import (
	"math"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

func install(t testing.TB, m *CodeMemory, emit func(a *x86.Asm)) Code {
	var a x86.Asm
	emit(&a)
	b, err := a.Finish()
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.Install(b)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEnter(t *testing.T) {
	var m CodeMemory
	defer m.Close()
	c := install(t, &m, func(a *x86.Asm) {
		a.G(x86.LEA, 8, x86.RAX, x86.MX(x86.RDX, x86.RDX, 4, 7))
		a.Alu(x86.ADD, 8, x86.RAX, x86.M(x86.RDI, 0))
		a.AluS(x86.ADD, 8, x86.M(x86.RSI, 0), x86.RDX)
		for r := x86.RBX; r <= x86.R15; r++ {
			if r != x86.RSP && r != x86.RBP {
				a.Alu(x86.XOR, 4, r, x86.R(r))
			}
		}
		a.Ret()
	})
	x, y := uint64(100), uint64(5)
	if got := Enter(c.Addr(), unsafe.Pointer(&x), unsafe.Pointer(&y), 3, MXCSRDefault); got != 122 || y != 8 {
		t.Errorf("got %d, y %d", got, y)
	}
	used := m.Used()
	m.Release(c)
	d := install(t, &m, func(a *x86.Asm) { a.Ret() })
	if d.Addr() != c.Addr() || m.Used() != used {
		t.Error("released memory not reused")
	}
}

func TestEnterMXCSR(t *testing.T) {
	var m CodeMemory
	defer m.Close()
	c := install(t, &m, func(a *x86.Asm) {
		a.E(x86.VBROADCASTSS, x86.L128, 0, 0, x86.M(x86.RDI, 0), x86.Mod{})
		a.E(x86.VADDPS, x86.L128, 0, 0, x86.M(x86.RDI, 0).Bcast(), x86.Mod{})
		a.E(x86.VMOVDS, x86.L128, 0, 0, x86.R(x86.RAX), x86.Mod{})
		a.Ret()
	})
	x := math.Float32frombits(1)
	if got := Enter(c.Addr(), unsafe.Pointer(&x), nil, 0, MXCSRDefault); uint32(got) != 2 || got&Denormals == 0 {
		t.Errorf("denormal sum %#x", got)
	}
	{ // the bits are of one call
		one := float32(1)
		if got := Enter(c.Addr(), unsafe.Pointer(&one), nil, 0, MXCSRDefault); got != 0x40000000 {
			t.Errorf("sum %#x", got)
		}
	}
	if got := Enter(c.Addr(), unsafe.Pointer(&x), nil, 0, MXCSRDefault|MXCSRDAZ|MXCSRFTZ); got != 0 {
		t.Errorf("flushed sum %#x", got)
	}
	if y := x + x; math.Float32bits(y) != 2 {
		t.Error("MXCSR not restored")
	}
}

// A worker that runs compiled slices with an ordinary Go call between them must not hold up the collector.
func TestGarbageCollectionNotHeldUp(t *testing.T) {
	var m CodeMemory
	defer m.Close()
	c := install(t, &m, func(a *x86.Asm) { // about 100 µs
		top := a.NewLabel()
		a.MovI(x86.RCX, 200_000)
		a.Bind(top)
		a.G1(x86.DEC, 4, x86.R(x86.RCX))
		a.Jcc(x86.NE, top)
		a.Ret()
	})
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				Enter(c.Addr(), nil, nil, 0, MXCSRDefault)
			}
		}
	}()
	time.Sleep(10 * time.Millisecond)
	worst := time.Duration(0)
	for range 5 {
		t0 := time.Now()
		runtime.GC()
		worst = max(worst, time.Since(t0))
	}
	close(stop)
	<-done
	t.Logf("worst GC %v", worst)
	if worst > 2*time.Second {
		t.Errorf("collector held up for %v", worst)
	}
}

func BenchmarkEnter(b *testing.B) {
	var m CodeMemory
	defer m.Close()
	c := install(b, &m, func(a *x86.Asm) { a.Ret() })
	for b.Loop() {
		Enter(c.Addr(), nil, nil, 0, MXCSRDefault)
	}
}

func TestFeatures(t *testing.T) { t.Logf("%+v", CPU) }
