package kfd

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"golang.org/x/sys/unix"
)

// smiFIFO is how much text waits for a slow reader before messages are dropped.
const smiFIFO = 8192

// smiClients are the readers of one device's event stream.
type smiClients struct {
	world sched.World
	mu    sched.Mutex
	list  []*smiClient // guarded by mu
}

// smiClient is one descriptor of SMI_EVENTS: user space holds one end of a socket pair, the driver the other. User space writes the
// mask of the events it wants and reads lines of text.
type smiClient struct {
	fd      int // ours, non-blocking
	mask    uint64
	dropped int
}

func (c *smiClients) init(w sched.World) { c.world, c.mu = w, w.NewMutex(smiClass) }

// smiEvents is SMI_EVENTS.
func (p *process) smiEvents(a *kfd.SMIEventsArgs) error {
	n := p.drv.nodeByID(a.GPUID)
	if n == nil {
		return unix.EINVAL
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return unix.EMFILE
	}
	_ = unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_SNDBUF, smiFIFO)
	n.smi.mu.Lock()
	n.smi.list = append(n.smi.list, &smiClient{fd: pair[0]})
	n.smi.mu.Unlock()
	a.AnonFD = uint32(pair[1])
	return nil
}

// refresh reads the masks that the client has written and reports whether it is still there; called with mu held. Reading them only
// when a message is at hand is enough: nothing is sent before.
func (c *smiClient) refresh() bool {
	var b [8]byte
	for {
		n, err := unix.Read(c.fd, b[:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err == unix.EAGAIN
		case n == 0:
			return false
		case n == 8:
			c.mask = binary.LittleEndian.Uint64(b[:])
		}
	}
}

// send writes one message to each client that wants the event. body ends in a newline.
func (c *smiClients) send(event int, body string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keep := c.list[:0]
	for _, x := range c.list {
		if !x.refresh() {
			_ = unix.Close(x.fd)
			continue
		}
		keep = append(keep, x)
		if x.mask>>(event-1)&1 == 0 {
			continue
		}
		msg := fmt.Sprintf("%x %s", event, body)
		if len(msg) > kfd.SMIEventMsgSize {
			msg = msg[:kfd.SMIEventMsgSize-1] + "\n"
		}
		if x.dropped > 0 {
			m := fmt.Sprintf("%x %d -%d %d\n", kfd.SMIEventDropped, clock(unix.CLOCK_BOOTTIME), os.Getpid(), x.dropped)
			if n, err := unix.Write(x.fd, []byte(m)); err == nil && n == len(m) {
				x.dropped = 0
			}
		}
		if n, err := unix.Write(x.fd, []byte(msg)); err != nil || n != len(msg) {
			x.dropped++
		}
	}
	c.list = keep
}

func (c *smiClients) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.list {
		_ = unix.Close(x.fd)
	}
	c.list = nil
}

// smiLifecycle tells all devices that the process has begun or ended.
func (p *process) smiLifecycle(start bool) {
	ev := kfd.SMIEventProcessEnd
	if start {
		ev = kfd.SMIEventProcessStart
	}
	for _, n := range p.drv.nodes {
		n.smi.send(ev, fmt.Sprintf("%d %s\n", p.drv.cfg.PID, comm()))
	}
}

// comm is the name of the process's task.
func comm() string {
	b, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		return "pumice"
	}
	return strings.TrimSpace(string(b))
}
