// Command write writes FIDELITY.md at the root of the module; go generate runs it in tools/fidelity.
package main

import (
	"fmt"
	"os"

	"github.com/pumice-gpu/pumice/tools/fidelity"
)

func main() {
	const root = "../.."
	tags, err := fidelity.Scan(os.DirFS(root))
	if err == nil {
		err = os.WriteFile(root+"/FIDELITY.md", []byte(fidelity.Page(tags)), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
