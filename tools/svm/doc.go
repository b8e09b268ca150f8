// Package svm runs scenarios of shared virtual memory: small programs in a readable language, executed by the real driver
// (kernel/amdgpu/svm, or the older kernel/kfd/svm) in a simulated machine whose schedule a seed decides.
//
// # The language
//
// One step a line; # begins a comment. The first comment line is the scenario's title.
//
//	machine gpus=1 vram=64 xnack=on policy=sync   # may be left out; see Config for all words; engine=kfd is the older driver
//	process p
//	map p heap 16 pages at 0x10000000 rw          # a mapping called heap; kind=file and others
//	set p heap access=migrate preferred=vram      # attributes, on all GPUs or "on gpu0"
//	gpu0 p store heap[3] 7                        # a wave's store; heap[3]+8 is 8 bytes into page 3
//	cpu p load heap[3] expect 7
//	expect page p heap[3] in ram
//
// A range is an address and a size (heap[2] 4 pages), or the name of a mapping for all of it. Steps:
//
//	process P / exit P / fork P CHILD
//	map P NAME N pages [at ADDR] RIGHTS [kind=anon|heap|stack|file|io]
//	munmap P RANGE / mprotect P RANGE RIGHTS / dontneed P RANGE / reclaim P RANGE
//	set P RANGE KEY=VALUE... [on gpuN] / reset P RANGE / prefetch P RANGE to system|gpuN
//	gpuN P load ADDR / gpuN P store ADDR VALUE / cpu P load ADDR / cpu P store ADDR VALUE
//	pressure gpuN N pages (a buffer takes video memory) / relax gpuN (it goes)
//	queue P NAME RING [on gpuN] (two pages: packets, indices) / destroy P NAME
//	event P NAME / submit P QUEUE store ADDR VALUE [event NAME] / doorbell P QUEUE / wait P EVENT [5ms]
//	fail alloc|map|copy|update|quiesce [after N] (one of the next uses fails) / kill P (its memory goes before its files)
//	sleep 5ms / settle (until the driver's workers have nothing to do)
//	parallel { ... } (each step, or each task NAME { ... }, a task of its own) / repeat N { ... }
//
// Any of them may end in "expect R", with R a value or an error name (fault, SIGSEGV, EPERM, ...), or several with | in
// between. Without it a step must succeed. Steps that look and do nothing:
//
//	expect page|pages P RANGE in hole|ram|vram|vram0|swap
//	expect mapped|unmapped P RANGE [rw|ro] [on gpuN]
//	expect attr P RANGE KEY=VALUE... [on gpuN] / expect ranges P RANGE N [on gpuN]
//	expect queues P running|stopped / expect queue P NAME running|evicted|faulted
//	expect [no] event NAME / expect events NAME N (of the driver: gpu-fault, migrate-to-ram, ...)
//	expect failure "text" (the run must fail so: a bug that is to be seen)
//
// # The run
//
// Run records a Frame after each step and at each event of the driver: mappings, attribute ranges, svm ranges, where each
// page lives, GPU page tables, queues, locks held. The same seed gives the same frames, byte for byte. After each step
// the machine is checked: no GPU may be able to use what the process has not (svmsim.Process.Check).
// Explore runs many seeds; what fails is shrunk to few switches of tasks.
package svm
