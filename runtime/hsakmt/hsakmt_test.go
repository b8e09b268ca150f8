package hsakmt

import (
	"errors"
	"math/rand"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/kfd"
)

func open(t *testing.T, gpus int) (*KFD, *fake) {
	t.Helper()
	f := newFake(t, gpus)
	k, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k, f
}

func TestTopology(t *testing.T) {
	k, f := open(t, 2)
	topo := k.Topology()
	if len(topo.Nodes) != 3 || topo.Nodes[0].IsGPU() || !topo.Nodes[2].IsGPU() {
		t.Fatalf("%+v", topo.Nodes)
	}
	n := topo.Nodes[1]
	if n.Name != "test card" || n.ComputeUnits() != 104 || n.Props["unique_id"] != ^uint64(0) {
		t.Errorf("%+v", n)
	}
	if size, public := n.LocalMemory(); size != 68702699520 || !public {
		t.Errorf("memory %d %v", size, public)
	}
	if len(n.Caches) != 1 || n.Caches[0].Size != 16 {
		t.Errorf("caches %+v", n.Caches)
	}
	if l, ok := topo.Nodes[0].LinkTo(2); !ok || l.Weight != 20 {
		t.Errorf("link %+v", l)
	}
	delete(f.tree, topologyRoot+"/nodes/1/gpu_id")
	if _, err := ReadTopology(f.tree); err == nil {
		t.Error("a topology with a hole was accepted")
	}
	if _, err := ReadTopology(fstest.MapFS{}); StatusOf(err) != IOChannelNotOpened {
		t.Errorf("no topology: %v", err)
	}
	f.tree[topologyRoot+"/generation_id"] = &fstest.MapFile{Data: []byte("rubbish")}
	if _, err := ReadTopology(f.tree); err == nil {
		t.Error("a bad generation was accepted")
	}
}

func TestOpenRefusals(t *testing.T) {
	f := newFake(t, 1)
	f.fail[kfd.NrAcquireVM] = unix.EBUSY
	if _, err := Open(f); !errors.Is(err, unix.EBUSY) || StatusOf(err) != OutOfResources {
		t.Errorf("%v", err)
	}
	k, _ := open(t, 0)
	if _, err := k.Alloc(0, 4096, 0, 0); StatusOf(err) != NotSupported {
		t.Errorf("allocation with no GPU: %v", err)
	}
}

func TestAllocMapFree(t *testing.T) {
	k, f := open(t, 2)
	m, err := k.Alloc(1, 5000, 0, HostAccess|Executable|Coherent)
	if err != nil {
		t.Fatal(err)
	}
	a := f.handles[m.Handle]
	if a.Flags != kfd.AllocVRAM|kfd.AllocPublic|kfd.AllocExecutable|kfd.AllocCoherent|kfd.AllocWritable || a.Size != 8192 || a.VAAddr != m.VA {
		t.Errorf("asked %+v", a)
	}
	copy(m.Bytes(), "hello")
	if err := k.Map(m, 1, 2); err != nil || len(f.maps[m.Handle]) != 2 {
		t.Errorf("%v %v", err, f.maps)
	}
	before := f.calls[kfd.NrMapMemoryToGPU]
	if err := k.Map(m, 1); err != nil || f.calls[kfd.NrMapMemoryToGPU] != before {
		t.Error("mapped twice")
	}
	if k.Find(m.VA+8191) != m || k.Find(m.VA+8192) != nil || k.Find(m.VA-1) == m {
		t.Error("find")
	}
	if err := k.Unmap(m, 2); err != nil || len(k.MappedNodes(m)) != 1 {
		t.Error("unmap")
	}
	if err := k.Free(m); err != nil || len(f.handles) != 0 {
		t.Errorf("%v, left %v", err, f.handles)
	}
	if err := k.Free(m); StatusOf(err) != InvalidHandle {
		t.Errorf("double free: %v", err)
	}
	for _, c := range []struct {
		node        int
		size, align uint64
		want        Status
	}{{9, 4096, 0, InvalidNodeUnit}, {-1, 4096, 0, InvalidNodeUnit}, {1, 0, 0, InvalidParameter}, {1, 1 << 60, 0, InvalidParameter}, {1, 4096, 3, InvalidParameter}} {
		if _, err := k.Alloc(c.node, c.size, c.align, 0); StatusOf(err) != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
	f.fail[kfd.NrAllocMemoryOfGPU] = unix.ENOMEM
	if _, err := k.Alloc(1, 4096, 0, 0); StatusOf(err) != NoMemory {
		t.Errorf("%v", err)
	}
	if k.Map(&Mem{Handle: 1}, 0) == nil {
		t.Error("mapped on a CPU")
	}
}

func TestInvisibleMemory(t *testing.T) {
	k, _ := open(t, 1)
	m, err := k.Alloc(1, 4<<20, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if m.Host != 0 || m.Bytes() != nil || m.VA%hugeSize != 0 {
		t.Errorf("%+v", m)
	}
}

func TestRegister(t *testing.T) {
	k, f := open(t, 1)
	buf := make([]byte, 3*PageSize)
	addr := uint64(uintptr(unsafe.Pointer(&buf[100])))
	m, err := k.Register(addr, 5000, 0)
	if err != nil {
		t.Fatal(err)
	}
	a := f.handles[m.Handle]
	if a.Flags&kfd.AllocUserptr == 0 || a.MmapOffset != addr&^4095 || m.VA&4095 != addr&4095 || a.VAAddr != m.VA&^4095 || a.Size%4096 != 0 || a.Size < 5000 {
		t.Errorf("asked %+v for %+v", a, m)
	}
	if k.Find(addr+4999) != m || k.Find(m.VA+4999) != m || k.Find(addr+5000) == m || k.Find(addr-1) == m {
		t.Error("find")
	}
	m2, err := k.Register(addr, 10, 0)
	if err != nil || k.Find(addr) != m2 && k.Find(addr) != m {
		t.Error("second registration")
	}
	if k.Free(m) != nil || k.Find(addr) != m2 || k.Free(m2) != nil || k.Find(addr) != nil {
		t.Error("free")
	}
	if _, err := k.Register(0, 10, 0); StatusOf(err) != InvalidParameter {
		t.Error(err)
	}
	if _, err := k.Register(^uint64(0)-5, 10, 0); StatusOf(err) != InvalidParameter {
		t.Error(err)
	}
}

// Random allocation and freeing agrees with a list of what is live, and leaves nothing behind.
func TestAllocModel(t *testing.T) {
	k, f := open(t, 1)
	rng := rand.New(rand.NewSource(1))
	var live []*Mem
	for i := 0; i < 400; i++ {
		if len(live) > 0 && rng.Intn(5) < 2 {
			j := rng.Intn(len(live))
			if err := k.Free(live[j]); err != nil {
				t.Fatal(err)
			}
			live = append(live[:j], live[j+1:]...)
			continue
		}
		m, err := k.Alloc(rng.Intn(2), uint64(1+rng.Intn(1<<18)), 1<<uint(12+rng.Intn(6)), HostAccess)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range live {
			if m.VA < o.VA+o.Size+PageSize && o.VA < m.VA+m.Size+PageSize {
				t.Fatalf("%#x+%#x touches %#x+%#x", m.VA, m.Size, o.VA, o.Size)
			}
		}
		live = append(live, m)
		p := live[rng.Intn(len(live))]
		if k.Find(p.VA+uint64(rng.Int63n(int64(p.Size)))) != p {
			t.Fatal("find")
		}
	}
	for _, m := range live {
		if err := k.Free(m); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.handles) != 0 || len(k.mem.byVA) != 0 {
		t.Errorf("left: %d handles, %d entries", len(f.handles), len(k.mem.byVA))
	}
}

func TestEventPageGoesFirst(t *testing.T) {
	k, f := open(t, 1)
	e, err := k.CreateEvent(kfd.EventSignal, true)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.handles) != 1 || e.Mailbox != k.events.page.VA+8 {
		t.Errorf("%d buffers, mailbox %#x", len(f.handles), e.Mailbox)
	}
	if _, err := k.CreateEvent(kfd.EventMemory, false); err != nil || len(f.handles) != 1 {
		t.Error("a second page was made")
	}
	if _, err := k.WaitEvents([]*Event{e}, []uint64{1}, false, 0); StatusOf(err) != WaitTimeout {
		t.Error(err)
	}
	if _, err := k.WaitEvents(nil, nil, false, 0); StatusOf(err) != InvalidParameter {
		t.Error(err)
	}
}

func TestQueue(t *testing.T) {
	k, f := open(t, 1)
	q, err := k.CreateQueue(1, QueueConfig{Type: kfd.QueueTypeComputeAQL, RingSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	q2, err := k.CreateQueue(1, QueueConfig{Type: kfd.QueueTypeSDMA, RingSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	if q2.Doorbell != q.Doorbell+8 || q2.eop != nil || q.eop == nil {
		t.Errorf("%+v %+v", q, q2)
	}
	q.Ring(77)
	if atomic.LoadUint64((*uint64)(hostPointer(q.Doorbell))) != 77 {
		t.Error("doorbell")
	}
	n := len(f.handles)
	if err := k.DestroyQueue(q); err != nil || len(f.handles) != n-2 {
		t.Errorf("%v, %d buffers left of %d", err, len(f.handles), n)
	}
	f.fail[kfd.NrCreateQueue] = unix.ENOSPC
	n = len(f.handles)
	if _, err := k.CreateQueue(1, QueueConfig{Type: kfd.QueueTypeComputeAQL}); StatusOf(err) != OutOfResources || len(f.handles) != n {
		t.Errorf("%v, %d buffers for %d", err, len(f.handles), n)
	}
}

// The formulas of the driver, worked out by hand for the mi210 shape (104 CUs, 32 waves each, 512 KiB of VGPRs).
func TestSaveArea(t *testing.T) {
	k, _ := open(t, 1)
	s := k.Topology().Nodes[1].saveArea()
	if s.eop != 4096 || s.ctlStack%4096 != 0 || s.ctlStack != 0x7000 || s.cwsr != 0x7000+104*0x95000 {
		t.Errorf("%#x", s)
	}
}

func TestMarketingName(t *testing.T) {
	ids := "# a comment\n1.0.0\n740C,\t01,\tOne\n740F,\t02,\tAMD Instinct MI210\nbroken\n"
	for _, c := range []struct {
		dev, rev uint32
		want     string
	}{{0x740f, 2, "AMD Instinct MI210"}, {0x740f, 3, ""}, {0x740c, 1, "One"}} {
		if got := lookupName(strings.NewReader(ids), c.dev, c.rev); got != c.want {
			t.Errorf("%x %x: %q", c.dev, c.rev, got)
		}
	}
	// A card that libdrm's table does not have, or a machine without the table: what the board says.
	k, f := open(t, 1)
	f.tree["sys/class/drm/renderD128/device/product_name"] = &fstest.MapFile{Data: []byte("A new board\n")}
	if got := k.MarketingName(1); got != "A new board" {
		t.Errorf("%q", got)
	}
	if got := k.MarketingName(0); got != "" {
		t.Errorf("the CPU: %q", got)
	}
}
