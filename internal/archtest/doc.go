// Package archtest holds the tests of the whole house: that imports go only downward, as ARCHITECTURE.md draws them, and
// that everything but cmd/libpumice builds without cgo.
package archtest
