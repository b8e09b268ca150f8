package clr

// maxPatterns bounds the memory for patterns; fills with more different ones than that at odd addresses wait.
const maxPatterns = 4096 / 8

// patternBytes returns the address, for engines, of 8 bytes that hold the pattern twice. They stay as they are while the device is in use.
func (d *Device) patternBytes(pattern uint32) (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a, ok := d.patterns[pattern]; ok {
		return a, nil
	}
	if len(d.patterns)%maxPatterns == 0 {
		d.mu.Unlock()
		m, err := d.AllocHost(4096, HostMemory, true)
		d.mu.Lock()
		if err != nil {
			return 0, err
		}
		d.patternMem = m
		if d.patterns == nil {
			d.patterns = map[uint32]uint64{}
		}
	}
	off := uint64(len(d.patterns)%maxPatterns) * 8
	b := d.patternMem.Bytes()[off : off+8]
	for i := range b {
		b[i] = byte(pattern >> (8 * (i & 3)))
	}
	a := d.patternMem.Ptr + off
	d.patterns[pattern] = a
	return a, nil
}
