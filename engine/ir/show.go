package ir

// ValueText is the line of value id in the text form.
func (f *Func) ValueText(id ID) string { return f.valueText(id) }

// Text is the terminator's line in the text form.
func (t *Term) Text() string { return t.text() }
