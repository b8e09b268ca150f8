package buddy

import (
	"testing"

	"pgregory.net/rapid"
)

// TestAgainstModel compares the allocator with a bitmap of pages.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const page = 1 << MinShift
		total := rapid.IntRange(1, 300).Draw(t, "pages")
		a := New(uint64(total)*page + uint64(rapid.IntRange(0, page-1).Draw(t, "rest")))
		used := make([]bool, total)
		var live [][]Block
		nused := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(live) > 0 && rapid.Bool().Draw(t, "free") {
				i := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				for _, b := range live[i] {
					for p := b.Off / page; p < (b.Off+b.Size)/page; p++ {
						used[p] = false
						nused--
					}
				}
				a.Free(live[i])
				live = append(live[:i], live[i+1:]...)
				continue
			}
			pages := rapid.IntRange(1, 80).Draw(t, "size")
			align := uint64(page) << rapid.IntRange(0, 4).Draw(t, "align")
			contig := rapid.Bool().Draw(t, "contiguous")
			size := uint64(pages) * page
			bs, err := a.Alloc(size-uint64(rapid.IntRange(0, page-1).Draw(t, "cut")), align, contig)
			if err != nil {
				if align == page && !contig && pages <= total-nused {
					t.Fatalf("%d pages refused, %d free", pages, total-nused)
				}
				continue
			}
			var sum uint64
			for i, b := range bs {
				if i == 0 && b.Off%align != 0 {
					t.Fatalf("block at %#x, alignment %#x", b.Off, align)
				}
				if contig && i > 0 && b.Off != bs[i-1].Off+bs[i-1].Size {
					t.Fatalf("hole in a contiguous allocation: %v", bs)
				}
				for p := b.Off / page; p < (b.Off+b.Size)/page; p++ {
					if used[p] {
						t.Fatalf("page %d given twice", p)
					}
					used[p] = true
					nused++
				}
				sum += b.Size
			}
			if sum != size {
				t.Fatalf("asked %#x, got %#x", size, sum)
			}
			live = append(live, bs)
			if a.Avail() != uint64(total-nused)*page {
				t.Fatalf("available %#x, want %#x", a.Avail(), (total-nused)*page)
			}
		}
		for _, bs := range live {
			a.Free(bs)
		}
		if a.Avail() != a.Size() {
			t.Fatalf("%#x of %#x left", a.Avail(), a.Size())
		}
		// Everything joined again: the largest block is the largest power of two of the range.
		if l := a.Largest(); l > a.Size() || l*2 <= a.Size() {
			t.Fatalf("largest block %#x of %#x: buddies were not joined", l, a.Size())
		}
	})
}

func TestErrors(t *testing.T) {
	a := New(16 << MinShift)
	for _, c := range []struct {
		size, align uint64
		want        error
	}{{0, 0, ErrBadRequest}, {4096, 3, ErrBadRequest}, {17 << MinShift, 0, ErrNoSpace}, {^uint64(0), 0, ErrBadRequest}, {1, 1 << 40, ErrNoSpace}} {
		if _, err := a.Alloc(c.size, c.align, false); err != c.want {
			t.Errorf("size %#x align %#x: %v, want %v", c.size, c.align, err, c.want)
		}
	}
	b, err := a.Alloc(4096, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	a.Free(b)
	defer func() {
		if recover() == nil {
			t.Error("a double free passed")
		}
	}()
	a.Free(b)
}
