package segment_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pumice-gpu/pumice/kernel/segment"
)

// A flat array, a value for each address, is the model; 0 is a hole.
func TestAgainstFlatModel(t *testing.T) {
	const size = 2000
	rapid.Check(t, func(t *rapid.T) {
		var s segment.Set[int]
		var model [size]int
		next := 0
		check := func() {
			at := uint64(0)
			n := 0
			for g, ok := range s.Cover(0, size) {
				if g.Start != at || g.End <= g.Start {
					t.Fatalf("Cover yields [%d, %d) after %d", g.Start, g.End, at)
				}
				if ok {
					n++
				}
				for a := g.Start; a < g.End; a++ {
					if ok != (model[a] != 0) || ok && model[a] != g.Value {
						t.Fatalf("at %d: %v %d, want %d", a, ok, g.Value, model[a])
					}
				}
				at = g.End
			}
			if at != size || n != s.Len() {
				t.Fatalf("covered up to %d with %d segments, Len %d", at, n, s.Len())
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				a := rapid.Uint64Range(0, size-1).Draw(t, "start")
				b := min(a+rapid.Uint64Range(1, 9).Draw(t, "len"), size)
				for i := a; i < b; i++ {
					if model[i] != 0 {
						b = i
						break
					}
				}
				if a == b {
					return
				}
				next++
				s.Insert(a, b, next)
				for i := a; i < b; i++ {
					model[i] = next
				}
			},
			"remove": func(t *rapid.T) {
				a := rapid.Uint64Range(0, size-1).Draw(t, "addr")
				g, ok := s.Find(a)
				if ok != (model[a] != 0) || s.Remove(a) != ok {
					t.Fatalf("Find(%d) = %v, model %d", a, ok, model[a])
				}
				for i := g.Start; i < g.End; i++ {
					model[i] = 0
				}
			},
			"split": func(t *rapid.T) {
				a := rapid.Uint64Range(0, size-1).Draw(t, "addr")
				s.SplitAt(a)
				if g, ok := s.Find(a); ok && g.Start != a {
					t.Fatalf("after SplitAt(%d) the segment starts at %d", a, g.Start)
				}
			},
			"prev": func(t *rapid.T) {
				a := rapid.Uint64Range(0, size-1).Draw(t, "addr")
				g, ok := s.Prev(a)
				for i := uint64(0); i < a; i++ {
					if h, found := s.Find(i); found && h.End <= a && (!ok || h.Start > g.Start) {
						t.Fatalf("Prev(%d) = [%d, %d) %v, but there is [%d, %d)", a, g.Start, g.End, ok, h.Start, h.End)
					}
				}
				if ok && g.End > a {
					t.Fatalf("Prev(%d) ends at %d", a, g.End)
				}
			},
			"set": func(t *rapid.T) {
				a := rapid.Uint64Range(0, size-1).Draw(t, "addr")
				next++
				if g, _ := s.Find(a); s.Set(a, next) {
					for i := g.Start; i < g.End; i++ {
						model[i] = next
					}
				}
			},
			"clear": func(t *rapid.T) {
				a := rapid.Uint64Range(0, size-1).Draw(t, "start")
				b := min(a+rapid.Uint64Range(1, 60).Draw(t, "len"), size)
				s.Clear(a, b)
				clear(model[a:b])
			},
			"": func(t *rapid.T) { check() },
		})
	})
}

func TestManySegments(t *testing.T) {
	var s segment.Set[int]
	const n = 20000
	for i := range n {
		k := uint64(i*7919%n) * 10
		s.Insert(k, k+10, i)
	}
	if s.Len() != n {
		t.Fatalf("Len = %d, want %d", s.Len(), n)
	}
	want := uint64(0)
	for g := range s.All(0, 1<<40) {
		if g.Start != want {
			t.Fatalf("segment at %d, want %d", g.Start, want)
		}
		want += 10
	}
	for i := range n {
		if !s.Remove(uint64(i*7919%n) * 10) {
			t.Fatalf("segment %d is gone", i)
		}
	}
	if s.Len() != 0 {
		t.Fatalf("%d left", s.Len())
	}
}
