package host

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/pumice-gpu/pumice/kernel/mm"
	"github.com/pumice-gpu/pumice/kernel/pagemap"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/uaccess"
	"golang.org/x/sys/unix"
)

// shared is the one Space of the test process.
var shared = sync.OnceValues(func() (*Space, error) { return New(sched.NewLive()) })

func space(t testing.TB) *Space {
	s, err := shared()
	if err != nil {
		t.Skip(err)
	}
	if s.UserOnly() {
		t.Skip("user-mode faults only: the test touches memory by system calls")
	}
	return s
}

// device is VRAM with a bump allocator of page indices that come back when released.
type device struct {
	s    *Space
	pm   *pagemap.Pagemap
	mu   sync.Mutex
	vram []byte
	free []uint64
}

// newDevice makes one that pages are moved to; copying, one that they are copied to.
func newDevice(t testing.TB, s *Space, pages uint64) *device {
	d := copying(s, pages)
	b, err := unix.Mmap(-1, 0, int(pages*mm.PageSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
	if err == nil {
		err = s.Attach(unsafe.Pointer(&b[0]), uint64(len(b)))
	}
	if err != nil {
		t.Fatal(err)
	}
	d.vram = b
	return d
}

func copying(s *Space, pages uint64) *device {
	d := &device{s: s, vram: make([]byte, pages*mm.PageSize)}
	for i := pages; i > 0; i-- {
		d.free = append(d.free, i-1)
	}
	d.pm = pagemap.New(s.world, s, d, pages, d)
	return d
}

func (d *device) DeviceMap(pagemap.Device, uint64) (pagemap.Addr, error) { return pagemap.Addr{}, nil }
func (d *device) DeviceUnmap(pagemap.Device, pagemap.Addr)               {}

type alloc struct {
	d   *device
	idx []uint64
}

func (d *device) alloc(n int) *alloc {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.free) < n {
		return nil
	}
	a := &alloc{d, append([]uint64(nil), d.free[len(d.free)-n:]...)}
	d.free = d.free[:len(d.free)-n]
	return a
}

func (a *alloc) PopulatePFN(*pagemap.Devmem) ([]uint64, error) { return a.idx, nil }
func (a *alloc) page(i uint64) []byte                          { return a.d.vram[i*mm.PageSize : (i+1)*mm.PageSize] }

func (a *alloc) CopyToDevmem(_ *pagemap.Devmem, src []mm.Folio, dst []uint64) error {
	mem := make([]unsafe.Pointer, len(dst))
	for i := range dst {
		mem[i] = unsafe.Pointer(&a.page(dst[i])[0])
	}
	return a.d.s.CopyOut(mem, src)
}

func (a *alloc) CopyToRAM(_ *pagemap.Devmem, src []uint64, dst []mm.Folio) error {
	mem := make([]unsafe.Pointer, len(dst))
	for i := range dst {
		mem[i] = unsafe.Pointer(&a.page(src[i])[0])
	}
	return a.d.s.CopyIn(dst, mem)
}

func (a *alloc) Release(*pagemap.Devmem) {
	a.d.mu.Lock()
	a.d.free = append(a.d.free, a.idx...)
	a.d.mu.Unlock()
}

// migrate moves pages of the process to the device.
func (d *device) migrate(s *Space, start uint64, n int) (*pagemap.Devmem, error) {
	a := d.alloc(n)
	if a == nil {
		return nil, mm.ENOMEM
	}
	dm := d.pm.NewDevmem(s, n, a)
	s.MmapLock().RLock()
	defer s.MmapLock().RUnlock()
	return dm, d.pm.MigrateToDevmem(dm, s, start, start+uint64(n)<<mm.PageShift, pagemap.Options{})
}

// regions is where the next region lies: far from where the kernel puts a mapping that has no wish. Tests unmap pages of theirs and map
// them again, and another thread, the Go runtime's own too, must not get those in between.
var regions atomic.Uint64

func init() { regions.Store(1 << 46) }

// region maps so many pages of the process, aligned as blocks that move whole are.
func region(t testing.TB, pages int) uint64 {
	size := uint64(pages*mm.PageSize+chunkBytes-1) &^ (chunkBytes - 1)
	at := regions.Add(size+chunkBytes) - size - chunkBytes
	mem := *(*unsafe.Pointer)(unsafe.Pointer(&at))
	if _, err := unix.MmapPtr(-1, 0, mem, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED_NOREPLACE); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.MunmapPtr(mem, uintptr(size)) })
	return at
}

func TestThereAndBack(t *testing.T) {
	s := space(t)
	t.Run("moved", func(t *testing.T) { thereAndBack(t, s, newDevice(t, s, 2048)) })
	t.Run("copied", func(t *testing.T) { thereAndBack(t, s, copying(s, 2048)) })
}

func thereAndBack(t *testing.T, s *Space, d *device) {
	const n = 512
	a := region(t, n)
	var cpu uaccess.Process
	want := make([]byte, n*mm.PageSize)
	for i := range want {
		want[i] = byte(i * 7 >> 3)
	}
	clear(want[5*mm.PageSize : 9*mm.PageSize]) // never touched: holes
	for i := range n {
		if i >= 5 && i < 9 {
			continue
		}
		if err := cpu.Write(a+uint64(i)*mm.PageSize, want[i*mm.PageSize:(i+1)*mm.PageSize]); err != nil {
			t.Fatal(err)
		}
	}
	dm, err := d.migrate(s, a, n)
	if err != nil {
		t.Fatal(err)
	}
	if there := present(a, n); slicesContain(there) {
		t.Error("pages are still in the process")
	}
	got := make([]byte, len(want))
	if err := cpu.Read(a+3*mm.PageSize+100, got[:8]); err != nil || !bytes.Equal(got[:8], want[3*mm.PageSize+100:][:8]) {
		t.Fatalf("%v % x", err, got[:8])
	}
	if err := cpu.Read(a, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("content differs after the way back: %v", err)
	}
	s.world.Sleep(5 * time.Millisecond)
	d.mu.Lock()
	free := len(d.free)
	d.mu.Unlock()
	if !dm.Detached() || free != 2048 {
		t.Errorf("detached %v, %d device pages free", dm.Detached(), free)
	}
	// And eviction.
	if dm, err = d.migrate(s, a, n); err != nil {
		t.Fatal(err)
	}
	if err := d.pm.EvictToRAM(dm); err != nil {
		t.Fatal(err)
	}
	if err := cpu.Read(a, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("content differs after eviction: %v", err)
	}
}

func slicesContain(b []bool) bool {
	for _, x := range b {
		if x {
			return true
		}
	}
	return false
}

func TestUnmapFreesDevicePages(t *testing.T) {
	s := space(t)
	d := newDevice(t, s, 1024)
	var cpu uaccess.Process
	var mu sync.Mutex
	var seen []mm.Event // guarded by mu
	a := region(t, 64)
	s.Sync() // the region may stand where an earlier test's was: its end is not to be among the notifications
	n, _ := s.NewNotifier(a, a+64*mm.PageSize, func(inv *mm.Invalidation, set func()) bool {
		set()
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, inv.Event)
		return true
	})
	defer n.Remove()
	for i := range uint64(64) {
		_ = cpu.Write(a+i*mm.PageSize, []byte{byte(i + 1)})
	}
	if _, err := d.migrate(s, a, 64); err != nil {
		t.Fatal(err)
	}
	// DONTNEED: the content is gone, reads give zeroes.
	discard(a, 16*mm.PageSize)
	b := []byte{9}
	if err := cpu.Read(a+3*mm.PageSize, b); err != nil || b[0] != 0 {
		t.Errorf("after DONTNEED: %d %v", b[0], err)
	}
	// mremap: the content moves along.
	to := region(t, 64)
	if _, _, e := unix.Syscall6(unix.SYS_MREMAP, uintptr(a+32*mm.PageSize), 16*mm.PageSize, 16*mm.PageSize, 3, uintptr(to), 0); e != 0 {
		t.Fatal(e)
	}
	if err := cpu.Read(to+2*mm.PageSize, b); err != nil || b[0] != 35 {
		t.Errorf("after mremap: %d %v", b[0], err)
	}
	if _, _, e := unix.Syscall(unix.SYS_MUNMAP, uintptr(a), 32*mm.PageSize, 0); e != 0 {
		t.Fatal(e)
	}
	s.Sync()
	if len(s.entries(a, a+32*mm.PageSize)) != 0 {
		t.Error("entries of unmapped memory")
	}
	mu.Lock()
	if len(seen) < 4 || seen[0] != mm.EventMigrate || seen[1] != mm.EventClear {
		t.Errorf("notifications %v", seen)
	}
	mu.Unlock()
	_ = s.BringHome()
}

// TestMapAgainAtTheSameAddress migrates memory that was mapped a moment after other memory, which had migrated as well, went away at the
// same place: the message of its end must not take the new pages.
func TestMapAgainAtTheSameAddress(t *testing.T) {
	s := space(t)
	d := newDevice(t, s, 1024)
	var cpu uaccess.Process
	const pages = 16
	a := region(t, pages)
	for round := range 200 {
		mem := *(*unsafe.Pointer)(unsafe.Pointer(&a))
		if _, err := unix.MmapPtr(-1, 0, mem, pages*mm.PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED); err != nil {
			t.Fatal(err)
		}
		for i := range uint64(pages) {
			_ = cpu.Write(a+i*mm.PageSize, []byte{byte(round), byte(i)})
		}
		if _, err := d.migrate(s, a, pages); err != nil {
			t.Fatal(err)
		}
		for i := range uint64(pages) {
			b := make([]byte, 2)
			if err := cpu.Read(a+i*mm.PageSize, b); err != nil || b[0] != byte(round) || b[1] != byte(i) {
				t.Fatalf("round %d page %d: %d %v", round, i, b, err)
			}
			if i == pages/2 { // the rest goes away while it is on the device
				break
			}
		}
		if err := unix.MunmapPtr(mem, pages*mm.PageSize); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMigrationWhileOthersUnmap brings pages home while another thread unmaps watched memory all the time: the kernel refuses calls meanwhile,
// which must not cost a page.
func TestMigrationWhileOthersUnmap(t *testing.T) {
	s := space(t)
	d := newDevice(t, s, 1024)
	const pages, other = 64, 128
	a, b := region(t, pages), region(t, other)
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		mem := *(*unsafe.Pointer)(unsafe.Pointer(&b))
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := unix.MmapPtr(-1, 0, mem, other*mm.PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED); err != nil {
				continue
			}
			s.MmapLock().RLock()
			_ = s.watch(b, b+other*mm.PageSize, true)
			s.MmapLock().RUnlock()
			for i := range other {
				_ = unix.MunmapPtr(unsafe.Add(mem, i*mm.PageSize), mm.PageSize)
			}
		}
	}()
	var cpu uaccess.Process
	went := 0
	for round := range 100 {
		for i := range uint64(pages) {
			_ = cpu.Write(a+i*mm.PageSize, []byte{byte(round), byte(i)})
		}
		// Pages that will not go now are said to be busy: they stay.
		if _, err := d.migrate(s, a, pages); err == nil {
			went++
		} else if err != mm.EBUSY {
			t.Fatalf("round %d: %v", round, err)
		}
		for i := range uint64(pages) {
			got := make([]byte, 2)
			if err := cpu.Read(a+i*mm.PageSize, got); err != nil || got[0] != byte(round) || got[1] != byte(i) {
				t.Fatalf("round %d page %d: %d %v", round, i, got, err)
			}
		}
	}
	close(stop)
	<-done
	if went == 0 {
		t.Error("no page has migrated")
	}
}

// TestEverythingAtOnce has threads read and write, pages migrate, evictions and unmaps, and loses no byte.
func TestEverythingAtOnce(t *testing.T) {
	s := space(t)
	d := newDevice(t, s, 512)
	const pages, threads = 256, 4
	a := region(t, pages)
	stop := make(chan bool)
	errs := make(chan error, 16)
	var wg sync.WaitGroup
	for th := range threads {
		wg.Add(1)
		go func() {
			defer wg.Done()
			// Each thread owns a 16-byte part of every page and knows what is in it.
			var cpu uaccess.Process
			r := rand.New(rand.NewPCG(1, uint64(th)))
			var model [pages]uint64
			b := make([]byte, 8)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				p := r.IntN(pages)
				addr := a + uint64(p)<<mm.PageShift + uint64(th)*16
				if err := cpu.Read(addr, b); err != nil {
					errs <- err
					return
				}
				if got := binary.LittleEndian.Uint64(b); got != model[p] {
					errs <- fmt.Errorf("thread %d page %d: %d, want %d", th, p, got, model[p])
					return
				}
				model[p]++
				binary.LittleEndian.PutUint64(b, model[p])
				if err := cpu.Write(addr, b); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	r := rand.New(rand.NewPCG(7, 7))
	var live []*pagemap.Devmem
	moved := 0
	for end := time.Now().Add(700 * time.Millisecond); time.Now().Before(end); {
		n := 1 << r.IntN(7)
		start := r.IntN(pages/n) * n
		dm, err := d.migrate(s, a+uint64(start)<<mm.PageShift, n)
		if err == nil {
			live = append(live, dm)
			moved++
		}
		if len(live) > 0 && (err == mm.ENOMEM || r.IntN(4) == 0) {
			_ = d.pm.EvictToRAM(live[0])
			live = live[1:]
		}
		select {
		case err := <-errs:
			t.Fatal(err)
		default:
		}
	}
	close(stop)
	wg.Wait()
	select {
	case err := <-errs:
		t.Fatal(err)
	default:
	}
	if moved < 10 {
		t.Errorf("only %d migrations", moved)
	}
	t.Logf("%d migrations, %d device faults, %d zero fills", moved, s.Faults.Load(), s.Zeroes.Load())
}

func BenchmarkMigrate(b *testing.B) {
	s := space(b)
	d := newDevice(b, s, 512)
	a := region(b, 512)
	var cpu uaccess.Process
	buf := make([]byte, 512*mm.PageSize)
	if err := cpu.Write(a, buf); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(2 * int64(len(buf)))
	for b.Loop() {
		dm, err := d.migrate(s, a, 512)
		if err == nil {
			err = d.pm.EvictToRAM(dm)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMemcpy(b *testing.B) {
	from, to := make([]byte, chunkBytes), make([]byte, chunkBytes)
	b.SetBytes(2 * chunkBytes)
	for b.Loop() {
		copy(to, from)
		copy(from, to)
	}
}
