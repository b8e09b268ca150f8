package clr

// heapBytes is the size of the state of the device library's malloc: room for its heap structure (about 110 KB).
const heapBytes = 128 << 10

// deviceHeap returns the address of the state of device malloc, which kernels of code object V5 and later get as hidden_heap_v1.
// All zero is its initial state: no slabs yet, so that the first malloc asks for one by a host call (ROCm-Device-Libs ockl/src/dm.cl).
// AMD's runtime gives it some slabs to begin with, to save that call.
func (d *Device) deviceHeap() (uint64, error) {
	d.heapMu.Lock()
	defer d.heapMu.Unlock()
	if d.heap != 0 {
		return d.heap, nil
	}
	m, err := d.Alloc(heapBytes)
	if err != nil {
		return 0, err
	}
	if err := d.Write(m.Ptr, make([]byte, heapBytes)); err != nil {
		return 0, err
	}
	d.heap = m.Ptr
	return d.heap, nil
}
