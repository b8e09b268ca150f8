package ir

import (
	"fmt"
	"strings"
)

// ImageAction is what an image operation does.
type ImageAction uint8

const (
	ImageLoad    ImageAction = iota
	ImageStore               //
	ImageAddress             // where the texel lies, as three registers: address low, high, and 1 when it is in the image
	ImageSample              //
	ImageGather              // one component of the four texels of a footprint
	ImageResInfo             // the image's size
	ImageRay                 // a ray against a node of a BVH: four words
	NumImageActions
)

// ImageLevel is what the last value of an image address is.
type ImageLevel uint8

const (
	LevelImplicit ImageLevel = iota // none: from the differences between neighbouring lanes
	LevelZero                       // none: level 0
	LevelGiven                      // the level of detail
	LevelClamp                      // implicit, and a lower bound for it
	LevelMip                        // an integer
)

// Image describes an OpImage or OpFormat.
type Image struct {
	Action    ImageAction
	Gen       uint8 // of the descriptors: 9 to 12
	Pitched   bool  // gfx10.3 and later: two-dimensional descriptors have a pitch
	Shaped    bool  // the instruction names its shape, Dim; else the descriptor does
	Dim       uint8 // isa.Dim
	Array     bool  // gfx9: the address has a slice
	DMask     uint8 // components; OpFormat: that many, 1 to 15
	Level     ImageLevel
	Offset    bool // the address has packed offsets, a bias, a reference, gradients
	Bias      bool
	Compare   bool
	Gradients bool
	G16       bool // gradients are half-precision, two to a register
	A16       bool // so are coordinates
	D16       bool // data are
	UNorm     bool
	Broadcast bool  // gfx12: components that a store does not give are the first one, else 0
	Typed     bool  // OpFormat: the instruction names its format, Format
	Format    uint8 //
	High      bool  // OpFormat with D16: the high half of the register
	Node64    bool  // ImageRay: the node pointer has 64 bits
}

// fields gives access to all fields as numbers, in declaration order, for the text form.
func (m *Image) fields() []any {
	return []any{&m.Action, &m.Gen, &m.Pitched, &m.Shaped, &m.Dim, &m.Array, &m.DMask, &m.Level, &m.Offset, &m.Bias,
		&m.Compare, &m.Gradients, &m.G16, &m.A16, &m.D16, &m.UNorm, &m.Broadcast, &m.Typed, &m.Format, &m.High, &m.Node64}
}

// text lists the fields of m in declaration order.
func (m *Image) text() string {
	var s []string
	for _, f := range m.fields() {
		var n uint8
		switch f := f.(type) {
		case *bool:
			if *f {
				n = 1
			}
		case *uint8:
			n = *f
		case *ImageAction:
			n = uint8(*f)
		case *ImageLevel:
			n = uint8(*f)
		}
		s = append(s, fmt.Sprint(n))
	}
	return strings.Join(s, ",")
}

// image reads what text writes.
func (p *parser) image(l []string) *Image {
	m := &Image{}
	fs := m.fields()
	if len(l) != len(fs) {
		p.fail("image needs %d fields", len(fs))
	}
	for i, f := range fs {
		n := uint8(p.num(l[i], 8))
		switch f := f.(type) {
		case *bool:
			*f = n != 0
		case *uint8:
			*f = n
		case *ImageAction:
			if ImageAction(n) >= NumImageActions {
				p.fail("unknown image action %d", n)
			}
			*f = ImageAction(n)
		case *ImageLevel:
			*f = ImageLevel(n)
		}
	}
	return m
}
