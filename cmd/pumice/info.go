package main

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"runtime/debug"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/internal/machine"
)

// info prints what rocminfo prints: AMD's own rocminfo is run on the virtual GPUs.
//
// fidelity: refused info-without-rocm: needs AMD's rocminfo until the HSA runtime is there
func info(stdout, stderr io.Writer, args []string) error {
	o, err := parseRun(args)
	if err != nil {
		return err
	}
	if o.program != "" {
		return usageErrorf("no program, got %q", o.program)
	}
	if _, err := exec.LookPath("rocminfo"); err != nil {
		return errors.New("AMD's rocminfo is not installed (Debian: apt install rocminfo)")
	}
	return runProgram(stdout, stderr, append(args, "--", "rocminfo"))
}

func listGPUs(stdout, _ io.Writer, args []string) error {
	if len(args) > 0 {
		return usageErrorf("no arguments, got %q", args)
	}
	for _, g := range machine.GPUs() {
		fmt.Fprintf(stdout, "%-12s %-8s %s\n", g.Name, g.Target, g.MarketingName)
	}
	return nil
}

// version prints the commit and the versions of the kernel ABI that this build speaks: one commit is the whole stack.
func version(stdout, _ io.Writer, args []string) error {
	if len(args) > 0 {
		return usageErrorf("no arguments, got %q", args)
	}
	commit, modified := "unknown", ""
	module := "(devel)"
	if b, ok := debug.ReadBuildInfo(); ok {
		module = b.Main.Version
		for _, s := range b.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = " (modified)"
			}
		}
	}
	fmt.Fprintf(stdout, "pumice %s\ncommit %s%s\nkfd_ioctl %d.%d\n%s %s/%s\n", module, commit, modified, kfd.MajorVersion,
		kfd.MinorVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
