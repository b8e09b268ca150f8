package doorc

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Kind is what a path of a Tree names.
type Kind uint32

// Kinds. The values are those of enum pumice_kind in cmd/libpumice/abi.h.
const (
	File   Kind = 1
	Dir    Kind = 2
	Link   Kind = 3
	Device Kind = 4
)

// Node is one path of a Tree.
type Node struct {
	Kind Kind
	Mode fs.FileMode // permission bits
	Ino  uint64      // unique in the tree
	// Content renders a File. It is called at each open and may block only shortly.
	Content func() []byte
	// Target is what a Link says, absolute or relative to the link's directory.
	Target string
	// Major and Minor number a Device.
	Major, Minor uint32

	path     string
	children []string // of a Dir, sorted
}

// Path is the node's path in its Tree.
func (n *Node) Path() string { return n.path }

// Tree is a set of paths, built once and then only read, so it is safe for concurrent use.
type Tree struct {
	nodes map[string]*Node
	inos  uint64
}

// NewTree returns a Tree of the root directory only.
func NewTree() *Tree {
	t := &Tree{nodes: make(map[string]*Node)}
	t.nodes["/"] = &Node{Kind: Dir, Mode: 0o555, Ino: 1, path: "/"}
	t.inos = 1
	return t
}

// add puts a node at p, with directories above it as needed. A node that is there already is replaced.
func (t *Tree) add(p string, n *Node) {
	p = path.Clean("/" + p)
	t.inos++
	n.Ino, n.path = t.inos, p
	if old := t.nodes[p]; old != nil && old.Kind == Dir && n.Kind == Dir {
		return
	}
	t.nodes[p] = n
	dir, name := path.Split(p)
	dir = path.Clean(dir)
	parent := t.nodes[dir]
	if parent == nil || parent.Kind != Dir {
		parent = &Node{Kind: Dir, Mode: 0o555}
		t.add(dir, parent)
	}
	if i, found := slices.BinarySearch(parent.children, name); !found {
		parent.children = slices.Insert(parent.children, i, name)
	}
}

// AddFile adds a text file that content renders at each open.
func (t *Tree) AddFile(p string, content func() []byte) {
	t.add(p, &Node{Kind: File, Mode: 0o444, Content: content})
}

// AddText adds a text file that never changes.
func (t *Tree) AddText(p, text string) {
	t.AddFile(p, func() []byte { return []byte(text) })
}

// AddDir adds a directory; those above a path are added by themselves.
func (t *Tree) AddDir(p string) { t.add(p, &Node{Kind: Dir, Mode: 0o555}) }

// AddLink adds a symbolic link.
func (t *Tree) AddLink(p, target string) { t.add(p, &Node{Kind: Link, Mode: 0o777, Target: target}) }

// AddDevice adds a character device.
func (t *Tree) AddDevice(p string, major, minor uint32) {
	t.add(p, &Node{Kind: Device, Mode: 0o666, Major: major, Minor: minor})
}

// maxLinks is how many symbolic links one look-up follows, as in Linux.
const maxLinks = 40

// Walk finds a path, following symbolic links in its directories, and at its end when follow is set. Its errors are ENOENT,
// ENOTDIR and ELOOP.
func (t *Tree) Walk(p string, follow bool) (*Node, error) {
	rest := strings.Split(strings.Trim(path.Clean("/"+p), "/"), "/")
	at := t.nodes["/"]
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch {
		case name == "" || name == ".":
			continue
		case at.Kind != Dir:
			return nil, unix.ENOTDIR
		case name == "..":
			at = t.nodes[path.Dir(at.path)]
			continue
		}
		next := t.nodes[path.Join(at.path, name)]
		if next == nil {
			return nil, unix.ENOENT
		}
		if next.Kind == Link && (len(rest) > 0 || follow) {
			if links++; links > maxLinks {
				return nil, unix.ELOOP
			}
			if path.IsAbs(next.Target) {
				at = t.nodes["/"]
			}
			rest = append(strings.Split(next.Target, "/"), rest...)
			continue
		}
		at = next
	}
	return at, nil
}
