#include "copy.h"

#include <string.h>

#if defined(__x86_64__)
// Nothing here moves the stack, so that the failing end can return for all of them.
__asm__(".text\n"
        ".globl pumice_copy_begin, pumice_copy_end, pumice_copy_failed, pumice_copy, pumice_readable, pumice_writable, pumice_length\n"
        ".hidden pumice_copy_begin, pumice_copy_end, pumice_copy_failed, pumice_copy, pumice_readable, pumice_writable, pumice_length\n"
        ".p2align 4\n"
        "pumice_copy_begin:\n"
        ".type pumice_copy,@function\n"
        "pumice_copy:\n"
        "    movq %rdx, %rcx\n"
        "    shrq $3, %rcx\n"
        "    rep movsq\n"
        "    movl %edx, %ecx\n"
        "    andl $7, %ecx\n"
        "    rep movsb\n"
        "    xorl %eax, %eax\n"
        "    ret\n"
        // One byte of each page; an address that goes over its end is none.
        ".type pumice_readable,@function\n"
        "pumice_readable:\n"
        "    leaq -1(%rdi,%rsi), %rsi\n"
        "1:  movb (%rdi), %al\n"
        "    orq $4095, %rdi\n"
        "    incq %rdi\n"
        "    cmpq %rsi, %rdi\n"
        "    jbe 1b\n"
        "    xorl %eax, %eax\n"
        "    ret\n"
        ".type pumice_writable,@function\n"
        "pumice_writable:\n"
        "    leaq -1(%rdi,%rsi), %rsi\n"
        "1:  lock orb $0, (%rdi)\n"
        "    orq $4095, %rdi\n"
        "    incq %rdi\n"
        "    cmpq %rsi, %rdi\n"
        "    jbe 1b\n"
        "    xorl %eax, %eax\n"
        "    ret\n"
        ".type pumice_length,@function\n"
        "pumice_length:\n"
        "    xorl %eax, %eax\n"
        "1:  cmpq %rsi, %rax\n"
        "    jge 2f\n"
        "    cmpb $0, (%rdi,%rax)\n"
        "    je 2f\n"
        "    incq %rax\n"
        "    jmp 1b\n"
        "2:  ret\n"
        "pumice_copy_end:\n"
        "pumice_copy_failed:\n"
        "    movq $-1, %rax\n"
        "    ret\n");
#else
// No copy here is known to the handler: a bad address ends the process, as it would in the program's own code.
const char pumice_copy_begin[1], pumice_copy_end[1], pumice_copy_failed[1];
int pumice_copy(void *dst, const void *src, size_t n) {
    memcpy(dst, src, n);
    return 0;
}
int pumice_readable(const void *p, size_t n) {
    (void)p, (void)n;
    return 0;
}
int pumice_writable(void *p, size_t n) {
    (void)p, (void)n;
    return 0;
}
long pumice_length(const char *s, long max) { return (long)strnlen(s, (size_t)max); }
#endif
