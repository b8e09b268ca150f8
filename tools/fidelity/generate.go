package fidelity

//go:generate go run ./write
