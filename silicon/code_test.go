package silicon

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/internal/needs"
)

// compiler returns the clang for a file and target. kernels.hip has nothing that clang-15, hipcc's own, does not know; it has
// no chip after gfx1036 but gfx90a.
func compiler(file, target string) string {
	if file == "kernels.hip" {
		switch target {
		case "gfx900", "gfx906", "gfx908", "gfx90a", "gfx1010", "gfx1030":
			return "clang-15"
		}
	}
	return "clang-19"
}

// program compiles a file of testdata with clang for a target.
func program(t testing.TB, file, target string, flags ...string) *codeobj.Object {
	t.Helper()
	clang := needs.Program(t, compiler(file, target))
	out := filepath.Join(t.TempDir(), "k.co")
	// Version 4 keeps work-group sizes in the dispatch packet; the hidden arguments of 5 are a runtime's to write.
	cmd := exec.Command(clang, append([]string{"-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "-nogpuinc", "-nogpulib", "-mcode-object-version=4",
		"--offload-arch=" + target, "-o", out, "testdata/" + file}, flags...)...)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if codeobj.IsBundle(b) {
		u, err := codeobj.OpenBundle(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range u.Entries {
			if e.Device {
				b = e.Data
			}
		}
	}
	o, err := codeobj.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// load puts a code object into VRAM and returns its load address.
func (r *rig) load(o *codeobj.Object) uint64 {
	va, b := r.alloc(o.ImageSize())
	for _, s := range o.Segments {
		copy(b[s.VAddr:], s.Data)
	}
	for i := range o.Relocs {
		x := &o.Relocs[i]
		var s uint64
		if x.Symbol != nil {
			s = va + x.Symbol.Value
		}
		v, n, err := x.Value(s, va)
		if err != nil {
			r.t.Fatal(err)
		}
		var raw [8]byte
		binary.LittleEndian.PutUint64(raw[:], v)
		copy(b[x.Offset:], raw[:n])
	}
	return va
}

// code is a rig with a real engine and a loaded program.
type code struct {
	*rig
	o    *codeobj.Object
	base uint64
	q    *testQueue
}

func newCode(t testing.TB, profileName, target string, flags ...string) *code {
	return newCodeOf(t, "kernels.hip", profileName, target, flags...)
}

func newCodeOf(t testing.TB, file, profileName, target string, flags ...string) *code {
	o := program(t, file, target, flags...)
	r := newRigWith(t, profileName, runtime.NumCPU(), interp.New())
	c := &code{rig: r, o: o}
	c.base = r.load(c.o)
	c.q = r.queue(0)
	// Scratch for all, so that no test needs the protocol.
	va, _ := r.alloc(48 << 20)
	q := c.q.record
	q.ScratchBackingMemoryLocation, q.ScratchBackingMemoryByteSize = va, 48<<20
	q.ComputeTmpringSize = 24 | 2048<<12
	q.ScratchResourceDescriptor = [4]uint32{uint32(va), uint32(va>>32) | 1<<31, 48 << 20, 4<<15 | 7<<9 | 6<<6 | 5<<3 | 4}
	if r.d.profile.GfxTargetVersion >= 110000 {
		q.ComputeTmpringSize = 24 | 2304<<12
	}
	if strings.HasPrefix(target, "gfx10") {
		q.ScratchResourceDescriptor[3] = 20<<12 | 7<<9 | 6<<6 | 5<<3 | 4 | 1<<24 | 2<<28
	}
	return c
}

// packet makes a dispatch of a kernel with its arguments laid out.
func (c *code) packet(name string, grid, wg [3]uint32, args ...any) (aql.Packet, *aql.Signal) {
	c.t.Helper()
	k, err := c.o.Kernel(name)
	if err != nil {
		c.t.Fatal(err)
	}
	va, b := c.alloc(4096)
	at := 0
	for _, a := range args {
		switch v := a.(type) {
		case uint64:
			at = (at + 7) &^ 7
			binary.LittleEndian.PutUint64(b[at:], v)
			at += 8
		case uint32:
			binary.LittleEndian.PutUint32(b[at:], v)
			at += 4
		default:
			c.t.Fatalf("argument %T", a)
		}
	}
	sva, s := c.signal(1, 0)
	p := dispatchPacket(c.base+k.DescVA, grid, wg, sva)
	p.KernargAddress = va
	p.GroupSegmentSize, p.PrivateSegmentSize = k.Desc.GroupSegmentFixedSize, k.Desc.PrivateSegmentFixedSize
	return aql.Raw(p), s
}

func (c *code) run(name string, grid, wg [3]uint32, args ...any) {
	c.t.Helper()
	p, s := c.packet(name, grid, wg, args...)
	c.q.put(p)
	c.q.ring()
	end := time.Now().Add(10 * time.Second)
	for atomic.LoadInt64(&s.Value) > 0 {
		select {
		case f := <-c.faults:
			c.t.Fatalf("%s: %s: %s, PC %#x (+%#x), group %v wave %d lane %d", name, f.Kind, f.Text, f.PC, f.PC-c.base, f.WorkgroupID, f.Wave, f.Lane)
		case f := <-c.qfault:
			c.t.Fatalf("%s: %s", name, f.Text)
		default:
		}
		if time.Now().After(end) {
			c.t.Fatalf("%s: timeout: %s", name, c.where())
		}
		time.Sleep(20 * time.Microsecond)
	}
}

func words(b []byte) []uint32 { return unsafe.Slice((*uint32)(unsafe.Pointer(&b[0])), len(b)/4) }

func line(n uint32) [3]uint32 { return [3]uint32{n, 1, 1} }

// TestRealCode runs clang's code on the bare chip: no driver and no runtime.
func TestRealCode(t *testing.T) {
	for _, c := range []struct{ profile, target string }{
		{"mi210", "gfx90a"}, {"radeonvii", "gfx906"}, {"vega64", "gfx900"}, {"rx6900xt", "gfx1030"},
		{"mi100", "gfx908"}, {"rx5700xt", "gfx1010"}, {"mi300x", "gfx942"}, {"rx7900xtx", "gfx1100"}, {"strixhalo", "gfx1151"}, {"rx9070xt", "gfx1201"},
	} {
		for _, opt := range []string{"-O2", "-O0"} {
			t.Run(c.target+opt, func(t *testing.T) {
				c := newCode(t, c.profile, c.target, opt)
				const n = 100*256 - 77
				a, ab := c.alloc(n * 4)
				b, bb := c.alloc(n * 4)
				out, ob := c.alloc(1 << 20)
				aw, bw, ow := words(ab), words(bb), words(ob)
				for i := range n {
					aw[i], bw[i] = math.Float32bits(float32(i)*0.5), math.Float32bits(float32(n-i))
				}
				c.run("vadd", line(n), line(256), a, b, out, uint32(n))
				for i := range n {
					if want := math.Float32bits(float32(i)*0.5 + float32(n-i)); ow[i] != want {
						t.Fatalf("vadd: %d is %#x, want %#x", i, ow[i], want)
					}
				}
				for i := range n {
					aw[i] = rand.Uint32()
				}
				c.run("reduce", line(256*50), line(256), a, out)
				for g := range 50 {
					var sum uint32
					for _, x := range aw[g*256 : g*256+256] {
						sum += x
					}
					if ow[g] != sum {
						t.Fatalf("reduce: group %d is %d, want %d", g, ow[g], sum)
					}
				}
				for k := range 32 {
					aw[k] = uint32(k*7+3) & 31
				}
				c.run("scratch", line(256*20), line(256), a, out)
				for i := range 256 * 20 {
					var m [32]uint32
					for k := range 32 {
						m[aw[k]&31] = uint32(k * i)
					}
					if want := m[aw[i&31]&31] + m[i&31]; ow[i] != want {
						t.Fatalf("scratch: %d is %d, want %d", i, ow[i], want)
					}
				}
				// At -O0 the kernel has scratch, of which there is enough for 24 waves: no more can wait for each other.
				groups := 120
				if opt == "-O0" {
					groups = 3
				}
				count, cb := c.alloc(4)
				c.run("grid_barrier", line(uint32(256*groups)), line(256), count, out, uint32(groups))
				if words(cb)[0] != uint32(groups) {
					t.Errorf("grid_barrier: %d", words(cb)[0])
				}
				for i := range 256 * groups {
					if ow[i] != uint32(groups) {
						t.Fatalf("grid_barrier: %d is %d", i, ow[i])
					}
				}
				grid := [3]uint32{37, 11, 6}
				c.run("dims", grid, [3]uint32{16, 4, 4}, out, grid[0], grid[1])
				for z := range grid[2] {
					for y := range grid[1] {
						for x := range grid[0] {
							if got := ow[(z*grid[1]+y)*grid[0]+x]; got != x|y<<10|z<<20 {
								t.Fatalf("dims: %d %d %d is %#x", x, y, z, got)
							}
						}
					}
				}
				p, _ := c.packet("wild", line(512), line(256), out)
				c.q.put(p)
				c.q.ring()
				select {
				case f := <-c.faults:
					if f.Kind != FaultMemory || f.VA != out+4<<38 || !f.Write || f.WorkItem != [3]uint32{300 - 256, 0, 0} || f.WorkgroupID[0] != 1 {
						t.Errorf("%+v", f)
					}
					name, _, _ := c.o.Function(f.PC - c.base)
					if name != "wild" {
						t.Errorf("the fault is in %q", name)
					}
				case <-time.After(10 * time.Second):
					t.Error("no fault")
				}
			})
		}
	}
}

func TestRealTrap(t *testing.T) {
	c := newCode(t, "mi210", "gfx90a", "-O2")
	p, _ := c.packet("trap", line(64), line(64))
	c.q.put(p)
	c.q.ring()
	c.until(func() bool { return aql.QueueError(atomic.LoadInt64(&c.q.inactive.Value))&0xffffffff == aql.ErrTrap }, "trap code")
	if f := <-c.faults; f.Kind != FaultTrap || f.TrapID != trapAbort {
		t.Errorf("%+v", f)
	}
}

func BenchmarkRealLaunchSync(b *testing.B) {
	c := newCode(b, "mi210", "gfx90a", "-O2")
	a, _ := c.alloc(4096)
	p, s := c.packet("vadd", line(64), line(64), a, a, a, uint32(64))
	b.ResetTimer()
	for b.Loop() {
		atomic.StoreInt64(&s.Value, 1)
		c.q.put(p)
		c.q.ring()
		for atomic.LoadInt64(&s.Value) != 0 {
			runtime.Gosched()
		}
	}
}

func BenchmarkRealVadd(b *testing.B) {
	c := newCode(b, "mi210", "gfx90a", "-O2")
	const n = 1 << 20
	x, _ := c.alloc(n * 4)
	y, _ := c.alloc(n * 4)
	p, s := c.packet("vadd", line(n), line(256), x, y, y, uint32(n))
	b.ResetTimer()
	for b.Loop() {
		atomic.StoreInt64(&s.Value, 1)
		c.q.put(p)
		c.q.ring()
		for atomic.LoadInt64(&s.Value) != 0 {
			time.Sleep(10 * time.Microsecond)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melem/s")
}

// where says what the waves of the chip do.
func (c *code) where() string {
	cu := &c.d.cus
	cu.mu.Lock()
	defer cu.mu.Unlock()
	var b strings.Builder
	for _, k := range cu.list {
		fmt.Fprintf(&b, "%d of %d groups finished, %d resident", k.sched.finished, k.total, k.sched.resident)
		for _, g := range k.sched.ready[:min(len(k.sched.ready), 4)] {
			for i := range g.n {
				fmt.Fprintf(&b, "; group %v wave %d: state %d at +%#x", g.id, i, g.states[i], g.waves[i].PC-c.base)
			}
		}
	}
	return b.String()
}
