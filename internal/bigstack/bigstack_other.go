//go:build !amd64

package bigstack

// Reserve does nothing here.
//
// fidelity: approximate signal handlers on CPUs other than amd64: one without SA_ONSTACK that arrives during a call has little stack
func Reserve() {}
