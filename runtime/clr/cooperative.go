package clr

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/abi/codeobj"
)

// Cooperative launches. All work-groups of a cooperative kernel are resident at once, and meet in grid.sync(). What the
// device library meets at depends on the chip (ROCm-Device-Libs, ockl/src/cg.cl):
//
//   - Global wave sync (GWS): hardware barriers. Only one queue of a process may have them, so the kernels of all streams go
//     through one hardware queue of their own, where a small kernel in front sets the barrier to the number of work-groups.
//     The hidden argument hidden_multigrid_sync_arg only says that the launch is cooperative: 1.
//   - Memory, on gfx94x and from gfx11 on: two words in the structure that hidden_multigrid_sync_arg points at.
type cooperative struct {
	once sync.Once
	err  error    // set by once
	hw   *hwQueue // set by once

	init uint64 // kernel object that sets GWS resource 0; 0 where there is none. Set by once
}

// MultiGrid is the part of a launch in a cooperative launch on several devices.
type MultiGrid struct {
	Sync   uint64 // address of two words, 0 at first, where the devices meet
	ID     uint32 // of this device's grid
	Grids  uint32
	Before uint64 // work-items of the grids in front
	All    uint64 // work-items of all grids
}

// multiGrids is memory of the host where the devices of launches meet; a launch takes the next place.
type multiGrids struct {
	mu   sync.Mutex
	mem  *Memory // guarded by mu
	next uint64  // guarded by mu
}

// MultiGridSync returns a place for the devices of one cooperative launch to meet at. It is used again after as many launches as there are places.
func (r *Runtime) MultiGridSync() (uint64, error) {
	const size, line = 64 << 10, 64
	g := &r.grids
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mem == nil {
		m, err := r.Devices[0].AllocHost(size, HostMemory, true)
		if err != nil {
			return 0, err
		}
		g.mem = m
	}
	off := g.next % size
	g.next += line
	clear(g.mem.Bytes()[off : off+line])
	return g.mem.Ptr + off, nil
}

// gridInfo is what hidden_multigrid_sync_arg points at (struct mg_info). Of a launch on one device only the last two count.
const (
	gridInfoSync   = 0 // address of the words where devices meet
	gridInfoID     = 8
	gridInfoGrids  = 12
	gridInfoBefore = 16
	gridInfoAll    = 24
	// Two words at offset 32 are where the groups meet, both 0 at first: arrivals in bits 15:0 and rounds above; unused.
	gridInfoCount = 40 // work-groups
)

// syncsInMemory reports whether a target's device library meets in memory.
func syncsInMemory(p *codeobj.Processor) bool {
	return p.Major == 9 && p.Minor >= 4 || p.Major >= 11
}

func (d *Device) processor() *codeobj.Processor { return d.Agent.Target.Proc }

// cooperativeQueue returns the device's queue for cooperative kernels.
func (d *Device) cooperativeQueue() (*cooperative, error) {
	c := &d.coop
	c.once.Do(func() {
		if c.hw, c.err = d.newHW(); c.err != nil {
			return
		}
		if d.Agent.Node.Props["num_gws"] == 0 {
			return
		}
		if c.err = c.hw.q.AllocGWS(1); c.err != nil {
			return
		}
		c.init, c.err = d.loadGWSInit(c.hw)
	})
	return c, c.err
}

// gwsInitWords is code that stores its first kernel argument into the counter of GWS resource 0, by generation. Compilers make
// the same of __builtin_amdgcn_ds_gws_init(value, 0).
var gwsInitWords = map[int][]uint32{
	9: {
		0xc0020000, 0x00000000, // s_load_dword s0, s[0:1], 0x0
		0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
		0x7e000200,             // v_mov_b32_e32 v0, s0
		0xbefc0080,             // s_mov_b32 m0, 0
		0xbf800000,             // s_nop 0
		0xd9330000, 0x00000000, // ds_gws_init v0 gds
		0xbf8c0000, // s_waitcnt 0
		0xbf810000, // s_endpgm
	},
	10: {
		0xf4000000, 0xfa000000, // s_load_dword s0, s[0:1], null
		0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
		0x7e000200,             // v_mov_b32_e32 v0, s0
		0xbefc0380,             // s_mov_b32 m0, 0
		0xbf800000,             // s_nop 0
		0xd8660000, 0x00000000, // ds_gws_init v0 gds
		0xbf8c0000, // s_waitcnt 0
		0xbf810000, // s_endpgm
	},
}

// loadGWSInit writes the kernel to memory and returns the address of its descriptor; 0 where kernels do not use GWS.
func (d *Device) loadGWSInit(hw *hwQueue) (uint64, error) {
	p := d.processor()
	if syncsInMemory(p) {
		return 0, nil
	}
	m, err := hw.args.alloc(4096)
	if err != nil {
		return 0, err
	}
	const entry = 256
	desc := codeobj.Descriptor{KernargSize: 8, EntryOffset: entry, Properties: codeobj.EnableKernargSegmentPtr,
		RSRC2: 2 << 1} // two user SGPRs: the address of the arguments
	b := m.Bytes()
	raw := desc.Encode()
	copy(b, raw[:])
	for i, w := range gwsInitWords[p.Major] {
		binary.LittleEndian.PutUint32(b[entry+4*i:], w)
	}
	return m.Addr, nil
}

// groups counts the work-groups of a launch.
func (l *Launch) groups() uint64 {
	return uint64(ceil(l.Grid.X, l.Block.X)) * uint64(ceil(l.Grid.Y, l.Block.Y)) * uint64(ceil(l.Grid.Z, l.Block.Z))
}

// launchCooperative is launch on the cooperative queue. For the stream it is a command of another engine: it waits for what is in
// front by signals, and what follows waits for its event. q.mu is held.
func (q *HostQueue) launchCooperative(k *Kernel, l *Launch, extra []*Event, heap uint64, began time.Time) (*Event, error) {
	c, err := q.dev.cooperativeQueue()
	if err != nil {
		return nil, err
	}
	hw := c.hw
	if k.needs(codeobj.HiddenHostcallBuffer) {
		if err := hw.startHostcall(q.dev); err != nil {
			return nil, err
		}
	}
	deps, sigs, err := q.depsLocked(extra)
	if err != nil {
		return nil, err
	}
	e, err := q.dev.newEvent(deps)
	if err != nil {
		return nil, err
	}
	var pkts []*aql.Packet
	for len(sigs) > 0 {
		n := min(len(sigs), 5)
		p := barrier(sigs[:n], nil)
		pkts, sigs = append(pkts, &p), sigs[n:]
	}
	hw.args.mu.Lock()
	defer hw.args.mu.Unlock()
	// One piece of the ring holds what the packets of this launch use: the counter, the grid's structure, the arguments.
	const counter, info = 0, 64
	at := max(128, uint64(k.KernargSegmentAlign))
	m, err := hw.args.take(hw.q, at+k.argSize, at, nil)
	if err != nil {
		return nil, q.submitError(err)
	}
	clear(m.b[:at])
	binary.LittleEndian.PutUint32(m.b[counter:], uint32(l.groups()-1))
	binary.LittleEndian.PutUint32(m.b[info+gridInfoCount:], uint32(l.groups()))
	run := *l
	run.gridSync = 1
	if g := l.Multi; g != nil {
		binary.LittleEndian.PutUint64(m.b[info+gridInfoSync:], g.Sync)
		binary.LittleEndian.PutUint32(m.b[info+gridInfoID:], g.ID)
		binary.LittleEndian.PutUint32(m.b[info+gridInfoGrids:], g.Grids)
		binary.LittleEndian.PutUint64(m.b[info+gridInfoBefore:], g.Before)
		binary.LittleEndian.PutUint64(m.b[info+gridInfoAll:], g.All)
	}
	if syncsInMemory(q.dev.processor()) || l.Multi != nil {
		run.gridSync = m.addr + info
	}
	if c.init != 0 {
		p := aql.Raw(aql.DispatchPacket{
			Header: aql.MakeHeader(aql.KernelDispatch, true, aql.ScopeSystem, aql.ScopeSystem), Setup: 1,
			WorkgroupSizeX: 1, WorkgroupSizeY: 1, WorkgroupSizeZ: 1, GridSizeX: 1, GridSizeY: 1, GridSizeZ: 1,
			KernelObject: c.init, KernargAddress: m.addr + counter,
		})
		pkts = append(pkts, &p)
	}
	k.fill(kernarg{m.addr + at, m.b[at:]}, &run, hw, heap)
	run.AnyOrder = false
	p := k.packet(&run, m.addr+at, e.sig.Handle())
	pkts = append(pkts, &p)
	idx, err := hw.q.Submit(pkts...)
	if err != nil {
		return nil, q.submitError(err)
	}
	hw.args.used(idx)
	q.tail = tail{ev: e}
	if h := q.dev.rt.hooks.Launched; h != nil {
		h(&LaunchInfo{Began: began, Kernel: k, Launch: l, Stream: q, Queue: hw.q.ID(), Record: hw.q.Addr(), Packet: idx, Args: m.addr + at,
			Done: uint64(e.sig.Handle())})
	}
	if !l.Timed {
		return nil, nil
	}
	return e, nil
}
