package svm

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"html"
	"io"
	"regexp"
	"strings"
	"testing"
)

// element is a tag of a page, void or with an end.
var element = regexp.MustCompile(`</?([a-zA-Z][a-zA-Z0-9]*)[^>]*>`)

// void elements have no end tag.
var void = map[string]bool{"meta": true, "input": true, "br": true, "link": true}

func TestPageIsWhole(t *testing.T) {
	for _, sc := range library(t) {
		res, err := Run(sc, Options{Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := res.WriteHTML(&b); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		checkTags(t, sc.Name, text)
		list := text[strings.Index(text, `<ol class="steps"`):strings.Index(text, "</ol>")]
		for i, f := range res.Frames {
			if !strings.Contains(html.UnescapeString(list), f.Text) {
				t.Errorf("%s: moment %d (%s) is not mentioned", sc.Name, i, f.Text)
			}
		}
		for _, l := range strings.Split(strings.TrimSpace(sc.Source), "\n") {
			if !strings.Contains(html.UnescapeString(text), l) {
				t.Errorf("%s: source line %q is not there", sc.Name, l)
			}
		}
		for _, outside := range []string{"http:", "https:", "src=", "@import", "url(", "<link"} {
			if strings.Contains(text, outside) {
				t.Errorf("%s: the page uses something from outside: %s", sc.Name, outside)
			}
		}
		_, data, ok := strings.Cut(text, "const data = ")
		var e export
		if !ok || json.NewDecoder(strings.NewReader(data)).Decode(&e) != nil || len(e.Frames) != len(res.Frames) {
			t.Errorf("%s: the page's data are not the run's", sc.Name)
		}
	}
}

// checkTags fails unless every element that begins ends, in order.
func checkTags(t *testing.T, name, text string) {
	t.Helper()
	body := regexp.MustCompile(`(?s)(<script>).*?(</script>)|(<style>).*?(</style>)`).ReplaceAllString(text, "$1$2$3$4")
	var open []string
	for _, m := range element.FindAllStringSubmatch(body, -1) {
		switch {
		case void[m[1]]:
		case !strings.HasPrefix(m[0], "</"):
			open = append(open, m[1])
		case len(open) == 0 || open[len(open)-1] != m[1]:
			t.Fatalf("%s: </%s> closes %v", name, m[1], open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Fatalf("%s: %v are not closed", name, open)
	}
	d := xml.NewDecoder(strings.NewReader(body))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// TestPageEscapes puts markup where a scenario's words go.
func TestPageEscapes(t *testing.T) {
	sc, err := Parse("<b>x</b>", "# </script><script>alert(1)</script>\nprocess <i>p</i>\n")
	if err != nil {
		t.Fatal(err)
	}
	res, err := Run(sc, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := res.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<i>p", "<script>alert", "<b>x"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("%s comes through", bad)
		}
	}
	checkTags(t, "escapes", b.String())
}
