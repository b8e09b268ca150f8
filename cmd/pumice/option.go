package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// An option is a row of a command's table: how it is spelled, what it sets, and what help says of it.
type option struct {
	name string
	// arg is what help calls the value. "" is a switch, which has none; one in brackets may be left out, and is given after = only.
	arg  string
	help string
	set  func(value string) error
}

// errHelp says that somebody asked for help among the options.
var errHelp = errors.New("help requested")

// parseOptions applies the options that args begin with. What is left begins with the first word that is none, or stands behind "--";
// ended is whether it does.
func parseOptions(table []option, args []string) (rest []string, ended bool, err error) {
	for len(args) > 0 {
		arg := args[0]
		if arg == "--" {
			return args[1:], true, nil
		}
		if arg == "-" || !strings.HasPrefix(arg, "-") {
			return args, false, nil
		}
		args = args[1:]
		name, value, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		if name == "h" || name == "help" {
			return nil, false, errHelp
		}
		o := findOption(table, name)
		if o == nil {
			return nil, false, usageErrorf("no option %s; there are: %s", arg, optionNames(table))
		}
		switch {
		case o.arg == "" && given:
			return nil, false, usageErrorf("--%s has no value, got %q", name, value)
		case o.arg == "" || given || strings.HasPrefix(o.arg, "["):
		case len(args) == 0:
			return nil, false, usageErrorf("--%s needs %s", name, o.arg)
		default:
			value, args = args[0], args[1:]
		}
		if err := o.set(value); err != nil {
			return nil, false, usageErrorf("--%s: %v", name, err)
		}
	}
	return nil, false, nil
}

// parseMixed applies the options in args, which may stand before the other words, between or behind them. It returns those.
func parseMixed(table []option, args []string) (words []string, err error) {
	for {
		rest, ended, err := parseOptions(table, args)
		if err != nil {
			return nil, err
		}
		if ended || len(rest) == 0 {
			return append(words, rest...), nil
		}
		words, args = append(words, rest[0]), rest[1:]
	}
}

// noMore is for commands without words.
func noMore(table []option, args []string) error {
	words, err := parseMixed(table, args)
	if err == nil && len(words) > 0 {
		return usageErrorf("no arguments belong here, got %q", words)
	}
	return err
}

func findOption(table []option, name string) *option {
	for i := range table {
		if table[i].name == name {
			return &table[i]
		}
	}
	return nil
}

func optionNames(table []option) string {
	names := make([]string, 0, len(table)+1)
	for _, o := range table {
		names = append(names, "--"+o.name)
	}
	return strings.Join(append(names, "--help"), ", ")
}

// The kinds of value.

func switchOption(p *bool) func(string) error {
	return func(string) error { *p = true; return nil }
}

func stringOption(p *string) func(string) error {
	return func(value string) error {
		if value == "" {
			return errors.New("an empty value")
		}
		*p = value
		return nil
	}
}

func numberOption[T int | uint64](p *T, low, high uint64) func(string) error {
	return func(value string) error {
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil || n < low || n > high {
			return fmt.Errorf("%q is not a number from %d to %d", value, low, high)
		}
		*p = T(n)
		return nil
	}
}

// jsonTable is for commands that have no other option.
func jsonTable(p *bool) []option {
	return []option{{"json", "", "write JSON instead of text", switchOption(p)}}
}

// helpWidth is how wide a line of help becomes.
const helpWidth = 110

// writeOptions prints a table as help.
func writeOptions(w io.Writer, table []option) {
	if len(table) == 0 {
		return
	}
	fmt.Fprintln(w, "\nOptions:")
	for _, o := range table {
		left := "--" + o.name
		if strings.HasPrefix(o.arg, "[") {
			left += o.arg
		} else if o.arg != "" {
			left += " " + o.arg
		}
		lines := wrap(o.help, helpWidth-30)
		if len(left) > 26 {
			fmt.Fprintf(w, "  %s\n", left)
			left = ""
		}
		for _, l := range lines {
			fmt.Fprintf(w, "  %-26s  %s\n", left, l)
			left = ""
		}
	}
}

// wrap breaks a text into lines of at most width columns; a line break in it stays one.
func wrap(text string, width int) []string {
	var lines []string
	for _, l := range strings.Split(text, "\n") {
		line := ""
		for _, word := range strings.Fields(l) {
			if line != "" && len(line)+1+len(word) > width {
				lines, line = append(lines, line), ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		lines = append(lines, line)
	}
	return lines
}
