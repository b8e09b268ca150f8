package jit

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit/x86"
)

// Jumps that leave a Program (calls, returns, jumps to computed addresses, code behind a change of MODE or beyond the end of what was lifted) go
// straight to the code of their target when the worker's table of links knows it; otherwise they leave for Go, which looks it up, runs it, and
// notes it in the table (link_amd64.go). A table is of one state of the space's code, one target and wave size, and waves with
// as many registers, so its entries need no more than the PC and MODE to be right. Only Go changes tables, between runs.

// link is an entry of a table. Compiled code addresses it by offset.
type link struct {
	pc   uint64 // noPC: empty
	host uint64 // its code
	mode uint32
	id   uint32 // Program.ID
	_    uint64
}

// noPC is no address of code: those are multiples of four.
const noPC = 1

const (
	linkHost = int32(unsafe.Offsetof(link{}.host))
	linkMode = int32(unsafe.Offsetof(link{}.mode))
	linkID   = int32(unsafe.Offsetof(link{}.id))
)

// A table is of buckets of two links, a cache line each; a PC's links can be in one of them only.
const (
	numBuckets = 256
	linkHash   = 0x9e3779b1 // the top byte of its product with the PC numbers the bucket
)

func linkBucket(pc uint64) int { return int(uint32(pc) * linkHash >> 24) }

var _ [32]byte = [unsafe.Sizeof(link{})]byte{}

// jumpOut emits the jump to the guest PC in RAX, behind spend, whose flags it wants; it goes to out when there is no fuel or no link.
func (c *compiler) jumpOut(out x86.Label) {
	a := &c.a
	a.Jcc(x86.L, out)
	a.G(x86.MOV, 8, x86.RDX, x86.M(rFrame, frameLinks))
	hash := uint32(linkHash)
	a.IMulI(4, x86.RCX, x86.R(x86.RAX), int32(hash))
	a.GI8(x86.SHR, 4, x86.R(x86.RCX), 24-3)
	a.AluI(x86.AND, 4, x86.R(x86.RCX), (numBuckets-1)<<3)
	a.G(x86.MOV, 4, x86.R8, x86.M(rState, offS+4*isa.SRegMODE))
	second := a.NewLabel()
	c.jumpLink(0, second)
	c.tails = append(c.tails, func() {
		a.Bind(second)
		c.jumpLink(int32(unsafe.Sizeof(link{})), out)
	})
}

// jumpLink emits the jump by the link at off in the bucket, to other when that is of another PC or MODE.
func (c *compiler) jumpLink(off int32, other x86.Label) {
	a := &c.a
	at := func(field int32) x86.RM { return x86.MX(x86.RDX, x86.RCX, 8, off+field) }
	a.Alu(x86.CMP, 8, x86.RAX, at(0))
	a.Jcc(x86.NE, other)
	a.Alu(x86.CMP, 4, x86.R8, at(linkMode))
	a.Jcc(x86.NE, other)
	if c.m.Sample {
		a.G(x86.MOV, 4, x86.RAX, at(linkID))
		a.GS(x86.MOVS, 4, x86.M(rFrame, frameFunc), x86.RAX)
	}
	a.JmpR(at(linkHost))
}

// ret returns to Go for a reason. RAX also says which Program it is that returns.
func (c *compiler) ret(why uint64) {
	c.a.MovI(x86.RAX, why|uint64(c.m.Serial)<<retBits)
	c.a.Ret()
}

// retBits is how many bits of RAX are the reason.
const retBits = 8

// maxSerial is the greatest Program.Serial.
const maxSerial = 1<<(32-retBits) - 1
