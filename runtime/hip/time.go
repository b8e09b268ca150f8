package hip

import "golang.org/x/sys/unix"

// microseconds is the time stamp of log lines: the monotonic clock, as AMD's.
func microseconds() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return t.Nano() / 1000
}
