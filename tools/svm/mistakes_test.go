package svm

import (
	"regexp"
	"testing"
)

// Each scenario that names a mistake is a bug that was once in the real driver (numbers: kernel-svm §17).
var mistakeLine = regexp.MustCompile(`(?m)^# mistake: (\S+)$`)

// TestBugsAreFound explores each with its mistake on, where a failure must be found, and off, where there is none.
func TestBugsAreFound(t *testing.T) {
	const seeds = 100
	bugs := 0
	for _, sc := range library(t) {
		m := mistakeLine.FindStringSubmatch(sc.Source)
		if m == nil {
			continue
		}
		bugs++
		t.Run(sc.Name, func(t *testing.T) {
			found, err := Explore(sc, Options{Seed: 1, Mistakes: []string{m[1]}}, seeds, 20)
			if err != nil {
				t.Fatal(err)
			}
			if found == nil {
				t.Fatalf("%d seeds do not show it", seeds)
			}
			t.Logf("seed %d, %d switches: %.300s", found.Seed, found.Switches, found.Err.Error())
			if found, err = Explore(sc, Options{Seed: 1}, seeds, 0); err != nil || found != nil {
				t.Errorf("fails without the mistake: %v, %+v", err, found)
			}
		})
	}
	if bugs < 9 {
		t.Errorf("%d bugs", bugs)
	}
}
