//go:build linux && amd64

package jit

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/ir"
	"golang.org/x/sys/unix"
)

// A Sampler publishes where compiled code is, for a process that looks from time to time (tools/prof). It needs neither
// signals nor ptrace: the start of each worker's frame is a page of a shared file, where code keeps its guest PC, and the
// Go side the function that runs. The onlooker wakes by its own clock, so samples do not lean towards places where workers
// give way.
//
// In its directory a process has the files cells.PID, pages of Cells, and funcs.PID, a JSON line for each function.
//
// Lock order: mu is a leaf.
type Sampler struct {
	cells *os.File
	next  atomic.Int32 // free page

	mu    sync.Mutex
	funcs *os.File // guarded by mu
	ids   uint32   // guarded by mu
}

var _ [frameFunc - framePC - unsafe.Offsetof(Cell{}.Func)]byte
var _ [frameSlow - framePC - unsafe.Offsetof(Cell{}.Slow)]byte

// samplePages bounds how many workers are seen.
const samplePages = 256

// NewSampler makes this process's files in dir.
func NewSampler(dir string) (*Sampler, error) {
	s := &Sampler{}
	var err error
	if s.cells, err = os.Create(filepath.Join(dir, fmt.Sprintf("cells.%d", os.Getpid()))); err != nil {
		return nil, err
	}
	if err = s.cells.Truncate(samplePages * 4096); err == nil {
		s.funcs, err = os.Create(filepath.Join(dir, fmt.Sprintf("funcs.%d", os.Getpid())))
	}
	if err != nil {
		_ = s.cells.Close()
		return nil, err
	}
	return s, nil
}

// page reserves a page for a worker; -1 when there is none left.
func (s *Sampler) page() int {
	if n := s.next.Add(1); n <= samplePages {
		return int(n) - 1
	}
	return -1
}

// share puts page over the start of a frame.
func (s *Sampler) share(page int, frame unsafe.Pointer) error {
	if page < 0 {
		return nil
	}
	_, err := unix.MmapPtr(int(s.cells.Fd()), int64(page)*4096, frame, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED)
	return err
}

// add gives f a number.
func (s *Sampler) add(f *ir.Func) (uint32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	b, err := json.Marshal(SampledFunc{s.ids, f.PC, f.Lanes, f.Target})
	if err != nil {
		return 0, err
	}
	_, err = s.funcs.Write(append(b, '\n'))
	return s.ids, err
}
