package hsa

import "github.com/pumice-gpu/pumice/abi/codeobj"

// ISA is an instruction set architecture: what a code object is built for, or what an agent has. It is a value; two with the same target are the same ISA.
type ISA struct{ Target codeobj.Target }

// ISA returns what a GPU agent has; the zero ISA of a CPU.
func (a *Agent) ISA() ISA { return ISA{a.Target} }

// ISAByName finds an ISA by its full name, amdgcn-amd-amdhsa-- and a target id.
func ISAByName(name string) (ISA, error) {
	t, err := codeobj.ParseTarget(name)
	if err != nil || t.Triple() != name {
		return ISA{}, fail("isa_from_name", StatusInvalidISAName, "%s", name)
	}
	return ISA{t}, nil
}

// Name is the ISA's full name.
func (i ISA) Name() string { return i.Target.Triple() }

// WavefrontSize is the size of a wavefront that ROCr reports for the architecture, which is what an agent of it reports: 64 up to gfx9, and 32 later.
func (i ISA) WavefrontSize() uint32 {
	if i.Target.Proc.Major >= 10 {
		return 32
	}
	return 64
}

// Runs reports whether an agent with this ISA runs code of another one.
func (i ISA) Runs(code ISA) bool { return i.Target.Runs(code.Target) }

// MaxWorkgroup is the number of work-items that a work-group may have on any ISA here.
const MaxWorkgroup = 1024
