#include "textflag.h"

// The function does nothing: its frame is what makes the assembler's prologue grow the stack.
TEXT ·Reserve(SB), 0, $262144-0
	RET
