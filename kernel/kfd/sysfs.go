package kfd

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"sort"
	"strings"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"golang.org/x/sys/unix"
)

// Sysfs is the tree of files that describe the devices, by absolute path. It is immutable.
//
//	/sys/devices/virtual/kfd/kfd/topology    nodes, memory banks, caches, links
//	/sys/class/kfd/kfd                       the same, as a link
//	/sys/dev/char/226:N, /sys/class/drm      render nodes for libdrm
//	/sys/module/amdgpu, /proc/modules        "the module is loaded"
//	/dev/kfd, /dev/dri                       stat and listing only; Driver.Open opens
type Sysfs struct {
	root *entry
	deny []string // prefixes below which nothing else exists
}

// Kind is what a path names.
type Kind uint8

// Kinds of files.
const (
	Regular Kind = iota
	Dir
	CharDevice
	Link
)

// Stat describes a file.
type Stat struct {
	Kind         Kind
	Size         int64
	Major, Minor uint32 // of a device
	Mode         fs.FileMode
}

type entry struct {
	kind         Kind
	content      func() string
	target       string // of a link, absolute
	major, minor uint32
	children     map[string]*entry
}

func newSysfs(d *Driver) *Sysfs {
	s := &Sysfs{root: &entry{kind: Dir, children: map[string]*entry{}}, deny: []string{
		"/sys/devices/virtual/kfd", "/sys/class/kfd", "/sys/dev/char/226:", "/sys/class/drm", "/sys/module/amdgpu", "/dev/dri", "/dev/kfd",
		"/sys/bus/event_source/devices/amd_iommu",
	}}
	s.topology(d)
	s.devices(d)
	s.module()
	return s
}

// Owns reports whether a path is the driver's: then what Sysfs says of it is the truth, also that it does not exist.
func (s *Sysfs) Owns(p string) bool {
	p = path.Clean(p)
	if p == "/proc/modules" {
		return true
	}
	for _, d := range s.deny {
		if rest, ok := strings.CutPrefix(p, d); ok && (rest == "" || rest[0] == '/' || d[len(d)-1] == ':' || strings.HasSuffix(d, "amd_iommu")) {
			return true
		}
	}
	return false
}

func (s *Sysfs) add(p string, e *entry) {
	at := s.root
	parts := strings.Split(strings.Trim(p, "/"), "/")
	for _, n := range parts[:len(parts)-1] {
		c := at.children[n]
		if c == nil {
			c = &entry{kind: Dir, children: map[string]*entry{}}
			at.children[n] = c
		}
		at = c
	}
	if e.kind == Dir && e.children == nil {
		e.children = map[string]*entry{}
	}
	at.children[parts[len(parts)-1]] = e
}

func (s *Sysfs) file(p, content string) {
	s.add(p, &entry{kind: Regular, content: func() string { return content }})
}

// find walks to p. follow resolves a link at the end; those on the way are always followed.
func (s *Sysfs) find(p string, follow bool) (*entry, string, error) {
	for range 16 {
		p = path.Clean(p)
		at, rest := s.root, ""
		var link *entry
		parts := strings.Split(strings.Trim(p, "/"), "/")
		if p == "/" {
			parts = nil
		}
		for i, n := range parts {
			if at.kind != Dir {
				return nil, "", unix.ENOTDIR
			}
			c := at.children[n]
			if c == nil {
				return nil, "", unix.ENOENT
			}
			at = c
			if c.kind == Link && (i < len(parts)-1 || follow) {
				link, rest = c, strings.Join(parts[i+1:], "/")
				break
			}
		}
		if link == nil {
			return at, p, nil
		}
		p = path.Join(link.target, rest)
	}
	return nil, "", unix.ELOOP
}

// ReadFile returns the content of a file.
func (s *Sysfs) ReadFile(p string) ([]byte, error) {
	e, _, err := s.find(p, true)
	switch {
	case err != nil:
		return nil, err
	case e.kind == Dir:
		return nil, unix.EISDIR
	case e.content == nil:
		return nil, unix.EINVAL
	}
	return []byte(e.content()), nil
}

// DirEntry is one name in a directory.
type DirEntry struct {
	Name string
	Kind Kind
}

// ReadDir lists a directory in order of names.
func (s *Sysfs) ReadDir(p string) ([]DirEntry, error) {
	e, _, err := s.find(p, true)
	if err != nil {
		return nil, err
	}
	if e.kind != Dir {
		return nil, unix.ENOTDIR
	}
	out := make([]DirEntry, 0, len(e.children))
	for n, c := range e.children {
		out = append(out, DirEntry{n, c.kind})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

func (s *Sysfs) stat(p string, follow bool) (Stat, error) {
	e, _, err := s.find(p, follow)
	if err != nil {
		return Stat{}, err
	}
	st := Stat{Kind: e.kind, Major: e.major, Minor: e.minor, Mode: 0o444}
	switch e.kind {
	case Dir:
		st.Mode = fs.ModeDir | 0o755
	case CharDevice:
		st.Mode = fs.ModeDevice | fs.ModeCharDevice | 0o666
	case Link:
		st.Mode = fs.ModeSymlink | 0o777
		st.Size = int64(len(e.target))
	case Regular:
		st.Size = 4096 // as sysfs says of all its files
	}
	return st, nil
}

// Stat follows links, Lstat does not.
func (s *Sysfs) Stat(p string) (Stat, error)  { return s.stat(p, true) }
func (s *Sysfs) Lstat(p string) (Stat, error) { return s.stat(p, false) }

// Readlink returns where a link points; EINVAL for what is none.
func (s *Sysfs) Readlink(p string) (string, error) {
	e, _, err := s.find(p, false)
	if err != nil {
		return "", err
	}
	if e.kind != Link {
		return "", unix.EINVAL
	}
	return e.target, nil
}

// Realpath returns p with all links resolved.
func (s *Sysfs) Realpath(p string) (string, error) {
	_, q, err := s.find(p, true)
	return q, err
}

// Walk calls f for every path in order. content is nil but for regular files; it renders the file anew at each call.
func (s *Sysfs) Walk(f func(p string, st Stat, content func() string, target string)) {
	s.walk("", s.root, f)
}

func (s *Sysfs) walk(p string, e *entry, f func(string, Stat, func() string, string)) {
	names := make([]string, 0, len(e.children))
	for n := range e.children {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		c := e.children[n]
		st, _ := s.stat(p+"/"+n, false)
		f(p+"/"+n, st, c.content, c.target)
		s.walk(p+"/"+n, c, f)
	}
}

// devices adds device files and what libdrm looks for.
func (s *Sysfs) devices(d *Driver) {
	s.add(kfd.DevicePath, &entry{kind: CharDevice, major: kfdMajor})
	s.add("/dev/dri", &entry{kind: Dir})
	s.add("/sys/class/drm", &entry{kind: Dir})
	s.add("/sys/devices/virtual/kfd/kfd/dev", &entry{kind: Regular, content: func() string { return fmt.Sprintf("%d:0\n", kfdMajor) }})
	s.file("/sys/devices/virtual/kfd/kfd/uevent", fmt.Sprintf("MAJOR=%d\nMINOR=0\nDEVNAME=kfd\n", kfdMajor))
	s.add("/sys/class/kfd/kfd", &entry{kind: Link, target: "/sys/devices/virtual/kfd/kfd"})
	for _, n := range d.nodes {
		name := fmt.Sprintf("renderD%d", n.minor)
		s.add("/dev/dri/"+name, &entry{kind: CharDevice, major: drmMajor, minor: uint32(n.minor)})
		pci := pciPath(n)
		render := pci + "/drm/" + name
		s.file(render+"/dev", fmt.Sprintf("%d:%d\n", drmMajor, n.minor))
		s.file(render+"/uevent", fmt.Sprintf("MAJOR=%d\nMINOR=%d\nDEVNAME=dri/%s\nDEVTYPE=drm_minor\n", drmMajor, n.minor, name))
		s.add(render+"/device", &entry{kind: Link, target: pci})
		s.add(render+"/subsystem", &entry{kind: Link, target: "/sys/class/drm"})
		s.add(fmt.Sprintf("/sys/dev/char/%d:%d", drmMajor, n.minor), &entry{kind: Link, target: render})
		s.add("/sys/class/drm/"+name, &entry{kind: Link, target: render})
		s.primary(n, pci)
		p := &n.dev.Profile.PCI
		slot := fmt.Sprintf("0000:%02x:00.0", busOf(n))
		s.file(pci+"/vendor", fmt.Sprintf("0x%04x\n", uint32(p.Vendor)))
		s.file(pci+"/device", fmt.Sprintf("0x%04x\n", uint32(p.Device)))
		s.file(pci+"/subsystem_vendor", fmt.Sprintf("0x%04x\n", uint32(p.SubsystemVendor)))
		s.file(pci+"/subsystem_device", fmt.Sprintf("0x%04x\n", uint32(p.Subsystem)))
		s.file(pci+"/revision", fmt.Sprintf("0x%02x\n", uint32(p.Revision)))
		s.file(pci+"/class", "0x038000\n")
		s.file(pci+"/product_name", n.dev.Profile.MarketingName+"\n") // of the FRU's EEPROM, on real boards that have one (amdgpu_fru_eeprom.c)
		s.file(pci+"/unique_id", fmt.Sprintf("%016x\n", uniqueID(n)))
		s.file(pci+"/mem_info_vram_total", fmt.Sprintf("%d\n", n.dev.VRAMTotal()))
		s.add(pci+"/mem_info_vram_used", &entry{kind: Regular, content: func() string {
			return fmt.Sprintf("%d\n", n.dev.VRAMTotal()-n.dev.VRAMFree())
		}})
		s.file(pci+"/uevent", fmt.Sprintf("DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\nPCI_SLOT_NAME=%s\n",
			uint32(p.Vendor), uint32(p.Device), uint32(p.SubsystemVendor), uint32(p.Subsystem), slot))
		s.add(pci+"/subsystem", &entry{kind: Link, target: "/sys/bus/pci"})
	}
	// The links' other ends stand outside the owned prefixes: they exist in this tree so that paths through the links do.
	s.add("/sys/bus/pci", &entry{kind: Dir})
}

// primary adds what tools of system management know a board by: the primary node that DRM gives each device beside its render node
// (drm_drv.c), and the directory that amdgpu registers for its sensors (amdgpu_pm.c).
//
// fidelity: refused /dev/dri/cardN: the primary node is in sysfs, as management tools look for it there, and cannot be opened: nobody drives a display
// fidelity: refused sensors: hwmon has the driver's name and no temperature, clock, fan or power, as there are none
func (s *Sysfs) primary(n *node, pci string) {
	minor := n.minor - kfd.FirstRenderNode
	name := fmt.Sprintf("card%d", minor)
	card := pci + "/drm/" + name
	s.file(card+"/dev", fmt.Sprintf("%d:%d\n", drmMajor, minor))
	s.file(card+"/uevent", fmt.Sprintf("MAJOR=%d\nMINOR=%d\nDEVNAME=dri/%s\nDEVTYPE=drm_minor\n", drmMajor, minor, name))
	s.add(card+"/device", &entry{kind: Link, target: pci})
	s.add(card+"/subsystem", &entry{kind: Link, target: "/sys/class/drm"})
	s.add("/sys/class/drm/"+name, &entry{kind: Link, target: card})
	s.file(fmt.Sprintf("%s/hwmon/hwmon%d/name", pci, minor), "amdgpu\n")
}

// module adds the traces of a loaded module.
func (s *Sysfs) module() {
	s.file("/sys/module/amdgpu/initstate", "live\n")
	s.file("/sys/module/amdgpu/refcnt", "1\n")
	s.file("/sys/module/amdgpu/version", "6.10.5\n")
	s.add("/sys/module/amdgpu/holders", &entry{kind: Dir})
	s.add("/proc/modules", &entry{kind: Regular, content: func() string {
		host, err := os.ReadFile("/proc/modules")
		if err != nil || strings.Contains(string(host), "amdgpu ") {
			host = nil
		}
		return "amdgpu 16384000 1 - Live 0x0000000000000000\n" + string(host)
	}})
}

// Device numbers. KFD's major is dynamic in Linux; this is a usual one.
const (
	kfdMajor = 235
	drmMajor = 226
)

func busOf(n *node) int { return 2 + n.index }

func pciPath(n *node) string {
	return fmt.Sprintf("/sys/devices/pci0000:00/0000:00:%02x.0/0000:%02x:00.0", n.index, busOf(n))
}

func uniqueID(n *node) uint64 {
	return 0x5055_4d49_0000_0000 | uint64(n.dev.Profile.PCI.Device)<<8 | uint64(n.index)
}

// props renders "name value" lines.
type props struct{ strings.Builder }

func (p *props) set(name string, v any) { fmt.Fprintf(p, "%s %v\n", name, v) }

func cpuCount() int { return runtime.NumCPU() }
