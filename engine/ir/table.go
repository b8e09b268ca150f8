package ir

import "strings"

// opInfo is one line of opTable: the op's name in text, its arguments and its result.
//
// Arguments and results are written in a small language, one word each; verify.go checks values against it.
//
//	W      32 or 64 bits wide, uniform or per lane; all W of a line have one width
//	n32    S32 or V32          n64  S64 or V64          n   any of the four
//	s32    S32                 s64  S64                 s   either
//	v32    V32                 v64  V64                 v   either, or T where tuples are allowed (t)
//	m      M                   b    S1                  mb  M or S1
//	t      V32, V64 or T       ts   S32, S64 or TS      any anything
//	-      no result           ?    after a word: the argument may be NoID or left out;  ... any number of the last
type opInfo struct {
	name string
	args string
	res  string
	flag opFlag
}

type opFlag uint8

const (
	fPure   opFlag = 1 << iota // no side effect, cannot fault: the result depends on arguments and fields only
	fMemory                    // touches memory, may fault
	fState                     // reads or writes architectural state
	fCross                     // a lane's result depends on other lanes
	fFloat                     // reads Kind and FP
)

var opTable = [NumOps]opInfo{
	OpInvalid: {"invalid", "", "-", 0},

	OpConst:  {"const", "", "any", fPure},
	OpPC:     {"pc", "", "s64", fPure},
	OpLaneID: {"laneid", "", "v32", fPure},
	OpUndef:  {"undef", "", "any", fPure},

	OpSGet:   {"sget", "", "s32", fState},
	OpSGet64: {"sget64", "", "s64", fState},
	OpSSet:   {"sset", "s32", "-", fState},
	OpSSet64: {"sset64", "s64", "-", fState},
	OpVGet:   {"vget", "", "v32", fState},
	OpVSet:   {"vset", "n32 m", "-", fState},
	OpMGet:   {"mget", "", "m", fState},
	OpMSet:   {"mset", "m", "-", fState},
	OpHWGet:  {"hwget", "", "s32", fState},
	OpHWSet:  {"hwset", "s32", "-", fState},
	OpTime:   {"time", "", "s64", fState},
	OpMsg:    {"msg", "s32", "-", fState},
	OpMsgRtn: {"msgrtn", "s32?", "s", fState},

	OpSplat:  {"splat", "W", "W", fPure},
	OpPair:   {"pair", "n32 n32", "n64", fPure},
	OpLo:     {"lo", "n64", "n32", fPure},
	OpHi:     {"hi", "n64", "n32", fPure},
	OpTuple:  {"tuple", "n32...", "any", fPure},
	OpElem:   {"elem", "any", "n32", fPure},
	OpZext:   {"zext", "W", "W", fPure},
	OpSext:   {"sext", "W", "W", fPure},
	OpMToS:   {"mtos", "m", "s", fPure},
	OpSToM:   {"stom", "s", "m", fPure},
	OpBToS:   {"btos", "b", "s32", fPure},
	OpSToB:   {"stob", "s", "b", fPure},
	OpMToV:   {"mtov", "m", "v32", fPure},
	OpZext64: {"zext64", "n32", "n64", fPure},
	OpSext64: {"sext64", "n32", "n64", fPure},

	OpAdd:      {"add", "W W", "W", fPure},
	OpSub:      {"sub", "W W", "W", fPure},
	OpMul:      {"mul", "W W", "W", fPure},
	OpMulHiU:   {"mulhiu", "W W", "W", fPure},
	OpMulHiS:   {"mulhis", "W W", "W", fPure},
	OpMulU64:   {"mulu64", "n32 n32", "n64", fPure},
	OpMulS64:   {"muls64", "n32 n32", "n64", fPure},
	OpAnd:      {"and", "W W", "W", fPure},
	OpOr:       {"or", "W W", "W", fPure},
	OpXor:      {"xor", "W W", "W", fPure},
	OpNot:      {"not", "W", "W", fPure},
	OpShl:      {"shl", "W n32", "W", fPure},
	OpLShr:     {"lshr", "W n32", "W", fPure},
	OpAShr:     {"ashr", "W n32", "W", fPure},
	OpMinU:     {"minu", "W W", "W", fPure},
	OpMaxU:     {"maxu", "W W", "W", fPure},
	OpMinS:     {"mins", "W W", "W", fPure},
	OpMaxS:     {"maxs", "W W", "W", fPure},
	OpAbs:      {"abs", "W", "W", fPure},
	OpClz:      {"clz", "n", "n", fPure},
	OpCtz:      {"ctz", "n", "n", fPure},
	OpPopcnt:   {"popcnt", "n", "n", fPure},
	OpBrev:     {"brev", "W", "W", fPure},
	OpFshr:     {"fshr", "n32 n32 n32", "n32", fPure},
	OpPermB:    {"permb", "n32 n32 n32", "n32", fPure},
	OpCarryAdd: {"carryadd", "W W mb?", "mb", fPure},
	OpBorrow:   {"borrow", "W W mb?", "mb", fPure},
	OpOvfAdd:   {"ovfadd", "W W", "mb", fPure},
	OpOvfSub:   {"ovfsub", "W W", "mb", fPure},
	OpAddSatU:  {"addsatu", "W W", "W", fPure},
	OpSubSatU:  {"subsatu", "W W", "W", fPure},
	OpAddSatS:  {"addsats", "W W", "W", fPure},
	OpSubSatS:  {"subsats", "W W", "W", fPure},
	OpICmp:     {"icmp", "W W", "mb", fPure},
	OpSelect:   {"select", "mb W W", "W", fPure},
	OpSad:      {"sad", "n32 n32 n32", "n32", fPure},
	OpDot:      {"dot", "n32 n32 n32", "n32", fPure | fFloat},

	OpMAnd:  {"mand", "mb mb", "mb", fPure},
	OpMOr:   {"mor", "mb mb", "mb", fPure},
	OpMXor:  {"mxor", "mb mb", "mb", fPure},
	OpMNot:  {"mnot", "mb", "mb", fPure},
	OpMIsZ:  {"misz", "mb", "b", fPure},
	OpMFull: {"mfull", "mb", "b", fPure},

	OpFAdd:         {"fadd", "W W", "W", fPure | fFloat},
	OpFSub:         {"fsub", "W W", "W", fPure | fFloat},
	OpFMul:         {"fmul", "W W", "W", fPure | fFloat},
	OpFMulLegacy:   {"fmullegacy", "W W", "W", fPure | fFloat},
	OpFMA:          {"fma", "W W W", "W", fPure | fFloat},
	OpFMALegacy:    {"fmalegacy", "W W W", "W", fPure | fFloat},
	OpFMad:         {"fmad", "W W W", "W", fPure | fFloat},
	OpFMin:         {"fmin", "W W", "W", fPure | fFloat},
	OpFMax:         {"fmax", "W W", "W", fPure | fFloat},
	OpFMinP:        {"fminp", "W W", "W", fPure | fFloat},
	OpFMaxP:        {"fmaxp", "W W", "W", fPure | fFloat},
	OpFMed3:        {"fmed3", "W W W", "W", fPure | fFloat},
	OpFNeg:         {"fneg", "W", "W", fPure | fFloat},
	OpFAbs:         {"fabs", "W", "W", fPure | fFloat},
	OpFClamp:       {"fclamp", "W", "W", fPure | fFloat},
	OpFCanon:       {"fcanon", "W", "W", fPure | fFloat},
	OpFOmod:        {"fomod", "W", "W", fPure | fFloat},
	OpFRcp:         {"frcp", "W", "W", fPure | fFloat},
	OpFRcpIFlag:    {"frcpiflag", "W", "W", fPure | fFloat},
	OpFRsq:         {"frsq", "W", "W", fPure | fFloat},
	OpFSqrt:        {"fsqrt", "W", "W", fPure | fFloat},
	OpFExp2:        {"fexp2", "W", "W", fPure | fFloat},
	OpFLog2:        {"flog2", "W", "W", fPure | fFloat},
	OpFSin:         {"fsin", "W", "W", fPure | fFloat},
	OpFCos:         {"fcos", "W", "W", fPure | fFloat},
	OpFFract:       {"ffract", "W", "W", fPure | fFloat},
	OpFTrunc:       {"ftrunc", "W", "W", fPure | fFloat},
	OpFCeil:        {"fceil", "W", "W", fPure | fFloat},
	OpFFloor:       {"ffloor", "W", "W", fPure | fFloat},
	OpFRndne:       {"frndne", "W", "W", fPure | fFloat},
	OpFLdexp:       {"fldexp", "W n32", "W", fPure | fFloat},
	OpFMant:        {"fmant", "W", "W", fPure | fFloat},
	OpFExp:         {"fexp", "n", "n32", fPure | fFloat},
	OpFClass:       {"fclass", "n n32", "mb", fPure | fFloat},
	OpFCmp:         {"fcmp", "W W", "mb", fPure | fFloat},
	OpFDivScale:    {"fdivscale", "W W W", "W", fPure | fFloat},
	OpFDivScaleVCC: {"fdivscalevcc", "W W W", "mb", fPure | fFloat},
	OpFDivFmas:     {"fdivfmas", "W W W mb", "W", fPure | fFloat},
	OpFDivFixup:    {"fdivfixup", "W W W", "W", fPure | fFloat},
	OpFTrigPreop:   {"ftrigpreop", "n64 n32", "n64", fPure | fFloat},
	OpFCubeID:      {"fcubeid", "n32 n32 n32", "n32", fPure | fFloat},
	OpFCubeSC:      {"fcubesc", "n32 n32 n32", "n32", fPure | fFloat},
	OpFCubeTC:      {"fcubetc", "n32 n32 n32", "n32", fPure | fFloat},
	OpFCubeMA:      {"fcubema", "n32 n32 n32", "n32", fPure | fFloat},
	OpCvt:          {"cvt", "n", "n", fPure | fFloat},
	OpCvtRpi:       {"cvtrpi", "n32", "n32", fPure | fFloat},
	OpCvtFlr:       {"cvtflr", "n32", "n32", fPure | fFloat},
	OpCvtNorm:      {"cvtnorm", "n32", "n32", fPure | fFloat},
	OpCvtPkRTZ:     {"cvtpkrtz", "n32 n32", "n32", fPure | fFloat},
	OpCvtSR:        {"cvtsr", "n n32", "n32", fPure | fFloat},
	OpCvtOff4:      {"cvtoff4", "n32", "n32", fPure | fFloat},

	OpReadLane:  {"readlane", "n32 s32", "s32", fPure | fCross},
	OpReadFirst: {"readfirst", "n32 m", "s32", fPure | fCross},
	OpWriteLane: {"writelane", "n32 s32 s32", "v32", fPure | fCross},
	OpPermConst: {"permconst", "n32", "v32", fPure | fCross},
	OpMPerm:     {"mperm", "m", "m", fPure | fCross},
	OpBPermute:  {"bpermute", "n32 n32 m", "v32", fPure | fCross},
	OpPermute:   {"permute", "n32 n32 m", "v32", fPure | fCross},
	OpMbcntLo:   {"mbcntlo", "n32 n32", "v32", fPure},
	OpMbcntHi:   {"mbcnthi", "n32 n32", "v32", fPure},

	OpLoad:    {"load", "s? n? m", "t", fMemory},
	OpStore:   {"store", "s? n? m t", "-", fMemory},
	OpAtomic:  {"atomic", "s? n? m t t?", "any", fMemory},
	OpSLoad:   {"sload", "s s32?", "ts", fMemory},
	OpSStore:  {"sstore", "s s32? ts", "-", fMemory},
	OpSAtomic: {"satomic", "s s32? ts ts?", "any", fMemory},
	OpBufAddr: {"bufaddr", "ts n32? n32? s32?", "v64", fPure},
	OpBufOK:   {"bufok", "ts n32? n32? s32?", "m", fPure},
	OpImage:   {"image", "ts ts? t? m t?", "any", fMemory},
	OpFormat:  {"format", "ts s32? t m t?", "any", fMemory},
	OpFence:   {"fence", "", "-", fState},

	OpMFMA: {"mfma", "t t t n32?", "t", fPure | fCross},
}

var opByName = func() map[string]Op {
	m := make(map[string]Op, NumOps)
	for op, info := range opTable {
		m[info.name] = Op(op)
	}
	return m
}()

// argSpecs holds opTable's argument words, split.
var argSpecs = func() (t [NumOps][]string) {
	for op, info := range opTable {
		t[op] = strings.Fields(info.args)
	}
	return t
}()

// String returns the op's name in text form.
func (op Op) String() string {
	if op < NumOps && opTable[op].name != "" {
		return opTable[op].name
	}
	return "op" + itoa(int(op))
}

// Pure reports whether op has no side effect and cannot fault.
func (op Op) Pure() bool { return op < NumOps && opTable[op].flag&fPure != 0 }

// Memory reports whether op touches memory (and so may fault).
func (op Op) Memory() bool { return op < NumOps && opTable[op].flag&fMemory != 0 }

// Cross reports whether a lane's result depends on other lanes' arguments.
func (op Op) Cross() bool { return op < NumOps && opTable[op].flag&fCross != 0 }

// Float reports whether op works under a floating-point environment.
func (op Op) Float() bool { return op < NumOps && opTable[op].flag&fFloat != 0 }
