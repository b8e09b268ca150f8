package main

/*
#include "abi.h"
#include "process.h"
*/
import "C"

import "github.com/pumice-gpu/pumice/internal/machine"

// The library lives in a process that is not Go's own; process.c has what that means.
func init() {
	C.process_settle_signals()
	C.process_watch_forks()
	C.process_watch_memory()
}

//export pumice_memory
func pumice_memory(what int32, address, length uint64) {
	switch what {
	case C.PUMICE_RIGHTS:
		machine.MemoryProtected(address, length)
	case C.PUMICE_GOING:
		machine.MemoryGoing(address, length)
	case C.PUMICE_GONE:
		machine.MemoryGone(address, length)
	}
}

//export pumice_prepare_fork
func pumice_prepare_fork() { machine.PrepareFork() }
