//go:build !(linux && amd64)

package jit

// Sampler needs compiled code.
type Sampler struct{}

// NewSampler fails like New.
func NewSampler(string) (*Sampler, error) { return nil, errHost }
