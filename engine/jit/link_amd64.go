//go:build linux && amd64

package jit

import (
	"github.com/pumice-gpu/pumice/engine/code"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// links is a table of links, with the Programs that it leads to.
type links struct {
	table  [numBuckets][2]link
	of     linksOf
	progs  map[uint32]*installed // by serial
	bases  bool                  // some of them read the hardware register of the apertures
	filled bool
}

// linksOf is what the entries of a table hold for.
type linksOf struct {
	version     code.Version
	target      *isa.Target
	lanes       int
	nvgpr, nacc int
	forms       uint64 // Engine.forms
}

func (l *links) reset(of linksOf) {
	if l.progs == nil || l.filled {
		for i := range l.table {
			l.table[i] = [2]link{{pc: noPC}, {pc: noPC}}
		}
		l.progs, l.bases, l.filled = map[uint32]*installed{}, false, false
	}
	l.of = of
}

// noLinks leads nowhere.
var noLinks = func() *links {
	l := &links{}
	l.reset(linksOf{})
	return l
}()

// linkSets is how many tables a worker keeps: work-groups of several kernels may take turns.
const linkSets = 4

// useLinks makes the machine use the table for w, or none while t measures one Program.
func (k *Worker) useLinks(w *wave.Wave, t *trial) {
	if t != nil {
		k.m.links = noLinks
		return
	}
	of := linksOf{k.local.Version(w.Space), w.Target, w.Lanes, w.NVGPR, w.NAcc, k.e.forms.Load()}
	if l := k.m.links; l != nil && l != noLinks && l.of == of {
		return
	}
	for _, l := range k.links {
		if l != nil && l.of == of {
			k.m.links = l
			return
		}
	}
	l := &k.links[k.nextLinks]
	k.nextLinks = (k.nextLinks + 1) % linkSets
	if *l == nil {
		*l = &links{}
	}
	(*l).reset(of)
	k.m.links = *l
}

// link notes that w's PC is where x says, for the next jump there.
func (k *Worker) link(w *wave.Wave, x *recent) {
	l, ip := k.m.links, x.ip
	if b := ip.better.Load(); b != nil {
		ip = b
	}
	if l == noLinks || len(ip.affines) > 0 || ip.kinds || x.version != l.of.version || ip.Serial == 0 || ip.soft.Load() != nil || !w.Holds(ip.regs) || ip.MXCSR != rt.MXCSRDefault {
		return
	}
	e := &l.table[linkBucket(x.pc)]
	for i := range e {
		if e[i].pc == x.pc && e[i].mode == x.mode {
			return // it came here because its fuel was out
		}
	}
	if k.m.needFrame(ip.Frame) != nil {
		return
	}
	l.filled = true
	l.progs[ip.Serial] = ip
	l.bases = l.bases || ip.bases
	e[1] = e[0]
	e[0] = link{pc: x.pc, host: uint64(ip.code.Addr() + uintptr(ip.Entry[x.block])), mode: x.mode, id: ip.ID}
}

// elsewhere tells whether a run ended because its code goes on in another Program.
func elsewhere(e ir.Exit) bool {
	return e == ir.ExitIndirect || e == ir.ExitMode || e == ir.ExitFetch
}

// account notes that n guest instructions have run, from ip on; it returns what is to run in ip's place from now on, if there is such. Of a run through several
// Programs the one that was there at its end stands for all, as in a sample.
func (k *Worker) account(ip *installed, t *trial, n int64) *installed {
	last := ip
	if t == nil {
		last = k.m.last
	}
	if t != nil || k.m.denormals {
		if last != ip {
			k.soften(last)
		}
		k.ran(ip, t, n)
	}
	if last.quick {
		if b := k.e.earn(last, n); last == ip {
			return b
		}
	}
	return nil
}
