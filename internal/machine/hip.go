package machine

import (
	"os"

	"github.com/pumice-gpu/pumice/runtime/clr"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// HIP builds the machine that this process's environment names, and Pumice's own runtime on it: what stands behind door A.
func HIP() (*clr.Runtime, error) {
	list := os.Getenv(GPUVariable)
	if list == "" {
		list = DefaultGPU
	}
	profiles, err := ParseGPUs(list)
	if err != nil {
		return nil, err
	}
	m, err := New(profiles)
	if err != nil {
		return nil, err
	}
	h, err := hsa.Open(m.Transport(), hsa.DefaultOptions())
	if err != nil {
		m.Close()
		return nil, err
	}
	find := h.CodeAt
	ownCode.Store(&find)
	return clr.NewFromEnv(h), nil
}
