package inspect

import (
	"fmt"
	"io"
	"regexp"
	"sort"

	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
)

// Class says how well an instruction runs.
type Class string

const (
	// Exact: as the hardware does, bit for bit, as far as it is specified.
	Exact Class = "exact"
	// Approximate: what the unit does to the last bit, or in a case that programs may meet, is not published. Use.Why names the
	// line of FIDELITY.md.
	Approximate Class = "approximate"
	// Refused: a kernel that reaches it stops with an error naming it.
	Refused Class = "refused"
	// Invalid: the word is no instruction of this target.
	Invalid Class = "invalid"
)

// Use is one mnemonic of one target.
type Use struct {
	Target   string   `json:"target"`
	Mnemonic string   `json:"mnemonic"`
	Class    Class    `json:"class"`
	Count    int      `json:"count"`
	Why      string   `json:"why,omitempty"` // the line of FIDELITY.md, of those that are approximate
	In       []string `json:"in,omitempty"`  // functions, for those that are not exact
}

// functionsListed bounds Use.In.
const functionsListed = 5

// Coverage counts the instructions of the objects by target and mnemonic.
func Coverage(objs []*Object) ([]Use, error) {
	type key struct{ target, name string }
	uses := map[key]*Use{}
	for _, o := range objs {
		functions, err := o.Functions()
		if err != nil {
			return nil, err
		}
		for _, f := range functions {
			eachInst(f.ISA, f.Code, func(_ int, in *isa.Inst) {
				for _, op := range []*isa.Op{in.Op, in.Y} {
					k := key{f.ISA.Name, "(no instruction)"}
					if op != nil {
						k.name = op.Name
					} else if op == in.Y && in.Op != nil {
						continue
					}
					u := uses[k]
					if u == nil {
						u = &Use{Target: k.target, Mnemonic: k.name}
						u.Class, u.Why = classify(op, f.ISA)
						uses[k] = u
					}
					u.Count++
					if u.Class != Exact && len(u.In) < functionsListed && (len(u.In) == 0 || u.In[len(u.In)-1] != f.Name) {
						u.In = append(u.In, f.Name)
					}
					if in.Op == nil {
						break
					}
				}
			})
		}
	}
	out := make([]Use, 0, len(uses))
	for _, u := range uses {
		out = append(out, *u)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		if a.Target != b.Target {
			return a.Target < b.Target
		}
		if a.Count != b.Count {
			return a.Count > b.Count
		}
		return a.Mnemonic < b.Mnemonic
	})
	return out, nil
}

// approximations are the mnemonics that FIDELITY.md's lines of that kind speak of, on one processor or (empty) on all.
var approximations = []struct {
	names  *regexp.Regexp
	target string
	why    string
}{
	{regexp.MustCompile(`^v_smfmac_f|^v_swmmac_(f|bf)`), "", "matrix-sparse"},
	{regexp.MustCompile(`_f8f6f4`), "", "matrix-f8f6f4"},
	{regexp.MustCompile(`^v_mfma_f32_.*(f16|bf16|_1k|fp8|bf8)`), "gfx950", "matrix-cdna4"},
	{regexp.MustCompile(`^v_wmma_(f|bf)`), "", "wmma"},
	{regexp.MustCompile(`^v_dot2(c|acc)?_f32_`), "", "v_dot2_f32_f16"},
	{regexp.MustCompile(`^v_dot2_(f16_f16|bf16_bf16)$|^v_dot4_f32_`), "", "isa-dot2-half"},
	{regexp.MustCompile(`^v_cvt_pk_u8_f32$`), "", "isa-cvt-pk-u8"},
	{regexp.MustCompile(`^ds_(append|consume)$`), "", "isa-ds-append"},
	{regexp.MustCompile(`^ds_.*_src2_`), "", "isa-src2"},
	{regexp.MustCompile(`^ds_bvh_stack`), "", "isa-bvh-stack"},
	{regexp.MustCompile(`^image_bvh`), "", "bvh-arithmetic"},
	{regexp.MustCompile(`^image_(sample|gather)`), "", "image-filter"},
}

// classify says how an instruction runs, and if it is approximate, which line of FIDELITY.md says why.
func classify(op *isa.Op, t *isa.Target) (Class, string) {
	switch {
	case op == nil:
		return Invalid, ""
	case !lift.Known(op):
		return Refused, ""
	case op.Flags.Has(isa.FlagTransc):
		return Approximate, "transcendentals"
	}
	for _, a := range approximations {
		if (a.target == "" || a.target == t.Name) && a.names.MatchString(op.Name) {
			return Approximate, a.why
		}
	}
	return Exact, ""
}

// WriteCoverage prints a table and a summary for each target.
func WriteCoverage(w io.Writer, uses []Use) {
	for i := 0; i < len(uses); {
		target := uses[i].Target
		count, kinds := map[Class]int{}, map[Class]int{}
		fmt.Fprintf(w, "%s\n", target)
		for ; i < len(uses) && uses[i].Target == target; i++ {
			u := &uses[i]
			count[u.Class] += u.Count
			kinds[u.Class]++
			fmt.Fprintf(w, "  %8d  %-28s %s", u.Count, u.Mnemonic, u.Class)
			if u.Why != "" {
				fmt.Fprintf(w, " (%s)", u.Why)
			}
			if u.Class != Exact {
				fmt.Fprintf(w, "  in %s", u.In[0])
				if len(u.In) > 1 {
					fmt.Fprintf(w, " and others")
				}
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "  together: ")
		for n, c := range []Class{Exact, Approximate, Refused, Invalid} {
			if n > 0 {
				fmt.Fprint(w, ", ")
			}
			fmt.Fprintf(w, "%d %s (%d instructions)", kinds[c], c, count[c])
		}
		fmt.Fprintln(w)
	}
}
