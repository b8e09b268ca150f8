package hip

import (
	"fmt"
	"os"
	"strings"
)

// dotVerbose is the flag of GraphDebugDot that asks for everything; finer flags ask for single kinds of nodes.
const dotVerbose = 1

var nodeNames = map[NodeType]string{NodeKernel: "KERNEL", NodeMemcpy: "MEMCPY", NodeMemset: "MEMSET", NodeHost: "HOST", NodeGraph: "GRAPH", NodeEmpty: "EMPTY", NodeWaitEvent: "EVENT_WAIT",
	NodeEventRecord: "EVENT_RECORD", NodeMemAlloc: "MEM_ALLOC", NodeMemFree: "MEM_FREE", NodeBatchMemOp: "BATCH_MEM_OP"}

// GraphDebugDot writes a graph to a file in the language of Graphviz.
func (a *API) GraphDebugDot(gh uintptr, path string, flags uint32) Error {
	a.graphMu.Lock()
	g := a.graphs.get(gh)
	if g == nil {
		a.graphMu.Unlock()
		return ErrInvalidValue
	}
	var b strings.Builder
	b.WriteString("digraph dot {\n")
	g.dot(&b, "graph_1", flags)
	b.WriteString("}\n")
	a.graphMu.Unlock()
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		return ErrOperatingSystem
	}
	return Success
}

func (g *graph) dot(b *strings.Builder, name string, flags uint32) {
	fmt.Fprintf(b, "subgraph cluster_%s {\nlabel=%q graph[style=\"dashed\"];\n", name, name)
	id := func(n *node) string {
		for i, x := range g.nodes {
			if x == n {
				return fmt.Sprintf("%s_node_%d", name, i)
			}
		}
		return ""
	}
	for _, n := range g.nodes {
		shape := "octagon"
		switch n.op.kind() {
		case NodeMemcpy, NodeMemset, NodeMemAlloc, NodeMemFree:
			shape = "trapezium"
		case NodeHost:
			shape = "rectangle"
		case NodeEmpty, NodeWaitEvent, NodeEventRecord:
			shape = "ellipse"
		case NodeGraph:
			shape = "folder"
		}
		fmt.Fprintf(b, "%q[shape=%q label=%q];\n", id(n), shape, n.label(flags&dotVerbose != 0))
		if c, ok := n.op.(*childOp); ok {
			c.g.dot(b, id(n), flags)
		}
	}
	for _, n := range g.nodes {
		for _, o := range n.outs {
			fmt.Fprintf(b, "%q -> %q;\n", id(n), id(o))
		}
	}
	b.WriteString("}\n")
}

func (n *node) label(verbose bool) string {
	s := nodeNames[n.op.kind()]
	switch o := n.op.(type) {
	case *kernelOp:
		l := o.prep.Launch
		s += "\n" + o.prep.Kernel.Name
		if verbose {
			s += fmt.Sprintf("\ngrid %d %d %d, block %d %d %d, shared %d", o.grid.X, o.grid.Y, o.grid.Z, l.Block.X, l.Block.Y, l.Block.Z, l.SharedMem)
		}
	case *copyOp:
		s += "\n" + o.direction()
		if verbose {
			s += fmt.Sprintf("\n%#x <- %#x\n%d x %d x %d", o.dst, o.src, o.rect.Width, o.rect.Height, o.rect.Depth)
		}
	case *memsetOp:
		if verbose {
			s += fmt.Sprintf("\n%#x\n%d of %d bytes x %d, value %#x", o.p.Dst, o.p.Width, o.p.ElementSize, o.p.Height, o.p.Value)
		}
	case *allocOp:
		if verbose {
			s += fmt.Sprintf("\n%#x, %d bytes", o.p.Ptr, o.p.Size)
		}
	case *freeOp:
		if verbose {
			s += fmt.Sprintf("\n%#x", o.ptr)
		}
	}
	return s
}

// direction names the sides of a copy: H for the host, D for a device, A for an array.
func (o *copyOp) direction() string {
	sides, ok := map[Kind][2]string{HostToHost: {"H", "H"}, HostToDevice: {"H", "D"}, DeviceToHost: {"D", "H"}, DeviceToDevice: {"D", "D"}}[o.p.Kind]
	if !ok {
		return "Default"
	}
	if o.p.SrcArray != 0 {
		sides[0] = "A"
	}
	if o.p.DstArray != 0 {
		sides[1] = "A"
	}
	return sides[0] + "to" + sides[1]
}
