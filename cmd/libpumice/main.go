// Command libpumice is the Go library behind every door: a C-shared library that the stub opens on first use.
package main

import (
	"github.com/pumice-gpu/pumice/cmd/libpumice/cabi"
	"github.com/pumice-gpu/pumice/internal/machine"
)

func init() { cabi.Serve = machine.DoorC }

func main() {}
