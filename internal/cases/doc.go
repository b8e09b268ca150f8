// Package cases holds the inputs of public bug reports about ROCm and its emulators as tests: testdata/issue_REPOSITORY_NUMBER.* are small programs of our own that
// do what the report says, and show the right value. They are kept because somebody met each of them.
//
// A program runs by every door through which it makes sense: on Pumice's own runtime (door A), with AMD's HIP on Pumice's HSA, and with all of AMD's libraries
// on Pumice's kernel (door C). Where AMD's runtime shows the reported fault itself, the table of the test says so and leaves it out.
package cases
