package hip

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Run-time compilation. AMD's hiprtc has a compiler inside; here hipcc of the machine does the work, in a folder of its own. Without one, compilation fails
// with a log that says so.

// RTCError is hiprtcResult.
type RTCError int32

// Results.
const (
	RTCSuccess         RTCError = 0
	RTCCreation        RTCError = 2
	RTCInvalidInput    RTCError = 3
	RTCInvalidProgram  RTCError = 4
	RTCInvalidOption   RTCError = 5
	RTCCompilation     RTCError = 6
	RTCNoNamesAfter    RTCError = 8
	RTCNoLoweredBefore RTCError = 9
	RTCNameNotValid    RTCError = 10
	RTCInternal        RTCError = 11
	RTCLinking         RTCError = 100
)

var rtcNames = map[RTCError]string{
	0: "HIPRTC_SUCCESS", 1: "HIPRTC_ERROR_OUT_OF_MEMORY", 2: "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE", 3: "HIPRTC_ERROR_INVALID_INPUT",
	4: "HIPRTC_ERROR_INVALID_PROGRAM", 5: "HIPRTC_ERROR_INVALID_OPTION", 6: "HIPRTC_ERROR_COMPILATION", 7: "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE",
	8: "HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION", 9: "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
	10: "HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID", 11: "HIPRTC_ERROR_INTERNAL_ERROR",
	100: "HIPRTC_ERROR_LINKING",
}

// Name returns the name of the result.
func (e RTCError) Name() string {
	if n, ok := rtcNames[e]; ok {
		return n
	}
	return "Invalid HIPRTC error code"
}

// RTCProgram is a hiprtcProgram. One thread uses it at a time.
type RTCProgram struct {
	name, source string
	headers      map[string]string
	exprs        []string
	done         bool
	Log          string
	Code         []byte
	Bitcode      []byte // instead of Code, of a program for hiprtcLink*
	lowered      map[string]string
}

// NewRTCProgram makes a program of a source text and its headers by include name.
func NewRTCProgram(source, name string, headers map[string]string) *RTCProgram {
	return &RTCProgram{name: name, source: source, headers: headers, lowered: map[string]string{}}
}

// AddName asks for the lowered name of an expression such as "kernel<float>", and makes the compiler instantiate it.
func (p *RTCProgram) AddName(expr string) RTCError {
	if p.done {
		return RTCNoNamesAfter
	}
	p.exprs = append(p.exprs, expr)
	return RTCSuccess
}

// rtcPreamble is what a program has without asking: hiprtc's own headers.
const rtcPreamble = "#include <hip/hip_runtime.h>\n#if __has_include(<hip/hip_bfloat16.h>)\n#include <hip/hip_bfloat16.h>\n#endif\n"

// rtcVariable names the variables that refer to name expressions.
const rtcVariable = "pumice_rtc_name_"

// Compile compiles for a device, or for the target that the options name.
func (p *RTCProgram) Compile(d *clr.Device, options []string) RTCError {
	p.done = true
	hipcc, err := exec.LookPath("hipcc")
	if err != nil {
		//fidelity: approximate hiprtc: compiles with the machine's hipcc, and refuses where there is none
		p.Log = "run-time compilation needs hipcc, which is not on the PATH\n"
		return RTCCompilation
	}
	dir, err := os.MkdirTemp("", "pumice-rtc-")
	if err != nil {
		p.Log = err.Error() + "\n"
		return RTCInternal
	}
	defer os.RemoveAll(dir)
	var src strings.Builder
	src.WriteString(rtcPreamble + "#line 1 " + strconv.Quote(filepath.Base(p.name)) + "\n" + p.source + "\n")
	for i, e := range p.exprs {
		src.WriteString("extern \"C\" constexpr auto " + rtcVariable + strconv.Itoa(i) + " = " + strings.TrimPrefix(strings.TrimSpace(e), "&") + ";\n")
	}
	write := func(name, text string) error {
		file := filepath.Join(dir, filepath.Clean("/"+name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		return os.WriteFile(file, []byte(text), 0o600)
	}
	err = write("rtc_program.hip", src.String())
	for n, h := range p.headers {
		err = errors.Join(err, write(n, h))
	}
	if err != nil {
		p.Log = err.Error() + "\n"
		return RTCInternal
	}
	out := filepath.Join(dir, "rtc_program.co")
	args := []string{"-O3", "-I", dir, "-x", "hip", filepath.Join(dir, "rtc_program.hip"), "-o", out}
	arch, bitcode := "", false
	for i := 0; i < len(options); i++ {
		o := options[i]
		switch {
		case strings.HasPrefix(o, "--gpu-architecture="), strings.HasPrefix(o, "--offload-arch="), strings.HasPrefix(o, "-arch="):
			_, arch, _ = strings.Cut(o, "=")
		case o == "--gpu-architecture" && i+1 < len(options):
			i++
			arch = options[i]
		case o == "-fgpu-rdc":
			bitcode = true
		default:
			args = append(args, o)
		}
	}
	if arch == "" && d != nil {
		arch = d.Agent.Target.String()
	}
	if arch != "" {
		args = append(args, "--offload-arch="+arch)
	}
	if bitcode {
		args = append(args, "--cuda-device-only", "-fgpu-rdc", "-emit-llvm", "-c", "--no-gpu-bundle-output")
	} else {
		args = append(args, "--genco")
	}
	p.Log, err = runTool(hipcc, args...)
	if err != nil {
		return RTCCompilation
	}
	code, err := os.ReadFile(out)
	if err != nil {
		p.Log += err.Error() + "\n"
		return RTCInternal
	}
	if bitcode {
		p.Bitcode = code
		return p.lower(bitcodeSymbols(hipcc, out))
	}
	p.Code = code
	return p.lower(p.symbols())
}

// runTool runs a program of the machine and returns what it says. It is a program of its own: what brought us into this process must not follow it.
func runTool(path string, args ...string) (string, error) {
	var log bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = &log, &log
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "LD_PRELOAD=") && !strings.HasPrefix(e, "LD_LIBRARY_PATH=") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	err := cmd.Run()
	return log.String(), err
}

// symbols are the names that the code object defines.
func (p *RTCProgram) symbols() (all []string, err error) {
	if len(p.exprs) == 0 {
		return nil, nil
	}
	o, err := p.object()
	if err != nil {
		return nil, err
	}
	for _, s := range o.Symbols() {
		if !s.Undefined() {
			all = append(all, s.Name)
		}
	}
	return all, nil
}

// lower finds the symbols that name expressions stand for: by the demangled names of the kernels and variables.
func (p *RTCProgram) lower(all []string, err error) RTCError {
	if len(p.exprs) == 0 {
		return RTCSuccess
	}
	if err != nil {
		p.Log += err.Error() + "\n"
		return RTCInternal
	}
	var symbols []string
	for _, s := range all {
		if s != "" && !strings.HasSuffix(s, ".kd") && !strings.HasPrefix(s, rtcVariable) {
			symbols = append(symbols, s)
		}
	}
	plain := demangle(symbols)
	for _, e := range p.exprs {
		want := squeeze(strings.TrimPrefix(strings.TrimSpace(e), "&"))
		for i, s := range symbols {
			if s == want || squeeze(functionName(plain[i])) == want {
				p.lowered[e] = s
			}
		}
		if _, ok := p.lowered[e]; !ok {
			p.Log += "no symbol for the name expression " + e + "\n"
			return RTCNameNotValid
		}
	}
	return RTCSuccess
}

func (p *RTCProgram) object() (*codeobj.Object, error) {
	if codeobj.IsELF(p.Code) {
		return codeobj.Open(p.Code)
	}
	b, err := codeobj.OpenBundle(p.Code)
	if err != nil {
		return nil, err
	}
	for _, e := range b.Entries {
		if e.Device {
			return e.Object()
		}
	}
	return nil, codeobj.ErrNoTarget
}

// Lowered returns the symbol of a name expression.
func (p *RTCProgram) Lowered(expr string) (string, RTCError) {
	if !p.done {
		return "", RTCNoLoweredBefore
	}
	s, ok := p.lowered[expr]
	if !ok {
		return "", RTCNameNotValid
	}
	return s, RTCSuccess
}

// demangle asks the machine's demangler; without one names stay as they are.
func demangle(symbols []string) []string {
	for _, tool := range []string{"llvm-cxxfilt-15", "llvm-cxxfilt", "c++filt"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			continue
		}
		cmd := exec.Command(path)
		cmd.Stdin = strings.NewReader(strings.Join(symbols, "\n") + "\n")
		out, err := cmd.Output()
		if lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n"); err == nil && len(lines) == len(symbols) {
			return lines
		}
	}
	return symbols
}

// functionName cuts "void ns::f<int>(int*)" down to "ns::f<int>".
func functionName(s string) string {
	depth, end := 0, len(s)
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<':
			depth++
		case '>':
			depth--
		case '(':
			if depth == 0 && end == len(s) && i > 0 {
				end = i
			}
		}
	}
	s = s[:end]
	// The return type, which only templates have, ends at the last space outside of angle brackets.
	depth = 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case '>':
			depth++
		case '<':
			depth--
		case ' ':
			if depth == 0 {
				return s[i+1:]
			}
		}
	}
	return s
}

func squeeze(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, " ", "")), "")
}
