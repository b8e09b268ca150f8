package jit

// DebugHelpers, when not nil, counts helper operations by their text; for looking at what leaves compiled code.
var DebugHelpers map[string]int
