package hsa

import (
	"reflect"
	"testing"
)

func TestParseCUMasks(t *testing.T) {
	for _, test := range []struct {
		in   string
		want CUMasks // nil for an error
	}{
		{"0:0-3", CUMasks{0: {0xf}}},
		{"0,2-3:1,33;1:0x1F0", CUMasks{0: {2, 2}, 2: {2, 2}, 3: {2, 2}, 1: {0x1f0}}},
		{"0:0x1_0", nil}, {"0", nil}, {"0:", nil}, {"0:0x0", nil}, {"0:1;0:2", nil}, {"0:1,1", nil}, {"0:3-1", nil}, {"-1:3", nil}, {"0,0:1", nil}, {"0:99999", nil},
	} {
		got, err := ParseCUMasks(test.in)
		if (err != nil) != (test.want == nil) || err == nil && !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, %v", test.in, got, err)
		}
	}
}
