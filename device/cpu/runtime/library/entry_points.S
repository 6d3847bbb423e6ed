// Every function that CUDA's runtime exports. Each jumps to the function that liblynxpp.so has found for that
// name; the first call has it found (lynxpp_runtime_bind).

        .text
        .set    slot, 0

// The slot's address is in r11 when it is not bound yet.
.macro  RUNTIME_FUNCTION name
        .globl  \name
        .type   \name, @function
        .p2align 4
\name:
        endbr64
        movq    lynxpp_runtime_slots + slot(%rip), %rax
        testq   %rax, %rax
        jz      1f
        jmp     *%rax
1:      leaq    lynxpp_runtime_slots + slot(%rip), %r11
        jmp     bind
        .size   \name, . - \name
        .set    slot, slot + 8
.endm

        .p2align 4
        .type   bind, @function
bind:                                   // with the arguments of the call in their registers
        .cfi_startproc
        .irp    register, rdi, rsi, rdx, rcx, r8, r9, r11
        pushq   %\register
        .cfi_adjust_cfa_offset 8
        .endr
        movq    %r11, %rdi
        call    lynxpp_runtime_bind
        .irp    register, r11, r9, r8, rcx, rdx, rsi, rdi
        popq    %\register
        .cfi_adjust_cfa_offset -8
        .endr
        jmp     *(%r11)
        .cfi_endproc
        .size   bind, . - bind

#define LYNXPP_CUDA(name) RUNTIME_FUNCTION name
#define LYNXPP_CUDA_ALWAYS(name) RUNTIME_FUNCTION name
#define LYNXPP_CUDA_STREAM(name, suffix) RUNTIME_FUNCTION name; RUNTIME_FUNCTION name##_##suffix
#define LYNXPP_CUDA_RAW(name) RUNTIME_FUNCTION name
#define LYNXPP_UNSUPPORTED(name) RUNTIME_FUNCTION name
#define LYNXPP_UNSUPPORTED_STREAM(name, suffix) RUNTIME_FUNCTION name; RUNTIME_FUNCTION name##_##suffix
#define LYNXPP_UNSUPPORTED_FOREIGN(name) RUNTIME_FUNCTION name
#define LYNXPP_UNSUPPORTED_ENTRY(name) RUNTIME_FUNCTION name
#include "device/cpu/runtime/api.def"
#include "device/cpu/runtime/unsupported.def"

        .hidden lynxpp_runtime_slots
        .hidden lynxpp_runtime_bind
        .section .note.GNU-stack, "", @progbits
