"""Asynchronous copies, matrix rows, stores and reductions that signal a barrier, through `lynxpp run`: counts
must equal the closed forms of examples/apps/copies.cu and the cpu device's counts, instruction by
instruction.

usage: copies_test.py BUILD_FOLDER
"""
import pathlib
import subprocess
import sys
import tempfile

import site_checks
from harness import Build, Records, TestFailure, demand_equal, read_json_lines

BLOCKS, THREADS, ROW = 6, 64, 1024  # of the program: ROW bytes for each block
WARPS = BLOCKS * THREADS // 32


def sectors(begin, bytes_):
    return (begin % 32 + bytes_ + 31) // 32


def lanes(sizes):
    """(requests, sectors, bytes) of one execution by a block whose thread t reads sizes[t] bytes at 16 * t."""
    warps = [[(16 * t // 32, size) for t, size in enumerate(sizes) if t // 32 == warp and size] for warp in range(len(sizes) // 32)]
    return [BLOCKS * sum(part) for part in zip(*((bool(warp), len({sector for sector, _ in warp}), sum(size for _, size in warp)) for warp in warps))]


ROWS_READ = [4 * WARPS, BLOCKS * ROW // 32, BLOCKS * ROW]  # by ld or st, 4 bytes per thread
FILLED = lanes([16 if t < 21 else 0 for t in range(THREADS)])
# kernel: loads, stores, atomics of global memory: requests, sectors, bytes
GLOBAL = {
    "copy_4": (ROWS_READ, ROWS_READ, [0, 0, 0]),
    "copy_8": ([2 * WARPS, BLOCKS * ROW // 32, BLOCKS * ROW], ROWS_READ, [0, 0, 0]),
    "copy_16": ([WARPS, BLOCKS * ROW // 32, BLOCKS * ROW], ROWS_READ, [0, 0, 0]),
    "copy_cached": ([WARPS, BLOCKS * ROW // 32, BLOCKS * ROW], ROWS_READ, [0, 0, 0]),
    "copy_filled": (FILLED, ROWS_READ, [0, 0, 0]),
    "copy_ignored": (FILLED, ROWS_READ, [0, 0, 0]),
    "copy_part": (lanes([4 * (t % 5) if t % 3 else 0 for t in range(THREADS)]), ROWS_READ, [0, 0, 0]),
    "bulk_in": ([2 * BLOCKS, BLOCKS * (sectors(0, 16) + sectors(16, ROW - 16)), BLOCKS * ROW], ROWS_READ, [0, 0, 0]),
    "bulk_out": (ROWS_READ, [2 * BLOCKS, BLOCKS * ROW // 32, BLOCKS * ROW], [0, 0, 0]),
    "bulk_add": (ROWS_READ, [0, 0, 0], [BLOCKS, BLOCKS * ROW // 32, BLOCKS * ROW]),
}
# Results of shared_bank_conflicts by kernel. Rows 128 bytes apart are at the same four banks, eight in a
# wavefront's lanes; rows 144 bytes apart are at different ones.
SHARED = {
    # A copy of 16 bytes is served in quarter warps. The words are read once, 4 bytes per thread.
    "copy_16": {"store_accesses": WARPS, "store_wavefronts": 4 * WARPS, "load_accesses": 4 * WARPS, "load_wavefronts": 4 * WARPS},
    "copy_filled": {"store_accesses": WARPS, "store_wavefronts": 4 * WARPS, "store_conflicts": 0},
    # Copies of 16 bytes and of the rest of the row, which touch its first line both.
    "bulk_in": {"store_accesses": 0, "modelled_copy_wavefronts": 9 * BLOCKS, "load_accesses": 4 * WARPS},
    "bulk_out": {"load_accesses": 0, "modelled_copy_wavefronts": 8 * BLOCKS},
    "bulk_add": {"load_accesses": 0, "modelled_copy_wavefronts": 8 * BLOCKS},
    "async_store": {"store_accesses": 5 * WARPS, "store_wavefronts": 5 * WARPS, "atomic_accesses": WARPS, "atomic_wavefronts": WARPS},
}
MATRICES = {("matrix_1", 128): 8, ("matrix_2", 128): 16, ("matrix_4", 128): 32, ("matrix_1", 144): 1, ("matrix_2", 144): 2, ("matrix_4", 144): 4}
STORED_MATRICES = {128: 16, 144: 2}


def short(kernel):
    """Returns the kernel's own name from a mangled one."""
    for name in ("copy_cached", "copy_filled", "copy_ignored", "copy_part", "copy_16", "copy_4", "copy_8", "bulk_in", "bulk_out", "bulk_add", "matrix_store",
                 "matrix_1", "matrix_2", "matrix_4", "async_store"):
        if name in kernel:
            return name
    raise TestFailure(f"unknown kernel {kernel}")


def run(build, program, spec):
    """Checks counts through `lynxpp run`, in the default mode."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out.jsonl")
        command = [build.folder / "bin/lynxpp", "run", "-d", "cpu", "-s", spec, "-o", output, "--", program]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if ran.returncode != 0 or "copies: ok" not in ran.stdout:
            raise TestFailure(f"{command}: status {ran.returncode}\n{ran.stdout}\n{ran.stderr}")
        return Records(read_json_lines(output))


def check_global(records):
    seen = set()
    for record in records.launches:
        name, results = short(record["kernel"]), record["results"]
        if name not in GLOBAL:
            continue
        seen.add(name)
        for kind, expected in zip(("load", "store", "atomic"), GLOBAL[name]):
            found = [results[f"{kind}_{member}"] for member in ("requests", "sectors", "bytes_asked")]
            demand_equal(f"{name}: requests, sectors, bytes of {kind}s", found, expected)
        side = next(each for each in ([GLOBAL[name][0]] if name.startswith("copy") or name == "bulk_in" else GLOBAL[name][1:]) if each[0])
        found = [results[f"async_copy_{member}"] for member in ("requests", "sectors", "bytes_asked")]
        demand_equal(f"{name}: requests, sectors, bytes of asynchronous copies", found, side)
    demand_equal("kernels", sorted(seen), sorted(GLOBAL))


def check_shared(records):
    pitches = {}
    for record in records.launches:
        name, results = short(record["kernel"]), record["results"]
        for result, expected in SHARED.get(name, {}).items():
            demand_equal(f"{name}: {result}", results.get(result, 0), expected)
        if name.startswith("matrix"):
            pitch = pitches[name] = 144 if name in pitches else 128
            kind, fronts = ("store", STORED_MATRICES[pitch]) if name == "matrix_store" else ("load", MATRICES[name, pitch])
            sites = records.sites_of(record)
            opcodes = [sites["opcodes"][opcode] for opcode in sites["instructions"]["opcode"]]
            at = next(i for i, opcode in enumerate(opcodes) if "matrix.sync" in opcode)
            demand_equal(f"{name}: accesses", results["accesses"]["values"][at], WARPS)
            demand_equal(f"{name} with rows {pitch} bytes apart: wavefronts of a {kind}", results["wavefronts"]["values"][at], fronts * WARPS)


def check_labels(records):
    """Barrier objects are not accessed, and copies are labelled as copies."""
    labels = {}
    for entry in records.sites:
        for opcode, label in zip(entry["instructions"]["opcode"], entry["instructions"]["labels"]):
            labels[entry["opcodes"][opcode]] = set(entry["labels"][label])
    for opcode, found in labels.items():
        if opcode.startswith("mbarrier"):
            demand_equal(f"labels of {opcode}", found & {"MEM_READ", "MEM_WRITE", "SHARED", "BARRIER"}, {"BARRIER"})
        if opcode.startswith("cp.") and "group" != opcode.rsplit("_", 1)[-1].split(".")[0]:
            demand_equal(f"{opcode} is an asynchronous copy", "ASYNC_COPY" in found, True)
            demand_equal(f"{opcode} is in bulk", "BULK" in found, ".bulk" in opcode)


def main():
    build = Build(sys.argv[1])
    program = build.examples / "copies"
    if not program.exists():
        print(f"SKIP: {program} is not built")
        sys.exit(77)
    records = run(build, program, "memory_efficiency,shared_bank_conflicts")
    by_spec = {spec: [record for record in records.launches if record["spec"] == spec]
               for spec in ("memory_efficiency", "shared_bank_conflicts")}
    for spec, check in (("memory_efficiency", check_global), ("shared_bank_conflicts", check_shared)):
        part = Records([record for record in records.all if record.get("record") != "launch" or record.get("spec") == spec])
        demand_equal(f"launches of {spec}", len(by_spec[spec]), 19)
        check(part)
    check_labels(records)
    # Per site, since the device counts by the executed addresses.
    native, counters = build.count(program)
    launches = {(line["kernel"], line["launch"]): line for line in counters}
    for spec in ("memory_efficiency", "shared_bank_conflicts"):
        for record in by_spec[spec]:
            launch = launches[record["kernel"], record["launch"]]
            site_checks.CHECKS[spec](f"{spec} of {record['kernel']}", record, launch, site_checks.Sites(records.sites_of(record)))


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
