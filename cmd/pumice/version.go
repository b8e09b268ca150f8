package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/pumice-gpu/pumice/abi/kfd"
	"github.com/pumice-gpu/pumice/internal/machine"
)

// gpuInfo is what `pumice gpus` says of a profile.
type gpuInfo struct {
	Name          string `json:"name"`
	Target        string `json:"target"`
	MarketingName string `json:"marketing_name"`
}

func listGPUs(stdout, _ io.Writer, args []string) error {
	var asJSON bool
	if err := noMore(jsonTable(&asJSON), args); err != nil {
		return err
	}
	var all []gpuInfo
	for _, g := range machine.GPUs() {
		all = append(all, gpuInfo{g.Name, g.Target, g.MarketingName})
	}
	if asJSON {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	for _, g := range all {
		fmt.Fprintf(stdout, "%-12s %-8s %s\n", g.Name, g.Target, g.MarketingName)
	}
	return nil
}

// version prints the commit and the versions of the kernel ABI that this build speaks: one commit is the whole stack.
func version(stdout, _ io.Writer, args []string) error {
	if err := noMore(nil, args); err != nil {
		return err
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
