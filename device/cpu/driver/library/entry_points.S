// Every function that CUDA's libcuda.so.1 exports. Each jumps to the engine's function of that name; the first
// call of any finds them all (lynxpp_driver_bind).

        .text
        .set    slot, 0

// The slot's number is in r11 when nothing is bound yet.
.macro  DRIVER_FUNCTION name
        .globl  \name
        .type   \name, @function
        .p2align 4
\name:
        endbr64
        movq    lynxpp_driver_slots + slot(%rip), %rax
        testq   %rax, %rax
        jz      1f
        jmp     *%rax
1:      leaq    lynxpp_driver_slots + slot(%rip), %r11
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
        call    lynxpp_driver_bind
        .irp    register, r11, r9, r8, rcx, rdx, rsi, rdi
        popq    %\register
        .cfi_adjust_cfa_offset -8
        .endr
        jmp     *(%r11)
        .cfi_endproc
        .size   bind, . - bind

#define LYNXPP_DRIVER(exported, asked, since, needs) DRIVER_FUNCTION exported
#define LYNXPP_DRIVER_STREAM(exported, suffix, asked, since, suffix_since, needs) \
        DRIVER_FUNCTION exported; DRIVER_FUNCTION exported##_##suffix
#define LYNXPP_DRIVER_UNSUPPORTED(exported, asked, per_thread, since) DRIVER_FUNCTION exported
#include "device/cpu/driver/api.def"
#include "device/cpu/driver/unsupported.def"

        .hidden lynxpp_driver_slots
        .hidden lynxpp_driver_bind
        .section .note.GNU-stack, "", @progbits
