// Package code keeps lifted code, shared by all workers of an engine.
//
// The chip fetches instructions through its instruction cache, which is not coherent with stores: a program that writes
// code must invalidate it (s_icache_inv, or the ACQUIRE_MEM packet before a dispatch). Here the cache holds lifted
// functions. They are keyed by what they were lifted for: address space, PC, MODE, wave size, target. After Invalidate a
// function is compared with memory at its next use and lifted again only when its bytes differ.
//
// A run may enter a function at the start of any of its blocks, so the PC after a barrier, which is a block inside the
// function that ran before, finds the same function.
//
// Lock order: Cache.mu, then space.mu; neither is held while code is fetched or lifted.
package code

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
	"github.com/pumice-gpu/pumice/engine/mem"
)

// Lifter makes the IR of the code at pc; lift.Func is the one in use.
type Lifter func(src lift.Source, t *isa.Target, pc uint64, mode uint32, lanes int) (*ir.Func, error)

// Slot names a compiled form that an engine attaches to a Code.
type Slot int

const (
	SlotInterp Slot = iota
	SlotJIT
	SlotStream
	numSlots
)

// Code is one lifted function.
type Code struct {
	Func *ir.Func

	text   []byte        // of [PC+Lo, PC+Hi) when it was lifted
	epoch  atomic.Uint64 // of the space, when text was last known to be memory's
	blocks map[uint32]int
	attach [numSlots]struct {
		once    sync.Once
		v       any
		made    atomic.Bool // v is there
		started atomic.Bool // by AttachLater
	}
}

// Attachment returns the compiled form in slot s, made by the first caller.
func (c *Code) Attachment(s Slot, build func(*ir.Func) any) any {
	a := &c.attach[s]
	a.once.Do(func() {
		a.v = build(c.Func)
		a.made.Store(true)
	})
	return a.v
}

// AttachLater returns the compiled form in slot s if it is there. Otherwise ok is false, and a goroutine makes it.
func (c *Code) AttachLater(s Slot, build func(*ir.Func) any) (v any, ok bool) {
	a := &c.attach[s]
	if a.made.Load() {
		return a.v, true
	}
	if !a.started.Swap(true) {
		go c.Attachment(s, build)
	}
	return nil, false
}

// Block returns the block that starts at pc.
func (c *Code) Block(pc uint64) (int, bool) {
	b, ok := c.blocks[uint32(pc-c.Func.PC)]
	return b, ok && int64(pc-c.Func.PC) == int64(int32(pc-c.Func.PC))
}

// Cache holds the code of all spaces.
type Cache struct {
	lift Lifter

	mu     sync.Mutex
	spaces map[*mem.Space]*space // guarded by mu

	funcs, insts, nanos atomic.Uint64
}

// key is what code is lifted for, but its PC.
type key struct {
	mode   uint32
	lanes  int
	target *isa.Target
}

type space struct {
	epoch atomic.Uint64

	mu    sync.Mutex
	codes map[key]*group // guarded by mu
}

type group struct {
	byPC map[uint64]*pending
}

// pending is a code that may still be in the making.
type pending struct {
	done chan struct{}
	code *Code
	err  error
}

// New returns an empty Cache. A nil lifter means lift.Func.
func New(l Lifter) *Cache {
	if l == nil {
		l = lift.Func
	}
	return &Cache{lift: l, spaces: map[*mem.Space]*space{}}
}

func (c *Cache) space(s *mem.Space) *space {
	c.mu.Lock()
	defer c.mu.Unlock()
	sp := c.spaces[s]
	if sp == nil {
		sp = &space{codes: map[key]*group{}}
		c.spaces[s] = sp
	}
	return sp
}

// Invalidate makes all code of s be compared with memory before its next use.
func (c *Cache) Invalidate(s *mem.Space) { c.space(s).epoch.Add(1) }

// Forget drops all code of s.
func (c *Cache) Forget(s *mem.Space) {
	c.mu.Lock()
	sp := c.spaces[s]
	delete(c.spaces, s)
	c.mu.Unlock()
	if sp != nil {
		sp.epoch.Add(1) // workers' own tables must not answer for a new space at the same address
	}
}

// Stats returns functions and instructions lifted, and nanoseconds spent.
func (c *Cache) Stats() (funcs, insts, nanos uint64) {
	return c.funcs.Load(), c.insts.Load(), c.nanos.Load()
}

// Lookup returns the code to run at pc and the block to enter it at. The error is a *mem.Fault when pc cannot be
// executed.
func (c *Cache) Lookup(s *mem.Space, t *isa.Target, pc uint64, mode uint32, lanes int) (*Code, int, error) {
	code, block, _, err := c.lookup(c.space(s), s, t, pc, mode, lanes)
	return code, block, err
}

func (c *Cache) lookup(sp *space, s *mem.Space, t *isa.Target, pc uint64, mode uint32, lanes int) (*Code, int, uint64, error) {
	k := key{mode, lanes, t}
	for {
		epoch := sp.epoch.Load()
		sp.mu.Lock()
		g := sp.codes[k]
		if g == nil {
			g = &group{byPC: map[uint64]*pending{}}
			sp.codes[k] = g
		}
		p, ok := g.byPC[pc]
		if !ok {
			p = g.covering(pc)
			if p == nil {
				p = &pending{done: make(chan struct{})}
				g.byPC[pc] = p
				sp.mu.Unlock()
				p.code, p.err = c.make(sp, s, t, pc, mode, lanes)
				if p.err != nil {
					sp.drop(g, pc, p)
				} else {
					p.code.epoch.Store(epoch)
				}
				close(p.done)
				return p.code, 0, epoch, p.err
			}
			g.byPC[pc] = p
		}
		sp.mu.Unlock()
		<-p.done
		if p.err != nil {
			return nil, 0, epoch, p.err
		}
		if p.code.epoch.Load() != epoch {
			if !p.code.fresh(s) {
				sp.drop(g, pc, p)
				continue
			}
			p.code.epoch.Store(epoch)
		}
		b, ok := p.code.Block(pc)
		if !ok {
			// An alias whose code was lifted again with other blocks.
			sp.drop(g, pc, p)
			continue
		}
		return p.code, b, epoch, nil
	}
}

// covering returns a finished code with a block at pc.
func (g *group) covering(pc uint64) *pending {
	for _, p := range g.byPC {
		select {
		case <-p.done:
			if p.err == nil {
				if _, ok := p.code.Block(pc); ok {
					return p
				}
			}
		default:
		}
	}
	return nil
}

// drop takes p out of g, under every PC that leads to it.
func (sp *space) drop(g *group, pc uint64, p *pending) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for q, x := range g.byPC {
		if x == p {
			delete(g.byPC, q)
		}
	}
	if g.byPC[pc] == p {
		delete(g.byPC, pc)
	}
}

func (c *Cache) make(sp *space, s *mem.Space, t *isa.Target, pc uint64, mode uint32, lanes int) (code *Code, err error) {
	// Others wait for the result: a bug in the lifter must not leave them waiting.
	defer func() {
		if r := recover(); r != nil {
			code, err = nil, fmt.Errorf("code: lifting %#x: %v", pc, r)
		}
	}()
	src := &source{space: s, known: sp, target: t}
	start := time.Now()
	f, err := c.lift(src, t, pc, mode, lanes)
	if missing := (*lift.FetchError)(nil); errors.As(err, &missing) && src.fault != nil && src.fault.VA>>mem.PageShift == missing.PC>>mem.PageShift {
		return nil, src.fault
	}
	if err != nil {
		return nil, err
	}
	code = &Code{Func: f, blocks: make(map[uint32]int, len(f.Blocks))}
	n := 0
	for i, b := range f.Blocks {
		n += b.Insts
		if b.Insts == 0 && len(b.Code) == 0 && b.Term.Kind == ir.TermExit && b.Term.Exit == ir.ExitFetch && b.Term.Next == b.PC {
			// Its memory was not there: who comes to it looks again, and finds code or a fault, not this block for ever.
			continue
		}
		code.blocks[b.PC] = i
	}
	code.text = fetchAll(s, f)
	c.funcs.Add(1)
	c.insts.Add(uint64(n))
	c.nanos.Add(uint64(time.Since(start)))
	return code, nil
}

// fresh reports whether memory still holds the bytes that c was lifted from.
func (c *Code) fresh(s *mem.Space) bool { return bytes.Equal(c.text, fetchAll(s, c.Func)) }

// fetchAll returns the bytes that f covers; what is not executable is left out.
func fetchAll(s *mem.Space, f *ir.Func) []byte {
	if f.Hi <= f.Lo {
		return nil
	}
	src := &source{space: s}
	buf := make([]byte, f.Hi-f.Lo)
	pc := f.PC + uint64(int64(f.Lo))
	for at := 0; at < len(buf); {
		n := src.Fetch(pc+uint64(at), buf[at:])
		if n == 0 {
			n = min(len(buf)-at, mem.PageSize-int((pc+uint64(at))&(mem.PageSize-1)))
		}
		at += n
	}
	return buf
}

// Local is one worker's view of a Cache: a small table that answers without locks. It belongs to one thread.
type Local struct {
	c     *Cache
	space *mem.Space
	sp    *space
	slots [256]slot
}

type slot struct {
	pc    uint64
	epoch uint64
	key   key
	code  *Code
	block int
}

// NewLocal returns a view of c.
func (c *Cache) NewLocal() *Local { return &Local{c: c} }

func (l *Local) enter(s *mem.Space) {
	if sp := l.c.space(s); sp != l.sp {
		l.space, l.sp = s, sp
		clear(l.slots[:])
	}
}

// Version stands for the state of a space's code: what was looked up holds while it is the same.
type Version struct {
	sp    *space
	epoch uint64
}

// Version returns the present one.
func (l *Local) Version(s *mem.Space) Version {
	if l.space != s {
		l.enter(s)
	}
	return Version{l.sp, l.sp.epoch.Load()}
}

// Lookup is Cache.Lookup.
func (l *Local) Lookup(s *mem.Space, t *isa.Target, pc uint64, mode uint32, lanes int) (*Code, int, error) {
	if l.space != s {
		l.enter(s)
	}
	k := key{mode, lanes, t}
	e := &l.slots[(pc>>2^pc>>10)&255]
	if e.code != nil && e.pc == pc && e.epoch == l.sp.epoch.Load() && e.key == k {
		return e.code, e.block, nil
	}
	l.enter(s) // Forget and a new space at the same address show as a changed epoch of the old one
	code, block, epoch, err := l.c.lookup(l.sp, s, t, pc, mode, lanes)
	if err != nil {
		return nil, 0, err
	}
	*e = slot{pc, epoch, k, code, block}
	return code, block, nil
}
