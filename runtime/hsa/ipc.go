package hsa

import (
	"sync/atomic"

	"github.com/pumice-gpu/pumice/abi/aql"
	"github.com/pumice-gpu/pumice/runtime/hsakmt"
)

// SharedHandle names memory or a signal in other processes: hsa_amd_ipc_memory_t, hsa_amd_ipc_signal_t.
type SharedHandle = hsakmt.SharedHandle

// Share makes a handle of an allocation. It is valid as long as the memory is there.
func (r *Runtime) Share(m *Memory) (SharedHandle, error) {
	h, err := r.kfd.Share(m.mem)
	m.partOf(&h)
	return h, wrap("ipc_memory_create", err)
}

// Attach maps memory of another process, for the given agents. Free detaches it.
func (r *Runtime) Attach(h SharedHandle, agents ...*Agent) (*Memory, error) {
	const op = "ipc_memory_attach"
	offset, size := takePart(&h)
	km, err := r.kfd.OpenShared(h)
	if err != nil {
		return nil, wrap(op, err)
	}
	var nodes []int
	var pool *Pool
	for _, a := range r.agents {
		if a.Node.ID == km.Node {
			pool = a.Pool(PoolCoarseGrained)
			if !a.IsGPU() {
				pool = a.Pool(PoolFineGrained)
			}
		}
	}
	for _, a := range agents {
		if a.IsGPU() {
			nodes = append(nodes, a.Node.ID)
		}
	}
	if err := r.kfd.Map(km, nodes...); err != nil {
		_ = r.kfd.Free(km)
		return nil, wrap(op, err)
	}
	m := &Memory{Addr: km.VA, Host: km.Host, Size: km.Size, Pool: pool, Attached: true, mem: km}
	if size > 0 {
		if offset+size > km.Size {
			_ = r.kfd.Free(km)
			return nil, fail(op, StatusInvalidArgument)
		}
		m.Addr, m.Size = m.Addr+offset, size
		if m.Host != 0 {
			m.Host += offset
		}
	}
	r.kfd.SetUserData(km, m)
	return m, nil
}

// NewSharedSignal makes a signal that other processes can attach. It has memory of its own and no interrupt: waiting for it is polling.
func (r *Runtime) NewSharedSignal(initial int64) (*Signal, error) {
	m, err := r.systemAlloc(hsakmt.PageSize, hsakmt.Uncached)
	if err != nil {
		return nil, wrap("signal_create", err)
	}
	s := r.signalIn(m)
	*s.rec = aql.Signal{Kind: aql.SignalUser}
	atomic.StoreInt64(&s.rec.Value, initial)
	return s, nil
}

// signalIn is the signal at the start of memory that is its own.
func (r *Runtime) signalIn(m *hsakmt.Mem) *Signal {
	s := &Signal{rt: r, addr: m.VA, rec: (*aql.Signal)(hostPointer(m.VA)), shared: m}
	p := &r.signals
	p.mu.Lock()
	p.table[s.addr] = s
	p.mu.Unlock()
	return s
}

// ShareSignal makes a handle of a shared signal.
func (r *Runtime) ShareSignal(s *Signal) (SharedHandle, error) {
	const op = "ipc_signal_create"
	if s.shared == nil {
		return SharedHandle{}, fail(op, StatusInvalidArgument, "the signal was not made for sharing")
	}
	h, err := r.kfd.Share(s.shared)
	return h, wrap(op, err)
}

// AttachSignal returns the signal of another process.
func (r *Runtime) AttachSignal(h SharedHandle) (*Signal, error) {
	const op = "ipc_signal_attach"
	m, err := r.kfd.OpenShared(h)
	if err != nil {
		return nil, wrap(op, err)
	}
	if m.Size != hsakmt.PageSize || m.Host == 0 {
		_ = r.kfd.Free(m)
		return nil, fail(op, StatusInvalidArgument)
	}
	for _, g := range r.gpus {
		if err := r.kfd.Map(m, g.Node.ID); err != nil {
			_ = r.kfd.Free(m)
			return nil, wrap(op, err)
		}
	}
	return r.signalIn(m), nil
}
