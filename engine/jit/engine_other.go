//go:build !(linux && amd64)

package jit

import (
	"errors"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/code"
)

// Supported tells whether this machine can run compiled code.
func Supported() bool { return false }

var errHost = errors.New("jit: compiled execution needs Linux on x86-64")

// New fails: there is no code generator for this host.
func New() (engine.Engine, error) { return nil, errHost }

// NewAVX2 fails like New.
func NewAVX2() (engine.Engine, error) { return nil, errHost }

// NewWith fails like New.
func NewWith(*code.Cache) (engine.Engine, error) { return nil, errHost }
