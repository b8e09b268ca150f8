//go:build linux && amd64

package jit

import (
	"fmt"
	"runtime/debug"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// known is the recent entry of w's PC, or nil.
func (k *Worker) known(w *wave.Wave) *recent {
	x := &k.recent[(w.PC>>2^w.PC>>8)%uint64(len(k.recent))]
	if x.pc != w.PC || x.version != k.local.Version(w.Space) || x.mode != w.S[isa.SRegMODE] || x.lanes != w.Lanes || x.target != w.Target || !w.Holds(x.regs) {
		return nil
	}
	if b := x.ip.better.Load(); b != nil {
		x.ip = b
	}
	return x
}

// RunCrew implements engine.CrewRunner.
func (k *Worker) RunCrew(ws []wave.Wave, down bool) (i int, exit ir.Exit, arrived uint64, passed bool) {
	w, way := &ws[0], uint32(0)
	if down {
		w, way = &ws[len(ws)-1], crewDown
	}
	first := k.known(w)
	if first == nil || first.ip.barriers == 0 || k.held != w.Space || len(ws) > maxCrew {
		return -1, 0, 0, false
	}
	base, block := first.ip, first.block
	ip, t := k.pick(base)
	for n := range ws {
		w := &ws[n]
		x := k.known(w)
		if x == nil || x.ip != base {
			return -1, 0, 0, false
		}
		w.Spare[crewResume] = uint64(ip.code.Addr() + uintptr(ip.Entry[x.block]))
	}
	if k.tlb.Stale() {
		k.tlb.Sync()
	}
	k.useLinks(&ws[0], t)
	if err := k.m.needFrame(ip.Frame); err != nil {
		return -1, 0, 0, false
	}
	frame := unsafe.Pointer(&k.m.frame[0])
	turn := (*uint64)(unsafe.Add(frame, frameTurn))
	*turn = 1
	*(*uint32)(unsafe.Add(frame, frameLeft)) = uint32(len(ws))
	*(*uint32)(unsafe.Add(frame, frameWay)) = way
	*(*uint32)(unsafe.Add(frame, frameOrder)) = 0
	slice := max(sliceFuel/int64(len(ws)), 1000)
	if t != nil && t.going() {
		slice = trialFuel
	}
	left := &k.crewFuel
	tlb := uint64(uintptr(unsafe.Pointer(&k.tlb.Entries[0])))
	for n := range ws {
		w := &ws[n]
		next, back := &ws[(n+1)%len(ws)], &ws[(n+len(ws)-1)%len(ws)]
		w.TLB = tlb
		w.Spare[crewNext], w.Spare[crewBack] = uint64(uintptr(next.Base)), uint64(uintptr(back.Base))
		w.Spare[crewTop] = uint64(uintptr(ws[len(ws)-1].Base))
		w.Spare[crewTurn], w.Spare[crewSize], w.Spare[crewKinds] = 0, uint64(len(ws)), 0
		w.Spare[crewIndex], w.Spare[crewProg] = uint64(n), uint64(ip.ID)
		k.crewStart[n] = w.Fuel
		left[n] = w.Fuel - min(w.Fuel, slice)
		w.Fuel -= left[n]
	}
	k.m.crew = ws
	defer func() {
		if r := recover(); r != nil {
			exit = ir.ExitIllegal
			w.Illegal = fmt.Sprintf("jit: internal error at %#x: %v\n%s", w.PC, r, debug.Stack())
		}
		passed = *turn > 1
		used := int64(0)
		k.m.crew = nil
		for n := range ws {
			w := &ws[n]
			w.Fuel += left[n]
			used += k.crewStart[n] - w.Fuel
			w.Spare[crewNext], w.Spare[crewBack] = 0, 0
			if w.Spare[crewTurn] == *turn {
				arrived |= 1 << n
				w.Exit = uint32(ir.ExitBarrier)
			}
		}
		k.account(base, t, used)
		i = int(w.Spare[crewIndex])
		switch {
		case exit == ir.ExitFuel && w.Fuel < 0:
		case exit == ir.ExitFuel || exit == ir.ExitIndirect || exit == ir.ExitMode || exit == ir.ExitFetch:
			exit = k.runFrom(w, exit) // goes on where the others' code does not
		case exit == ir.ExitICache:
			k.e.InvalidateCode(w.Space)
			exit = k.Run(w)
		}
		w.Exit = uint32(exit)
	}()
	for {
		if w, exit = k.m.run(w, ip, block); exit != ir.ExitFuel {
			return
		}
		n := w.Spare[crewIndex]
		x := k.known(w)
		if left[n] == 0 || w.Fuel+left[n] < 0 || x == nil || x.ip != base || t != nil && t.going() {
			return
		}
		if k.tlb.Stale() {
			k.tlb.Sync()
		}
		more := min(left[n], slice)
		left[n] -= more
		w.Fuel += more
		block = x.block
	}
}

var _ engine.CrewRunner = (*Worker)(nil)
