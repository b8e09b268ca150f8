// Conformance runs test programs of ROCm's libraries, as Debian ships them built, on Pumice's own HIP runtime (door A).
//
// The programs are Google Test programs. They come from packages of other Debian releases, which scripts/install-deps unpacks into a
// root of their own, with the C library they were built for: the loader in that root starts them, and nothing is installed. Of AMD's
// code there is in the process what the packages hold (the tests, their device code, librocrand); libamdhip64 is Pumice's.
//
//	go run ./tools/conformance [flags] SUITE [PATTERN]     one suite; PATTERN selects programs
//	go run ./tools/conformance [flags] -slice FILE         the cases that FILE names: all of them must pass
//
// # What is counted
//
// Every case that a program lists ends in one way: passed, skipped (by its own word), failed, or cut off. A case is cut off when it used
// more processor time than the limit, when its program has used up its own budget, or when it had more memory than allowed. A program
// that dies fails the case it was in; the cases behind it run in a new process. A case whose process used no processor time for a long
// while hangs, and has failed. Limits are processor time, not time on the clock, so that a busy machine changes nothing.
//
// # Failures only shrink
//
// In docs/conformance, SUITE.tsv has a line a program, of the last full run, and SUITE.failed has a line for each case that failed, with what
// is wrong, written by hand. A case that fails and is not in the file makes the run fail.
package main
