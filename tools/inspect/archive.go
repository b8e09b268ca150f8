package inspect

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/pumice-gpu/pumice/abi/codeobj"
)

// A Unix archive (.a) is a magic line, then members: a header of 60 characters and the data, which begins at an even place. Names that
// do not fit the header's 16 characters stand in a member "//" and are given as "/offset" (GNU), or before the data, as
// "#1/length" (BSD).
const (
	archiveMagic = "!<arch>\n"
	thinMagic    = "!<thin>\n"
	memberHeader = 60
)

func isArchive(b []byte) bool {
	return bytes.HasPrefix(b, []byte(archiveMagic)) || bytes.HasPrefix(b, []byte(thinMagic))
}

// archive looks into all members; those without GPU code are passed over in silence.
func (f *finder) archive(name string, b []byte) error {
	if bytes.HasPrefix(b, []byte(thinMagic)) {
		return fmt.Errorf("%s: a thin archive, which only names its members; give one of them", name)
	}
	var long []byte
	for at := len(archiveMagic); at < len(b); {
		if len(b)-at < memberHeader || b[at+58] != '`' || b[at+59] != '\n' {
			return fmt.Errorf("%s: a broken archive: no member at %#x", name, at)
		}
		head := string(b[at : at+memberHeader])
		size, err := strconv.ParseUint(strings.TrimRight(head[48:58], " "), 10, 63)
		at += memberHeader
		if err != nil || size > uint64(len(b)-at) {
			return fmt.Errorf("%s: a broken archive: the member at %#x has %q bytes, %d are left", name, at-memberHeader, head[48:58], len(b)-at)
		}
		data := b[at : at+int(size)]
		at += int(size+1) &^ 1
		member, ok := memberName(strings.TrimRight(head[:16], " "), long, &data)
		switch {
		case member == "//":
			long = data
			continue
		case member == "/" || member == "/SYM64/": // the symbols' index
			continue
		case !ok:
			return fmt.Errorf("%s: a broken archive: a member is called %q", name, member)
		}
		where := name + "(" + member + ")"
		switch d, err := fatbin(data); {
		case isArchive(data), !codeobj.IsELF(data) && !codeobj.IsBundle(data), codeobj.IsELF(data) && d == nil && err == nil && !isCodeObject(data):
			// no GPU code
		default:
			if err := f.find(where, data); err != nil {
				f.skipped = append(f.skipped, Skipped{Where: where, Why: strings.TrimPrefix(err.Error(), where+": ")})
			}
		}
	}
	return nil
}

// memberName resolves a name; a BSD one is taken off the data.
func memberName(s string, long []byte, data *[]byte) (string, bool) {
	if n, bsd := strings.CutPrefix(s, "#1/"); bsd {
		v, err := strconv.ParseUint(n, 10, 31)
		if err != nil || v > uint64(len(*data)) {
			return s, false
		}
		name := strings.TrimRight(string((*data)[:v]), "\x00")
		*data = (*data)[v:]
		return name, true
	}
	if s == "/" || s == "//" || s == "/SYM64/" {
		return s, true
	}
	if n, ok := strings.CutPrefix(s, "/"); ok {
		v, err := strconv.ParseUint(n, 10, 31)
		if err != nil || v >= uint64(len(long)) {
			return s, false
		}
		name, _, _ := strings.Cut(string(long[v:]), "\n")
		return strings.TrimSuffix(name, "/"), true
	}
	return strings.TrimSuffix(s, "/"), true
}
