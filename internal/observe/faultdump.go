package observe

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/silicon"
)

// FaultDumpVariable names the file, or the folder, that gets all registers, LDS and the memory around of a wave that faults
// (pumice run --dump-on-fault). FaultDump makes its value. A file gets the first fault of the process; a folder a file for each kind.
const FaultDumpVariable = "PUMICE_DUMP_ON_FAULT"

// FaultDump is the value of FaultDumpVariable for a path.
func FaultDump(path string, json bool) string {
	if json {
		return "json:" + path
	}
	return "text:" + path
}

// faultDump writes dumps.
type faultDump struct {
	path string
	json bool
}

// newFaultDump reads the environment; nil means that nobody asks.
func newFaultDump() *faultDump {
	kind, path, ok := strings.Cut(os.Getenv(FaultDumpVariable), ":")
	if !ok || path == "" {
		return nil
	}
	return &faultDump{path: path, json: kind == "json"}
}

// file makes the file for one more fault; nil when the one there is has been written.
func (d *faultDump) file() (*os.File, error) {
	const flags = os.O_CREATE | os.O_EXCL | os.O_WRONLY
	if st, err := os.Stat(d.path); err != nil || !st.IsDir() {
		f, err := os.OpenFile(d.path, flags, 0o644)
		if os.IsExist(err) {
			return nil, nil
		}
		return f, err
	}
	ext := "txt"
	if d.json {
		ext = "json"
	}
	for n := 1; ; n++ {
		f, err := os.OpenFile(filepath.Join(d.path, fmt.Sprintf("fault.%d.%d.%s", os.Getpid(), n, ext)), flags, 0o644)
		if !os.IsExist(err) {
			return f, err
		}
	}
}

func (d *faultDump) write(r *Reporter, f *silicon.FaultInfo) {
	out, err := d.file()
	if out == nil && err == nil {
		return
	}
	if err == nil {
		s := collect(r, f)
		var b []byte
		if d.json {
			if b, err = json.MarshalIndent(s, "", " "); err == nil {
				b = append(b, '\n')
			}
		} else {
			b = []byte(s.String())
		}
		if err == nil {
			_, err = out.Write(b)
		}
		if e := out.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		fmt.Fprintf(r.out, "pumice: the fault cannot be dumped: %v\n", err)
		return
	}
	fmt.Fprintf(r.out, "pumice:   the wave's state is in %s\n", out.Name())
}

// dumped is a wave as it is written.
type dumped struct {
	Report  string              `json:"report"`
	Target  string              `json:"target"`
	Lanes   int                 `json:"lanes"`
	PC      string              `json:"pc"`
	Exec    string              `json:"exec"`
	Scalars []dumpedScalar      `json:"scalars"`
	VGPRs   map[string][]string `json:"vgprs"` // by register, a word for each lane
	order   []string            // of VGPRs
	Code    []dumpedLine        `json:"code"`
	Memory  []dumpedMemory      `json:"memory"`
}

type dumpedScalar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dumpedLine struct {
	Address string `json:"address"`
	Text    string `json:"text"`
	Here    bool   `json:"here,omitempty"`
}

type dumpedMemory struct {
	What    string `json:"what"`
	Address string `json:"address"` // in LDS: from its start
	Bytes   string `json:"bytes"`   // hexadecimal
	start   uint64
	bytes   []byte
}

// scalarName is a canonical scalar register's name; "" for numbers that are none.
func scalarName(n int) string {
	switch {
	case n <= 105:
		return fmt.Sprintf("s%d", n)
	case n >= isa.SRegTTMP0 && n < isa.SRegTTMP0+16:
		return fmt.Sprintf("ttmp%d", n-isa.SRegTTMP0)
	}
	return map[int]string{isa.SRegVCCLo: "vcc_lo", isa.SRegVCCHi: "vcc_hi", isa.SRegM0: "m0", isa.SRegEXECLo: "exec_lo", isa.SRegEXECHi: "exec_hi",
		isa.SRegSCC: "scc", isa.SRegFlatScratchLo: "flat_scratch_lo", isa.SRegFlatScratchHi: "flat_scratch_hi", isa.SRegXnackMaskLo: "xnack_mask_lo",
		isa.SRegXnackMaskHi: "xnack_mask_hi", isa.SRegMODE: "mode", isa.SRegSTATUS: "status", isa.SRegTRAPSTS: "trapsts"}[n]
}

// Bytes of memory that are dumped on each side of an address.
const dumpedAround = 128

// collect copies what is to be written.
func collect(r *Reporter, f *silicon.FaultInfo) *dumped {
	s := f.State()
	d := &dumped{Report: r.text(f), Target: s.Target.Name, Lanes: s.Lanes, PC: fmt.Sprintf("%#x", s.PC), Exec: fmt.Sprintf("0x%0*x", s.Lanes/4, s.EXEC),
		VGPRs: map[string][]string{}}
	for n, v := range s.Scalars {
		if name := scalarName(n); name != "" {
			d.Scalars = append(d.Scalars, dumpedScalar{name, fmt.Sprintf("0x%08x", v)})
		}
	}
	for file, regs := range map[string][][]uint32{"v": s.VGPRs, "a": s.AccVGPR} {
		for n, lanes := range regs {
			var l []string
			for _, v := range lanes {
				l = append(l, fmt.Sprintf("0x%08x", v))
			}
			d.VGPRs[fmt.Sprintf("%s%d", file, n)] = l
		}
	}
	for n := range s.VGPRs {
		d.order = append(d.order, fmt.Sprintf("v%d", n))
	}
	for n := range s.AccVGPR {
		d.order = append(d.order, fmt.Sprintf("a%d", n))
	}
	d.code(s, f.PC)
	memory := func(what string, va uint64, n int) {
		if b := s.Read(va, n); len(b) > 0 {
			d.Memory = append(d.Memory, dumpedMemory{what, fmt.Sprintf("%#x", va), hex.EncodeToString(b), va, b})
		}
	}
	memory("kernel arguments", s.Kernarg, 256)
	if f.Kind == silicon.FaultMemory || f.Kind == silicon.FaultViolation {
		start := (f.VA - min(f.VA, dumpedAround)) &^ 15
		for va := start; va < start+2*dumpedAround; { // what is mapped of it
			page := (va | 4095) + 1
			n := min(page, start+2*dumpedAround) - va
			memory("around the address", va, int(n))
			va += n
		}
	}
	if len(s.LDS) > 0 {
		d.Memory = append(d.Memory, dumpedMemory{"LDS of the work-group", "0x0", hex.EncodeToString(s.LDS), 0, s.LDS})
	}
	return d
}

// code disassembles around pc: from the nearest place in front from which instructions lead there.
func (d *dumped) code(s *silicon.WaveState, pc uint64) {
	for back := uint64(64); ; back -= 4 {
		start := pc - back
		b := s.Read(start, int(back)+64)
		var lines []dumpedLine
		meets := false
		for at := 0; at+4 <= len(b); {
			va := start + uint64(at)
			var in isa.Inst
			if isa.Decode(s.Target, b[at:], &in) != nil {
				in.Raw[0] = uint32(b[at]) | uint32(b[at+1])<<8 | uint32(b[at+2])<<16 | uint32(b[at+3])<<24
			}
			meets = meets || va == pc
			lines = append(lines, dumpedLine{fmt.Sprintf("%#x", va), isa.Disasm(&in, s.Target, va), va == pc})
			at += int(in.Size)
		}
		if meets || back == 0 {
			d.Code = lines
			return
		}
	}
}

// String is the text form.
func (d *dumped) String() string {
	var b strings.Builder
	b.WriteString(d.Report)
	fmt.Fprintf(&b, "\n%s, a wave of %d lanes, pc %s, exec %s\n\ncode\n", d.Target, d.Lanes, d.PC, d.Exec)
	for _, l := range d.Code {
		mark := "  "
		if l.Here {
			mark = "=>"
		}
		fmt.Fprintf(&b, "%s %s  %s\n", mark, l.Address, l.Text)
	}
	b.WriteString("\nscalar registers\n")
	for i := 0; i < len(d.Scalars); i += 4 {
		for _, s := range d.Scalars[i:min(i+4, len(d.Scalars))] {
			fmt.Fprintf(&b, "%-16s%s  ", s.Name, s.Value)
		}
		b.WriteString("\n")
	}
	b.WriteString("\nvector registers, eight lanes a line\n")
	for _, name := range d.order {
		l := d.VGPRs[name]
		for i := 0; i < len(l); i += 8 {
			head := name
			if i > 0 {
				head = ""
			}
			fmt.Fprintf(&b, "%-5s%2d:", head, i)
			for _, v := range l[i:min(i+8, len(l))] {
				b.WriteString(" " + v[2:])
			}
			b.WriteString("\n")
		}
	}
	for _, m := range d.Memory {
		fmt.Fprintf(&b, "\n%s\n", m.What)
		for i := 0; i < len(m.bytes); i += 16 {
			fmt.Fprintf(&b, "%#012x ", m.start+uint64(i))
			for j := i; j < min(i+16, len(m.bytes)); j++ {
				if j%4 == 0 {
					b.WriteString(" ")
				}
				fmt.Fprintf(&b, "%02x", m.bytes[j])
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
