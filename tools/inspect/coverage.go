package inspect

import (
	"fmt"
	"io"
	"sort"

	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/engine/lift"
)

// Class says how well an instruction runs.
type Class string

const (
	// Exact: as the hardware does, bit for bit, as far as it is specified.
	Exact Class = "exact"
	// Approximate: the unit's own last-bit errors are not published; ours is correctly rounded.
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
	In       []string `json:"in,omitempty"` // functions, for those that are not exact
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
						u = &Use{Target: k.target, Mnemonic: k.name, Class: classify(op)}
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

func classify(op *isa.Op) Class {
	switch {
	case op == nil:
		return Invalid
	case !lift.Known(op):
		return Refused
	case op.Flags.Has(isa.FlagTransc):
		return Approximate
	}
	return Exact
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
