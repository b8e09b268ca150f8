package code

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// source reads instruction memory of a space.
type source struct {
	space  *mem.Space
	fault  *mem.Fault // of the last Fetch that did not get all
	known  *space     // what was lifted before
	target *isa.Target
}

// Fetch implements lift.Source.
func (s *source) Fetch(pc uint64, dst []byte) int {
	n := 0
	for n < len(dst) {
		host, avail, _, f := s.space.Translate(pc+uint64(n), mem.Exec)
		if f != nil {
			f.Lane = -1
			s.fault = f
			break
		}
		m := min(uint64(len(dst)-n), max(avail, 1))
		copy(dst[n:], unsafe.Slice((*byte)(host), m))
		n += int(m)
	}
	return n
}

// VGPRs implements lift.Surrounded: of the functions of any MODE whose code lies around pc.
func (s *source) VGPRs(pc uint64) (n int) {
	for _, c := range s.known.around(pc, s.target) {
		n = max(n, c.vgprs())
	}
	return n
}

// around returns the finished codes for t that lie around pc.
func (sp *space) around(pc uint64, t *isa.Target) (codes []*Code) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for k, g := range sp.codes {
		if k.target != t {
			continue
		}
		for at, p := range g.byPC {
			select {
			case <-p.done:
				if p.err == nil && at == p.code.Func.PC && p.code.holds(pc) {
					codes = append(codes, p.code)
				}
			default:
			}
		}
	}
	return codes
}

// holds tells whether pc lies between c's first and last instruction.
func (c *Code) holds(pc uint64) bool {
	at := int64(pc - c.Func.PC)
	return at >= int64(c.Func.Lo) && at < int64(c.Func.Hi)
}

// vgprs is how many vector registers c names.
func (c *Code) vgprs() (n int) {
	for i := range c.Func.Values {
		if v := &c.Func.Values[i]; (v.Op == ir.OpVGet || v.Op == ir.OpVSet) && v.Imm < 256 {
			n = max(n, int(v.Imm)+1)
		}
	}
	return n
}
