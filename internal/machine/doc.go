// Package machine puts a virtual machine together: profiles by name, the silicon of each, and the kernel half that drives
// them. It is the one wiring place.
package machine
