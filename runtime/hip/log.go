package hip

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

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
	level atomic.Int64  // AMD_LOG_LEVEL
	mask  atomic.Uint64 // AMD_LOG_MASK
	form  string        // of process and thread

	mu  sync.Mutex
	out *os.File // stderr, or AMD_LOG_LEVEL_FILE; guarded by mu

	nextLevel int64  // what Enable shall set; guarded by mu
	nextMask  uint64 // guarded by mu
}

func newLogger(lookup func(string) (string, bool), face int) *logger {
	l := &logger{out: os.Stderr, form: "%-5d: [tid:%#x]"}
	l.mask.Store(0x7fffffff)
	if face >= 6 {
		l.form = "[pid:%-5d tid: %#x]"
	}
	if v, ok := lookup("AMD_LOG_LEVEL"); ok {
		n, _ := strconv.ParseInt(strings.TrimSpace(v), 10, 32)
		l.level.Store(n)
	}
	if v, ok := lookup("AMD_LOG_MASK"); ok {
		if m, err := strconv.ParseUint(strings.TrimSpace(v), 0, 64); err == nil {
			l.mask.Store(m)
		}
	}
	if v, ok := lookup("AMD_LOG_LEVEL_FILE"); ok && v != "" && l.level.Load() > 0 {
		if f, err := os.OpenFile(v, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err == nil {
			l.out = f
		}
	}
	return l
}

// wants reports whether a line would be shown.
func (l *logger) wants(level int64, mask uint64) bool {
	return l.level.Load() >= level && (mask == logAlways || l.mask.Load()&mask != 0)
}

func (l *logger) printf(level int64, mask uint64, file string, format string, args ...any) {
	if !l.wants(level, mask) {
		return
	}
	who := fmt.Sprintf(l.form, os.Getpid(), unix.Gettid())
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, ":%d:%-25s:%-4d: %010d us: %s %s\n", level, file+".go", 0, microseconds(), who, fmt.Sprintf(format, args...))
}

// LoggingParams says what EnableLogging shall show (hipExtSetLoggingParams): a level and a mask as the environment's.
//
// fidelity: approximate hipExtSetLoggingParams: the size of the log is not limited
func (a *API) LoggingParams(level, mask uint64) Error {
	a.log.mu.Lock()
	defer a.log.mu.Unlock()
	a.log.nextLevel, a.log.nextMask = int64(min(level, 1<<31)), mask
	return Success
}

// EnableLogging begins to show what LoggingParams said.
func (a *API) EnableLogging() Error {
	a.log.mu.Lock()
	defer a.log.mu.Unlock()
	a.log.level.Store(a.log.nextLevel)
	a.log.mask.Store(a.log.nextMask)
	return Success
}

// DisableLogging shows nothing any more.
func (a *API) DisableLogging() Error {
	a.log.level.Store(0)
	return Success
}
