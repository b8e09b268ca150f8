package machine

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/pumice-gpu/pumice/silicon/profile"
)

// GPUVariable is the environment variable in which `pumice run` tells the library what GPUs the process has: profile
// names (or paths of profile files) with commas between them, in the order of their nodes.
const GPUVariable = "PUMICE_GPU"

// DefaultGPU is the profile when none is named.
const DefaultGPU = "mi210"

// maxGPUs is how many render nodes Linux numbers (226:128 to 226:191).
const maxGPUs = 64

// ParseGPUs loads the profiles of a list such as "mi210,rx6900xt"; the same name may come several times.
func ParseGPUs(list string) ([]*profile.Profile, error) {
	var profiles []*profile.Profile
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			return nil, fmt.Errorf("%q has an empty name in it; names stand between commas, such as mi210,rx6900xt", list)
		}
		p, err := profile.Load(name)
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, p)
	}
	if len(profiles) > maxGPUs {
		return nil, fmt.Errorf("%d GPUs are more than the %d that a machine can have", len(profiles), maxGPUs)
	}
	return profiles, nil
}

// listFromEnvironment is the list of GPUs that the environment asks for.
func listFromEnvironment() string { return cmp.Or(os.Getenv(GPUVariable), DefaultGPU) }

// GPUs are the built-in profiles, by name.
func GPUs() []*profile.Profile {
	var all []*profile.Profile
	for _, name := range profile.Names() {
		if p, err := profile.Load(name); err == nil { // a built-in one always loads: its own tests see to that
			all = append(all, p)
		}
	}
	return all
}
