# Makes from a table of names, for one SONAME version (-v face=5, hsa for HSA, rtc for hiprtc): the assembler file of the trampolines (to out ".S") and the version
# script (to out ".map").
BEGIN {
    count = 0 # unset, it would be the index ""
    top["5"] = "hip_5.6"; top["6"] = "hip_6.5"; top["7"] = "hip_7.2"; top["hsa"] = "ROCR_1"; top["rtc"] = "-" # the node without a name
    split("__hipRegisterFatBinary __hipRegisterFunction __hipRegisterVar __hipRegisterManagedVar __hipRegisterTexture __hipRegisterSurface __hipUnregisterFatBinary __gnu_h2f_ieee __gnu_f2h_ieee", c, " ")
    for (i in c) inc[c[i]] = 1
    s = out ".S"; m = out ".map"
    print ".text" > s
}
/^#/ || NF == 0 { next }
/^[^ ]/ {
    if (done) next
    if (node != "") print "local: *;\n}" (prev != "" ? " " prev : "") ";" > m
    if (last) { done = 1; node = ""; next }
    prev = node; node = $1
    if (node == top[face]) last = 1
    print (node == "-" ? "" : node " ") "{\nglobal:" > m
    next
}
done { next }
{
    name = $1
    print "  " name ";" > m
    if (name in inc) next
    target = name
    if (match(name, /^_Z[0-9]+/)) { n = substr(name, 3, RLENGTH - 2); target = substr(name, RLENGTH + 1, n) }
    # All our operations on signals and indices are sequentially consistent, which satisfies every memory order that a name asks for.
    if (face == "hsa" && name ~ /^hsa_(signal|queue)_/) sub(/_(relaxed|scacquire|screlease|scacq_screl|acquire|release|acq_rel)$/, "", target)
    names[count] = name; targets[count] = target
    printf ".globl %s\n.type %s,@function\n.p2align 4\n%s:\n jmp *lazy_table+%d(%%rip)\n.size %s,.-%s\n", name, name, name, 8 * count, name, name > s
    count++
}
END {
    if (node != "") print "local: *;\n}" (prev != "" ? " " prev : "") ";" > m
    # One entry of 16 bytes for each trampoline that is not resolved.
    print ".p2align 4\nlazy:" > s
    for (i = 0; i < count; i++) printf ".p2align 4\n pushq $%d\n jmp resolve\n", i > s
    # The argument registers survive: a call's arguments are anything.
    print ".p2align 4\nresolve:\n pushq %rax\n pushq %rdi\n pushq %rsi\n pushq %rdx\n pushq %rcx\n pushq %r8\n pushq %r9\n pushq %r10\n pushq %rbp\n movq %rsp,%rbp" > s
    print " movq 72(%rsp),%rdi\n subq $128,%rsp\n andq $-16,%rsp" > s
    for (i = 0; i < 8; i++) printf " movups %%xmm%d,%d(%%rsp)\n", i, 16 * i > s
    print " call lazy_resolve@PLT\n movq %rax,%r11" > s
    for (i = 0; i < 8; i++) printf " movups %d(%%rsp),%%xmm%d\n", 16 * i, i > s
    print " movq %rbp,%rsp\n popq %rbp\n popq %r10\n popq %r9\n popq %r8\n popq %rcx\n popq %rdx\n popq %rsi\n popq %rdi\n popq %rax\n addq $8,%rsp\n jmp *%r11" > s
    print ".globl lazy_entry\n.hidden lazy_entry\nlazy_entry:\n leaq lazy(%rip),%rax\n shlq $4,%rdi\n addq %rdi,%rax\n ret" > s
    print ".data\n.p2align 3\n.globl lazy_table\n.hidden lazy_table\nlazy_table:" > s
    for (i = 0; i < count; i++) printf " .quad lazy+%d\n", 16 * i > s
    print ".section .data.rel.ro,\"aw\"\n.p2align 3\n.globl lazy_names\n.hidden lazy_names\nlazy_names:" > s
    for (i = 0; i < count; i++) printf " .quad n%d\n", i > s
    print ".globl lazy_targets\n.hidden lazy_targets\nlazy_targets:" > s
    for (i = 0; i < count; i++) printf " .quad t%d\n", i > s
    printf ".globl lazy_count\n.hidden lazy_count\nlazy_count: .quad %d\n.section .rodata\n", count > s
    for (i = 0; i < count; i++) printf "n%d: .asciz \"%s\"\nt%d: .asciz \"%s\"\n", i, names[i], i, targets[i] > s
    print ".section .note.GNU-stack,\"\",@progbits" > s
}
