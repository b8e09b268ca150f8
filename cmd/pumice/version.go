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
		return writeJSON(stdout, all)
	}
	for _, g := range all {
		fmt.Fprintf(stdout, "%-12s %-8s %s\n", g.Name, g.Target, g.MarketingName)
	}
	return nil
}

// versions is what `pumice version` says: one commit is the whole stack, and speaks one version of the kernel's ABI.
type versions struct {
	Pumice   string `json:"pumice"`
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"`
	KFDIoctl string `json:"kfd_ioctl"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func version(stdout, _ io.Writer, args []string) error {
	var asJSON bool
	if err := noMore(jsonTable(&asJSON), args); err != nil {
		return err
	}
	v := versions{"(devel)", "unknown", false, fmt.Sprintf("%d.%d", kfd.MajorVersion, kfd.MinorVersion), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if b, ok := debug.ReadBuildInfo(); ok {
		v.Pumice = b.Main.Version
		for _, s := range b.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	if asJSON {
		return writeJSON(stdout, v)
	}
	modified := ""
	if v.Modified {
		modified = " (modified)"
	}
	fmt.Fprintf(stdout, "pumice %s\ncommit %s%s\nkfd_ioctl %s\n%s %s\n", v.Pumice, v.Commit, modified, v.KFDIoctl, v.Go, v.Platform)
	return nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
