package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"time"
)

// row is a line of a suite's table.
type row struct {
	program string
	count   [len(outcomeNames)]int
	cpu     time.Duration
	slowest time.Duration // of the cases that ended
}

func summarise(program string, rs []result) row {
	w := row{program: program}
	for _, c := range rs {
		w.count[c.outcome]++
		w.cpu += c.cpu
		if c.outcome != cut {
			w.slowest = max(w.slowest, c.cpu)
		}
	}
	return w
}

func (w row) cases() int {
	n := 0
	for _, c := range w.count {
		n += c
	}
	return n
}

const header = "program\tcases\tpassed\tskipped\tfailed\tcut off\tCPU seconds\tslowest case\n"

func (w row) String() string {
	return fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%d\t%.0f\t%.1f\n", w.program, w.cases(), w.count[passed], w.count[skipped], w.count[failed],
		w.count[cut], w.cpu.Seconds(), w.slowest.Seconds())
}

// total adds rows up.
func total(rows []row) row {
	t := row{program: "total"}
	for _, w := range rows {
		for i, n := range w.count {
			t.count[i] += n
		}
		t.cpu += w.cpu
		t.slowest = max(t.slowest, w.slowest)
	}
	return t
}

// share is the part of the cases that ran to their end and were not skipped, that passed, in percent.
func (w row) share() float64 {
	n := w.count[passed] + w.count[failed]
	if n == 0 {
		return 0
	}
	return 100 * float64(w.count[passed]) / float64(n)
}

// known is a list of cases that fail: "program case<tab>why" a line, '#' begins a remark.
type known map[string]string

func readKnown(path string) (known, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	k := known{}
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		line := in.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		name, why, _ := strings.Cut(line, "\t")
		if strings.Count(name, " ") != 1 || why == "" {
			return nil, fmt.Errorf("%s:%d: not \"program case<tab>why it fails\"", path, n)
		}
		k[name] = why
	}
	return k, in.Err()
}

// check compares what a run gave with k. It tells of every failed case that k does not name, and of named ones that no longer fail;
// the first are errors.
func (k known) check(out io.Writer, got map[string][]result) error {
	bad, n := 0, 0
	var lines []string
	for program, rs := range got {
		for _, c := range rs {
			name := program + " " + c.name
			switch why, listed := k[name]; {
			case c.outcome == failed && !listed:
				bad++
				lines = append(lines, fmt.Sprintf("FAILED %s: %s\n", name, c.why))
			case c.outcome == passed && listed:
				n++
				lines = append(lines, fmt.Sprintf("passes now, take it from the list: %s (%s)\n", name, why))
			}
		}
	}
	sort.Strings(lines)
	for _, l := range lines {
		io.WriteString(out, l)
	}
	if bad > 0 {
		return fmt.Errorf("%d cases failed that did not fail before", bad)
	}
	return nil
}
