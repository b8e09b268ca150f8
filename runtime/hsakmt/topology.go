package hsakmt

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strconv"
	"strings"

	"github.com/pumice-gpu/pumice/abi/kfd"
)

// Properties is the content of one "name value" file of the topology.
type Properties map[string]uint64

// Topology is a snapshot of the nodes of the machine.
type Topology struct {
	Generation uint64
	System     Properties
	Nodes      []*Node // by index: Nodes[i].ID == i
}

// Node is a CPU package or a GPU. Properties that the driver does not report are zero.
type Node struct {
	ID    int
	GPUID uint32 // 0 for a CPU
	Name  string // marketing name from the driver's name file, may be empty
	Props Properties

	Banks  []MemoryBank
	Caches []Cache
	Links  []Link // from this node; io_links, then p2p_links
}

// MemoryBank is one heap of a node.
type MemoryBank struct {
	HeapType  uint64 // kfd.HeapType*
	Size      uint64 // bytes
	Flags     uint64
	Width     uint64 // bits
	MemClkMax uint64 // MHz
}

// Cache is one cache of a node.
type Cache struct {
	ProcessorIDLow uint64
	Level          uint64
	Size           uint64 // KiB
	LineSize       uint64 // bytes
	LinesPerTag    uint64
	Associativity  uint64
	Latency        uint64
	Type           uint64 // kfd.CacheType* bits
}

// Link is a connection between two nodes.
type Link struct {
	Type                       uint64 // kfd.LinkType*
	From, To                   uint64 // node ids
	Weight                     uint64
	MinLatency, MaxLatency     uint64
	MinBandwidth, MaxBandwidth uint64
	Flags                      uint64 // kfd.LinkFlag* bits
}

// IsGPU reports whether the node has compute units.
func (n *Node) IsGPU() bool { return n.GPUID != 0 && n.Props["simd_count"] != 0 }

// ComputeUnits returns the number of compute units.
func (n *Node) ComputeUnits() uint32 {
	if d := n.Props["simd_per_cu"]; d != 0 {
		return uint32(n.Props["simd_count"] / d)
	}
	return 0
}

// Bank returns the total size in bytes of the node's heaps of one type.
func (n *Node) Bank(heapType uint64) (size uint64) {
	for _, b := range n.Banks {
		if b.HeapType == heapType {
			size += b.Size
		}
	}
	return
}

// LocalMemory returns the bytes of video memory, visible to the CPU or not, and whether the CPU sees all of it.
func (n *Node) LocalMemory() (size uint64, public bool) {
	pub, priv := n.Bank(kfd.HeapTypeFBPublic), n.Bank(kfd.HeapTypeFBPrivate)
	return pub + priv, priv == 0
}

// LinkTo returns the link from n to the node of the given id.
func (n *Node) LinkTo(id int) (Link, bool) {
	for _, l := range n.Links {
		if l.To == uint64(id) {
			return l, true
		}
	}
	return Link{}, false
}

// Snapshot attempts: a topology that changes while it is read is read again.
const maxSnapshots = 16

var topologyRoot = strings.TrimPrefix(kfd.TopologyPath, "/")

// ReadTopology reads a consistent snapshot: the generation is the same before and after.
func ReadTopology(tree fs.FS) (*Topology, error) {
	const op = "topology"
	for i := 0; i < maxSnapshots; i++ {
		before, err := readUint(tree, path.Join(topologyRoot, "generation_id"))
		if err != nil {
			return nil, &Error{Op: op, Status: IOChannelNotOpened, Err: err}
		}
		t, err := readNodes(tree)
		after, genErr := readUint(tree, path.Join(topologyRoot, "generation_id"))
		if genErr != nil {
			return nil, &Error{Op: op, Status: Failed, Err: genErr}
		}
		if after != before {
			continue
		}
		if err != nil {
			return nil, &Error{Op: op, Status: Failed, Err: err}
		}
		t.Generation = after
		return t, nil
	}
	return nil, &Error{Op: op, Status: Unavailable, Err: errors.New("the topology kept changing")}
}

func readNodes(tree fs.FS) (*Topology, error) {
	t := &Topology{}
	var err error
	if t.System, err = readProps(tree, path.Join(topologyRoot, "system_properties")); err != nil {
		return nil, err
	}
	dir := path.Join(topologyRoot, "nodes")
	ids, err := numbered(tree, dir)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		if i != id {
			return nil, fmt.Errorf("node %d is missing", i)
		}
		n, err := readNode(tree, path.Join(dir, strconv.Itoa(id)), id)
		if err != nil {
			return nil, err
		}
		t.Nodes = append(t.Nodes, n)
	}
	return t, nil
}

func readNode(tree fs.FS, dir string, id int) (*Node, error) {
	n := &Node{ID: id}
	g, err := readUint(tree, path.Join(dir, "gpu_id"))
	if err != nil {
		return nil, err
	}
	n.GPUID = uint32(g)
	if b, err := fs.ReadFile(tree, path.Join(dir, "name")); err == nil {
		n.Name = strings.TrimSpace(string(b))
	}
	if n.Props, err = readProps(tree, path.Join(dir, "properties")); err != nil {
		return nil, err
	}
	err = each(tree, path.Join(dir, "mem_banks"), func(p Properties) {
		n.Banks = append(n.Banks, MemoryBank{p["heap_type"], p["size_in_bytes"], p["flags"], p["width"], p["mem_clk_max"]})
	})
	if err != nil {
		return nil, err
	}
	err = each(tree, path.Join(dir, "caches"), func(p Properties) {
		n.Caches = append(n.Caches, Cache{p["processor_id_low"], p["level"], p["size"], p["cache_line_size"],
			p["cache_lines_per_tag"], p["association"], p["latency"], p["type"]})
	})
	if err != nil {
		return nil, err
	}
	for _, kind := range []string{"io_links", "p2p_links"} {
		err = each(tree, path.Join(dir, kind), func(p Properties) {
			n.Links = append(n.Links, Link{p["type"], p["node_from"], p["node_to"], p["weight"], p["min_latency"], p["max_latency"],
				p["min_bandwidth"], p["max_bandwidth"], p["flags"]})
		})
		if err != nil {
			return nil, err
		}
	}
	return n, nil
}

// each reads dir/0/properties, dir/1/properties and so on; a missing dir is an empty one.
func each(tree fs.FS, dir string, f func(Properties)) error {
	ids, err := numbered(tree, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, id := range ids {
		p, err := readProps(tree, path.Join(dir, strconv.Itoa(id), "properties"))
		if err != nil {
			return err
		}
		f(p)
	}
	return nil
}

// numbered lists the entries of a directory whose names are numbers, ascending.
func numbered(tree fs.FS, dir string) ([]int, error) {
	es, err := fs.ReadDir(tree, dir)
	if err != nil {
		return nil, err
	}
	var ids []int
	for _, e := range es {
		if n, err := strconv.Atoi(e.Name()); err == nil && n >= 0 {
			ids = append(ids, n)
		}
	}
	sort.Ints(ids)
	return ids, nil
}

func readUint(tree fs.FS, name string) (uint64, error) {
	b, err := fs.ReadFile(tree, name)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// readProps reads lines of "name value"; a line of another form (cache sibling maps, names) is passed over.
func readProps(tree fs.FS, name string) (Properties, error) {
	b, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	p := Properties{}
	for line := range strings.SplitSeq(string(b), "\n") {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			if n, err := strconv.ParseUint(strings.TrimSpace(v), 10, 64); err == nil {
				p[k] = n
			}
		}
	}
	return p, nil
}
