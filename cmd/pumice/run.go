package main

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/pumice-gpu/pumice/internal/machine"
	"github.com/pumice-gpu/pumice/internal/observe"
	"github.com/pumice-gpu/pumice/runtime/hsa"
)

// runOptions are those of `pumice run`.
type runOptions struct {
	gpus    string // comma-separated profile names
	engine  string // "" for the default
	svm     string // driver of shared virtual memory; "" for the default
	inject  string // what is broken on purpose
	parts   bool   // small allocations share blocks
	rocm    string // whose user space: rocmPumice and so on
	trace   bool   // of shared virtual memory
	file    string // for the trace; "" for standard error
	json    bool   // what is traced is written as JSON lines
	dump    string // folder for compiled functions
	perf    bool   // map for Linux perf
	faults  string // file or folder for the state of waves that fault
	program string
	args    []string // the program's, without its name
}

// Whose ROCm user space a program gets. With Pumice's own, HIP and HSA calls go to our libamdhip64 and libhsa-runtime64 (door A). "hsa" takes only the
// latter, so that the system's HIP runs on our HSA. With the system's, AMD's libraries run on our kernel (door C). The stub of door C is preloaded in
// every case: programs look at /proc/modules and the topology themselves.
const (
	rocmPumice = "pumice"
	rocmHSA    = "hsa"
	rocmSystem = "system"
)

// rocmLibraries are what the loader finds first: folder beside the stub, and a library that must be in it.
var rocmLibraries = map[string][2]string{
	rocmPumice: {"rocm", "libamdhip64.so.5"},
	rocmHSA:    {"hsa", "libhsa-runtime64.so.1"},
}

// table are the options.
func (o *runOptions) table() []option {
	return append(o.infoTable(), []option{
		{"rocm", "pumice|hsa|system", "whose ROCm user space the program gets: Pumice's own (the default); the system's HIP on Pumice's HSA; or all of AMD's installed libraries, on Pumice's kernel", func(value string) error {
			if value != rocmPumice && value != rocmHSA && value != rocmSystem {
				return fmt.Errorf("%q is not a ROCm user space; there are: %s, %s, %s", value, rocmPumice, rocmHSA, rocmSystem)
			}
			o.rocm = value
			return nil
		}},
		{"engine", "jit|interp", "what runs kernels: compiled code (the default where the CPU has AVX2), jit-avx2 to do without AVX-512, or the interpreter", func(value string) error {
			o.engine = value
			return machine.CheckEngine(value)
		}},
		{"svm-engine", "drm|kfd", "which driver serves shared virtual memory: the one on drm_gpusvm (the default), or the older one of amdkfd", func(value string) error {
			o.svm = value
			return machine.CheckSVMEngine(value)
		}},
		{"inject", "irq=TERM", "hold completion interrupts back: delay(MILLISECONDS), with PERCENT% and COUNT* in front if not all: irq=10%3*delay(5)", func(value string) error {
			o.inject = value
			return machine.CheckInjection(value)
		}},
		{"fragments", "", "place allocations of less than 2 MiB in blocks of that size, as AMD's runtime does: reads and writes behind a small buffer then meet memory, not a fault", switchOption(&o.parts)},
		{"dump-on-fault", "FILE|DIR/", "write all registers, the LDS and the memory around of a wave that faults; in a folder, a file for each; --json applies", stringOption(&o.faults)},
		{"svm-trace", "[=FILE]", "print each migration of managed memory, and why, to standard error or to a file; --json applies", func(value string) error {
			o.trace, o.file = true, value
			return nil
		}},
		{"jit-dump", "DIR", "write guest code, IR and host code of each compiled function side by side", stringOption(&o.dump)},
		{"perf-map", "", "write /tmp/perf-PID.map, by which Linux perf names compiled kernels", switchOption(&o.perf)},
	}...)
}

// infoTable are the options that need no program.
func (o *runOptions) infoTable() []option {
	return []option{
		{"gpu", "NAME[,NAME...]", "which virtual GPUs there are: names or targets that `pumice gpus` lists, or profile files (x.json). Else PUMICE_GPU, else mi210", func(value string) error {
			_, err := machine.ParseGPUs(value)
			o.gpus = value
			return err
		}},
		jsonTable(&o.json)[0],
	}
}

// newRunOptions are the defaults.
func newRunOptions() *runOptions {
	return &runOptions{gpus: cmp.Or(os.Getenv(machine.GPUVariable), machine.DefaultGPU), rocm: rocmPumice}
}

// checkEnvironment refuses what the environment asks for where no option does: the program would find no GPU, and could not say why.
func (o *runOptions) checkEnvironment() error {
	_, err := machine.ParseGPUs(o.gpus)
	if err != nil { // an option's value has been looked at
		return fmt.Errorf("%s: %w", machine.GPUVariable, err)
	}
	for _, v := range []struct {
		name, option string
		check        func(string) error
	}{
		{machine.EngineVariable, o.engine, machine.CheckEngine},
		{machine.SVMEngineVariable, o.svm, machine.CheckSVMEngine},
		{machine.InjectVariable, o.inject, machine.CheckInjection},
	} {
		value := os.Getenv(v.name)
		if value == "" || v.option != "" {
			continue
		}
		if err := v.check(value); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	return nil
}

// parseRun reads options up to the program's name. What follows it is the program's, options included. more are options of the command beside
// run's.
func parseRun(args []string, more ...option) (*runOptions, error) {
	o := newRunOptions()
	rest, _, err := parseOptions(append(more, o.table()...), args)
	if err == nil {
		err = o.checkEnvironment()
	}
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		o.program, o.args = rest[0], rest[1:]
	}
	return o, nil
}

// runProgram replaces this process by the program, so that its exit code, streams and signals are its own.
func runProgram(_, stderr io.Writer, args []string) error {
	o, err := parseRun(args)
	if err != nil {
		return err
	}
	if o.json && !o.trace && o.faults == "" {
		return usageErrorf("--json is for --svm-trace and --dump-on-fault")
	}
	if o.program == "" {
		return usageErrorf("no program given")
	}
	path, err := findProgram(o.program)
	if err != nil {
		return err
	}
	if err := o.makeFiles(); err != nil {
		return err
	}
	env, err := programEnv(os.Environ(), o)
	if err != nil {
		return err
	}
	if static(path) {
		fmt.Fprintf(stderr, "pumice run: %s is statically linked: it cannot be shown a virtual GPU (programs that it starts can)\n", path)
	}
	return cannotStart(path, syscall.Exec(path, append([]string{o.program}, o.args...), env))
}

// cannotStart says what the kernel did not like.
func cannotStart(path string, err error) error {
	why := ""
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		why = " (neither a program of this machine, nor a script that begins with #!)"
	case errors.Is(err, fs.ErrNotExist): // it was there when it was looked for
		why = " (its interpreter or dynamic loader is missing)"
	}
	return &exitError{code: exitCannot, err: fmt.Errorf("%s: %w%s", path, err, why)}
}

// makeFiles makes the file of a trace, empty, and the folder of a dump. The program may change its directory, and its children may trace
// too: they append.
func (o *runOptions) makeFiles() (err error) {
	if o.dump != "" {
		if o.dump, err = filepath.Abs(o.dump); err == nil {
			err = os.MkdirAll(o.dump, 0o755)
		}
		if err != nil {
			return err
		}
	}
	if o.faults != "" {
		folder := strings.HasSuffix(o.faults, "/")
		if o.faults, err = filepath.Abs(o.faults); err != nil {
			return err
		}
		if folder {
			if err := os.MkdirAll(o.faults, 0o755); err != nil {
				return err
			}
		} else if st, err := os.Stat(o.faults); err == nil && !st.IsDir() {
			// An old dump would be taken for that of this run's first fault.
			if err := os.Remove(o.faults); err != nil {
				return err
			}
		} else if _, err := os.Stat(filepath.Dir(o.faults)); err != nil {
			return fmt.Errorf("--dump-on-fault: there is no folder for %s: %w", o.faults, err)
		}
	}
	if o.file == "" {
		return nil
	}
	if o.file, err = filepath.Abs(o.file); err != nil {
		return err
	}
	f, err := os.Create(o.file)
	if err != nil {
		return err
	}
	return f.Close()
}

// findProgram looks a program up as a shell does.
func findProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil || errors.Is(err, exec.ErrDot):
		return path, nil
	case errors.Is(err, fs.ErrPermission):
		return "", &exitError{code: exitCannot, err: fmt.Errorf("%s: permission denied: is it executable (chmod +x)?", name)}
	case !strings.Contains(name, "/"):
		return "", &exitError{code: exitNotFound, err: fmt.Errorf("%s: not found in PATH; a program of this folder is ./%s", name, name)}
	}
	if st, err := os.Stat(name); err == nil && st.IsDir() {
		return "", &exitError{code: exitCannot, err: fmt.Errorf("%s: is a folder, not a program", name)}
	}
	return "", &exitError{code: exitNotFound, err: fmt.Errorf("%s: not found", name)}
}

// static is whether a program is an ELF file that no dynamic loader starts.
func static(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false // a script, or nothing that we know
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return false
		}
	}
	return true
}

// programEnv is the environment that a program is started with.
func programEnv(env []string, o *runOptions) ([]string, error) {
	stub, err := findStub()
	if err != nil {
		return nil, err
	}
	preload, path := stub, ""
	if lib, ours := rocmLibraries[o.rocm]; ours {
		path = filepath.Join(filepath.Dir(stub), lib[0])
		if _, err := os.Stat(filepath.Join(path, lib[1])); err != nil {
			return nil, fmt.Errorf("%s has no %s: `make build` puts it there (or use --rocm %s)", path, lib[1], rocmSystem)
		}
	}
	var out []string
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		switch name {
		case "LD_PRELOAD":
			if value != "" && value != stub && !strings.HasPrefix(value, stub+":") {
				preload = stub + ":" + value
			} else if value != "" {
				preload = value
			}
		case "LD_LIBRARY_PATH":
			if path == "" || value == path || strings.HasPrefix(value, path+":") {
				out = append(out, e)
				path = ""
			} else if value != "" {
				path += ":" + value
			}
		case machine.GPUVariable:
		case observe.SVMTraceVariable:
			if !o.trace {
				out = append(out, e)
			}
		case machine.SVMEngineVariable:
			if o.svm == "" {
				out = append(out, e)
			}
		case machine.InjectVariable:
			if o.inject == "" {
				out = append(out, e)
			}
		case hsa.FragmentsVariable:
			if !o.parts {
				out = append(out, e)
			}
		case machine.EngineVariable:
			if o.engine == "" {
				out = append(out, e)
			}
		default:
			out = append(out, e)
		}
	}
	if o.engine != "" {
		out = append(out, machine.EngineVariable+"="+o.engine)
	}
	if o.svm != "" {
		out = append(out, machine.SVMEngineVariable+"="+o.svm)
	}
	if o.inject != "" {
		out = append(out, machine.InjectVariable+"="+o.inject)
	}
	if o.parts {
		out = append(out, hsa.FragmentsVariable+"=1")
	}
	if o.trace {
		out = append(out, observe.SVMTraceVariable+"="+observe.SVMTrace(o.file, o.json))
	}
	if o.dump != "" {
		out = append(out, observe.DumpVariable+"="+o.dump)
	}
	if o.faults != "" {
		out = append(out, observe.FaultDumpVariable+"="+observe.FaultDump(o.faults, o.json))
	}
	if o.perf {
		out = append(out, observe.PerfMapVariable+"=1")
	}
	if path != "" {
		out = append(out, "LD_LIBRARY_PATH="+path)
	}
	return append(out, "LD_PRELOAD="+preload, machine.GPUVariable+"="+o.gpus), nil
}

const stubName = "libpumice-stub.so"

// findStub finds the stub beside pumice, or where an installation has it.
func findStub() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	if exe, err = filepath.EvalSymlinks(exe); err != nil {
		return "", err
	}
	dir := filepath.Dir(exe)
	for _, try := range []string{
		filepath.Join(dir, stubName),
		filepath.Join(dir, "../lib/pumice", stubName),
		filepath.Join(dir, "../lib", stubName),
	} {
		if _, err := os.Stat(try); err != nil {
			continue
		}
		// The dynamic loader splits LD_PRELOAD at these.
		if strings.ContainsAny(try, " :") {
			return "", fmt.Errorf("the loader cannot preload %q: there is a space or colon in its path", try)
		}
		return try, nil
	}
	return "", fmt.Errorf("%s is not beside %s: `make build` leaves both in bin/", stubName, exe)
}
