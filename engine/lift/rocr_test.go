package lift

import (
	"debug/elf"
	"strings"
	"testing"

	"github.com/pumice-gpu/pumice/engine/ir"
	"github.com/pumice-gpu/pumice/engine/isa"
)

// TestROCrCode finds the shaders that AMD's ROCr carries as plain arrays (blit kernels, trap handlers) by looking for
// long runs of words that decode and end the program or return from a trap, and lifts them.
func TestROCrCode(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	f, err := elf.Open("/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1")
	if err != nil {
		t.Skip("ROCr is not installed")
	}
	defer f.Close()
	for _, name := range []string{".rodata", ".data.rel.ro", ".data"} {
		s := f.Section(name)
		if s == nil {
			continue
		}
		b, err := s.Data()
		if err != nil {
			continue
		}
		for _, cpu := range []string{"gfx900", "gfx90a", "gfx1030"} {
			tg := isa.TargetByName(cpu)
			runs := 0
			for off := 0; off+4 <= len(b); {
				n, insts := codeRun(tg, b[off:])
				if insts < 24 {
					off += 4
					continue
				}
				runs++
				fn, err := Func(bytesAt{0x10000, b[off : off+n]}, tg, 0x10000, hipMode, 64)
				if err != nil {
					t.Fatal(err)
				}
				if err := ir.Verify(fn); err != nil {
					t.Error(err)
				}
				for _, bl := range fn.Blocks {
					// The image library's kernels are among them; images are not here yet.
					if bl.Term.Exit == ir.ExitIllegal && !strings.Contains(bl.Term.Msg, "_format_") && !strings.Contains(bl.Term.Msg, "image_") {
						t.Errorf("%s at %s+%#x: %s", cpu, name, off, bl.Term.Msg)
					}
				}
				t.Logf("%s %s+%#x: %d instructions in %d bytes", cpu, name, off, insts, n)
				off += n
			}
			t.Logf("%s: %d pieces of code in %s", cpu, runs, name)
		}
	}
}

// codeRun decodes from the start of b until the program ends, and returns bytes and instructions, or 0 when it is not
// plausible code.
func codeRun(tg *isa.Target, b []byte) (n, insts int) {
	var in isa.Inst
	scalar, zero := 0, 0
	for n < len(b) && n < 2048 {
		if isa.Decode(tg, b[n:], &in) != nil {
			return 0, 0
		}
		if in.Raw[0] == 0 {
			if zero++; zero > 2 {
				return 0, 0
			}
		}
		if strings.HasPrefix(in.Op.Name, "s_") {
			scalar++
		}
		n += int(in.Size)
		insts++
		if in.Op.Name == "s_endpgm" || in.Op.Name == "s_rfe_b64" {
			if scalar < insts/16 {
				return 0, 0
			}
			return n, insts
		}
	}
	return 0, 0
}
