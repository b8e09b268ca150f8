package doorc

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/kernel/uaccess"
)

// requestName names an ioctl as the headers do.
func requestName(request uint32) string { return kfd.Request(request).String() }

// argument is an ioctl's argument as a string of 32-bit words.
func argument(request uint32, arg uintptr) string {
	b := make([]byte, kfd.Request(request).Size())
	if err := (uaccess.Process{}).Read(uint64(arg), b); err != nil {
		return fmt.Sprintf("%#x (bad address)", arg)
	}
	s := "{"
	for i := 0; i+4 <= len(b); i += 4 {
		if i > 0 {
			s += " "
		}
		s += fmt.Sprintf("%x", uint32(b[i])|uint32(b[i+1])<<8|uint32(b[i+2])<<16|uint32(b[i+3])<<24)
	}
	return s + "}"
}

func result(errno unix.Errno, pending bool) string {
	switch {
	case pending:
		return "?"
	case errno != 0:
		return "-1 " + unix.ErrnoName(errno)
	}
	return "0"
}

// output is the argument after the call where it has changed.
func output(request uint32, arg uintptr, before string) string {
	if after := argument(request, arg); after != before {
		return " " + after
	}
	return ""
}
