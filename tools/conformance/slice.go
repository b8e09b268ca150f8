package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// pick is a line of a slice: some cases of one program.
type pick struct {
	suite, program string
	gpu            string // profile; "" for the command line's
	cases          int    // that the filter selects; another number is an error, so that a slice cannot become empty unseen
	filter         string
}

// readSlice reads "suite[@gpu] program cases filter" lines; '#' begins a remark.
func readSlice(path string) ([]pick, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []pick
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		line, _, _ := strings.Cut(in.Text(), "#")
		w := strings.Fields(line)
		if len(w) == 0 {
			continue
		}
		p := pick{}
		if len(w) == 4 {
			p.suite, p.gpu, _ = strings.Cut(w[0], "@")
			p.program, p.filter = w[1], w[3]
			p.cases, err = strconv.Atoi(w[2])
		}
		if len(w) != 4 || err != nil {
			return nil, fmt.Errorf("%s:%d: not \"suite[@gpu] program cases filter\"", path, n)
		}
		if _, err := findSuite(p.suite); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		all = append(all, p)
	}
	return all, in.Err()
}
