package explain

import (
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/internal/observe"
)

// run is two launches of one kernel: the first is told, with the barrier behind the second as the one that wakes the waiter.
func run() []observe.ExplainEvent {
	arg := 0
	dims := [3]uint32{64, 1, 1}
	shape := &observe.ExplainShape{Waves: 1, Lanes: 64, VGPRs: 8}
	return []observe.ExplainEvent{
		{NS: 1, At: observe.AtDevice, GPUID: 2, Name: "gfx90a", UUID: "GPU-1", Node: 1, Minor: 128},
		{NS: 2, At: observe.AtCall, Name: "ALLOC_MEMORY_OF_GPU", GPUID: 2, Addr: 0x1000, Size: 0x2000, Handle: 9, Flags: 1},
		{NS: 3, At: observe.AtCall, Name: "MAP_MEMORY_TO_GPU", Handle: 9},
		{NS: 4, At: observe.AtMemory, Addr: 0x1000, Size: 0x2000, Kind: "device memory"},
		{NS: 4, At: observe.AtMemory, Addr: 0x400, Size: 0x500, Kind: "memory below"},
		{NS: 4, At: observe.AtMemory, Addr: 0x3000, Size: 0x800, Kind: "memory above"},
		{NS: 5, At: observe.AtQueue, GPUID: 2, Queue: 1, Kind: "compute", Doorbell: 2050, MQD: 0xabc000, Addr: 0xf000},
		// Written in the order of the hooks, which is not that of the times.
		{NS: 1000, At: observe.AtLaunch, Name: "_Z1kPf", Queue: 1, Grid: &dims, Group: &dims},
		{NS: 3000, At: observe.AtDispatch, Name: "_Z1kPf", Doorbell: 2050, VMID: 8, Object: 0x7000, Grid: &dims, Group: &dims, Shape: shape},
		{NS: 2000, At: observe.AtCommand, Name: "_Z1kPf", Queue: 1, Record: 0xe000, Args: 0xd000, Size: 8},
		{NS: 2001, At: observe.AtArgument, Name: "_Z1kPf", Queue: 1, Addr: 0x1010, Arg: &arg, Walk: []observe.ExplainStep{
			{Level: "PDB2", Table: 0x10, Index: 1, Raw: 0x21, Text: "valid"}, {Level: "PTB", Table: 0x20, Index: 1, Raw: 0, Text: "exec", Leaf: true}}},
		{NS: 9000, At: observe.AtDispatched, Doorbell: 2050},
		{NS: 9500, At: observe.AtInterrupt, Name: "end of pipe", Event: 3, VMID: 8},
		{NS: 9900, At: observe.AtCall, Name: "WAIT_EVENTS"},
		{NS: 10000, At: observe.AtLaunch, Name: "_Z1kPf", Queue: 1, Packet: 1, Grid: &dims, Group: &dims},
		{NS: 11000, At: observe.AtDispatch, Name: "_Z1kPf", Doorbell: 2050, Packet: 1, Shape: shape},
		{NS: 11500, At: observe.AtSVM, Name: "map", Addr: 0x2000, Size: 0x1000},
		{NS: 12000, At: observe.AtSVM, Name: "migrate to VRAM", Why: "GPU fault", Addr: 0x9000, Size: 0x1000},
	}
}

func TestCompose(t *testing.T) {
	j := Compose(run())
	if len(j.Launches) != 1 || j.Total != 2 || j.Cut || j.Launches[0].Times != 2 || j.Launches[0].Kernel != "k(float*)" {
		t.Fatalf("launches %+v, total %d", j.Launches, j.Total)
	}
	floors := ""
	last := int64(-1)
	for _, s := range j.Launches[0].Stops {
		floors += s.Floor + " "
		if s.NS < last {
			t.Errorf("%s: %d ns after %d", s.Text, s.NS, last)
		}
		last = s.NS
	}
	if floors != "hip clr hsa silicon silicon silicon kernel " || last != 8900 {
		t.Errorf("the launch passes %s until %d", floors, last)
	}
	var b strings.Builder
	if err := j.Print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"A launch: k(float*), the first of 2\n",
		"the null stream of device 0: 64×1×1 work-items in groups of 64×1×1",
		"takes packet 0 (doorbell 2050, VMID 8): kernel descriptor at 0x7000, 1 waves of 64 lanes",
		"the last wave has ended, after 6.0 µs",
		"A page: 0x1010, argument 0 of k(float*)\n",
		"device memory of 8192 bytes at 0x1000, made by device 0; the argument is 16 bytes into it",
		"8192 bytes of VRAM of gpu_id 2 at 0x1000, handle 0x9",
		"PTB at 0x20, entry 1: 0x0000000000000000 maps nothing yet: the first access faults",
		"A page: 0x9000, and what else shared virtual memory did\n  svm       migrate to VRAM [0x9000, 0xa000): GPU fault\n",
		"hipDevice_t 0 → hsa_agent_t gfx90a, GPU-1 → topology node 1 → gpu_id 2 → /dev/dri/renderD128\n",
		"the null stream → hsa_queue_t 0xe000 → compute queue 1 of gpu_id 2, ring at 0xf000 → MQD at 0xabc000 → hardware queue 0, doorbell 2050\n",
		"Launches: 2, of kernels: 1.\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if n := strings.Count(b.String(), "map [0x2000, 0x3000)"); n != 1 {
		t.Errorf("what happened to the argument's memory is told %d times in\n%s", n, b.String())
	}
}

// With AMD's runtime above, only what is below /dev/kfd speaks.
func TestComposeWithoutRuntime(t *testing.T) {
	var below []observe.ExplainEvent
	for _, e := range run() {
		if !strings.HasPrefix(e.At, "hip.") && !strings.HasPrefix(e.At, "clr.") {
			below = append(below, e)
		}
	}
	j := Compose(below)
	if j.Total != 2 || len(j.Launches) != 1 || j.Launches[0].Stops[0].Floor != "silicon" || len(j.Pages) != 1 {
		t.Errorf("%+v", j)
	}
	if j := Compose(nil); j.Total != 0 || len(j.Launches)+len(j.Pages)+len(j.Identities) != 0 {
		t.Errorf("of nothing: %+v", j)
	}
}

func TestRead(t *testing.T) {
	whole := `{"ns":1,"at":"kfd.call","name":"SVM"}` + "\n"
	for _, c := range []struct {
		in     string
		events int
		bad    bool
	}{
		{"", 0, false},
		{whole + whole, 2, false},
		{whole + `{"ns":2,"at":"kf`, 1, false}, // the program was killed
		{whole + "{\n" + whole, 0, true},
	} {
		events, err := Read(strings.NewReader(c.in))
		if len(events) != c.events || (err != nil) != c.bad {
			t.Errorf("%q: %d events, %v", c.in, len(events), err)
		}
	}
}
