package machine

import (
	"os"

	"github.com/pumice-gpu/pumice/runtime/clr"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// HSA builds the machine that this process's environment names, and opens Pumice's own HSA runtime on it: what stands behind libhsa-runtime64.
func HSA() (*hsa.Runtime, error) {
	h, _, err := open()
	return h, err
}

func open() (*hsa.Runtime, *Machine, error) {
	list := os.Getenv(GPUVariable)
	if list == "" {
		list = DefaultGPU
	}
	profiles, err := ParseGPUs(list)
	if err != nil {
		return nil, nil, err
	}
	m, err := New(profiles)
	if err != nil {
		return nil, nil, err
	}
	h, err := hsa.Open(m.Transport(), hsa.DefaultOptions())
	if err != nil {
		m.Close()
		return nil, nil, err
	}
	find := h.CodeAt
	ownCode.Store(&find)
	return h, m, nil
}

// HIP is Pumice's own HIP runtime on HSA's: what stands behind libamdhip64.
func HIP() (*clr.Runtime, error) {
	h, m, err := open()
	if err != nil {
		return nil, err
	}
	r := clr.NewFromEnv(h)
	if m.look != nil {
		m.look.runtime(r)
	}
	return r, nil
}
