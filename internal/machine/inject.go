package machine

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pumice-gpu/pumice/kernel/kfd"
)

// InjectVariable is the environment variable that breaks the machine on purpose: POINT=TERM, with the terms of FreeBSD's fail(9). The one point is irq, and its one action
// delay(MILLISECONDS), perhaps with a percentage and how often in front: irq=10%3*delay(5).
const InjectVariable = "PUMICE_INJECT"

var delayTerm = regexp.MustCompile(`^(?:(\d{1,3})%)?(?:(\d{1,9})\*)?delay\((\d{1,6})\)$`)

// parseInjections reads the variable.
func parseInjections(s string) (d kfd.Delay, err error) {
	if s == "" {
		return d, nil
	}
	point, term, _ := strings.Cut(s, "=")
	m := delayTerm.FindStringSubmatch(term)
	if point != "irq" || m == nil {
		return d, fmt.Errorf("%q is not an injection; there is irq=[PERCENT%%][COUNT*]delay(MILLISECONDS), such as irq=10%%delay(5)", s)
	}
	d.Percent = 100
	if m[1] != "" {
		d.Percent, _ = strconv.ParseUint(m[1], 10, 64)
	}
	d.Count, _ = strconv.ParseInt("0"+m[2], 10, 64)
	ms, _ := strconv.Atoi(m[3])
	d.By = time.Duration(ms) * time.Millisecond
	return d, nil
}

// CheckInjection reports what is wrong with a value of InjectVariable.
func CheckInjection(s string) error {
	_, err := parseInjections(s)
	return err
}
