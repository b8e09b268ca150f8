package observe

import (
	"bytes"
	"debug/elf"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/kernel/uaccess"
)

// CodeMap knows what code objects a ROCr in this process has loaded, from what it keeps for debuggers: the list of link
// maps at its symbol _amdgpu_r_debug (the layout is that of glibc's struct r_debug). Each has the load address and the
// place of the object as a URI, "file://PATH#offset=N&size=N" or "memory://PID#offset=ADDRESS&size=N".
type CodeMap struct {
	memory uaccess.Memory
	own    atomic.Pointer[func(pc uint64) (*codeobj.Object, uint64, bool)]

	mu      sync.Mutex
	debug   uint64                     // address of _amdgpu_r_debug, 0 before it was looked for; guarded by mu
	objects map[string]*codeobj.Object // by URI; nil for what cannot be read; guarded by mu
}

// rocrName begins the file name of ROCr's library.
const rocrName = "libhsa-runtime64.so"

// maxLinkMaps bounds the walk of a list that the program may have damaged.
const maxLinkMaps = 4096

// NewCodeMap is the map of this process.
func NewCodeMap() *CodeMap { return &CodeMap{memory: uaccess.Process{}} }

// SetOwn gives the map what Pumice's own runtime has loaded in this process: it is asked first.
func (c *CodeMap) SetOwn(find func(pc uint64) (o *codeobj.Object, base uint64, ok bool)) {
	c.own.Store(&find)
}

// Find returns the code object that holds an address, and its load address.
func (c *CodeMap) Find(pc uint64) (o *codeobj.Object, base uint64, ok bool) {
	if f := c.own.Load(); f != nil {
		if o, base, ok := (*f)(pc); ok {
			return o, base, true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.debug == 0 {
		if c.debug = rocrDebug(); c.debug == 0 {
			return nil, 0, false
		}
	}
	// struct r_debug: int version, padding, pointer to the first link map.
	at, err := c.word(c.debug + 8)
	for i := 0; err == nil && at != 0 && i < maxLinkMaps; i++ {
		// struct link_map: load address, name, dynamic section, next.
		var name uint64
		if base, err = c.word(at); err != nil {
			break
		}
		if name, err = c.word(at + 8); err != nil {
			break
		}
		if base != 0 && pc >= base {
			if o := c.object(c.text(name)); o != nil && pc-base < o.ImageSize() {
				return o, base, true
			}
		}
		at, err = c.word(at + 24)
	}
	return nil, 0, false
}

func (c *CodeMap) word(addr uint64) (uint64, error) {
	w, err := uaccess.ReadUint32s(c.memory, addr, 2)
	if err != nil {
		return 0, err
	}
	return uint64(w[0]) | uint64(w[1])<<32, nil
}

// text reads a string that ends with a zero byte.
func (c *CodeMap) text(addr uint64) string {
	var s []byte
	for len(s) < 4096 {
		// Up to the end of a page at most: what follows may not be there.
		b := make([]byte, min(256, 4096-addr%4096))
		if c.memory.Read(addr, b) != nil {
			return ""
		}
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return string(append(s, b[:i]...))
		}
		s = append(s, b...)
		addr += uint64(len(b))
	}
	return ""
}

func (c *CodeMap) object(uri string) *codeobj.Object {
	if o, ok := c.objects[uri]; ok {
		return o
	}
	var o *codeobj.Object
	if b, err := c.read(uri); err == nil {
		if o, err = codeobj.Open(b); err != nil {
			o = nil
		}
	}
	if c.objects == nil {
		c.objects = make(map[string]*codeobj.Object)
	}
	c.objects[uri] = o
	return o
}

// maxCode bounds what a URI may ask for.
const maxCode = 1 << 30

// read gets the bytes that a URI names.
func (c *CodeMap) read(uri string) ([]byte, error) {
	scheme, rest, _ := strings.Cut(uri, "://")
	place, fragment, _ := strings.Cut(rest, "#")
	values, err := url.ParseQuery(fragment)
	if err != nil {
		return nil, err
	}
	number := func(name string) uint64 {
		n, _ := strconv.ParseUint(values.Get(name), 0, 64)
		return n
	}
	offset, size := number("offset"), number("size")
	if size > maxCode {
		return nil, fmt.Errorf("code object of %d bytes", size)
	}
	switch scheme {
	case "memory":
		b := make([]byte, size)
		return b, c.memory.Read(offset, b)
	case "file":
		path, err := url.PathUnescape(place)
		if err != nil {
			return nil, err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if offset > uint64(len(b)) || size > uint64(len(b))-offset {
			return nil, fmt.Errorf("%s has no %d bytes at %d", path, size, offset)
		}
		if size == 0 {
			size = uint64(len(b)) - offset
		}
		return b[offset : offset+size], nil
	}
	return nil, fmt.Errorf("code object at %q", uri)
}

// rocrDebug finds _amdgpu_r_debug of the ROCr that is loaded in this process; 0 when there is none.
func rocrDebug() uint64 {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(maps)) {
		// 7f..-7f.. r--p 00000000 fe:00 1234   /path
		fields := strings.Fields(line)
		if len(fields) < 6 || strings.Trim(fields[2], "0") != "" || !strings.Contains(fields[5], "/"+rocrName) {
			continue
		}
		start, _, _ := strings.Cut(fields[0], "-")
		base, err := strconv.ParseUint(start, 16, 64)
		if err != nil {
			continue
		}
		f, err := elf.Open(fields[5])
		if err != nil {
			continue
		}
		symbols, _ := f.DynamicSymbols()
		_ = f.Close()
		for _, s := range symbols {
			if s.Name == "_amdgpu_r_debug" && s.Section != elf.SHN_UNDEF {
				return base + s.Value
			}
		}
	}
	return 0
}
