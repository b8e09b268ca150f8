package hsakmt

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Status is HSAKMT_STATUS, the result of a thunk call.
type Status int

// Results (hsakmttypes.h).
const (
	Success                 Status = 0
	Failed                  Status = 1
	DriverMismatch          Status = 2
	InvalidParameter        Status = 3
	InvalidHandle           Status = 4
	InvalidNodeUnit         Status = 5
	NoMemory                Status = 6
	BufferTooSmall          Status = 7
	NotImplemented          Status = 10
	NotSupported            Status = 11
	Unavailable             Status = 12
	OutOfResources          Status = 13
	IOChannelNotOpened      Status = 20
	CommunicationError      Status = 21
	AlreadyOpened           Status = 22
	WaitFailure             Status = 30
	WaitTimeout             Status = 31
	MemoryAlreadyRegistered Status = 35
	MemoryNotRegistered     Status = 36
	MemoryAlignment         Status = 37
)

var statusText = map[Status]string{
	Success: "success", Failed: "error", DriverMismatch: "driver mismatch", InvalidParameter: "invalid parameter",
	InvalidHandle: "invalid handle", InvalidNodeUnit: "invalid node", NoMemory: "out of memory",
	BufferTooSmall: "buffer too small", NotImplemented: "not implemented", NotSupported: "not supported",
	Unavailable: "unavailable", OutOfResources: "out of resources", IOChannelNotOpened: "driver not open",
	CommunicationError: "driver communication error", AlreadyOpened: "already open", WaitFailure: "wait failed",
	WaitTimeout: "timeout", MemoryAlreadyRegistered: "memory already registered",
	MemoryNotRegistered: "memory not registered", MemoryAlignment: "bad alignment",
}

func (s Status) String() string {
	if t, ok := statusText[s]; ok {
		return t
	}
	return fmt.Sprintf("status %d", int(s))
}

// Error is the failure of a thunk call.
type Error struct {
	Op     string // what was asked: "ALLOC_MEMORY_OF_GPU"
	Status Status
	Err    error // unix.Errno of the driver, or nil
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("hsakmt: %s: %v: %v", e.Op, e.Status, e.Err)
	}
	return fmt.Sprintf("hsakmt: %s: %v", e.Op, e.Status)
}

// Unwrap returns the driver's error.
func (e *Error) Unwrap() error { return e.Err }

// StatusOf returns the status that err carries: Success for nil, Failed for an error of another kind.
func StatusOf(err error) Status {
	if err == nil {
		return Success
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return Failed
}

func fail(op string, s Status) error { return &Error{Op: op, Status: s} }

// fromErrno classifies a driver error.
func fromErrno(op string, err error) error {
	if err == nil {
		return nil
	}
	s := Failed
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EFAULT), errors.Is(err, unix.EADDRINUSE):
		s = InvalidParameter
	case errors.Is(err, unix.ENOMEM):
		s = NoMemory
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EBUSY):
		s = OutOfResources
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOTTY), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENOTSUP):
		s = NotSupported
	case errors.Is(err, unix.EBADF), errors.Is(err, unix.ESRCH):
		s = CommunicationError
	case errors.Is(err, unix.EIO):
		s = WaitFailure
	}
	return &Error{Op: op, Status: s, Err: err}
}
