package machine

import (
	"strings"
	"testing"
)

func TestVariablesWithoutEffectAreNamed(t *testing.T) {
	for _, test := range []struct{ environ, want string }{
		{"PATH=/bin HOME=/ HIP_VISIBLE_DEVICES=0 HSA_XNACK=1 HIP_PATH=/opt AMD_LOG_LEVEL=1 AMDFOO=1 HIPPY=2", ""},
		{"HSA_CU_MASK=0:1 GPU_DEVICE_ORDINAL=1 HIP_FORCE_DEV_KERNARG=1", "GPU_DEVICE_ORDINAL, HIP_FORCE_DEV_KERNARG"},
		{"HSA_XNACKK=1", "HSA_XNACKK"},
	} {
		var b strings.Builder
		warnVariables(&b, strings.Fields(test.environ))
		_, got, _ := strings.Cut(strings.TrimSpace(b.String()), "notice: ")
		if got != test.want || strings.Count(b.String(), "\n") > 1 {
			t.Errorf("%s: %q", test.environ, b.String())
		}
	}
}
