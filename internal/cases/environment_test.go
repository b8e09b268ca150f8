package cases

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEnvironment sets the variables of ROCm's runtimes, and looks for what AMD documents of them.
func TestEnvironment(t *testing.T) {
	b := built(t)
	const none = " hipErrorNoDevice"
	devices := func(list string) func(*testing.T, outcome) {
		return func(t *testing.T, o outcome) {
			right(t, o)
			if got, _, _ := strings.Cut(o.out, "\n"); got != "devices:"+list {
				t.Errorf("%s, must be %s", got, list)
			}
		}
	}
	// As AMD's 5.2.3 answers for three GPUs on the buses 3 to 5.
	const a, c, e = " 3:gfx90a:sramecc+:xnack-", " 4:gfx1030", " 5:gfx90a:sramecc+:xnack-"
	log := filepath.Join(t.TempDir(), "log")
	for _, r := range []row{
		{name: "devices", check: devices(a + c + e)},
		{name: "devices", env: "HIP_VISIBLE_DEVICES=1", check: devices(c)},
		{name: "devices", env: "HIP_VISIBLE_DEVICES=2,0", check: devices(e + a)},
		{name: "devices", env: "HIP_VISIBLE_DEVICES=", check: devices(a + c + e)},
		{name: "devices", env: "HIP_VISIBLE_DEVICES=7", check: devices(none)},
		{name: "devices", env: "HIP_VISIBLE_DEVICES=0,7,1", check: devices(a)},
		{name: "devices", env: "HIP_VISIBLE_DEVICES=-1", check: devices(none)},
		{name: "devices", env: "HIP_VISIBLE_DEVICES=0,0", check: devices(a)},
		{name: "devices", env: "HIP_VISIBLE_DEVICES=abc", check: devices(none)},
		{name: "devices", env: "CUDA_VISIBLE_DEVICES=1", check: devices(c)},
		{name: "devices", env: "HIP_VISIBLE_DEVICES=1 CUDA_VISIBLE_DEVICES=0", check: devices(c)},
		{name: "devices", env: "ROCR_VISIBLE_DEVICES=1", check: devices(c)},
		{name: "devices", env: "ROCR_VISIBLE_DEVICES=2,0", check: devices(e + a)},
		{name: "devices", env: "ROCR_VISIBLE_DEVICES=", check: devices(none)},
		{name: "devices", env: "ROCR_VISIBLE_DEVICES=0,9", check: devices(a)},
		{name: "devices", env: "ROCR_VISIBLE_DEVICES=9,0", check: devices(none)},
		{name: "devices", env: "ROCR_VISIBLE_DEVICES=0,0,1", check: devices(a)},
		{name: "devices", env: "ROCR_VISIBLE_DEVICES=1,2 HIP_VISIBLE_DEVICES=1", check: devices(e)},
		{name: "devices", env: "ROCR_VISIBLE_DEVICES=GPU-XX", check: devices(none)},
		{name: "devices", env: "HSA_OVERRIDE_GFX_VERSION=9.0.8", check: devices(" 3:gfx908:sramecc+:xnack- 4:gfx908:sramecc-:xnack- 5:gfx908:sramecc+:xnack-")},
		{name: "launch_returns"},
		{name: "launch_blocks", env: "HIP_LAUNCH_BLOCKING=1"},
		{name: "launch_blocks", env: "AMD_SERIALIZE_KERNEL=2"},
		{name: "launch_blocks", env: "AMD_SERIALIZE_KERNEL=3"},
		{name: "launch_waits_for_the_last", env: "AMD_SERIALIZE_KERNEL=1"},
		{name: "copy_blocks", env: "AMD_SERIALIZE_COPY=2"},
		{name: "copy_blocks", env: "AMD_SERIALIZE_COPY=3"},
		{name: "streams_apart"},
		{name: "streams_together", env: "GPU_MAX_HW_QUEUES=1"},
		{name: "copies", env: "HSA_ENABLE_SDMA=0"},
		{name: "copies", env: "HSA_ENABLE_INTERRUPT=0"},
		{name: "copies", env: "HSA_XNACK=1"},
		{name: "copies", env: "ROC_AQL_QUEUE_SIZE=64"},
		{name: "launch_blocks", env: "HIP_LAUNCH_BLOCKING=1 AMD_LOG_LEVEL=3", check: logged(`(?m)^:3:hip_api.go +:0   : \d{10,} us: \d+ *: \[tid:0x[0-9a-f]+\] hipLaunchKernel: Returned hipSuccess : $`)},
		{name: "launch_blocks", env: "HIP_LAUNCH_BLOCKING=1 AMD_LOG_LEVEL=3", check: logged(`\x1b\[32mhipHostMalloc \( 0x[0-9a-f]+, 4, 1073741824 \)\x1b\[0m\n`)},
		{name: "launch_blocks", env: "HIP_LAUNCH_BLOCKING=1 AMD_LOG_LEVEL=3", check: logged(`\x1b\[32mhipLaunchKernel \( 0x[0-9a-f]+, \{1,1,1\}, \{1,1,1\}, 0x[0-9a-f]+, 0, stream:<null> \)\x1b\[0m\n`)},
		{name: "launch_blocks", env: "HIP_LAUNCH_BLOCKING=1 AMD_LOG_LEVEL=3 AMD_LOG_MASK=0x2", check: logged(`^$`)},
		{name: "launch_blocks", env: "HIP_LAUNCH_BLOCKING=1 AMD_LOG_LEVEL=3 AMD_LOG_LEVEL_FILE=" + log, check: func(t *testing.T, o outcome) {
			right(t, o)
			if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), "hipHostMalloc: Returned hipSuccess : 0x") || o.errs != "" {
				t.Errorf("%v, %q, %q", err, text, o.errs)
			}
		}},
		{name: "copies", env: "HSA_NO_SCRATCH_RECLAIM=1 HIP_FORCE_DEV_KERNARG=1", check: logged(`^pumice: of these variables Pumice's runtime takes no notice: HIP_FORCE_DEV_KERNARG, HSA_NO_SCRATCH_RECLAIM\n$`)},
		{name: "issue_rocr_debug_agent_2", env: "HSA_ENABLE_VM_FAULT_MESSAGE=0", check: func(t *testing.T, o outcome) {
			if o.signal == "" || strings.Contains(o.errs, "Memory access fault by GPU") {
				t.Errorf("signal %q\n%s", o.signal, o.errs)
			}
		}},
	} {
		t.Run(strings.TrimSpace(r.name+" "+strings.ReplaceAll(r.env, log, "FILE")), func(t *testing.T) {
			gpus := "mi210"
			if r.name == "devices" {
				gpus = "mi210,rx6900xt,mi210"
			}
			o := b.run(t, r, gpus, "pumice")
			if r.check != nil {
				r.check(t, o)
			} else {
				right(t, o)
			}
		})
	}
}

// logged expects a right program whose stderr a pattern matches.
func logged(pattern string) func(*testing.T, outcome) {
	return func(t *testing.T, o outcome) {
		right(t, o)
		if !regexp.MustCompile(pattern).MatchString(o.errs) {
			t.Errorf("no %s in:\n%s", pattern, o.errs)
		}
	}
}
