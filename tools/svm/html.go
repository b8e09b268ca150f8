package svm

import (
	_ "embed"
	"html/template"
	"io"
	"strings"
)

//go:embed page.html
var pageSource string

var page = template.Must(template.New("page").Parse(pageSource))

// sourceLine is a line of the scenario on the page.
type sourceLine struct {
	N       int
	Text    string
	Comment bool
}

// WriteHTML writes one page that needs nothing else: rows are pages, columns are moments, the colour says where a page
// lives. It has the frames as data, and the list of steps as text for readers without scripts.
func (res *Result) WriteHTML(w io.Writer) error {
	d := struct {
		export
		Last    int
		Outcome string
		Lines   []sourceLine
		Data    any
	}{export: res.export(), Last: max(len(res.Frames)-1, 0), Outcome: res.Outcome()}
	d.Data = d.export
	for i, l := range strings.Split(strings.TrimRight(res.Scenario.Source, "\n"), "\n") {
		d.Lines = append(d.Lines, sourceLine{i + 1, l, strings.HasPrefix(strings.TrimSpace(l), "#")})
	}
	return page.Execute(w, d)
}
