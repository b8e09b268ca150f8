// Package prof says where the time of kernels goes: PC sampling, as AMD's rocprofiler-sdk has it for real GPUs, of compiled
// kernels on virtual ones.
//
// On the chip a timer makes the sequencer latch the program counter of some wave, or trap it (host-trap sampling). Here
// every worker that runs compiled code keeps the guest PC of what it does in a page of a shared file (jit.Sampler), and
// this process looks at all of them by its own clock. The program need not be stopped for it, and samples do not lean
// towards places where workers give way. When the program has ended, addresses are given the names of functions, source
// lines (where the code object has debug information) and instructions.
//
// What is counted is time on this machine's CPUs: an instruction that is cheap on a GPU may be dear here. A sample "in
// helper" fell into Go code that does an operation which compiled code cannot (a TLB miss, a rare operation).
package prof
