package interp

import "testing"

// TestSwizzle compares swizzled addresses with the layout in words: element e of lane l of a block of index-stride lanes comes
// after the elements e of the lanes before it, and a block is stride times index-stride bytes.
func TestSwizzle(t *testing.T) {
	b := buffer{stride: 64, index: 32, swizzle: 4}
	for index := range uint64(100) {
		for off := range uint64(64) {
			block, lane := index/32, index%32
			want := block*64*32 + off/4*32*4 + lane*4 + off%4
			if got := b.offset(index, off); got != want {
				t.Fatalf("index %d, offset %d: %d, want %d", index, off, got, want)
			}
		}
	}
}
