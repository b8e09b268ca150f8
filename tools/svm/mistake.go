package svm

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	driver "github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	kfdsvm "github.com/pumice-gpu/pumice/kernel/kfd/svm"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

// MistakeNames are the bugs that a driver can be told to have.
func MistakeNames(e svmsim.Engine) []string {
	t := reflect.TypeFor[driver.Mistakes]()
	if e == svmsim.KFD {
		t = reflect.TypeFor[kfdsvm.Mistakes]()
	}
	var out []string
	for i := range t.NumField() {
		out = append(out, kebab(t.Field(i).Name))
	}
	sort.Strings(out)
	return out
}

// kebab writes SkipTLBFlush as skip-tlb-flush.
func kebab(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		up := func(j int) bool { return j >= 0 && j < len(s) && s[j] >= 'A' && s[j] <= 'Z' }
		if up(i) && i > 0 && (!up(i-1) || i+1 < len(s) && !up(i+1)) {
			b.WriteByte('-')
		}
		b.WriteByte(c)
	}
	return strings.ToLower(b.String())
}

// mistakes sets the switches of the driver that c.Mistake names.
func (c *Config) mistakes(m *svmsim.Config) error {
	v := reflect.ValueOf(&m.Mistakes).Elem()
	if c.Engine == svmsim.KFD {
		v = reflect.ValueOf(&m.Bugs).Elem()
	}
next:
	for _, n := range c.Mistake {
		for i := range v.NumField() {
			if kebab(v.Type().Field(i).Name) == n {
				v.Field(i).SetBool(true)
				continue next
			}
		}
		return fmt.Errorf("%q is not a mistake that the driver can make; there are: %s", n, strings.Join(MistakeNames(c.Engine), ", "))
	}
	return nil
}
