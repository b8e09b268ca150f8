package svm

import (
	"fmt"
	"time"

	driver "github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/svmsim"
)

// Scenario is a parsed program.
type Scenario struct {
	Name   string
	Title  string
	Config Config
	Steps  []*Step
	Fails  string // text of the failure that the run must end in; "" for none
	Names  []Mapping
	Source string
}

// Mapping is a name for addresses.
type Mapping struct {
	Process string
	Name    string
	Start   uint64
	Pages   uint64
}

// Config is the machine. Sizes are in pages.
type Config struct {
	Engine  svmsim.Engine
	GPUs    int
	VRAM    int // for each GPU
	RAM     int // 0: no limit
	XNACK   bool
	Policy  driver.EvictPolicy
	Hive    bool     // GPUs reach each other's memory
	Chunks  []uint64 // sizes of ranges; of the kfd engine the first, what moves together
	Pinned  int      // what may be registered with XNACK off and the kfd engine; 0: no limit
	Window  uint64   // addresses that one notifier watches; of the kfd engine the longest range
	Mistake []string
}

// defaultConfig has small chunks and windows, so that few pages meet all boundaries.
func defaultConfig() Config {
	return Config{GPUs: 1, VRAM: 64, XNACK: true, Policy: driver.EvictSync, Hive: true, Chunks: []uint64{4, 1}, Window: 16}
}

var policyNames = map[string]driver.EvictPolicy{"none": driver.EvictNone, "fence": driver.EvictFence, "sync": driver.EvictSync}

// engineNames are the two drivers: the one on drm_gpusvm, and the older one of amdkfd.
var engineNames = map[string]svmsim.Engine{"drm": svmsim.DRM, "kfd": svmsim.KFD}

// ParseEngine reads a driver's name.
func ParseEngine(s string) (svmsim.Engine, error) {
	e, ok := engineNames[s]
	if !ok {
		return 0, fmt.Errorf("%q is not an engine; there are: drm, kfd", s)
	}
	return e, nil
}

// ParsePolicy reads an eviction policy's name.
func ParsePolicy(s string) (driver.EvictPolicy, error) {
	p, ok := policyNames[s]
	if !ok {
		return 0, fmt.Errorf("%q is not an eviction policy; there are: none, fence, sync", s)
	}
	return p, nil
}

func (c Config) String() string {
	policy := ""
	for n, p := range policyNames {
		if p == c.Policy {
			policy = n
		}
	}
	onOff := map[bool]string{true: "on", false: "off"}
	engine := "drm"
	if c.Engine == svmsim.KFD {
		engine = "kfd"
	}
	s := fmt.Sprintf("engine=%s gpus=%d vram=%d ram=%d xnack=%s policy=%s hive=%s chunks=%s window=%d", engine, c.GPUs, c.VRAM, c.RAM, onOff[c.XNACK], policy,
		onOff[c.Hive], joinUints(c.Chunks), c.Window)
	if c.Pinned > 0 {
		s += fmt.Sprintf(" pinned=%d", c.Pinned)
	}
	for _, m := range c.Mistake {
		s += " mistake=" + m
	}
	return s
}

func joinUints(us []uint64) string {
	s := ""
	for i, u := range us {
		if i > 0 {
			s += ","
		}
		s += fmt.Sprint(u)
	}
	return s
}

// op is what a step does.
type op uint8

const (
	opProcess op = iota
	opExit
	opFork
	opMap
	opMunmap
	opMprotect
	opDontNeed
	opReclaim
	opSet
	opReset
	opPrefetch
	opLoad
	opStore
	opPressure
	opRelax
	opSleep
	opSettle
	opKill
	opFail
	opQueue
	opDestroy
	opSubmit
	opDoorbell
	opEvent
	opWait
	opParallel
	opTask
	opRepeat
	opExpectPages
	opExpectMapped
	opExpectUnmapped
	opExpectAttr
	opExpectRanges
	opExpectQueues
	opExpectEvent
	opExpectNoEvent
	opExpectCount
	opExpectQueue
)

// Step is one line.
type Step struct {
	Line int
	Text string

	op      op
	process string
	name    string // child, mapping, task, event, place, queue
	other   string // event of a packet, state of a queue
	gpu     int    // -1: all GPUs, or the CPU
	start   uint64 // bytes
	size    uint64
	value   uint64
	n       int
	prot    mm.Prot
	kind    mm.Kind
	attrs   []driver.Attr
	wait    time.Duration
	expect  []string
	body    []*Step
}
