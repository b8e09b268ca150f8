package hip

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pumice-gpu/pumice/abi/codeobj"
	"github.com/pumice-gpu/pumice/runtime/clr"
)

// Linking of device code at run time: parts in LLVM bitcode, such as hiprtc makes with -fgpu-rdc, become one code object. AMD's libraries have the linker
// inside; here that of the machine's hipcc does it, as a link of a program with -fgpu-rdc would.

// InputType is hiprtcJITInputType and hipJitInputType.
type InputType int32

// Kinds of input that there are; those of CUDA, from 0 on, are no input on AMD's chips.
const (
	InputBitcode        InputType = 100
	InputBundledBitcode InputType = 101
	InputBitcodeArchive InputType = 102 // an archive (ar) of bundled bitcode
	InputSPIRV          InputType = 103
)

// Options of a link by their numbers in hiprtcJIT_option; the others are CUDA's, which AMD's runtime takes and does not look at.
const (
	linkInfoLog      = 3
	linkInfoLogSize  = 4
	linkErrorLog     = 5
	linkErrorLogSize = 6
	linkOptimization = 7
	linkToISA        = 10000 // options of the compiler behind the linker, and their number
	linkToISACount   = 10001
)

// RTCLink is a hiprtcLinkState. One thread uses it at a time.
type RTCLink struct {
	inputs [][]byte // bitcode, or bundles and archives of it
	opt    int
	args   []string
	info   []byte // the program's buffers for text
	errs   []byte
	Code   []byte // after Complete
}

// NewRTCLink begins a link. Values of options are what the C interface passes: numbers in place of pointers, or pointers.
func NewRTCLink(options []int32, values []uintptr) (*RTCLink, RTCError) {
	l := &RTCLink{opt: 3}
	var info, errs, isa uintptr
	var infoSize, errsSize, isaCount uint64
	for i, o := range options {
		v := values[i]
		switch o {
		case linkInfoLog, linkErrorLog, linkToISA:
			if v == 0 {
				return nil, RTCInvalidOption
			}
			switch o {
			case linkInfoLog:
				info = v
			case linkErrorLog:
				errs = v
			case linkToISA:
				isa = v
			}
		case linkInfoLogSize:
			infoSize = uint64(v)
		case linkErrorLogSize:
			errsSize = uint64(v)
		case linkOptimization:
			l.opt = int(uint32(v))
		case linkToISACount:
			isaCount = uint64(v)
		default:
			if o < 0 || o > linkToISACount {
				return nil, RTCInvalidOption
			}
		}
	}
	const most = 1 << 20
	if l.opt > 3 || infoSize > most || errsSize > most || isaCount > most {
		return nil, RTCInvalidOption
	}
	if info != 0 {
		l.info = bytesAt(info, int(infoSize))
	}
	if errs != 0 {
		l.errs = bytesAt(errs, int(errsSize))
	}
	for i := range isaCount {
		if isa == 0 {
			break
		}
		l.args = append(l.args, cstring(*(*uintptr)(pointer(isa + uintptr(8*i)))))
	}
	return l, RTCSuccess
}

// Add adds a part.
func (l *RTCLink) Add(kind InputType, data []byte) RTCError {
	if kind < InputBitcode || kind > InputSPIRV || len(data) == 0 {
		return RTCInvalidInput
	}
	if kind == InputSPIRV {
		//fidelity: refused HIPRTC_JIT_INPUT_SPIRV: there is no translator from SPIR-V on the machine
		return RTCCreation
	}
	l.inputs = append(l.inputs, append([]byte(nil), data...))
	return RTCSuccess
}

// AddFile adds a part that stands in a file.
func (l *RTCLink) AddFile(kind InputType, path string) RTCError {
	if kind < InputBitcode || kind > InputSPIRV {
		return RTCInvalidInput
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return RTCCreation
	}
	return l.Add(kind, b)
}

// Complete links for a device; the result stays valid as long as the link.
func (l *RTCLink) Complete(d *clr.Device) RTCError {
	log, err := l.link(d)
	if err != nil {
		say(l.errs, log+err.Error()+"\n")
		return RTCLinking
	}
	say(l.info, log)
	return RTCSuccess
}

// say puts a text into a program's buffer.
func say(b []byte, s string) {
	if len(b) > 0 {
		b[copy(b[:len(b)-1], s)] = 0
	}
}

func (l *RTCLink) link(d *clr.Device) (string, error) {
	if d == nil {
		return "", errors.New("there is no device to link for")
	}
	hipcc, err := exec.LookPath("hipcc")
	if err != nil {
		return "", errors.New("linking needs hipcc, which is not on the PATH")
	}
	dir, err := os.MkdirTemp("", "pumice-rtc-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	out, args := filepath.Join(dir, "linked.co"), []string{"--no-undefined", "-shared", "--lto-O" + strconv.Itoa(l.opt)}
	for i := 0; i < len(l.args); i++ {
		switch a := l.args[i]; {
		case a == "-mllvm" && i+1 < len(l.args):
			i++
			args = append(args, "-mllvm", l.args[i])
		case len(a) == 3 && a[:2] == "-O" && a[2] >= '0' && a[2] <= '3':
			args = append(args, "--lto-O"+a[2:])
		default:
			return "", fmt.Errorf("the linker has no option %q", a)
		}
	}
	proc := d.Agent.Target
	args = append(args, "-plugin-opt=-amdgpu-internalize-symbols", "-plugin-opt=mcpu="+proc.Proc.Name, "-o", out)
	n := 0
	for _, in := range l.inputs {
		parts, err := bitcodeOf(in, proc)
		if err != nil {
			return "", err
		}
		for _, b := range parts {
			name := filepath.Join(dir, fmt.Sprintf("part%d.bc", n))
			n++
			if err := os.WriteFile(name, b, 0o600); err != nil {
				return "", err
			}
			args = append(args, name)
		}
	}
	if n == 0 {
		return "", errors.New("nothing to link")
	}
	lld, err := linkerOf(hipcc)
	if err != nil {
		return "", err
	}
	log, err := runTool(lld, args...)
	if err != nil {
		return log, err
	}
	l.Code, err = os.ReadFile(out)
	return log, err
}

// linkerOf asks hipcc for the linker of its LLVM.
func linkerOf(hipcc string) (string, error) {
	out, err := exec.Command(hipcc, "-print-prog-name=ld.lld").Output()
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return exec.LookPath(lines[len(lines)-1])
}

// bitcodeSymbols are the names that a file of bitcode defines.
func bitcodeSymbols(hipcc, file string) (all []string, err error) {
	lld, err := linkerOf(hipcc)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(lld); err == nil {
		lld = real
	}
	nm := filepath.Join(filepath.Dir(lld), "llvm-nm") // another LLVM's may not read the bitcode
	out, err := exec.Command(nm, "--defined-only", "--format=just-symbols", file).Output()
	return strings.Fields(string(out)), err
}

var errNoBitcode = errors.New("neither bitcode, nor a bundle or an archive of it")

// bitcodeOf finds the bitcode for a target: the part itself, the entry of a bundle, or those of the bundles of an archive.
func bitcodeOf(b []byte, t codeobj.Target) ([][]byte, error) {
	switch {
	case bytes.HasPrefix(b, []byte("BC\xc0\xde")):
		return [][]byte{b}, nil
	case codeobj.IsBundle(b):
		x, err := codeobj.OpenBundle(b)
		if err != nil {
			return nil, err
		}
		e, err := x.Select(t)
		if err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(e.Data, []byte("BC\xc0\xde")) {
			return nil, errNoBitcode
		}
		return [][]byte{e.Data}, nil
	case bytes.HasPrefix(b, []byte(archiveMagic)):
		return archived(b, t)
	}
	return nil, errNoBitcode
}

const archiveMagic = "!<arch>\n"

// archived reads an archive: headers of 60 bytes, in which the size stands in ASCII from byte 48 on, before members of even length. Names and the table of symbols
// are members whose name begins with a slash.
func archived(b []byte, t codeobj.Target) (all [][]byte, err error) {
	const header = 60
	for at := len(archiveMagic); at+header <= len(b); {
		h := b[at : at+header]
		n, err := strconv.Atoi(strings.TrimSpace(string(h[48:58])))
		at += header
		if err != nil || n < 0 || n > len(b)-at {
			return nil, errNoBitcode
		}
		member, index := b[at:at+n], h[0] == '/' && (h[1] == ' ' || h[1] == '/')
		at += n + n&1
		if index || n == 0 {
			continue
		}
		parts, err := bitcodeOf(member, t)
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
	}
	return all, nil
}
