package machine

import (
	"testing"
	"time"

	"github.com/pumice-gpu/pumice/kernel/kfd"
)

func TestParseInjections(t *testing.T) {
	for s, want := range map[string]kfd.Delay{
		"":                     {},
		"irq=delay(3)":         {By: 3 * time.Millisecond, Percent: 100},
		"irq=10%delay(5)":      {By: 5 * time.Millisecond, Percent: 10},
		"irq=7%12*delay(1000)": {By: time.Second, Percent: 7, Count: 12},
	} {
		if got, err := parseInjections(s); err != nil || got != want {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"irq", "irq=", "irq=delay()", "irq=delay(1", "ring=delay(1)", "irq=error(3)", "irq=1000%delay(1)", "irq=delay(1)->off"} {
		if err := CheckInjection(s); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}
