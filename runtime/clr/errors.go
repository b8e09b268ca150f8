package clr

import (
	"errors"
	"fmt"
)

// Errors that callers tell apart. HIP maps them to its codes.
var (
	ErrInvalidValue   = errors.New("invalid value")
	ErrInvalidDevice  = errors.New("invalid device")
	ErrInvalidHandle  = errors.New("invalid handle")
	ErrInvalidKernel  = errors.New("invalid kernel")
	ErrNoBinary       = errors.New("no code object for this device")
	ErrInvalidImage   = errors.New("invalid code object")
	ErrNotFound       = errors.New("not found")
	ErrOutOfMemory    = errors.New("out of memory")
	ErrLaunchBounds   = errors.New("more work-items than the kernel or device allows")
	ErrSharedMemory   = errors.New("more group memory than the device has")
	ErrNotSupported   = errors.New("not supported")
	ErrNotReady       = errors.New("not ready")
	ErrIllegalAddress = errors.New("illegal address")
	ErrLaunchFailure  = errors.New("launch failure")
	ErrTooLarge       = errors.New("cooperative launch too large")
)

func fail(err error, format string, args ...any) error {
	return fmt.Errorf("clr: %w: %s", err, fmt.Sprintf(format, args...))
}
