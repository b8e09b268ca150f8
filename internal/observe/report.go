package observe

import (
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/silicon"
)

// Reporter tells people what a wave did wrong, before the runtime above hears of it and ends the program.
//
// All waves of a grid tend to fault alike, so a kernel's faults at one instruction are reported once.
type Reporter struct {
	out  io.Writer
	gpu  string // profile name
	isa  *isa.Target
	code *CodeMap
	dump *faultDump // nil unless the environment asks
	// around is as in NewReporter.
	around func(va uint64) (holding, below, above [2]uint64)

	mu   sync.Mutex
	seen map[[2]uint64]bool // kernel object and PC; guarded by mu
}

// NewReporter is the Reporter of a GPU, with its profile's name and its target. It writes to out. around finds the mappings next to an address:
// address and size of the one that holds it, or of those below and above; sizes are 0 where there is none.
func NewReporter(out io.Writer, gpu string, target *isa.Target, code *CodeMap, around func(va uint64) (holding, below, above [2]uint64)) *Reporter {
	return &Reporter{out: out, gpu: gpu, isa: target, code: code, dump: newFaultDump(), around: around}
}

// maxReports bounds what one process prints of different faults.
const maxReports = 20

// Fault is the silicon's hook.
func (r *Reporter) Fault(f *silicon.FaultInfo) {
	r.mu.Lock()
	key := [2]uint64{f.KernelObject, f.PC}
	known := r.seen[key] || len(r.seen) >= maxReports
	if r.seen == nil {
		r.seen = make(map[[2]uint64]bool)
	}
	r.seen[key] = true
	r.mu.Unlock()
	if !known {
		fmt.Fprint(r.out, r.text(f))
		if r.dump != nil {
			r.dump.write(r, f)
		}
	}
}

func (r *Reporter) text(f *silicon.FaultInfo) string {
	var s string
	line := func(format string, args ...any) { s += "pumice: " + fmt.Sprintf(format, args...) + "\n" }
	switch f.Kind {
	case silicon.FaultMemory, silicon.FaultViolation:
		access := "read"
		if f.Write {
			access = "write"
		}
		if f.Exec {
			access = "instruction fetch"
		}
		why := ""
		if f.Kind == silicon.FaultMemory {
			why = "page not present"
			if !f.NotPresent {
				why = "no right to"
			}
			why = " (" + why + ")"
		}
		line("%s on %s: %s at address %#x%s", f.Kind, r.gpu, access, f.VA, why)
	default:
		line("%s on %s: %s", f.Kind, r.gpu, f.Text)
	}
	line("  kernel %s", r.kernel(f))
	line("  instruction at %s", r.place(f))
	who := fmt.Sprintf("work-group (%d,%d,%d) of a grid of (%d,%d,%d) work-items, wave %d", f.WorkgroupID[0], f.WorkgroupID[1],
		f.WorkgroupID[2], f.Grid[0], f.Grid[1], f.Grid[2], f.Wave)
	if f.Lane >= 0 {
		who += fmt.Sprintf(", lane %d: work-item (%d,%d,%d)", f.Lane, f.WorkItem[0], f.WorkItem[1], f.WorkItem[2])
	}
	line("  %s", who)
	switch f.Kind {
	case silicon.FaultMemory:
		line("  %s", r.nearest(f.VA))
	case silicon.FaultViolation:
		line("  %s", f.Text)
	}
	return s
}

// kernel names the kernel that was launched.
func (r *Reporter) kernel(f *silicon.FaultInfo) string {
	if o, base, ok := r.code.Find(f.Entry); ok {
		if name, _, ok := o.Function(f.Entry - base); ok {
			return name
		}
	}
	return fmt.Sprintf("without a known name, descriptor at %#x", f.KernelObject)
}

// place says where an instruction is, in the source if there is debug information, and what it is.
func (r *Reporter) place(f *silicon.FaultInfo) string {
	where := fmt.Sprintf("%#x", f.PC)
	if o, base, ok := r.code.Find(f.PC); ok {
		if name, offset, ok := o.Function(f.PC - base); ok {
			where = fmt.Sprintf("%s+%#x", name, offset)
		}
		where += sourceLine(o, f.PC-base)
		if text := r.instruction(o, base, f.PC); text != "" {
			where += ": " + text
		}
	}
	return where
}

func sourceLine(o *codeobj.Object, va uint64) string {
	l, ok := o.Line(va)
	if !ok || l.Line == 0 {
		return ""
	}
	return fmt.Sprintf(" in %s:%d", filepath.Base(l.File), l.Line)
}

// maxInst is the longest instruction in bytes.
const maxInst = 20

func (r *Reporter) instruction(o *codeobj.Object, base, pc uint64) string {
	for n := uint64(maxInst); n > 0; n -= 4 { // shorter at the end of a segment
		code, ok := o.At(pc-base, n)
		if !ok {
			continue
		}
		var in isa.Inst
		if isa.Decode(r.isa, code, &in) != nil {
			return ""
		}
		return isa.Disasm(&in, r.isa, pc)
	}
	return ""
}

// nearest says where an address lies between the mappings of the GPU's address space.
func (r *Reporter) nearest(va uint64) string {
	holding, below, above := r.around(va)
	describe := func(m [2]uint64) string { return fmt.Sprintf("mapping %#x-%#x (%d bytes)", m[0], m[0]+m[1], m[1]) }
	if holding[1] != 0 {
		return fmt.Sprintf("%d bytes inside the %s", va-holding[0], describe(holding))
	}
	afterBelow, beforeAbove := va-(below[0]+below[1]), above[0]-va
	switch {
	case below[1] == 0 && above[1] == 0:
		return "nothing is mapped"
	case above[1] == 0 || below[1] != 0 && afterBelow <= beforeAbove:
		return fmt.Sprintf("%d bytes after the end of the nearest %s", afterBelow, describe(below))
	default:
		return fmt.Sprintf("%d bytes before the nearest %s", beforeAbove, describe(above))
	}
}
