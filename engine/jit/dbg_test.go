//go:build linux && amd64

package jit

import (
	"fmt"
	"github.com/pumice-gpu/pumice/engine/ir"
	"os"
	"sort"
	"testing"
)

func TestDbg(t *testing.T) {
	name := os.Getenv("K")
	je, _ := New()
	je.SetDump(func(f *ir.Func, p *Program, a uintptr) {
		os.WriteFile("/tmp/jitwork/"+name+".ir", []byte(f.String()), 0o644)
		os.WriteFile("/tmp/jitwork/"+name+".bin", p.Code, 0o644)
		fmt.Println("code", len(p.Code), "values", len(f.Values), "helpers", p.helpers, "frame", p.Frame, p.Entry)
	})
	for _, x := range benches {
		if x.name == name {
			g := newGPU(t, "gfx90a", je, 256<<20)
			DebugHelpers = map[string]int{}
			x.prep(g)()
			type kv struct {
				k string
				n int
			}
			var l []kv
			for k, n := range DebugHelpers {
				l = append(l, kv{k, n})
			}
			sort.Slice(l, func(i, j int) bool { return l[i].n > l[j].n })
			for i, e := range l {
				if i < 20 {
					fmt.Println(e.n, e.k)
				}
			}
		}
	}
}
