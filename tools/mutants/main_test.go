package main

import (
	"go/parser"
	"go/token"
	"testing"
)

// TestFaultsAreInTheSource keeps the table of faults true to the code: each one's text is there, once, and what becomes of the files is Go.
func TestFaultsAreInTheSource(t *testing.T) {
	list, err := read("../../engine/jit/testdata/mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	text, err := seed(list, "../../engine/jit")
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range text {
		if _, err := parser.ParseFile(token.NewFileSet(), name, s, parser.SkipObjectResolution); err != nil {
			t.Error(err)
		}
	}
}
