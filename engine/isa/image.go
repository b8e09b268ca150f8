package isa

// mimg decodes image instructions before gfx12.
//
// fidelity: refused mimg: image instructions do not decode yet
func (s *state) mimg(out *Inst) error { return ErrUnknown }

func (s *state) vimage(out *Inst) error { return ErrUnknown }

func (p *printer) image() {}
