//go:build !amd64

package rt

// CPU is what this machine has: nothing that code is generated for.
var CPU Features
