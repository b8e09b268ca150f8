package isa

// mimg decodes image instructions before gfx12.
//
// fidelity: refused mimg: image instructions decode their fields but name no address registers yet
func (s *state) mimg(out *Inst) error { return ErrUnknown }

func (s *state) vimage(out *Inst) error { return ErrUnknown }

// graphics decodes exports, interpolation and LDS parameter loads.
func (s *state) graphics(out *Inst) error { return ErrUnknown }
