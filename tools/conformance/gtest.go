package main

import (
	"regexp"
	"strings"
)

// parseList reads the output of --gtest_list_tests: suites at the margin, cases indented, remarks behind '#'. Cases that are disabled
// are left out, as Google Test does when it runs.
func parseList(out string) []string {
	var names []string
	suite := ""
	for line := range strings.Lines(out) {
		line, _, _ = strings.Cut(strings.TrimRight(line, "\n"), "#")
		name := strings.TrimSpace(line)
		switch {
		case name == "":
		case strings.HasPrefix(line, "  "):
			if suite != "" && !disabled(suite) && !disabled(name) {
				names = append(names, suite+name)
			}
		case strings.HasSuffix(name, "."):
			suite = name
		default:
			suite = "" // "Running main() from ..." and the like
		}
	}
	return names
}

// disabled tells whether a part of a name behind a slash, or the whole, begins with DISABLED_.
func disabled(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, "DISABLED_") {
			return true
		}
	}
	return false
}

// event is one line of a running Google Test program.
type event struct {
	kind eventKind
	name string
}

type eventKind uint8

const (
	eventNone eventKind = iota
	eventRun
	eventPass
	eventFail
	eventSkip
)

var eventLine = regexp.MustCompile(`\[( RUN     |       OK|  FAILED |  SKIPPED) \] (\S+?\.\S+?)(?:,| |$)(.*)`)

var eventKinds = map[string]eventKind{" RUN     ": eventRun, "       OK": eventPass, "  FAILED ": eventFail, "  SKIPPED": eventSkip}

// parseLine knows the lines that begin and end a case. A case may have printed something before on the same line. The lists at the end
// of a run name cases again; those have no time.
func parseLine(line string) event {
	m := eventLine.FindStringSubmatch(line)
	if m == nil {
		return event{}
	}
	k := eventKinds[m[1]]
	if k != eventRun && !strings.HasSuffix(m[3], " ms)") {
		return event{}
	}
	return event{k, m[2]}
}
