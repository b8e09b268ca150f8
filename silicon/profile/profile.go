// Package profile describes chips: what a Device is built like, and what a driver reports of it.
//
// A profile is a JSON file. The ones in data/ are built in; Load reads any other by its path. Shape, target
// and register files follow public documents of the chip. What only the card's own firmware and driver tell (cache ways, firmware
// versions, revision ids, clocks of one board, the L2's address configuration) is a plausible value, not one read from a card;
// where the driver reports something else than the die has, "notes" says so.
package profile

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sort"
	"strconv"
	"strings"
)

//go:embed data/*.json
var data embed.FS

// Hex is a number written as a hexadecimal string in the file.
type Hex uint32

// UnmarshalJSON reads "0x..." or a plain number.
func (h *Hex) UnmarshalJSON(b []byte) error {
	s := strings.Trim(string(b), `"`)
	n, err := strconv.ParseUint(s, 0, 32)
	if err != nil {
		return fmt.Errorf("%q is not a 32-bit number", s)
	}
	*h = Hex(n)
	return nil
}

// MarshalJSON writes "0x...".
func (h Hex) MarshalJSON() ([]byte, error) { return []byte(fmt.Sprintf(`"%#x"`, uint32(h))), nil }

// PCI is the identity of the card on its bus.
type PCI struct {
	Vendor           Hex
	Device           Hex
	SubsystemVendor  Hex
	Subsystem        Hex
	Revision         Hex
	ExternalRevision Hex    // amdgpu's external_rev_id, from which addrlib tells chips of a family apart
	Family           uint32 // AMDGPU_FAMILY_*
}

// Shape is how the compute units are arranged and what each holds.
type Shape struct {
	XCCs              int // accelerator dies that work as one device
	ShaderEngines     int // total over all XCCs
	ArraysPerEngine   int
	CUsPerArray       int // before harvesting
	CUs               int // active
	SIMDsPerCU        int
	WavesPerSIMD      int
	WaveSize          int // default wave size of the target's code
	VGPRsPerSIMD      int // registers a lane can be given, at WaveSize lanes
	SGPRsPerSIMD      int
	LDSPerCU          int // bytes
	ScratchSlotsPerCU int // waves with scratch
	GWS               int
}

// Clocks of the chip.
type Clocks struct {
	EngineMHz  int
	MemoryMHz  int
	CounterKHz int // reference counter of timestamps
}

// Memory is the VRAM.
type Memory struct {
	Bytes    uint64
	Type     string // HBM2, HBM2E, HBM3, GDDR6, LPDDR5
	BusBits  int
	LargeBAR bool // all of it is visible to the CPU
}

// Cache is one cache as KFD's topology reports it.
type Cache struct {
	Level       int
	SizeKB      int
	Line        int // bytes
	Ways        int
	SharedByCUs int
	Kinds       []string // data, instruction, scalar
}

// SDMAEngines counts the copy engines.
type SDMAEngines struct {
	Engines         int
	XGMIEngines     int
	QueuesPerEngine int
}

// Queues counts the hardware queues user space may have.
type Queues struct{ CP int }

// Firmware versions that the driver reports.
type Firmware struct{ CP, SDMA int }

// Profile is one chip. Immutable after Parse.
type Profile struct {
	Format           int
	Name             string
	MarketingName    string
	Target           string // LLVM processor name
	GfxTargetVersion int    // major*10000 + minor*100 + stepping, decimal
	GCVersion        string // IP version of the graphics core, "9.4.2"
	SDMAVersion      string
	PCI              PCI
	Shape            Shape
	Clocks           Clocks
	Memory           Memory
	Caches           []Cache
	SDMA             SDMAEngines
	Queues           Queues
	GBAddrConfig     Hex
	XNACK            bool // a process may choose retry faults (SET_XNACK_MODE), with the driver's default options
	SRAMECC          bool
	Firmware         Firmware
	Notes            string
}

// Names lists the built-in profiles in order.
func Names() []string {
	files, _ := fs.Glob(data, "data/*.json")
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(path.Base(f), ".json"))
	}
	sort.Strings(names)
	return names
}

// Load returns the built-in profile of that name (a target name such as "gfx90a" picks the first with that target), or
// reads the file when name has a slash or ends in .json.
func Load(name string) (*Profile, error) {
	if strings.Contains(name, "/") || strings.HasSuffix(name, ".json") {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("profile: %w", err)
		}
		return Parse(name, b)
	}
	if b, err := data.ReadFile("data/" + name + ".json"); err == nil {
		return Parse(name, b)
	}
	for _, n := range Names() {
		b, _ := data.ReadFile("data/" + n + ".json")
		if p, err := Parse(n, b); err == nil && p.Target == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no GPU is named %q, nor is it a target that one has, or a profile file; there are %s", name, strings.Join(Names(), ", "))
}

// Error is a profile that cannot be used.
type Error struct {
	File  string
	Line  int    // 0 when it is not about one line
	Field string // "" for syntax
	Msg   string
}

func (e *Error) Error() string {
	s := "profile " + e.File
	if e.Line > 0 {
		s += ":" + strconv.Itoa(e.Line)
	}
	if e.Field != "" {
		s += ": " + e.Field
	}
	return s + ": " + e.Msg
}

// Parse reads a profile; file names it in errors, which are *Error.
func Parse(file string, b []byte) (*Profile, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	p := &Profile{}
	if err := d.Decode(p); err != nil {
		e := &Error{File: file, Msg: strings.TrimPrefix(err.Error(), "json: "), Line: 1 + bytes.Count(b[:min(int(d.InputOffset()), len(b))], []byte("\n"))}
		switch t := err.(type) {
		case *json.SyntaxError:
			e.Line = 1 + bytes.Count(b[:min(int(t.Offset), len(b))], []byte("\n"))
		case *json.UnmarshalTypeError:
			e.Field, e.Msg = t.Field, "has a "+t.Value
			e.Line = 1 + bytes.Count(b[:min(int(t.Offset), len(b))], []byte("\n"))
		}
		return nil, e
	}
	if d.More() {
		return nil, &Error{File: file, Msg: "more than one value"}
	}
	if e := p.check(); e != nil {
		e.File = file
		return nil, e
	}
	return p, nil
}

func (p *Profile) check() *Error {
	bad := func(field, format string, args ...any) *Error {
		return &Error{Field: field, Msg: fmt.Sprintf(format, args...)}
	}
	if p.Format != 1 {
		return bad("format", "is %d, this version reads 1", p.Format)
	}
	for _, f := range []struct {
		name, v string
	}{{"name", p.Name}, {"marketingName", p.MarketingName}, {"target", p.Target}, {"gcVersion", p.GCVersion}, {"sdmaVersion", p.SDMAVersion}} {
		if f.v == "" {
			return bad(f.name, "is missing")
		}
	}
	s := &p.Shape
	for _, f := range []struct {
		name   string
		v      int
		lo, hi int
	}{
		{"gfxTargetVersion", p.GfxTargetVersion, 90000, 999999},
		{"shape.xccs", s.XCCs, 1, 16},
		{"shape.shaderEngines", s.ShaderEngines, 1, 64},
		{"shape.arraysPerEngine", s.ArraysPerEngine, 1, 4},
		{"shape.cusPerArray", s.CUsPerArray, 1, 64},
		{"shape.cus", s.CUs, 1, s.ShaderEngines * s.ArraysPerEngine * s.CUsPerArray},
		{"shape.simdsPerCU", s.SIMDsPerCU, 1, 4},
		{"shape.wavesPerSIMD", s.WavesPerSIMD, 1, 20},
		{"shape.vgprsPerSIMD", s.VGPRsPerSIMD, 128, 2048},
		{"shape.sgprsPerSIMD", s.SGPRsPerSIMD, 128, 4096},
		{"shape.ldsPerCU", s.LDSPerCU, 4096, 1 << 20},
		{"shape.scratchSlotsPerCU", s.ScratchSlotsPerCU, 1, 64},
		{"clocks.engineMHz", p.Clocks.EngineMHz, 1, 10000},
		{"clocks.memoryMHz", p.Clocks.MemoryMHz, 1, 10000},
		{"clocks.counterKHz", p.Clocks.CounterKHz, 1000, 1000000},
		{"memory.busBits", p.Memory.BusBits, 32, 16384},
		{"sdma.engines", p.SDMA.Engines, 1, 16},
		{"sdma.xgmiEngines", p.SDMA.XGMIEngines, 0, 16},
		{"sdma.queuesPerEngine", p.SDMA.QueuesPerEngine, 1, 16},
		{"queues.cp", p.Queues.CP, 1, 1024},
	} {
		if f.v < f.lo || f.v > f.hi {
			return bad(f.name, "is %d, must be %d to %d", f.v, f.lo, f.hi)
		}
	}
	if s.WaveSize != 32 && s.WaveSize != 64 {
		return bad("shape.waveSize", "is %d, must be 32 or 64", s.WaveSize)
	}
	if p.Memory.Bytes < 64<<20 || p.Memory.Bytes > 1<<44 || p.Memory.Bytes%4096 != 0 {
		return bad("memory.bytes", "is %d, must be a multiple of 4096 from 64 MiB to 16 TiB", p.Memory.Bytes)
	}
	if p.GBAddrConfig>>3&7 != 0 {
		return bad("gbAddrConfig", "is %#x: the pipe interleave (bits 5:3) must be 0", uint32(p.GBAddrConfig))
	}
	for i, c := range p.Caches {
		if c.Level < 1 || c.Level > 4 || c.SizeKB < 1 || c.Line < 1 || c.SharedByCUs < 1 {
			return bad(fmt.Sprintf("caches[%d]", i), "needs level 1 to 4, sizeKB, line and sharedByCUs")
		}
		for _, k := range c.Kinds {
			if k != "data" && k != "instruction" && k != "scalar" {
				return bad(fmt.Sprintf("caches[%d].kinds", i), "has %q; known are data, instruction, scalar", k)
			}
		}
	}
	return nil
}
