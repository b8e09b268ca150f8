// Package inspect looks into programs, fat binaries and code objects: which kernels they hold, for which GPUs, as which
// instructions, and how much of that Pumice can run.
package inspect

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"sort"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// Object is a code object and where it was found.
type Object struct {
	*codeobj.Object
	Where  string // "file", or "file: bundle 3"
	Target string // "gfx90a:xnack-"
}

// ISA returns the instruction set of the object's code; an error names a target that Pumice does not know.
func (o *Object) ISA() (*isa.Target, error) {
	name := o.Object.Target.Proc.Name
	if t := isa.TargetByName(name); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("%s: no instruction tables for %s", o.Where, name)
}

// fatbinSection is where hipcc puts bundles in a host program.
const fatbinSection = ".hip_fatbin"

// Open finds the code objects in a file: an AMDGPU code object, a fat binary, or a host program or library that embeds
// some. target, if not empty, leaves only those for this processor.
func Open(file, target string) ([]*Object, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	found, err := find(file, b)
	if err != nil {
		return nil, err
	}
	var out []*Object
	have := map[string]bool{}
	for _, o := range found {
		have[o.Target] = true
		if target == "" || o.Target == target || o.Object.Target.Proc.Name == target {
			out = append(out, o)
		}
	}
	if len(out) == 0 {
		var names []string
		for n := range have {
			names = append(names, n)
		}
		sort.Strings(names)
		if len(names) == 0 {
			return nil, fmt.Errorf("%s: no code for an AMD GPU in it; was it compiled with --offload-arch?", file)
		}
		return nil, fmt.Errorf("%s: no code for %s in it; there is code for %v", file, target, names)
	}
	return out, nil
}

func find(file string, b []byte) ([]*Object, error) {
	switch {
	case codeobj.IsBundle(b):
		return fromBundles(file, b)
	case !codeobj.IsELF(b):
		return nil, fmt.Errorf("%s: neither ELF nor a fat binary; give a HIP program or library, a code object (.co, .hsaco) or a bundle of them", file)
	}
	// e_machine decides between a code object and a host file.
	if len(b) >= 20 && elf.Machine(uint16(b[18])|uint16(b[19])<<8) == elf.EM_AMDGPU {
		o, err := codeobj.Open(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return []*Object{{o, file, o.Target.String()}}, nil
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	defer f.Close()
	s := f.Section(fatbinSection)
	if s == nil {
		return nil, fmt.Errorf("%s: a host file without a %s section, so it holds no HIP code; a program's kernels may be in a library that it loads", file, fatbinSection)
	}
	d, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", file, fatbinSection, err)
	}
	return fromBundles(file, d)
}

func fromBundles(file string, b []byte) ([]*Object, error) {
	bs, err := codeobj.OpenBundles(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var out []*Object
	var errs []error
	for i, bundle := range bs {
		for _, e := range bundle.Entries {
			if !e.Device || len(e.Data) == 0 {
				continue
			}
			o, err := e.Object()
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: bundle %d, %s: %w", file, i, e.ID, err))
				continue
			}
			where := file
			if len(bs) > 1 {
				where = fmt.Sprintf("%s: bundle %d", file, i)
			}
			out = append(out, &Object{o, where, o.Target.String()})
		}
	}
	if len(out) == 0 && errs != nil {
		return nil, errors.Join(errs...)
	}
	return out, nil
}

// Function is the code of one symbol.
type Function struct {
	Name   string
	Kernel bool // has a descriptor
	Addr   uint64
	Code   []byte
}

// Functions returns the object's functions in order of address.
func (o *Object) Functions() []Function {
	var out []Function
	for _, s := range o.Object.Functions() {
		if code, ok := o.At(s.Value, s.Size); ok && s.Size > 0 {
			out = append(out, Function{Name: s.Name, Kernel: o.Symbol(s.Name+".kd") != nil, Addr: s.Value, Code: code})
		}
	}
	return out
}
