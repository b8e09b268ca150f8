package main

/*
#include "process.h"
*/
import "C"

import "github.com/pumice-gpu/pumice/internal/machine"

// The library lives in a process that is not Go's own; process.c has what that means.
func init() {
	C.process_settle_signals()
	C.process_watch_forks()
	C.process_watch_rights()
}

//export pumice_protected
func pumice_protected(address, length uint64) { machine.Protected(address, length) }

//export pumice_prepare_fork
func pumice_prepare_fork() { machine.PrepareFork() }
