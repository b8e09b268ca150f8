package observe

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/jit"

	"golang.org/x/sys/unix"
)

// ExitsVariable names a folder that gets the file exits.PID: how often compiled code left for each operation that the interpreter does
// (tools/exits adds such files up). The file is the counters themselves, so it is right however the process ends.
const ExitsVariable = "PUMICE_JIT_EXITS"

// The file has records of ExitRecord bytes: the count, 8 bytes, then text up to a zero byte.
const (
	ExitRecord = 256
	exitSites  = 1 << 17 // what comes later shares the last
)

// exitCounters is the mapped file.
type exitCounters struct {
	file []byte
	code *CodeMap
	next atomic.Int32
}

func newExitCounters(dir string, code *CodeMap) (*exitCounters, error) {
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("exits.%d", os.Getpid())))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(exitSites * ExitRecord); err != nil {
		return nil, err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, exitSites*ExitRecord, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ExitsVariable, err)
	}
	return &exitCounters{file: b, code: code}, nil
}

// site is jit.Tools.Exits.
func (x *exitCounters) site(f *ir.Func, id ir.ID) *atomic.Uint64 {
	n := int(x.next.Add(1)) - 1
	last := n >= exitSites-1
	r := x.file[min(n, exitSites-1)*ExitRecord:][:ExitRecord]
	text := "(others)"
	if !last {
		pc := f.PC + uint64(int64(int32(f.V(id).PC)))
		function, inst := "", ""
		if o, base, ok := x.code.Find(pc); ok {
			rep := &Reporter{isa: isa.TargetByName(f.Target), code: x.code}
			inst, _, _ = strings.Cut(rep.instruction(o, base, pc), " ")
			function, _, _ = o.Function(f.PC - base)
		}
		text = fmt.Sprintf("%s\t%s\t%s\t%s", inst, jit.OpText(f, id), f.Target, function)
	}
	copy(r[8:ExitRecord-1], text)
	return (*atomic.Uint64)(unsafe.Pointer(&r[0]))
}

// ReadExits calls use with each count and text of a file that ExitsVariable made.
func ReadExits(b []byte, use func(n uint64, text string)) {
	for ; len(b) >= ExitRecord && b[8] != 0; b = b[ExitRecord:] {
		text, _, _ := strings.Cut(string(b[8:ExitRecord]), "\x00")
		use(binary.LittleEndian.Uint64(b), text)
	}
}
