// Package inspect looks into programs, fat binaries and code objects: which kernels they hold, for which GPUs, as which
// instructions, and how much of that Pumice can run.
package inspect

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// Object is a code object and where it was found.
type Object struct {
	*codeobj.Object
	Where  string // "file", or "file: bundle 3"
	Target string // "gfx90a:xnack-"
}

// ISA returns the instruction set of the object's code, in the wave size of most of its kernels.
func (o *Object) ISA() (*isa.Target, error) {
	t, err := o.processor()
	if err != nil || !t.Wave32 {
		return t, err
	}
	waves := 0
	for _, s := range o.Object.Functions() {
		if k, err := o.Kernel(s.Name); err == nil {
			waves += map[bool]int{true: 1, false: -1}[k.Desc.Wavefront32()]
		}
	}
	if waves < 0 {
		return t.Wave(64), nil
	}
	return t, nil
}

// processor is ISA in the processor's usual wave size.
func (o *Object) processor() (*isa.Target, error) {
	name := o.Object.Target.Proc.Name
	if t := isa.TargetByName(name); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("%s: no instruction tables for %s", o.Where, name)
}

// Skipped is code in a file that is passed over.
type Skipped struct {
	Where  string `json:"where"`
	Target string `json:"target,omitempty"`
	Why    string `json:"skipped"`
	Count  int    `json:"count"` // how many code objects, of which Where is the first
}

func (s Skipped) String() string {
	w := s.Where
	if s.Count > 1 {
		w = fmt.Sprintf("%s and %d others", w, s.Count-1)
	}
	if s.Target != "" {
		w += ", " + s.Target
	}
	return w + ": " + s.Why
}

// fatbinSection is where hipcc puts bundles in a host program.
const fatbinSection = ".hip_fatbin"

// Open finds the code objects in a file: an AMDGPU code object, a fat binary, a host program, object file or library that embeds
// some, or an archive of such. target, if not empty, leaves only those for this processor. What cannot be read or has no
// instruction tables is skipped; it is an error when nothing is left.
func Open(file, target string) ([]*Object, []Skipped, error) {
	b, err := contents(file)
	if err != nil {
		return nil, nil, err
	}
	var found finder
	if err := found.find(file, b); err != nil {
		return nil, nil, err
	}
	matches := func(t string) bool {
		proc, _, _ := strings.Cut(t, ":")
		return target == "" || t == target || proc == target
	}
	var out []*Object
	var skipped []Skipped
	skip := func(s Skipped) {
		for i := range skipped {
			if x := &skipped[i]; x.Target == s.Target && x.Why == s.Why {
				x.Count++
				return
			}
		}
		s.Count = 1
		skipped = append(skipped, s)
	}
	have := map[string]bool{}
	for _, o := range found.objects {
		have[o.Target] = true
		if !matches(o.Target) {
			continue
		}
		if _, err := o.processor(); err != nil {
			skip(Skipped{Where: o.Where, Target: o.Target, Why: "no instruction tables for this processor"})
			continue
		}
		out = append(out, o)
	}
	for _, s := range found.skipped {
		if s.Target == "" || matches(s.Target) {
			skip(s)
		}
	}
	switch {
	case len(out) > 0:
		return out, skipped, nil
	case len(skipped) > 0:
		var errs []error
		for _, s := range skipped {
			errs = append(errs, errors.New(s.String()))
		}
		return nil, nil, errors.Join(errs...)
	case len(have) == 0:
		return nil, nil, fmt.Errorf("%s: no code for an AMD GPU in it; was it compiled with --offload-arch?", file)
	}
	return nil, nil, fmt.Errorf("%s: no code for %s in it; there is code for %v", file, target, slices.Sorted(maps.Keys(have)))
}

// contents maps a file: libraries have gigabytes of code. It stays mapped.
func contents(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case st.IsDir():
		return nil, fmt.Errorf("%s: is a directory", file)
	case !st.Mode().IsRegular() || st.Size() == 0:
		return io.ReadAll(f)
	}
	return unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
}

// finder collects code objects.
type finder struct {
	objects []*Object
	skipped []Skipped
}

// find looks into contents of a file or of an archive's member; the error says that it is of no known kind.
func (f *finder) find(name string, b []byte) error {
	switch {
	case codeobj.IsBundle(b):
		return f.bundles(name, b)
	case isArchive(b):
		return f.archive(name, b)
	case !codeobj.IsELF(b):
		return fmt.Errorf("%s: neither ELF nor a fat binary; give a HIP program or library, a code object (.co, .hsaco), a bundle of them or an archive", name)
	}
	if isCodeObject(b) {
		o, err := codeobj.Open(b)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		f.objects = append(f.objects, &Object{o, name, o.Target.String()})
		return nil
	}
	d, err := fatbin(b)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if d == nil {
		return fmt.Errorf("%s: a host file without a %s section, so it holds no HIP code; a program's kernels may be in a library that it loads", name, fatbinSection)
	}
	return f.bundles(name, d)
}

// isCodeObject says of an ELF file whether e_machine is the GPU's.
func isCodeObject(b []byte) bool {
	return len(b) >= 20 && elf.Machine(uint16(b[18])|uint16(b[19])<<8) == elf.EM_AMDGPU
}

// fatbin returns the section of a host ELF with bundles, or nil.
func fatbin(b []byte) ([]byte, error) {
	e, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer e.Close()
	s := e.Section(fatbinSection)
	switch {
	case s == nil:
		return nil, nil
	case s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_COMPRESSED != 0 || s.Offset > uint64(len(b)) || s.FileSize > uint64(len(b))-s.Offset:
		return nil, fmt.Errorf("section %s at %#x of %#x bytes is not in the file of %#x", fatbinSection, s.Offset, s.FileSize, len(b))
	}
	return b[s.Offset : s.Offset+s.FileSize], nil
}

// bundles looks into fat binaries that stand one behind the other. What is behind a broken one is skipped.
func (f *finder) bundles(name string, b []byte) error {
	bs, err := codeobj.OpenBundles(b)
	if err != nil {
		if len(bs) == 0 {
			return fmt.Errorf("%s: %w", name, err)
		}
		f.skipped = append(f.skipped, Skipped{Where: name, Why: err.Error()})
	}
	for i, bundle := range bs {
		where := name
		if len(bs) > 1 {
			where = fmt.Sprintf("%s: bundle %d", name, i)
		}
		for _, e := range bundle.Entries {
			switch {
			case len(e.Data) == 0, e.Kind == "host":
			case !e.Device:
				f.skipped = append(f.skipped, Skipped{Where: where, Target: e.ID, Why: "not the id of a known AMD GPU"})
			default:
				o, err := e.Object()
				if err != nil {
					f.skipped = append(f.skipped, Skipped{Where: where, Target: e.Target.String(), Why: err.Error()})
					continue
				}
				f.objects = append(f.objects, &Object{o, where, o.Target.String()})
			}
		}
	}
	return nil
}

// Function is the code of one symbol.
type Function struct {
	Name   string
	Kernel bool // has a descriptor
	Addr   uint64
	Code   []byte
	ISA    *isa.Target // in the kernel's wave size
}

// Functions returns the object's functions in order of address.
func (o *Object) Functions() ([]Function, error) {
	t, err := o.ISA()
	if err != nil {
		return nil, err
	}
	var out []Function
	for _, s := range o.Object.Functions() {
		code, ok := o.At(s.Value, s.Size)
		if !ok || s.Size == 0 {
			continue
		}
		f := Function{Name: s.Name, Kernel: o.Symbol(s.Name+".kd") != nil, Addr: s.Value, Code: code, ISA: t}
		if k, err := o.Kernel(s.Name); err == nil && t.Wave32 {
			f.ISA = t.Wave(map[bool]int{true: 32, false: 64}[k.Desc.Wavefront32()])
		}
		out = append(out, f)
	}
	return out, nil
}
