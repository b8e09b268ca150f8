package machine

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/internal/doorc"
	"github.com/pumice-gpu/pumice/kernel/kfd"
)

// DoorC builds the machine that this process's environment names, and the Door to it.
func DoorC() (*doorc.Door, error) {
	profiles, err := ParseGPUs(listFromEnvironment())
	if err != nil {
		return nil, err
	}
	m, err := New(profiles)
	if err != nil {
		return nil, err
	}
	forking(m)
	return m.DoorC()
}

// DoorC makes the Door to a machine.
func (m *Machine) DoorC() (*doorc.Door, error) {
	door := doorc.New(kernel{m.Driver}, tree(m.Driver.Sysfs()))
	// ACQUIRE_VM names a render node by its descriptor.
	m.Driver.SetFD(func(fd int) kfd.File {
		if f, ok := door.FileOf(fd).(*file); ok {
			return f.File
		}
		return nil
	})
	if os.Getenv("PUMICE_STRACE") != "" {
		door.Trace = func(call string) { fmt.Fprintf(os.Stderr, "pumice[%d]: %s\n", os.Getpid(), call) }
	}
	return door, nil
}

// tree is the driver's files as a Door shows them.
func tree(s *kfd.Sysfs) *doorc.Tree {
	t := doorc.NewTree()
	s.Walk(func(path string, st kfd.Stat, content func() string, target string) {
		switch st.Kind {
		case kfd.Regular:
			t.AddFile(path, func() []byte { return []byte(content()) })
		case kfd.Dir:
			t.AddDir(path)
		case kfd.Link:
			t.AddLink(path, target)
		case kfd.CharDevice:
			t.AddDevice(path, st.Major, st.Minor)
		}
	})
	addCPUCaches(t)
	return t
}

// kernel opens the driver's devices for a Door.
type kernel struct{ driver *kfd.Driver }

func (k kernel) OpenDevice(path string) (doorc.OpenFile, error) {
	f, err := k.driver.Open(path)
	if err != nil {
		return nil, err
	}
	return &file{f, k.driver}, nil
}

type file struct {
	kfd.File
	driver *kfd.Driver
}

func (f *file) Begin(request uint32, arg uintptr) (unix.Errno, func() unix.Errno) {
	b, ok := f.File.(kfd.Beginner)
	if !ok {
		return errno(f.File.Ioctl(request, arg)), nil
	}
	rest, err := b.Begin(request, arg)
	if rest == nil {
		return errno(err), nil
	}
	return 0, func() unix.Errno { return errno(rest()) }
}

func errno(err error) unix.Errno {
	if err == nil {
		return 0
	}
	return doorc.Errno(err)
}

func (f *file) Mmap(offset, length uint64) ([]doorc.Segment, error) {
	segments, err := f.File.Mmap(offset, length)
	if err != nil {
		return nil, err
	}
	out := make([]doorc.Segment, len(segments))
	slices := f.driver.DoorbellSlices()
	for i, s := range segments {
		out[i] = doorc.Segment{FD: s.FD, Offset: s.Off, Length: s.Len}
		for _, d := range slices {
			if d.FD == s.FD {
				// The chip counts doorbells in dwords from the start of its aperture, which is the file.
				out[i].Ring = func(offset uint64) { d.Ring(uint32(offset / 4)) }
			}
		}
	}
	return out, nil
}

func (f *file) Close() {
	// The driver's own answer to a double close; the Door closes once.
	_ = f.File.Close()
}
