package hip

import "time"

var began = time.Now()

// microseconds is the time stamp of log lines.
func microseconds() int64 { return int64(time.Since(began) / time.Microsecond) }
