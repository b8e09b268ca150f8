package silicon

import (
	"fmt"
	"sync"

	"github.com/pumice-gpu/pumice/abi/ih"
)

// ihRing is the interrupt handler block: the writer of the interrupt ring. When the ring is full the oldest entries stay and the new
// one is lost, and the overflow bit says so at the next reading, as RB_OVERFLOW does.
type ihRing struct {
	mu       sync.Mutex
	ring     []byte // the driver's memory; guarded by mu
	w, r     uint32 // byte offsets; guarded by mu
	overflow bool   // guarded by mu
}

// SetIHRing gives the chip the interrupt ring: a power of two bytes, at least two entries of abi/ih.
func (d *Device) SetIHRing(ring []byte) error {
	if n := len(ring); n < 2*ih.EntryBytes || n&(n-1) != 0 {
		return fmt.Errorf("silicon: interrupt ring of %d bytes", n)
	}
	d.ih.mu.Lock()
	defer d.ih.mu.Unlock()
	d.ih.ring, d.ih.w, d.ih.r, d.ih.overflow = ring, 0, 0, false
	return nil
}

// IHWritePointer returns the byte offset in the ring behind the newest entry. overflow reports, once, that entries were lost.
func (d *Device) IHWritePointer() (offset uint32, overflow bool) {
	d.ih.mu.Lock()
	defer d.ih.mu.Unlock()
	overflow, d.ih.overflow = d.ih.overflow, false
	return d.ih.w, overflow
}

// SetIHReadPointer tells the chip that the driver has read all entries before byte offset.
func (d *Device) SetIHReadPointer(offset uint32) {
	d.ih.mu.Lock()
	d.ih.r = offset
	d.ih.mu.Unlock()
}

// interrupt writes e to the ring and calls the driver.
func (d *Device) interrupt(e ih.Entry) {
	e.Timestamp = d.Clock()
	r := &d.ih
	r.mu.Lock()
	if r.ring == nil {
		r.mu.Unlock()
		return
	}
	next := (r.w + ih.EntryBytes) & uint32(len(r.ring)-1)
	if next == r.r {
		r.overflow = true
	} else {
		e.Encode(r.ring[r.w:])
		r.w = next
	}
	r.mu.Unlock()
	if d.cfg.Interrupt != nil {
		d.cfg.Interrupt()
	}
}
