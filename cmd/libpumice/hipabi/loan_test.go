package hipabi

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Every exported function passes its pointers to call as loans: a parameter of a pointer type appears by its address among the arguments of a call.
func TestPointersAreLent(t *testing.T) {
	// Registration, before main: the program's own constants. The rest ask package caller.
	direct := map[string]bool{"pumice_hip_thread_end": true, "pumice_hip_register_function": true, "pumice_hip_register_var": true, "pumice_hip_register_managed": true,
		"hiprtcLinkAddFile": true, "hiprtcLinkAddData": true, "hipLinkAddFile": true, "hipLinkAddData": true, // options and names that nobody reads
		"hipDrvGetErrorName": true, "hipDrvGetErrorString": true, "__hipGetPCH": true}
	fset := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	exported := 0
	for _, name := range names {
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Doc == nil || !strings.Contains(fn.Doc.List[len(fn.Doc.List)-1].Text, "//export ") || direct[fn.Name.Name] {
				continue
			}
			exported++
			used := map[string]bool{} // by address, or given to another function of this package as it is
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				switch x := n.(type) {
				case *ast.UnaryExpr:
					if id, ok := x.X.(*ast.Ident); ok && x.Op == token.AND {
						used[id.Name] = true
					}
				case *ast.ReturnStmt:
					for _, r := range x.Results {
						c, ok := r.(*ast.CallExpr)
						if !ok {
							continue
						}
						if id, ok := c.Fun.(*ast.Ident); !ok || !strings.HasPrefix(id.Name, "hip") && id.Name != "procAddress" && id.Name != "rtcSize" {
							continue
						}
						for _, a := range c.Args {
							if id, ok := a.(*ast.Ident); ok {
								used[id.Name] = true
							}
						}
					}
				}
				return true
			})
			for _, p := range fn.Type.Params.List {
				if _, ok := p.Type.(*ast.StarExpr); !ok {
					continue
				}
				for _, name := range p.Names {
					if !used[name.Name] {
						t.Errorf("%s: %s: the memory that %s points to is not lent", fset.Position(fn.Pos()), fn.Name.Name, name.Name)
					}
				}
			}
		}
	}
	if exported < 400 {
		t.Errorf("only %d exported functions", exported)
	}
}
