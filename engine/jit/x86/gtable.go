package x86

// General instructions: mandatory prefix, map, opcode, form, extension, sizes. The classic eight, moves of constants,
// jumps, setcc and cmovcc are methods of Asm.
var (
	MOV        = gi("mov", 0, 0, 0x8b, gRM, 0, gall)
	MOVS       = gi("mov", 0, 0, 0x89, gMR, 0, gall)
	MOVZX8     = gi("movzx", 0, 1, 0xb6, gRM, 0, gdq|src8)
	MOVZX16    = gi("movzx", 0, 1, 0xb7, gRM, 0, gdq|src16)
	MOVSX8     = gi("movsx", 0, 1, 0xbe, gRM, 0, gdq|src8)
	MOVSX16    = gi("movsx", 0, 1, 0xbf, gRM, 0, gdq|src16)
	MOVSXD     = gi("movsxd", 0, 0, 0x63, gRM, 0, g64)
	LEA        = gi("lea", 0, 0, 0x8d, gRM, 0, gdq)
	TEST       = gi("test", 0, 0, 0x85, gMR, 0, gall)
	XCHG       = gi("xchg", 0, 0, 0x87, gMR, 0, gall)
	XADD       = gi("xadd", 0, 1, 0xc1, gMR, 0, gall)
	CMPXCHG    = gi("cmpxchg", 0, 1, 0xb1, gMR, 0, gall)
	CMPXCHG16B = gi("cmpxchg16b", 0, 1, 0xc7, gM, 1, g64)
	IMUL       = gi("imul", 0, 1, 0xaf, gRM, 0, gw)
	NOT        = gi("not", 0, 0, 0xf7, gM, 2, gall)
	NEG        = gi("neg", 0, 0, 0xf7, gM, 3, gall)
	DIV        = gi("div", 0, 0, 0xf7, gM, 6, gall)
	IDIV       = gi("idiv", 0, 0, 0xf7, gM, 7, gall)
	INC        = gi("inc", 0, 0, 0xff, gM, 0, gall)
	DEC        = gi("dec", 0, 0, 0xff, gM, 1, gall)
	ROL        = gi("rol", 0, 0, 0xc1, gMI8, 0, gall)
	ROR        = gi("ror", 0, 0, 0xc1, gMI8, 1, gall)
	SHL        = gi("shl", 0, 0, 0xc1, gMI8, 4, gall)
	SHR        = gi("shr", 0, 0, 0xc1, gMI8, 5, gall)
	SAR        = gi("sar", 0, 0, 0xc1, gMI8, 7, gall)
	ROLCL      = gi("rol cl", 0, 0, 0xd3, gM, 0, gall)
	RORCL      = gi("ror cl", 0, 0, 0xd3, gM, 1, gall)
	SHLCL      = gi("shl cl", 0, 0, 0xd3, gM, 4, gall)
	SHRCL      = gi("shr cl", 0, 0, 0xd3, gM, 5, gall)
	SARCL      = gi("sar cl", 0, 0, 0xd3, gM, 7, gall)
	SHLD       = gi("shld", 0, 1, 0xa4, gMRI8, 0, gw)
	SHRD       = gi("shrd", 0, 1, 0xac, gMRI8, 0, gw)
	BT         = gi("bt", 0, 1, 0xba, gMI8, 4, gw)
	BTS        = gi("bts", 0, 1, 0xba, gMI8, 5, gw)
	BTR        = gi("btr", 0, 1, 0xba, gMI8, 6, gw)
	BTC        = gi("btc", 0, 1, 0xba, gMI8, 7, gw)
	BTREG      = gi("bt", 0, 1, 0xa3, gMR, 0, gw)
	BTSR       = gi("bts", 0, 1, 0xab, gMR, 0, gw)
	BTRR       = gi("btr", 0, 1, 0xb3, gMR, 0, gw)
	BSF        = gi("bsf", 0, 1, 0xbc, gRM, 0, gw)
	BSR        = gi("bsr", 0, 1, 0xbd, gRM, 0, gw)
	TZCNT      = gi("tzcnt", 0xf3, 1, 0xbc, gRM, 0, gw)
	LZCNT      = gi("lzcnt", 0xf3, 1, 0xbd, gRM, 0, gw)
	POPCNT     = gi("popcnt", 0xf3, 1, 0xb8, gRM, 0, gw)
	ADCX       = gi("adcx", 0x66, 2, 0xf6, gRM, 0, gdq)
	ADOX       = gi("adox", 0xf3, 2, 0xf6, gRM, 0, gdq)
	PREFETCHT0 = gi("prefetcht0", 0, 1, 0x18, gM, 1, g32) // of a line: no size is meant
	MOVBE      = gi("movbe", 0, 2, 0xf0, gRM, 0, gw)
)

// Bswap reverses the bytes of a register (4 or 8 bytes).
func (a *Asm) Bswap(size int, r Reg) {
	rex := byte(0)
	if size == 8 {
		rex = 0x48
	}
	if r > 7 {
		rex |= 0x41
	}
	if rex != 0 {
		a.Buf = append(a.Buf, rex)
	}
	a.Buf = append(a.Buf, 0x0f, 0xc8|byte(r)&7)
}
