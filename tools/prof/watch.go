package prof

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/jit"
	"golang.org/x/sys/unix"
)

// place is what a sample names.
type place struct {
	pid int
	fn  uint32
	pc  uint32
}

type count struct{ n, slow int }

// Samples are what a Watch has seen.
type Samples struct {
	counts map[place]*count
	looks  int // times that some process had cells to look at
	first  time.Time
	last   time.Time
	busy   int // samples of workers that ran code
}

// cells is one process's file, mapped.
type cells struct {
	pid int
	b   []byte
}

const pageSize = 4096

// Watch looks at the processes that put their files into dir, every interval, until stop is closed.
func Watch(dir string, interval time.Duration, stop <-chan struct{}) *Samples {
	s := &Samples{counts: map[place]*count{}}
	var files []cells
	known := map[string]bool{}
	defer func() {
		for _, c := range files {
			_ = unix.Munmap(c.b)
		}
	}()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for look := 0; ; look++ {
		select {
		case <-stop:
			return s
		case <-tick.C:
		}
		if look%16 == 0 {
			files = append(files, newCells(dir, known)...)
		}
		if len(files) > 0 {
			if s.last = time.Now(); s.looks == 0 {
				s.first = s.last
			}
			s.looks++
		}
		for _, c := range files {
			s.look(c)
		}
	}
}

// newCells maps files that were not known.
func newCells(dir string, known map[string]bool) (l []cells) {
	names, _ := filepath.Glob(filepath.Join(dir, "cells.*"))
	for _, name := range names {
		if known[name] {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(name), "."))
		if err != nil {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		st, err := f.Stat()
		if err == nil && st.Size() >= pageSize { // not made as long as it will be before that
			var b []byte
			if b, err = unix.Mmap(int(f.Fd()), 0, int(st.Size())&^(pageSize-1), unix.PROT_READ, unix.MAP_SHARED); err == nil {
				known[name] = true
				l = append(l, cells{pid, b})
			}
		}
		_ = f.Close()
	}
	return l
}

// look takes one sample of each worker.
func (s *Samples) look(c cells) {
	for at := 0; at+pageSize <= len(c.b); at += pageSize {
		if binary.LittleEndian.Uint32(c.b[at+jit.CellLive:]) == 0 {
			continue
		}
		cell := (*jit.Cell)(unsafe.Pointer(&c.b[at+jit.CellOffset]))
		fn := atomic.LoadUint32(&cell.Func)
		if fn == 0 {
			continue
		}
		pc, slow := atomic.LoadUint32(&cell.PC), atomic.LoadUint32(&cell.Slow)
		if atomic.LoadUint32(&cell.Func) != fn {
			continue // between two functions
		}
		s.busy++
		k := place{c.pid, fn, pc}
		n := s.counts[k]
		if n == nil {
			n = &count{}
			s.counts[k] = n
		}
		n.n++
		if slow != 0 {
			n.slow++
		}
	}
}
