// Command exits adds up what left compiled code: the files exits.PID that processes with PUMICE_JIT_EXITS=DIR have left in the folders
// that are named. Lines are by instruction and operation, the most frequent first; -by-kernel has one for each kernel too.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/pumice-gpu/pumice/internal/observe"
)

func main() {
	kernels := flag.Bool("by-kernel", false, "a line for each kernel")
	top := flag.Int("top", 60, "how many lines")
	flag.Parse()
	counts := map[string]uint64{}
	for _, dir := range flag.Args() {
		files, _ := filepath.Glob(filepath.Join(dir, "exits.*"))
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				fmt.Fprintln(os.Stderr, "exits:", err)
				os.Exit(1)
			}
			observe.ReadExits(b, func(n uint64, text string) {
				f := strings.Split(text, "\t")
				if !*kernels && len(f) > 2 {
					f = f[:2]
				}
				counts[strings.Join(f, "  ")] += n
			})
		}
	}
	var lines []string
	total := uint64(0)
	for s, n := range counts {
		if n > 0 {
			lines = append(lines, s)
		}
		total += n
	}
	sort.Slice(lines, func(i, j int) bool {
		if counts[lines[i]] != counts[lines[j]] {
			return counts[lines[i]] > counts[lines[j]]
		}
		return lines[i] < lines[j]
	})
	for _, s := range lines[:min(len(lines), *top)] {
		fmt.Printf("%12d  %s\n", counts[s], s)
	}
	fmt.Printf("%12d  exits in all\n", total)
}
