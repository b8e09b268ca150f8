//go:build linux && amd64

package jit

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestCompilerKeepsNothing compiles streams with compilers that have compiled other things before: the code is what a new one makes. Registers that the last
// block of another function reads were taken for values of the stream, whose host addresses came from scalar registers then.
func TestCompilerKeepsNothing(t *testing.T) {
	onEach(t, func(t *testing.T) {
		same := 0
		for seed := range fewer(300) {
			r := rand.New(rand.NewPCG(seed, 77))
			waves := 1 + r.IntN(4)
			f, _ := streamFunc(r, waves)
			o := Options{AVX2: hostAVX2, Soft: seed%4 == 3}
			want, err := new(compiler).compileStream(f, []int{streamX}, waves, seed%2 == 0, o)
			if err != nil {
				continue
			}
			c := new(compiler)
			if _, err := c.compileWith(engineFunc(seed), Options{AVX2: hostAVX2, Lazy: seed%5 > 0}); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			got, err := c.compileStream(f, []int{streamX}, waves, seed%2 == 0, o)
			if err != nil {
				t.Errorf("seed %d: %v", seed, err)
				continue
			}
			if !bytes.Equal(got.Code, want.Code) || got.Frame != want.Frame {
				t.Errorf("seed %d: other code", seed)
			}
			same++
		}
		if same < int(fewer(300))/3 {
			t.Errorf("only %d streams", same)
		}
	})
}
