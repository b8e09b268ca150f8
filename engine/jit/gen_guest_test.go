//go:build linux && amd64

package jit

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/pumice-gpu/pumice/engine/isa"
)

// guest makes a random program in a target's own instructions, spelled as for gfx9; it is lifted by package lift as real programs are, and so can
// be gone on with from any instruction. Its registers have roles, see the constants.
type guest struct {
	r      *rand.Rand
	t      *isa.Target
	lanes  int
	waves  int // of a work-group
	spell  *strings.Replacer
	funcs  [][]guestLine // the kernel, and what it calls
	labels int
	batch  bool // it may have a stream form
	wide   bool // work-items have sixteen bytes each in the LDS, not four
	adds   bool // it adds to the LDS behind guestLDS
}

// guestLine is an instruction, or a label when it ends with a colon; to is the label that a branch goes to.
type guestLine struct{ text, to string }

// Roles of registers: s[0:1] the input, s[2:3] the output, s8 the work-group, s9 iterations left, s10 to s15 numbers, s16 to s23 for the moment,
// s24 to s29 masks, s[30:31] where to call, s[34:35] where to return, s[36:37] what
// all add to; v0 the work-item in its work-group, v1 to v3 lane, column and row.
const (
	guestVGPRs = 64
	guestX     = 8

	vPair   = 4  // two addresses that loops carry on
	vTemp   = 8  // to v15
	vData   = 16 // to v31: what the end stores
	vLoaded = 32 // to v47
	vOut    = 48 // pair: the work-item's output
	vWrite  = 50 // LDS addresses
	vRead   = 51
)

// Where things are in memory, and how much.
const (
	guestVA     = 0x7000_0000_0000
	guestFunc   = 4 << 12 // from one function to the next
	guestFuncs  = 3
	guestIn     = guestFuncs * guestFunc
	guestOut    = guestIn + 16<<12
	guestSize   = guestOut + 20<<12
	guestItem   = 128               // bytes of output for each work-item: those of stores on the way, and those of the end
	guestAdd    = guestOut + 19<<12 // what all work-items may add to
	guestLDS    = 8 << 10
	guestMost   = 9 * 64 // work-items of a dispatch
	guestStream = 3900   // and of one of streams, which have sixteen bytes each
)

// guestKinds are the targets that programs are for.
var guestKinds = []struct {
	target string
	lanes  int
}{{"gfx90a", 64}, {"gfx90a", 64}, {"gfx942", 64}, {"gfx1030", 32}, {"gfx1100", 32}}

// spelling turns gfx9's spelling into that of a target and a size of waves.
func spelling(target string, lanes int) *strings.Replacer {
	var p []string
	if lanes == 32 {
		p = append(p, "VCC", "vcc_lo", "EXEC", "exec_lo", "_B ", "_b32 ", "M24", "s24", "M26", "s26", "M28", "s28")
	} else {
		p = append(p, "VCC", "vcc", "EXEC", "exec", "_B ", "_b64 ", "M24", "s[24:25]", "M26", "s[26:27]", "M28", "s[28:29]")
	}
	if strings.HasPrefix(target, "gfx1") {
		p = append(p, "v_add_u32 ", "v_add_nc_u32 ", "v_sub_u32 ", "v_sub_nc_u32 ", "v_addc_co_u32", "v_add_co_ci_u32", "v_subb_co_u32", "v_sub_co_ci_u32")
	}
	if strings.HasPrefix(target, "gfx12") {
		p = append(p, "v_mad_u64_u32", "v_mad_co_u64_u32", "v_mad_i64_i32", "v_mad_co_i64_i32", "ds_add_u32", "ds_add_u32", "ds_sub_u32", "ds_sub_u32", "s_add_u32", "s_add_co_u32", "s_sub_u32", "s_sub_co_u32", "s_addc_u32", "s_add_co_ci_u32",
			"v_max_f32", "v_max_num_f32", "v_min_f32", "v_min_num_f32", "v_med3_f32", "v_med3_num_f32", "v_max3_f32", "v_max3_num_f32")
	}
	if strings.HasPrefix(target, "gfx11") || strings.HasPrefix(target, "gfx12") {
		p = append(p, "load_dwordx2", "load_b64", "load_dwordx3", "load_b96", "load_dwordx4", "load_b128", "load_dwordx8", "load_b256", "load_dword ", "load_b32 ",
			"store_dwordx2", "store_b64", "store_dwordx3", "store_b96", "store_dwordx4", "store_b128", "store_dword ", "store_b32 ",
			"load_ubyte", "load_u8", "load_sbyte", "load_i8", "load_ushort", "load_u16", "load_sshort", "load_i16", "store_byte", "store_b8", "store_short", "store_b16",
			"ds_write2st64_b32", "ds_store_2addr_stride64_b32", "ds_write2_b32", "ds_store_2addr_b32", "ds_write_", "ds_store_",
			"ds_read2_b32", "ds_load_2addr_b32", "ds_read_", "ds_load_", "global_atomic_add ", "global_atomic_add_u32 ", "v_ffbh_u32", "v_clz_i32_u32",
			"s_andn2", "s_and_not1", "s_orn2", "s_or_not1")
	}
	return strings.NewReplacer(p...)
}

func newGuest(seed uint64) *guest {
	r := rand.New(rand.NewPCG(seed, 51))
	k := guestKinds[r.IntN(len(guestKinds))]
	return &guest{r: r, t: isa.TargetByName(k.target).Wave(k.lanes), lanes: k.lanes, waves: 1 + r.IntN(4), spell: spelling(k.target, k.lanes), funcs: make([][]guestLine, 1, guestFuncs)}
}

// do adds an instruction to the kernel.
func (g *guest) do(format string, x ...any) { g.line(0, guestLine{text: fmt.Sprintf(format, x...)}) }

func (g *guest) line(f int, l guestLine) {
	l.text = g.spell.Replace(l.text)
	g.funcs[f] = append(g.funcs[f], l)
}

// label is a name for a place to come.
func (g *guest) label() string { g.labels++; return fmt.Sprintf("L%d", g.labels) }

func (g *guest) bind(l string) { g.line(0, guestLine{text: l + ":"}) }

func (g *guest) branch(op, to string) { g.line(0, guestLine{text: op + " 0", to: to}) }

// one tells the truth once in n times.
func (g *guest) one(n int) bool { return g.r.IntN(n) == 0 }

func (g *guest) pick(s ...string) string { return s[g.r.IntN(len(s))] }

// v is a register of n from the first on.
func (g *guest) v(first, n int) string { return fmt.Sprintf("v%d", first+g.r.IntN(n)) }

// vs are n registers from the first on.
func vs(first, n int) string {
	if n == 1 {
		return fmt.Sprintf("v%d", first)
	}
	return fmt.Sprintf("v[%d:%d]", first, first+n-1)
}

// String is the program's text.
func (g *guest) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d lanes, %d waves, batch %v\n", g.t.Name, g.lanes, g.waves, g.batch)
	for _, f := range g.funcs {
		for _, l := range f {
			fmt.Fprintf(&b, "  %s %s\n", l.text, l.to)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// code writes the program's functions into memory, which is at va, each so far into its pages that it may reach into the next one, and returns the
// addresses where they begin, relative to the memory.
func (g *guest) code(va uint64, memory []byte) (at [guestFuncs]uint64) {
	for i := range g.funcs {
		at[i] = uint64(i*guestFunc + 4*(g.r.IntN(8)+g.r.IntN(2)*1000))
	}
	for i, f := range g.funcs {
		labels := map[string]uint64{}
		for pass := range 2 {
			pos := at[i]
			for _, l := range f {
				if name, ok := strings.CutSuffix(l.text, ":"); ok {
					labels[name] = pos
					continue
				}
				text := l.text
				for n, a := range at {
					text = strings.ReplaceAll(text, fmt.Sprintf("LOW%d", n), fmt.Sprintf("0x%x", uint32(va+a)))
					text = strings.ReplaceAll(text, fmt.Sprintf("HIGH%d", n), fmt.Sprintf("0x%x", (va+a)>>32))
				}
				b, err := isa.Assemble(g.t, text)
				if err != nil {
					panic(fmt.Sprintf("%s: %v", g.t.Name, err))
				}
				if pass == 1 {
					copy(memory[pos:], b)
					if l.to != "" {
						d := int64(labels[l.to]-pos-4) / 4
						binary.LittleEndian.PutUint16(memory[pos:], uint16(d))
					}
				}
				if pos += uint64(len(b)); pos > uint64(i+1)*guestFunc {
					panic("a function is too long")
				}
			}
		}
	}
	return at
}
