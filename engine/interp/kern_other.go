//go:build !amd64

package interp

import "github.com/pumice-gpu/pumice/engine/ir"

// Hosts without loops of their own run the ones in Go.

const haveAVX = false

func hostLoop(*ir.Value) kern32 { return nil }

func hostLoop64(*ir.Value) kern64 { return nil }

func hostICmp(ir.Pred) (k func(a, b *lanes, n int) uint64, not bool) { return nil, false }

func hostFCmp(ir.Pred) (k func(a, b *lanes, n int) uint64, not bool) { return nil, false }

func avxSplat(*lanes, uint32)                   {}
func avxSelect(_, _, _ *lanes, _ uint64, _ int) {}
func avxStride(*lanes, uint32, int) (same bool) { return false }

func hostFMA(_, _, _, _ *lanes, _ int) {}
