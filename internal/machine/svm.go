package machine

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/kfd"
)

// SVMTraceVariable is the environment variable that makes the library print what shared virtual memory does: each migration, mapping
// and stop of queues, with its cause.
const SVMTraceVariable = "PUMICE_SVM_TRACE"

// traceSVM prints on w if the environment asks for it.
func traceSVM(d *kfd.Driver, w io.Writer) {
	if os.Getenv(SVMTraceVariable) == "" {
		return
	}
	start := time.Now()
	var mu sync.Mutex
	d.OnSVM = func(gpu uint32, e svm.Event) {
		mu.Lock()
		defer mu.Unlock()
		s := fmt.Sprintf("pumice svm %9.3f ms gpu %d %s", float64(time.Since(start).Microseconds())/1000, gpu, e.Kind)
		if e.End > e.Start {
			s += fmt.Sprintf(" [%#x, %#x) %d KiB", e.Start, e.End, (e.End-e.Start)>>10)
		}
		if e.Cause != "" {
			s += ": " + e.Cause
		}
		if e.Err != nil {
			s += " (" + e.Err.Error() + ")"
		}
		_, _ = fmt.Fprintln(w, s)
	}
}

// warn prints what the system does not let the driver do.
func warn(text string) { fmt.Fprintln(os.Stderr, "pumice: "+text) }
