package isa

import (
	"os"
	"strconv"
)

// wordsAsked is how many random words a test takes for each target: PUMICE_ISA_WORDS of them (make test-isa takes a million),
// otherwise what every run can afford.
func wordsAsked(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("PUMICE_ISA_WORDS")); err == nil {
		return n
	}
	return usual
}
