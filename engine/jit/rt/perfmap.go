package rt

import (
	"fmt"
	"os"
	"sync"
)

// PerfMap appends to /tmp/perf-PID.map, the file that Linux perf reads to name code it has no object file for
// (tools/perf/Documentation/jit-interface.txt). A nil *PerfMap does nothing.
type PerfMap struct {
	mu sync.Mutex
	f  *os.File // guarded by mu
}

// OpenPerfMap creates the map file of this process.
func OpenPerfMap() (*PerfMap, error) {
	f, err := os.OpenFile(fmt.Sprintf("/tmp/perf-%d.map", os.Getpid()), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &PerfMap{f: f}, nil
}

// Add names the code at addr.
func (p *PerfMap) Add(addr uintptr, size int, name string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.f, "%x %x %s\n", addr, size, name)
}

// Close closes the file; it stays for perf to read.
func (p *PerfMap) Close() error {
	if p == nil {
		return nil
	}
	return p.f.Close()
}
