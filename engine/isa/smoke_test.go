package isa

import "testing"

func TestTablesLoad(t *testing.T) {
	tb, err := loadTables()
	if err != nil {
		t.Fatal(err)
	}
	t.Log(len(tb.ops), len(tb.targets))
}
