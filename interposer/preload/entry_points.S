// dlsym, dlopen and the driver's functions as the program sees them.
//
// The meaning of RTLD_NEXT, RTLD_DEFAULT and a library's RUNPATH depends on the return address of the call.
// Calls that we do not handle therefore jump to the real function, with arguments, stack and return address
// as the caller left them.

        .text

// void* dlsym(void* handle, const char* name)
        .globl  dlsym
        .type   dlsym, @function
        .p2align 4
dlsym:
        .cfi_startproc
        endbr64
        movq    lynxpp_has_opened@gottpoff(%rip), %rax
        cmpb    $0, %fs:(%rax)          // has the thread called dlopen since its last dlsym?
        jne     .Lopened
.Lbound:
        testq   %rsi, %rsi
        jz      .Lreal_dlsym
        cmpb    $'c', (%rsi)            // names of the CUDA driver and runtime begin with "cu"
        jne     .Lnvrtc
        cmpb    $'u', 1(%rsi)
        jne     .Lreal_dlsym
        jmp     .Lours
.Lnvrtc:                                // names of its compiler and its linker with "nv" or "__nv"
        cmpb    $'_', (%rsi)
        je      .Lunderscores
        cmpb    $'n', (%rsi)
        jne     .Lreal_dlsym
        cmpb    $'v', 1(%rsi)
        jne     .Lreal_dlsym
        jmp     .Lours
.Lunderscores:
        cmpb    $'_', 1(%rsi)
        jne     .Lreal_dlsym
        cmpb    $'n', 2(%rsi)
        jne     .Lreal_dlsym
        cmpb    $'v', 3(%rsi)
        jne     .Lreal_dlsym
.Lours:
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    lynxpp_find_hook        // (handle, name): our function, null or lynxpp_no_symbol
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        testq   %rax, %rax
        jz      .Lreal_dlsym
        leaq    lynxpp_no_symbol(%rip), %r11
        cmpq    %r11, %rax
        je      .Lno_symbol
        ret
.Lno_symbol:
        xorl    %eax, %eax
        ret
.Lreal_dlsym:
        movq    lynxpp_real_dlsym(%rip), %rax
        testq   %rax, %rax
        jz      .Lresolve_dlsym
        jmp     *%rax
.Lresolve_dlsym:                        // called before our constructor, by an IFUNC resolver
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    lynxpp_resolve_real_functions
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *lynxpp_real_dlsym(%rip)
.Lopened:
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    lynxpp_bind_opened
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     .Lbound
        .cfi_endproc
        .size   dlsym, . - dlsym

// void* dlopen(const char* name, int flags)
        .globl  dlopen
        .type   dlopen, @function
        .p2align 4
dlopen:
        .cfi_startproc
        endbr64
        movq    (%rsp), %rdx            // the caller, for the observer
        testl   $8, %esi                // RTLD_DEEPBIND
        jz      .Lobserve
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        call    lynxpp_open_deeply      // (name, flags, caller): the handle, or lynxpp_no_symbol
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        leaq    lynxpp_no_symbol(%rip), %r11
        cmpq    %r11, %rax
        je      .Lobserve
        ret
.Lobserve:
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        movq    %rdx, %rsi
        call    lynxpp_observe_dlopen   // (name, caller): another name, or null
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        testq   %rax, %rax
        cmovnzq %rax, %rdi
        jmp     *lynxpp_real_dlopen(%rip)
        .cfi_endproc
        .size   dlopen, . - dlopen

// The driver functions of driver_api.def, for programs linked with libcuda.so.1.
#define LYNXPP_DRIVER_HOOK(exported, asked, per_thread_stream, since, family, wrapper) \
        .globl  exported;                                                       \
        .type   exported, @function;                                            \
        .p2align 4;                                                             \
exported:                                                                       \
        endbr64;                                                                \
        jmp     *lynxpp_linked_##exported(%rip);                                \
        .size   exported, . - exported;
#include "interposer/driver_api.def"
#undef LYNXPP_DRIVER_HOOK

// All other exports of CUDA's driver. A program that has found one of our functions may look up others in the
// library that contains it, bypassing our dlsym: all of them forward to the driver.
        .bss
        .p2align 3
.Lforwarded:
        .fill   forward_count, 8, 0
        .text
        .set    forward_offset, 0
#define FORWARD(exported)                                                       \
        .ifndef exported;                                                       \
        .globl  exported;                                                       \
        .type   exported, @function;                                            \
        .p2align 4;                                                             \
exported:                                                                       \
        endbr64;                                                                \
        movq    .Lforwarded + forward_offset(%rip), %rax;                       \
        testq   %rax, %rax;                                                     \
        jz      1f;                                                             \
        jmp     *%rax;                                                          \
1:      leaq    2f(%rip), %rax;                                                 \
        leaq    .Lforwarded + forward_offset(%rip), %r11;                       \
        jmp     .Lforward;                                                      \
        .size   exported, . - exported;                                         \
        .section .rodata.str1.1, "aMS", @progbits, 1;                           \
2:      .string #exported;                                                      \
        .text;                                                                  \
        .set    forward_offset, forward_offset + 8;                             \
        .endif;
#define LYNXPP_DRIVER(exported, asked, since, needs) FORWARD(exported)
#define LYNXPP_DRIVER_ALIAS(exported, asked, since, needs) FORWARD(exported)
#define LYNXPP_DRIVER_STREAM(exported, suffix, asked, since, suffix_since, needs) \
        FORWARD(exported) FORWARD(exported##_##suffix)
#define LYNXPP_DRIVER_UNSUPPORTED(exported, asked, per_thread, since) FORWARD(exported)
#include "device/cpu/driver/api.def"
#include "device/cpu/driver/unsupported.def"
        .set    forward_count, forward_offset / 8

// %rax: the name, %r11: the slot for the driver's function. All other registers belong to the call.
        .type   .Lforward, @function
.Lforward:
        .cfi_startproc
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        pushq   %rcx
        .cfi_adjust_cfa_offset 8
        pushq   %r8
        .cfi_adjust_cfa_offset 8
        pushq   %r9
        .cfi_adjust_cfa_offset 8
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        movsd   %xmm0, (%rsp)           // no driver function has a second floating-point argument
        movq    %rax, %rdi
        movq    %r11, %rsi
        call    lynxpp_find_forwarded   // (name, place): the driver's function
        movsd   (%rsp), %xmm0
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        popq    %r9
        .cfi_adjust_cfa_offset -8
        popq    %r8
        .cfi_adjust_cfa_offset -8
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *%rax
        .cfi_endproc
        .size   .Lforward, . - .Lforward

        .hidden lynxpp_find_forwarded
        .hidden lynxpp_linked_wrappers
        .hidden lynxpp_find_hook
        .hidden lynxpp_no_symbol
        .hidden lynxpp_observe_dlopen
        .hidden lynxpp_open_deeply
        .hidden lynxpp_has_opened
        .hidden lynxpp_bind_opened
        .hidden lynxpp_resolve_real_functions
        .hidden lynxpp_real_dlsym
        .hidden lynxpp_real_dlopen
        .section .note.GNU-stack, "", @progbits
