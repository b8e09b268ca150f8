package ttm

// InspectFree returns the free bytes of video memory without a lock: for the running task of a simulated World, between
// two steps. Usage is for everybody else.
func (m *Manager) InspectFree() uint64 { return m.vram.Avail() }
