package isa

func (p *printer) image() {}

func (p *printer) graphics() {}
