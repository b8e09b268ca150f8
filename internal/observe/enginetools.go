package observe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
)

// Environment variables of what looks on while kernels run. Each names a folder that exists but for PerfMapVariable, which
// is set or not.
const (
	DumpVariable    = "PUMICE_JIT_DUMP" // gets a file for each compiled function (jit.WriteDump)
	PerfMapVariable = "PUMICE_PERF_MAP" // the process writes /tmp/perf-PID.map for Linux perf
	ProfileVariable = "PUMICE_PROF"     // gets what tools/prof samples: jit.Sampler's files, and code.PID.N, the code objects
)

// Engine attaches the tools that the environment asks for to e.
func Engine(e engine.Engine, code *CodeMap) error {
	if l, ok := e.(interface{ SetLazy(bool) }); ok && os.Getenv(FaultDumpVariable) != "" {
		l.SetLazy(false) // all registers are shown
	}
	dump, profile, perf, exits := os.Getenv(DumpVariable), os.Getenv(ProfileVariable), os.Getenv(PerfMapVariable), os.Getenv(ExitsVariable)
	if dump == "" && profile == "" && perf == "" && exits == "" {
		return nil
	}
	j, ok := e.(interface{ SetTools(jit.Tools) })
	if !ok {
		return fmt.Errorf("%s, %s and %s look at compiled code, and kernels are run by the %s engine", DumpVariable, ProfileVariable, PerfMapVariable, e.Name())
	}
	var t jit.Tools
	var err error
	if perf != "" {
		if t.Perf, err = rt.OpenPerfMap(); err != nil {
			return err
		}
	}
	if profile != "" {
		if t.Sampler, err = jit.NewSampler(profile); err != nil {
			return err
		}
	}
	if exits != "" {
		x, err := newExitCounters(exits, code)
		if err != nil {
			return err
		}
		t.Exits = x.site
	}
	if dump != "" || profile != "" {
		d := &dumper{dir: dump, profile: profile, code: code}
		t.Compiled, t.Listing = d.function, dump != ""
	}
	j.SetTools(t)
	return nil
}

// dumper writes files about compiled functions.
type dumper struct {
	dir, profile string // "" for what is not wanted
	code         *CodeMap
	n            atomic.Int32

	mu    sync.Mutex
	saved map[uint64]bool // load addresses of the code objects that are in profile; guarded by mu
}

func (d *dumper) function(f *ir.Func, p *jit.Program, addr uintptr) {
	o, base, known := d.code.Find(f.PC)
	if d.profile != "" && known {
		d.mu.Lock()
		first := !d.saved[base]
		if d.saved == nil {
			d.saved = make(map[uint64]bool)
		}
		d.saved[base] = true
		d.mu.Unlock()
		if first {
			// The name tells the load address.
			name := filepath.Join(d.profile, fmt.Sprintf("code.%d.%x", os.Getpid(), base))
			if err := os.WriteFile(name, o.Bytes(), 0o644); err != nil {
				Warn(fmt.Sprintf("the profile has no code object: %v", err))
			}
		}
	}
	if d.dir == "" {
		return
	}
	name := fmt.Sprintf("%#x", f.PC)
	if known {
		if s, off, ok := o.Function(f.PC - base); ok {
			if name = s; off != 0 {
				name += fmt.Sprintf("+%#x", off)
			}
		}
	}
	file := filepath.Join(d.dir, fmt.Sprintf("%d-%03d-%s.txt", os.Getpid(), d.n.Add(1), fileName(name)))
	out, err := os.Create(file)
	if err == nil {
		target := isa.TargetByName(f.Target)
		r := &Reporter{isa: target, code: d.code}
		fmt.Fprintf(out, "%s\n", name)
		err = jit.WriteDump(out, p, addr, func(pc uint64) string {
			if !known || pc < base {
				return ""
			}
			return r.instruction(o, base, pc) + sourceLine(o, pc-base)
		})
		if e := out.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		Warn(fmt.Sprintf("--jit-dump: %v", err))
	}
}

// fileName is a symbol as a file's name.
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '/' || r < ' ' {
			return '_'
		}
		return r
	}, s)
	return s[:min(len(s), 100)]
}
