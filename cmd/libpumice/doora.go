package main

import (
	"github.com/pumice-gpu/pumice/cmd/libpumice/hipabi"
	"github.com/pumice-gpu/pumice/cmd/libpumice/hsaabi"
	"github.com/pumice-gpu/pumice/internal/machine"
)

func init() {
	hipabi.Start = machine.HIP
	hsaabi.Start = machine.HSA
}
