package explain

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/ianlancetaylor/demangle"

	abi "github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/internal/observe"
)

// key names a packet: doorbells are a device's own.
type key struct {
	device   int
	doorbell uint32
	packet   uint64
}

// composer holds what the events say, for finding one by another.
type composer struct {
	events   []observe.ExplainEvent
	queues   map[[2]int]observe.ExplainEvent // by device and queue id
	begun    map[key]observe.ExplainEvent
	ended    map[key]observe.ExplainEvent
	commands map[[3]uint64]observe.ExplainEvent // by device, queue id, packet
}

// Compose makes journeys of events.
func Compose(events []observe.ExplainEvent) *Journeys {
	events = append([]observe.ExplainEvent(nil), events...)
	sort.SliceStable(events, func(i, j int) bool { return events[i].NS < events[j].NS })
	c := &composer{events: events, queues: map[[2]int]observe.ExplainEvent{}, begun: map[key]observe.ExplainEvent{}, ended: map[key]observe.ExplainEvent{},
		commands: map[[3]uint64]observe.ExplainEvent{}}
	for _, e := range events {
		switch e.At {
		case observe.AtQueue:
			c.queues[[2]int{e.Device, int(e.Queue)}] = e
		case observe.AtDispatch:
			c.begun[key{e.Device, e.Doorbell, e.Packet}] = e
		case observe.AtDispatched:
			c.ended[key{e.Device, e.Doorbell, e.Packet}] = e
		case observe.AtCommand:
			c.commands[[3]uint64{uint64(e.Device), uint64(e.Queue), e.Packet}] = e
		}
	}
	j := &Journeys{}
	c.launches(j)
	c.pages(j)
	c.identities(j)
	return j
}

// launches tells the first launch of each kernel.
func (c *composer) launches(j *Journeys) {
	first := map[string]int{}
	add := func(name string) *Launch {
		j.Total++
		if i, ok := first[name]; ok {
			j.Launches[i].Times++
			return nil
		}
		first[name] = len(j.Launches)
		j.Launches = append(j.Launches, Launch{Kernel: Demangle(name), Times: 1})
		return &j.Launches[len(j.Launches)-1]
	}
	ours := map[key]bool{} // dispatches that a launch of ours has told
	for _, e := range c.events {
		if e.At != observe.AtLaunch {
			continue
		}
		q, known := c.queues[[2]int{e.Device, int(e.Queue)}]
		k := key{e.Device, q.Doorbell, e.Packet}
		if known {
			ours[k] = true
		}
		l := add(e.Name)
		if l == nil {
			continue
		}
		l.stop(e.NS, e.NS, "hip", "a launch on %s of device %d: %s work-items in groups of %s", streamName(e.Stream), e.Device, dims(e.Grid), dims(e.Group))
		if m, ok := c.commands[[3]uint64{uint64(e.Device), uint64(e.Queue), e.Packet}]; ok {
			l.stop(e.NS, m.NS, "clr", "the HostQueue makes a kernel command of it: %d bytes of arguments, then the hidden ones, at %#x", m.Size, m.Args)
			l.stop(e.NS, m.NS, "hsa", "AQL packet %d of the hsa_queue_t at %#x, queue %d; its doorbell is rung", m.Packet, m.Record, m.Queue)
		}
		if known {
			c.dispatch(l, e.NS, k)
		}
	}
	for _, e := range c.events {
		k := key{e.Device, e.Doorbell, e.Packet}
		if e.At != observe.AtDispatch || ours[k] {
			continue
		}
		// Kernels of the runtime itself, or all of them when it is AMD's.
		if l := add(e.Name); l != nil {
			c.dispatch(l, e.NS, k)
		}
	}
	j.Cut = j.Total >= observe.MaxLaunches
}

// dispatch tells what the chip and the driver did with a packet.
func (c *composer) dispatch(l *Launch, start int64, k key) {
	b, ok := c.begun[k]
	if !ok {
		l.stop(start, start, "silicon", "the packet was not taken before the program ended")
		return
	}
	s := b.Shape
	l.stop(start, b.NS, "silicon", "the command processor takes packet %d (doorbell %d, VMID %d): kernel descriptor at %#x, %d waves of %d lanes, %d VGPRs, %d bytes of LDS, %d of scratch a lane",
		k.packet, k.doorbell, b.VMID, b.Object, s.Waves, s.Lanes, s.VGPRs, s.LDS, s.Private)
	e, ok := c.ended[k]
	if !ok {
		l.stop(start, b.NS, "silicon", "its last wave had not ended when the program did")
		return
	}
	l.stop(start, e.NS, "silicon", "the last wave has ended, after %s", duration(e.NS-b.NS))
	// The interrupt and the wake-up are of whatever completes next: the packet itself or a barrier behind it.
	next := int64(math.MaxInt64)
	for q, n := range c.begun {
		if q.device == k.device && q.doorbell == k.doorbell && n.NS > e.NS {
			next = min(next, n.NS)
		}
	}
	for _, i := range c.events {
		if i.At != observe.AtInterrupt || i.Device != k.device || i.Name != "end of pipe" || i.NS < e.NS {
			continue
		}
		if i.NS < next {
			l.stop(start, i.NS, "silicon", "a completion signal behind it: its value, the mailbox of event %d, an entry of the interrupt ring (end of pipe, VMID %d)", i.Event, i.VMID)
			for _, w := range c.events {
				if w.At == observe.AtCall && w.Name == "WAIT_EVENTS" && w.NS >= i.NS {
					if w.NS < next {
						l.stop(start, w.NS, "kernel", "AMDKFD_IOC_WAIT_EVENTS returns to the thread that waits for the signal")
					}
					break
				}
			}
		}
		break
	}
}

func (l *Launch) stop(start, at int64, floor, format string, args ...any) {
	l.Stops = append(l.Stops, Stop{floor, at - start, fmt.Sprintf(format, args...)})
}

// pages tells of the arguments of the launches, and of what shared virtual memory did.
func (c *composer) pages(j *Journeys) {
	if len(c.events) == 0 {
		return
	}
	start := c.events[0].NS
	for _, e := range c.events {
		if e.At != observe.AtArgument {
			continue
		}
		p := Page{Addr: e.Addr, Title: fmt.Sprintf("argument %d of %s", *e.Arg, Demangle(e.Name))}
		add := func(at int64, floor, format string, args ...any) {
			p.Stops = append(p.Stops, Stop{floor, at - start, fmt.Sprintf(format, args...)})
		}
		var base, size uint64
		for _, m := range c.events {
			if m.At == observe.AtMemory && m.NS <= e.NS && e.Addr >= m.Addr && e.Addr < m.Addr+m.Size {
				base, size = m.Addr, m.Size
				p.Stops = nil
				add(m.NS, "clr", "%s of %d bytes at %#x, made by device %d; the argument is %d bytes into it", m.Kind, m.Size, m.Addr, m.Device, e.Addr-m.Addr)
			}
		}
		var handle uint64
		for _, a := range c.events {
			switch {
			case a.At != observe.AtCall || a.NS > e.NS || a.Why != "":
			case a.Name == "ALLOC_MEMORY_OF_GPU" && e.Addr >= a.Addr && e.Addr < a.Addr+a.Size:
				handle = a.Handle
				add(a.NS, "hsakmt", "AMDKFD_IOC_ALLOC_MEMORY_OF_GPU: %d bytes of %s of gpu_id %d at %#x, handle %#x", a.Size, domain(a.Flags), a.GPUID, a.Addr, a.Handle)
			case a.Name == "MAP_MEMORY_TO_GPU" && handle != 0 && a.Handle == handle:
				add(a.NS, "kernel", "AMDKFD_IOC_MAP_MEMORY_TO_GPU enters it into the page tables")
			case a.Name == "SVM" && base != 0 && a.Addr < base+size && a.Addr+a.Size > base:
				add(a.NS, "kernel", "AMDKFD_IOC_SVM sets attributes of [%#x, %#x)", a.Addr, a.Addr+a.Size)
			}
		}
		c.walk(&p, start, e)
		for _, s := range c.events {
			if s.At == observe.AtSVM && size != 0 && s.Size > 0 && s.Addr < base+size && s.Addr+s.Size > base {
				add(s.NS, "svm", "%s", svmText(s))
			}
		}
		j.Pages = append(j.Pages, p)
	}
	c.moved(j, start)
}

// moved tells what shared virtual memory did where no argument points: with AMD's runtime above, everywhere.
func (c *composer) moved(j *Journeys, start int64) {
	told := map[int64]bool{}
	for _, p := range j.Pages {
		for _, s := range p.Stops {
			if s.Floor == "svm" {
				told[s.NS] = true
			}
		}
	}
	p := Page{Title: "and what else shared virtual memory did"}
	for _, s := range c.events {
		if s.At == observe.AtSVM && !told[s.NS-start] {
			if p.Addr == 0 {
				p.Addr = s.Addr
			}
			p.Stops = append(p.Stops, Stop{"svm", s.NS - start, svmText(s)})
		}
	}
	if len(p.Stops) > 0 {
		j.Pages = append(j.Pages, p)
	}
}

func svmText(s observe.ExplainEvent) string {
	t := s.Name
	if s.Size > 0 {
		t += fmt.Sprintf(" [%#x, %#x)", s.Addr, s.Addr+s.Size)
	}
	if s.Why != "" {
		t += ": " + s.Why
	}
	return t
}

// walk tells the page-table entries of an address as they were at the launch.
func (c *composer) walk(p *Page, start int64, e observe.ExplainEvent) {
	for i, s := range e.Walk {
		what := "points to the next table"
		if s.Leaf {
			what = "translates"
			if i < len(e.Walk) && !strings.Contains(s.Text, "valid") {
				what = "maps nothing yet: the first access faults"
			}
		}
		p.Stops = append(p.Stops, Stop{"gpuvm", e.NS - start, fmt.Sprintf("%s at %#x, entry %d: %#016x %s: %s", s.Level, s.Table, s.Index, s.Raw, what, s.Text)})
	}
}

// identities tells devices, and queues with what uses them.
func (c *composer) identities(j *Journeys) {
	for _, e := range c.events {
		if e.At == observe.AtDevice {
			j.Identities = append(j.Identities, Identity{[]string{fmt.Sprintf("hipDevice_t %d", e.Device), fmt.Sprintf("hsa_agent_t %s, %s", e.Name, e.UUID),
				fmt.Sprintf("topology node %d", e.Node), fmt.Sprintf("gpu_id %d", e.GPUID), fmt.Sprintf("/dev/dri/renderD%d", e.Minor)}})
		}
	}
	for _, q := range c.events {
		if q.At != observe.AtQueue {
			continue
		}
		var names []string
		seen := map[uint64]bool{}
		record := uint64(0)
		for _, m := range c.events {
			if m.At == observe.AtCommand && m.Device == q.Device && m.Queue == q.Queue {
				record = m.Record
				if !seen[m.Stream] {
					seen[m.Stream] = true
					names = append(names, streamName(m.Stream))
				}
			}
		}
		if len(names) > 0 {
			names = []string{strings.Join(names, ", "), fmt.Sprintf("hsa_queue_t %#x", record)}
		}
		j.Identities = append(j.Identities, Identity{append(names, fmt.Sprintf("%s queue %d of gpu_id %d, ring at %#x", q.Kind, q.Queue, q.GPUID, q.Addr), fmt.Sprintf("MQD at %#x", q.MQD),
			fmt.Sprintf("hardware queue %d, doorbell %d", q.Slot, q.Doorbell))})
	}
}

// domain names what ALLOC_MEMORY_OF_GPU's flags ask for.
func domain(flags uint32) string {
	for _, d := range [...]struct {
		bit  uint32
		name string
	}{{abi.AllocVRAM, "VRAM"}, {abi.AllocGTT, "GTT"}, {abi.AllocUserptr, "the process's own memory (userptr)"}, {abi.AllocDoorbell, "doorbells"}, {abi.AllocMMIORemap, "MMIO"}} {
		if flags&d.bit != 0 {
			return d.name
		}
	}
	return "no domain"
}

func streamName(s uint64) string {
	if s == 0 {
		return "the null stream"
	}
	return fmt.Sprintf("hipStream_t %#x", s)
}

func dims(d *[3]uint32) string {
	if d == nil {
		return "?"
	}
	return fmt.Sprintf("%d×%d×%d", d[0], d[1], d[2])
}

func duration(ns int64) string { return fmt.Sprintf("%.1f µs", float64(ns)/1000) }

// Demangle gives a C++ name as people write it.
func Demangle(name string) string { return demangle.Filter(name) }
