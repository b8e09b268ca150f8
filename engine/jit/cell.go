package jit

// SampledFunc is a line of funcs.PID.
type SampledFunc struct {
	ID     uint32 `json:"id"`
	PC     uint64 `json:"pc"`
	Lanes  int    `json:"lanes"`
	Target string `json:"target"`
}

// Cell is what an onlooker reads at CellOffset of each page of cells.PID.
type Cell struct {
	PC   uint32 // offset from the function's PC
	Func uint32 // SampledFunc.ID, 0 when no code runs
	Slow uint32 // 1 while an operation is done by the helper
}

// CellOffset is where a page has its Cell. The dword at CellLive is not 0 in pages that are in use.
const (
	CellOffset = framePC
	CellLive   = frameLane + 4 // lane 1
)
