package svm

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

// machineValues says what the properties of a machine can be.
var machineValues = map[string]string{"engine": "drm or kfd", "gpus": fmt.Sprint("a number from 1 to ", maxGPUs), "vram": fmt.Sprint("pages, from 1 to ", maxPages),
	"ram": "pages; 0 is no limit", "pinned": "pages; 0 is no limit", "xnack": "on or off", "hive": "on or off", "policy": "none, fence or sync",
	"window": "pages, a power of two", "chunks": "powers of two in pages, each smaller than the one before, down to 1"}

// machine reads the words of the machine line.
func (p *parser) machine() error {
	c := &p.sc.Config
	for len(p.words) > 0 {
		key, value, _ := strings.Cut(p.word(), "=")
		n, numErr := strconv.ParseUint(value, 0, 32)
		on := value == "on"
		var ok bool
		switch key {
		case "engine":
			c.Engine, ok = engineNames[value]
		case "gpus":
			c.GPUs, ok = int(n), numErr == nil && n >= 1 && n <= maxGPUs
		case "vram":
			c.VRAM, ok = int(n), numErr == nil && n >= 1 && n <= maxPages
		case "ram":
			c.RAM, ok = int(n), numErr == nil && n <= 1<<20
		case "pinned":
			c.Pinned, ok = int(n), numErr == nil && n <= 1<<20
		case "xnack":
			c.XNACK, ok = on, on || value == "off"
		case "hive":
			c.Hive, ok = on, on || value == "off"
		case "policy":
			c.Policy, ok = policyNames[value]
		case "window":
			c.Window, ok = n, numErr == nil && n >= 1 && n <= 1<<20 && n&(n-1) == 0
		case "chunks":
			c.Chunks, ok = parseChunks(value)
		case "mistake":
			c.Mistake = append(c.Mistake, value)
			ok = true
		default:
			return p.errorf("is no property of a machine; there are: engine, gpus, vram, ram, pinned, xnack, policy, hive, chunks, window, mistake")
		}
		if !ok {
			return p.errorf("the value is not one that %s can have: %s", key, machineValues[key])
		}
	}
	if c.Chunks[0] > c.Window {
		return p.errorf("the window must hold the largest chunk")
	}
	if err := c.mistakes(&svmsim.Config{}); err != nil {
		return p.errorf("%v", err)
	}
	return nil
}

// parseChunks reads range sizes in pages: powers of two, each smaller than the one before, down to 1.
func parseChunks(s string) ([]uint64, bool) {
	var out []uint64
	for w := range strings.SplitSeq(s, ",") {
		n, err := strconv.ParseUint(w, 0, 20)
		if err != nil || n == 0 || n&(n-1) != 0 || len(out) > 0 && n >= out[len(out)-1] {
			return nil, false
		}
		out = append(out, n)
	}
	return out, out[len(out)-1] == 1
}
