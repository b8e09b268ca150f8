//go:build linux && amd64

package jit

import (
	"fmt"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/jit/rt"
	"github.com/pumice-gpu/pumice/engine/mem"
	"github.com/pumice-gpu/pumice/engine/wave"
)

// installed is a Program in executable memory.
type installed struct {
	*Program
	code rt.Code
}

// install puts p into m.
func install(m *rt.CodeMemory, p *Program) (*installed, error) {
	c, err := m.Install(p.Code)
	if err != nil {
		return nil, err
	}
	return &installed{p, c}, nil
}

// machine is what one thread needs to run compiled code.
type machine struct {
	frame []byte
	tlb   *mem.TLB
	slow  slowPath
}

// slowPath does the operations that need memory or the wave's environment.
type slowPath interface {
	// do performs operation o of w. A result other than ExitNone leaves the wave.
	do(w *wave.Wave, o *operands) ir.Exit
}

// needFrame makes the frame at least n bytes.
func (m *machine) needFrame(n int) error {
	if len(m.frame) >= n {
		return nil
	}
	b, err := rt.Memory(n + n/2)
	if err != nil {
		return err
	}
	if m.frame != nil {
		rt.Free(m.frame)
	}
	m.frame = b
	for l := range 64 {
		*(*uint32)(unsafe.Pointer(&b[frameLane+4*l])) = uint32(l)
		below := uint64(1)<<uint(l) - 1
		*(*uint32)(unsafe.Pointer(&b[frameBelowLo+4*l])) = uint32(below)
		*(*uint32)(unsafe.Pointer(&b[frameBelowHi+4*l])) = uint32(below >> 32)
	}
	return nil
}

func (m *machine) close() {
	if m.frame != nil {
		rt.Free(m.frame)
		m.frame = nil
	}
}

// execute runs p from block b until it leaves; fuel runs out as w.Fuel says. w.PC and w.Arg are set for the exit.
func (m *machine) execute(w *wave.Wave, p *installed, b int) ir.Exit {
	if err := m.needFrame(p.Frame); err != nil {
		w.Illegal = err.Error()
		return ir.ExitIllegal
	}
	at := p.code.Addr() + uintptr(p.Entry[b])
	frame := unsafe.Pointer(&m.frame[0])
	w.TLB = uint64(uintptr(unsafe.Pointer(&m.tlb.Entries[0])))
	for {
		switch rt.Enter(at, w.Base, frame, 0, p.MXCSR) {
		case retExit:
			e := ir.Exit(w.Exit)
			if e == ir.ExitIllegal {
				w.Illegal = p.Func.Blocks[*(*uint32)(unsafe.Add(frame, frameOp))].Term.Msg
			}
			return e
		case retFuel:
			return ir.ExitFuel
		case retHelper:
			id := ir.ID(*(*uint32)(unsafe.Add(frame, frameOp)))
			o := operands{f: p.Func, h: p.slots[id], v: p.Func.V(id), state: w.Base, frame: frame}
			if DebugHelpers != nil {
				DebugHelpers[fmt.Sprintf("%s %s %s->%s space=%v w=%d @%d", o.v.Op, o.v.Type, o.v.From, o.v.Kind, o.v.Space, o.v.Width, o.v.PC)]++
			}
			if !o.pure() {
				if e := m.slow.do(w, &o); e != ir.ExitNone {
					w.PC = p.Func.PC + uint64(int64(int32(o.v.PC)))
					return e
				}
			}
			at = *(*uintptr)(unsafe.Add(frame, frameResume))
		}
	}
}
