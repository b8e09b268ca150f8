package codeobj

import (
	"errors"
	"fmt"
)

// FormatError reports input that is not what it should be.
type FormatError struct {
	Part string // "ELF header", "metadata", "bundle", ...
	Off  int64  // byte offset in the part's container (the file, or the note for metadata)
	Msg  string
	Err  error // cause, or nil
}

func (e *FormatError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("codeobj: %s at offset %#x: %s: %v", e.Part, e.Off, e.Msg, e.Err)
	}
	return fmt.Sprintf("codeobj: %s at offset %#x: %s", e.Part, e.Off, e.Msg)
}

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

func bad(part string, off uint64, format string, args ...any) error {
	return &FormatError{Part: part, Off: int64(off), Msg: fmt.Sprintf(format, args...)}
}

// ErrNoTarget is wrapped by NoTargetError.
var ErrNoTarget = errors.New("no code object for this target")

// NoTargetError reports that a bundle has no code object that runs on the agent's target.
type NoTargetError struct {
	Want Target
	Have []string // the device entry ids of the bundle
}

func (e *NoTargetError) Error() string {
	return fmt.Sprintf("codeobj: no code object for %s among %q", e.Want, e.Have)
}

// Unwrap returns ErrNoTarget.
func (e *NoTargetError) Unwrap() error { return ErrNoTarget }
