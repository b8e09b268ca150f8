// Package observe is what a process tells of itself while programs run on its virtual GPUs: where a wave went astray, what became of a launch, why a
// page moved, what was compiled. Each of these is asked for by an environment variable, which the command sets, and hangs on hooks of the floors;
// package machine puts them there. Nothing here changes what a program sees.
//
// Everything is written at once, a line or a file for each event: the program may end at any time, and its children write to the same files.
package observe

import (
	"fmt"
	"os"
)

// Warn tells the person at the terminal what the system does not let Pumice do.
func Warn(text string) { fmt.Fprintln(os.Stderr, "pumice: "+text) }
