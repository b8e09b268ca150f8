package observe

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/kfd"
)

// SVMTraceVariable is the environment variable that makes the library say what shared virtual memory does: each migration, mapping and
// stop of queues, with its cause. Its value is made by SVMTrace; 1 is text on standard error.
const SVMTraceVariable = "PUMICE_SVM_TRACE"

const jsonTrace = "json:"

// SVMTrace is the value of SVMTraceVariable for lines in file, which must be absolute, or on standard error when it is "".
func SVMTrace(file string, asJSON bool) string {
	if asJSON {
		return jsonTrace + file
	}
	if file == "" {
		return "1"
	}
	return file
}

// SVMEvent is a line of a JSON trace.
type SVMEvent struct {
	PID   int     `json:"pid"`
	MS    float64 `json:"ms"`  // since the process made its GPUs
	GPU   uint32  `json:"gpu"` // KFD's gpu_id
	Event string  `json:"event"`
	Start string  `json:"start,omitempty"` // hexadecimal, as End, which is exclusive
	End   string  `json:"end,omitempty"`
	Bytes uint64  `json:"bytes,omitempty"`
	Cause string  `json:"cause,omitempty"`
	Error string  `json:"error,omitempty"`
}

// String is the event as a line of text.
func (e SVMEvent) String() string {
	s := fmt.Sprintf("pumice[%d] svm %9.3f ms gpu %d %s", e.PID, e.MS, e.GPU, e.Event)
	if e.Bytes > 0 {
		s += fmt.Sprintf(" [%s, %s) %d KiB", e.Start, e.End, e.Bytes>>10)
	}
	if e.Cause != "" {
		s += ": " + e.Cause
	}
	if e.Error != "" {
		s += " (" + e.Error + ")"
	}
	return s
}

// TraceSVM prints what the environment asks for.
func TraceSVM(d *kfd.Driver, stderr io.Writer) {
	value := os.Getenv(SVMTraceVariable)
	if value == "" {
		return
	}
	file, asJSON := strings.CutPrefix(value, jsonTrace)
	w := stderr
	if file != "" && file != "1" {
		// Several processes may share the file: each line is one write.
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
		if err != nil {
			fmt.Fprintf(stderr, "pumice: %s: %v\n", SVMTraceVariable, err)
			return
		}
		w = f
	}
	start := time.Now()
	var mu sync.Mutex
	d.OnSVM = func(gpu uint32, e svm.Event) {
		mu.Lock()
		defer mu.Unlock()
		x := SVMEvent{PID: os.Getpid(), MS: float64(time.Since(start).Microseconds()) / 1000, GPU: gpu, Event: e.Kind.String(), Cause: e.Cause}
		if e.End > e.Start {
			x.Start, x.End, x.Bytes = fmt.Sprintf("%#x", e.Start), fmt.Sprintf("%#x", e.End), e.End-e.Start
		}
		if e.Err != nil {
			x.Error = e.Err.Error()
		}
		line := []byte(x.String())
		if asJSON {
			var err error
			if line, err = json.Marshal(x); err != nil {
				return // there is nothing in it that cannot be written
			}
		}
		_, _ = w.Write(append(line, '\n'))
	}
}
