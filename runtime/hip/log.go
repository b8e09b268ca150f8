package hip

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Levels of AMD_LOG_LEVEL.
const (
	logError = 1
	logInfo  = 3
)

// Bits of AMD_LOG_MASK.
const (
	logAPI    = 1 << 0
	logAlways = 1<<32 - 1 // shown whatever the mask is
)

// logger writes what AMD_LOG_LEVEL asks for, in the form that AMD's runtime has: level, file, line (always 0 here), microseconds, process and thread.
type logger struct {
	level int    // AMD_LOG_LEVEL
	mask  uint64 // AMD_LOG_MASK
	form  string // of process and thread

	mu  sync.Mutex
	out *os.File // stderr, or AMD_LOG_LEVEL_FILE; guarded by mu
}

func newLogger(lookup func(string) (string, bool), face int) *logger {
	l := &logger{mask: 0x7fffffff, out: os.Stderr, form: "%-5d: [tid:%#x]"}
	if face >= 6 {
		l.form = "[pid:%-5d tid: %#x]"
	}
	if v, ok := lookup("AMD_LOG_LEVEL"); ok {
		l.level, _ = strconv.Atoi(strings.TrimSpace(v))
	}
	if v, ok := lookup("AMD_LOG_MASK"); ok {
		if m, err := strconv.ParseUint(strings.TrimSpace(v), 0, 64); err == nil {
			l.mask = m
		}
	}
	if v, ok := lookup("AMD_LOG_LEVEL_FILE"); ok && v != "" && l.level > 0 {
		if f, err := os.OpenFile(v, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err == nil {
			l.out = f
		}
	}
	return l
}

// wants reports whether a line would be shown.
func (l *logger) wants(level int, mask uint64) bool {
	return l.level >= level && (mask == logAlways || l.mask&mask != 0)
}

func (l *logger) printf(level int, mask uint64, file string, format string, args ...any) {
	if !l.wants(level, mask) {
		return
	}
	who := fmt.Sprintf(l.form, os.Getpid(), unix.Gettid())
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, ":%d:%-25s:%-4d: %010d us: %s %s\n", level, file+".go", 0, microseconds(), who, fmt.Sprintf(format, args...))
}
