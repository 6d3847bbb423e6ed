#!/usr/bin/env python3
"""Checks that ptxas fuses products and sums of an instrumented kernel exactly where it does in the original.

usage: contraction.py BUILD_FOLDER

Each case is a small kernel. It is assembled without probes and with probes that branch at its arithmetic instructions, at its accesses,
and at all instructions, and with perturbations. All versions must have the same counts of FFMA, FMUL, FADD etc. ptxas is the oracle: the test does not specify which operations are fused.
Exit status: 0 equal, 1 different, 77 ptxas not found.
"""
import collections
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

# HFMA2 also loads constants, which probes use; an unfused half-precision product or sum shows as HMUL2 or
# HADD2.
OPERATIONS = {0x20: "FMUL", 0x21: "FADD", 0x23: "FFMA", 0x28: "DMUL", 0x29: "DADD", 0x2b: "DFMA", 0x30: "HADD2", 0x32: "HMUL2"}

# Neither handler has floating-point arithmetic. A store that few threads make guarantees a branch.
SPECIFICATIONS = {name: f"global unsigned int seen[INSTRUCTIONS];\n{labels}: {{ if (globalThreadId() == 7) seen[instructionId()] = laneId(); }}\n"
                  for name, labels in {"arithmetic": "ON_INSTRUCTION: ARITHMETIC", "accesses": "ON_INSTRUCTION: MEM_READ: MEM_WRITE: GLOBAL",
                                       "everything": "ON_INSTRUCTION"}.items()}

# Perturbations. Only the first adds floating-point arithmetic: one operation per operation.
PERTURBATIONS = ("fp32:again", "global-access:again", "atomic:again", "barrier:again", "branch:again", "integer:again", "fetch:again")

PRODUCT = "mul.f32 %f6, %f1, %f2;"
STORE = "st.global.f32 [%rd1+64],"
STORE2 = "st.global.f32 [%rd1+80],"
STORE3 = "st.global.f32 [%rd1+84],"
LOAD = "ld.global.f32 %f7, [%rd1+96];"  # stands between product and sum


def single(between="", total="add.f32 %f8, %f6, %f7;"):
    return f"{PRODUCT} {LOAD} {between} {total} {STORE} %f8;"


TWO = f"{PRODUCT} mul.f32 %f9, %f3, %f4; {LOAD}"
CASES = {
    "sum": single(),
    "spelled_apart": single(total="sub/* .x */.f32 %f8, %f7, %f6;").replace("mul.f32", "mul /* .x */ .f32"),
    "open_and_spelled_apart": single(between=f"sub/* .x */\t.f32 %f9, %f3, %f6; {STORE2} %f6;", total="neg/**/.f32 %f8, %f9;"),
    "sum_other_way": single(total="add.f32 %f8, %f7, %f6;"),
    "product_minus": single(total="sub.f32 %f8, %f6, %f7;"),
    "minus_product": single(total="sub.f32 %f8, %f7, %f6;"),
    "stored_too": single(between=f"{STORE2} %f6;"),
    "two_sums": single(between=f"add.f32 %f9, %f6, %f3; {STORE2} %f9;"),
    "sum_and_difference": single(between=f"sub.f32 %f9, %f3, %f6; {STORE2} %f9;"),
    "one_rounded": single(between=f"add.rn.f32 %f9, %f6, %f3; {STORE2} %f9;"),
    "rounded_product": f"mul.rn.f32 %f6, %f1, %f2; {LOAD} add.f32 %f8, %f6, %f7; {STORE} %f8;",
    "rounded_sum": single(total="add.rz.f32 %f8, %f6, %f7;"),
    "flushed": f"mul.ftz.f32 %f6, %f1, %f2; {LOAD} add.ftz.f32 %f8, %f6, %f7; {STORE} %f8;",
    "flushed_product": f"mul.ftz.f32 %f6, %f1, %f2; {LOAD} add.f32 %f8, %f6, %f7; {STORE} %f8;",
    "flushed_sum": single(total="add.ftz.f32 %f8, %f6, %f7;"),
    "saturated_sum": single(total="add.sat.f32 %f8, %f6, %f7;"),
    "saturated_difference": single(total="sub.ftz.sat.f32 %f8, %f7, %f6;").replace("mul.f32", "mul.ftz.f32"),
    "saturated_product": f"mul.sat.f32 %f6, %f1, %f2; {LOAD} add.f32 %f8, %f6, %f7; {STORE} %f8;",
    "both_sides": single(total="add.f32 %f8, %f6, %f6;") + f"{STORE3} %f7;",
    "negated": single(between="neg.f32 %f9, %f6;", total="add.f32 %f8, %f9, %f7;"),
    "negated_twice": single(between="neg.f32 %f9, %f6;", total="sub.f32 %f8, %f7, %f9;"),
    "negated_and_not": single(between=f"neg.f32 %f9, %f6; sub.f32 %f10, %f3, %f6; {STORE2} %f10;", total="sub.f32 %f8, %f7, %f9;"),
    "moved": single(between="mov.f32 %f9, %f6;", total="add.f32 %f8, %f9, %f7;"),
    "absolute": single(between="abs.f32 %f9, %f6;", total="add.f32 %f8, %f9, %f7;"),
    "compared_too": single(between=f"setp.gt.f32 %p3, %f6, %f4; selp.f32 %f9, %f3, %f5, %p3; {STORE2} %f9;"),
    "products_1_and_2": f"{TWO} add.f32 %f8, %f6, %f9; {STORE} %f8; {STORE3} %f7;",
    "products_2_and_1": f"{TWO} sub.f32 %f8, %f9, %f6; {STORE} %f8; {STORE3} %f7;",
    "first_stored": f"{TWO} add.f32 %f8, %f6, %f9; {STORE} %f8; {STORE2} %f6; {STORE3} %f7;",
    "second_stored": f"{TWO} add.f32 %f8, %f6, %f9; {STORE} %f8; {STORE2} %f9; {STORE3} %f7;",
    "second_twice": f"{TWO} add.f32 %f8, %f6, %f9; add.f32 %f10, %f9, %f7; {STORE} %f8; {STORE2} %f10;",
    "first_twice": f"{TWO} add.f32 %f8, %f6, %f9; add.f32 %f10, %f6, %f7; {STORE} %f8; {STORE2} %f10;",
    "second_twice_before": f"{TWO} add.f32 %f10, %f9, %f7; add.f32 %f8, %f6, %f9; {STORE} %f8; {STORE2} %f10;",
    # If one product has a constant factor, the machine code shows which product was fused.
    "constant_in_first": f"mul.f32 %f6, %f1, 0f40400000; mul.f32 %f9, %f3, %f4; {LOAD} add.f32 %f8, %f6, %f9; {STORE} %f8; {STORE3} %f7;",
    "constant_in_second": f"mul.f32 %f6, %f1, %f2; mul.f32 %f9, %f3, 0f40400000; {LOAD} add.f32 %f8, %f6, %f9; {STORE} %f8; {STORE3} %f7;",
    "constant_in_second_twice": f"mul.f32 %f6, %f1, %f2; mul.f32 %f9, %f3, 0f40400000; {LOAD} add.f32 %f8, %f6, %f9; sub.f32 %f10, %f9, %f6; {STORE} %f8; "
                                f"{STORE2} %f10; {STORE3} %f7;",
    "constant_in_first_twice": f"mul.f32 %f6, %f1, 0f40400000; mul.f32 %f9, %f3, %f4; {LOAD} add.f32 %f8, %f9, %f6; sub.f32 %f10, %f6, %f9; {STORE} %f8; "
                               f"{STORE2} %f10; {STORE3} %f7;",
    "sums_of_three": f"{TWO} add.f32 %f8, %f6, %f9; add.f32 %f10, %f8, %f7; {STORE} %f10;",
    "chain": f"{PRODUCT} {LOAD} add.f32 %f8, %f6, %f7; mul.f32 %f9, %f8, %f3; ld.global.f32 %f10, [%rd1+112]; add.f32 %f9, %f9, %f10; {STORE} %f9;",
    "accumulated": f"{PRODUCT} {LOAD} add.f32 %f7, %f7, %f6; mul.f32 %f6, %f4, %f5; add.f32 %f7, %f7, %f6; {STORE} %f7;",
    "factor_overwritten": f"{PRODUCT} ld.global.f32 %f1, [%rd1+96]; ld.global.f32 %f2, [%rd1+100]; add.f32 %f8, %f6, %f1; add.f32 %f8, %f8, %f2; {STORE} %f8;",
    "product_overwritten": f"{PRODUCT} {LOAD} add.f32 %f6, %f6, %f7; {STORE} %f6;",
    "constant_factor": f"mul.f32 %f6, %f1, 0f40400000; {LOAD} add.f32 %f8, %f6, %f7; {STORE} %f8;",
    "constant_addend": f"{PRODUCT} {LOAD} sub.f32 %f8, %f6, 0f3f800000; {STORE} %f8; {STORE3} %f7;",
    "guarded_sum": f"mov.f32 %f8, %f5; {PRODUCT} {LOAD} @%p1 add.f32 %f8, %f6, %f7; {STORE} %f8;",
    "guarded_difference": f"mov.f32 %f8, %f5; {PRODUCT} {LOAD} @!%p1 sub.f32 %f8, %f7, %f6; {STORE} %f8;",
    "guarded_product": f"mov.f32 %f6, %f5; @%p1 {PRODUCT} {LOAD} add.f32 %f8, %f6, %f7; {STORE} %f8;",
    "both_guarded": f"mov.f32 %f8, %f5; @%p1 {PRODUCT} {LOAD} @%p1 add.f32 %f8, %f6, %f7; {STORE} %f8;",
    "two_guarded_sums": f"mov.f32 %f8, %f5; mov.f32 %f9, %f5; {PRODUCT} {LOAD} @%p1 add.f32 %f8, %f6, %f7; @%p2 add.f32 %f9, %f6, %f3; {STORE} %f8; {STORE2} %f9;",
    "guarded_store_between": single(between=f"@%p1 {STORE2} %f3;"),
    "guarded_load_between": single(between="@%p1 ld.global.f32 %f7, [%rd1+48];"),
    "guarded_move_between": single(between="@%p1 mov.f32 %f7, %f3;"),
    "guarded_arithmetic_between": single(between="@%p1 add.rn.f32 %f7, %f3, %f4;"),
    "guarded_parameter_between": single(between="@%p1 ld.param.u32 %r6, [n]; st.global.u32 [%rd1+52], %r6;"),
    "guarded_barrier_between": single(between="@%p2 bar.sync 0;"),
    "guarded_atomic_between": single(between="@%p1 red.global.add.u32 [%rd1+48], 1;"),
    "guarded_vote_between": single(between="@%p1 vote.sync.ballot.b32 %r6, %p2, -1; st.global.u32 [%rd1+52], %r6;"),
    "guarded_exit_between": single(between="@%p1 exit;"),
    "barrier_between": single(between="bar.sync 0;"),
    "atomic_between": single(between="atom.global.add.u32 %r6, [%rd1+48], 1; st.global.u32 [%rd1+52], %r6;"),
    "shuffle_between": single(between="shfl.sync.idx.b32 %r6, %r2, 0, 31, -1; st.global.u32 [%rd1+52], %r6;"),
    "fence_between": single(between="membar.gl;"),
    "remainder_between": single(between="rem.u32 %r6, %r1, %r2; st.global.u32 [%rd1+52], %r6;"),
    "wide_remainder_between": single(between="rem.u64 %rd3, %rd1, %rd2; st.global.u64 [%rd1+56], %rd3;"),
    "branch_between": single(between=f"@%p1 bra L; {STORE2} %f3; L:"),
    "big_branch_between": single(between=f"@%p1 bra L; {STORE2} %f3; bar.sync 0; {STORE2} %f4; L:"),
    "jump_between": single(between="bra L; L:"),
    "label_between": single(between="L:"),
    "sum_in_other_block": f"{PRODUCT} {LOAD} @%p1 bra L; add.f32 %f8, %f6, %f7; {STORE} %f8; bar.sync 0; {STORE2} %f3; L:",
    "sum_in_both_blocks": single() + f"@%p1 bra L; add.f32 %f9, %f6, %f4; {STORE2} %f9; bar.sync 0; L:",
    "scope_between": single(between=f"{{ .reg .f32 %inner; mov.f32 %inner, %f1; {STORE2} %inner; }}"),
    "in_loop": f"mov.u32 %r5, 0; L: .pragma \"nounroll\"; {LOAD} add.s64 %rd1, %rd1, 4; mul.f32 %f6, %f1, %f7; ld.global.f32 %f8, [%rd1+32]; add.f32 %f3, %f8, %f3; "
               f"sub.f32 %f3, %f3, %f6; add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, %r1; @%p3 bra L; {STORE} %f3;",
}
DOUBLE = ("sum", "minus_product", "product_minus", "two_sums", "products_1_and_2", "first_twice", "negated", "guarded_sum", "stored_too")
HALF = {"half": "f16", "halves": "f16x2", "brain": "bf16"}


def body_of(case, kind):
    text = CASES[case]
    if kind == "f64":
        return text.replace(".f32", ".f64").replace("0f3f800000", "0d3ff0000000000000")
    return text


def kernel(name, body, kind="f32"):
    width = {"f64": 8, "f32": 4}[kind]
    loads = " ".join(f"ld.global.{kind} %f{i}, [%rd1+{width * (i - 1)}];" for i in range(1, 6))
    return f"""
.visible .entry {name}(.param .u64 p, .param .u32 n)
{{
  .reg .{kind} %f<16>; .reg .b64 %rd<9>; .reg .b32 %r<16>; .reg .pred %p<6>;
  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r1, %r2; setp.eq.u32 %p2, %r1, 3;
  mul.wide.u32 %rd2, %r2, 256; add.s64 %rd1, %rd1, %rd2; {loads}
  {body}
  ret;
}}
"""


def half_kernel(name, kind, total):
    bits = "b32" if kind == "f16x2" else "b16"
    return f"""
.visible .entry {name}(.param .u64 p)
{{
  .reg .{bits} %h<9>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [p]; ld.global.{bits} %h1, [%rd1]; ld.global.{bits} %h2, [%rd1+4];
  mul.{kind} %h3, %h1, %h2; ld.global.{bits} %h4, [%rd1+8]; {total}.{kind} %h5, %h4, %h3; st.global.{bits} [%rd1+12], %h5;
  ret;
}}
"""


def module():
    text = ".version 8.0\n.target sm_90\n.address_size 64\n"
    text += "".join(kernel(case, CASES[case]) for case in CASES)
    text += "".join(kernel(f"{case}_f64", body_of(case, "f64"), "f64") for case in DOUBLE)
    return text + "".join(half_kernel(f"{name}_{total}", kind, total) for name, kind in HALF.items() for total in ("add", "sub"))


def operations(cubin):
    """Returns {kernel: {operation: count}} of the machine code in an ELF file. An instruction has 16 bytes: the operation is in the lowest nine bits,
    the form of its operands in the next three."""
    data = cubin.read_bytes()
    table, = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    sections = [struct.unpack_from("<IIQQQQ", data, table + 64 * i) for i in range(count)]
    found = {}
    for name_at, _, _, _, offset, size in sections:
        begin = sections[names][4] + name_at
        name = data[begin:data.index(b"\0", begin)].decode()
        if not name.startswith(".text."):
            continue
        codes = (struct.unpack_from("<Q", data, at)[0] & 0xfff for at in range(offset, offset + size, 16))
        found[name[len(".text."):]] = dict(collections.Counter(
            OPERATIONS[code & 0x1ff] + (" with a constant" if code & 0xe00 == 0x800 else "") for code in codes if code & 0x1ff in OPERATIONS))
    return found


def assemble(ptxas, source, folder):
    cubin = folder / (source.stem + ".cubin")
    run = subprocess.run([ptxas, "-arch=sm_90", source, "-o", cubin], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"ptxas rejects {source.name}:\n{run.stdout}{run.stderr}\n{source.read_text()}")
    return operations(cubin)


def perturbed(build, source, kernel, perturbation, folder):
    """Returns a file with the perturbed variant."""
    variant = folder / f"{perturbation.replace(':', '-')}-{kernel}.ptx"
    run = subprocess.run([build / "bin" / "lynxpp", "ptx", "perturb", "-p", perturbation, "-k", kernel, source], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    variant.write_text(run.stdout)
    return variant


def with_added(counts, text, kernel):
    """Returns the counts with one more operation for each single-precision one in the kernel's PTX."""
    body = re.split(r"\.entry\s+", text[re.search(rf"\.entry\s+{kernel}\b", text).end():])[0]
    body = re.sub(r"/\*.*?\*/|\s", "", body)
    total = collections.Counter(counts)
    for operation, pattern in {"FMUL": r"mul\.", "FADD": r"(?:add|sub)\.", "FFMA": r"fma\."}.items():
        total[operation] += len(re.findall(rf"(?<![a-z.]){pattern}(?:[a-z]+\.)*f32", body))
    return {operation: count for operation, count in total.items() if count}


def fused_operations(text, kernel):
    """Returns the number of fma instructions in the kernel's PTX."""
    body = re.split(r"\.entry\s+", text[re.search(rf"\.entry\s+{kernel}\b", text).end():])[0]
    return len(re.findall(r"\bfma\.", body))


def main():
    build = pathlib.Path(sys.argv[1])
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    if ptxas is None:
        print("SKIP: ptxas not found")
        return 77
    wrong, rewritten, compared = [], 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        source = folder / "cases.ptx"
        source.write_text(module())
        original = assemble(ptxas, source, folder)
        fused = sum(any(name in ("FFMA", "DFMA") for name in counts) for counts in original.values())
        for name, text in SPECIFICATIONS.items():
            (folder / f"{name}.cod").write_text(text)
            run = subprocess.run([build / "bin" / "lynxpp", "ptx", "instrument", "-s", folder / f"{name}.cod", "--sm", "90", "-o", folder / f"{name}.ptx", source],
                                 capture_output=True, text=True)
            if run.returncode != 0:
                sys.exit(run.stderr)
            for case, expected in original.items():
                variant = folder / f"{name}-{case}.ptx"
                rewritten += fused_operations(variant.read_text(), case) > fused_operations(source.read_text(), case)
                compared += 1
                counts = assemble(ptxas, variant, folder)[case]
                if counts != expected:
                    wrong.append(f"{case} with probes at {name}: {counts}, the original has {expected}")
        for perturbation in PERTURBATIONS:
            for case, expected in original.items():
                variant = perturbed(build, source, case, perturbation, folder)
                compared += 1
                counts = assemble(ptxas, variant, folder)[case]
                if perturbation == "fp32:again":
                    expected = with_added(expected, source.read_text(), case)
                if counts != expected:
                    wrong.append(f"{case} with {perturbation}: {counts}, expected {expected}")
    print("\n".join(wrong))
    print(f"{compared} variants of {len(original)} kernels, {fused} with fused operations; {rewritten} variants were rewritten; {len(wrong)} differ")
    return 1 if wrong or not rewritten or not 0 < fused < len(original) else 0


if __name__ == "__main__":
    sys.exit(main())
