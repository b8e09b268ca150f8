package svm

import (
	"sort"
	"strconv"
	"strings"

	driver "github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
)

// attrKeys are the attributes by name.
var attrKeys = map[string]driver.AttrType{"preferred": driver.AttrPreferredLoc, "prefetch": driver.AttrPrefetchLoc, "access": driver.AttrAccess,
	"granularity": driver.AttrGranularity, "host": driver.AttrHostAccess, "coherent": driver.AttrCoherent, "ext-coherent": driver.AttrExtCoherent,
	"hive": driver.AttrHiveLocal, "gpu-ro": driver.AttrGPURO, "gpu-exec": driver.AttrGPUExec, "read-mostly": driver.AttrGPUReadMostly}

// attrValues are the names of values.
var attrValues = map[string]map[string]uint32{
	"preferred": {"system": driver.LocSysmem, "vram": 1, "undefined": driver.LocUndefined},
	"prefetch":  {"system": driver.LocSysmem, "vram": 1, "undefined": driver.LocUndefined},
	"access":    {"none": driver.AccessNone, "inplace": driver.AccessInPlace, "migrate": driver.AccessAllowMigrate},
}

// attributes reads KEY=VALUE words.
func (p *parser) attributes(s *Step) error {
	for {
		key, value, ok := strings.Cut(p.peek(), "=")
		if !ok {
			break
		}
		p.word()
		t, ok := attrKeys[key]
		if !ok {
			return p.errorf("is no attribute; there are: access, preferred, prefetch, granularity, host, coherent, ext-coherent, hive, gpu-ro, gpu-exec, read-mostly")
		}
		v, ok := attrValues[key][value]
		if !ok {
			n, err := strconv.ParseUint(value, 0, 32)
			if err != nil {
				return p.errorf("the value of %s is not one that it can have; there are: %s", key, valueNames(key))
			}
			v = uint32(n)
		}
		s.attrs = append(s.attrs, driver.Attr{Type: t, Value: v})
	}
	if len(s.attrs) == 0 {
		p.word()
		return p.errorf("attributes belong here (access=migrate)")
	}
	return nil
}

// valueNames are the values that an attribute can have.
func valueNames(key string) string {
	var names []string
	for n := range attrValues[key] {
		names = append(names, n)
	}
	if names == nil {
		return "numbers"
	}
	sort.Strings(names)
	return strings.Join(names, ", ")
}
