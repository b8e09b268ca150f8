package machine

import (
	"os"
	"sync"

	"github.com/pumice-gpu/pumice/runtime/clr"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// HSA is Pumice's own HSA runtime on the machine that this process's environment names: what stands behind libhsa-runtime64. It is opened at the first call of HSA
// or HIP, once for the process: a program that calls both sees the same devices and memory.
func HSA() (*hsa.Runtime, error) {
	o := process()
	return o.hsa, o.err
}

// HIP is Pumice's own HIP runtime on HSA's: what stands behind libamdhip64.
func HIP() (*clr.Runtime, error) {
	o := process()
	if o.err != nil {
		return nil, o.err
	}
	r := clr.NewFromEnv(o.hsa)
	if o.machine.look != nil {
		o.machine.look.Runtime(r)
	}
	return r, nil
}

type opened struct {
	hsa     *hsa.Runtime
	machine *Machine
	err     error
}

var process = sync.OnceValue(func() (o opened) {
	warnVariables(os.Stderr, os.Environ())
	o.hsa, o.machine, o.err = open(listFromEnvironment())
	return
})

// OpenHSA is HSA on a machine with these GPUs (see ParseGPUs), which nothing else of the process uses.
func OpenHSA(list string) (*hsa.Runtime, error) {
	r, _, err := open(list)
	return r, err
}

func open(list string) (*hsa.Runtime, *Machine, error) {
	profiles, err := ParseGPUs(list)
	if err != nil {
		return nil, nil, err
	}
	m, err := New(profiles)
	if err != nil {
		return nil, nil, err
	}
	forking(m)
	h, err := hsa.Open(m.Transport(), hsa.DefaultOptions())
	if err != nil {
		m.Close()
		return nil, nil, err
	}
	m.code.SetOwn(h.CodeAt)
	return h, m, nil
}
