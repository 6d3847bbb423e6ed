#!/usr/bin/env python3
"""Compares the hardware's counts of sectors and shared wavefronts with the rules of lynxpp's metrics.

    nvcc -std=c++17 -O2 -arch=sm_90 bench/memory_rules/probe.cu -o probe
    ncu --csv --page raw --metrics $(bench/memory_rules/compare.py --metrics) ./probe plan.tsv > ncu.csv
    bench/memory_rules/compare.py plan.tsv ncu.csv

Prints, for each kernel and access size, how many launches match the rule exactly. Exit status 1 if one does
not.
"""
import collections
import csv
import sys

METRIC = {
    "shared_load": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_atomic": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
    "global_load": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
}
BANKS, WORD, SECTOR = 32, 4, 32
WARP = range(32)


def wavefronts_of(group, size, mask, offsets):
    """The largest number of different words that the lanes of the group access in one bank."""
    words = collections.defaultdict(set)
    for lane in group:
        if mask >> lane & 1:
            for word in range(offsets[lane] // WORD, (offsets[lane] + size - 1) // WORD + 1):
                words[word % BANKS].add(word)
    return max((len(different) for different in words.values()), default=0)


def groups_of(size):
    """Groups of lanes that a wide access serves together: all, halves for 8 bytes, quarters for 16."""
    width = {8: 16, 16: 8}.get(size, 32)
    return [list(WARP)[first : first + width] for first in range(0, 32, width)]


def neighbours_agree(group, mask, offsets):
    """True if each lane reads the same as lane^1, or each the same as lane^2 (inactive lanes match any)."""
    def agree(distance):
        return all(
            not mask >> lane & 1 or not mask >> (lane ^ distance) & 1 or offsets[lane] == offsets[lane ^ distance]
            for lane in group
        )

    return agree(1) or agree(2)


def shared_store(size, mask, offsets):
    return sum(wavefronts_of(group, size, mask, offsets) for group in groups_of(size))


def shared_load(size, mask, offsets):
    """Like a store, but two adjacent groups whose lanes agree in pairs are served together."""
    groups = groups_of(size)
    if len(groups) == 1:
        return wavefronts_of(groups[0], size, mask, offsets)
    total = 0
    for first, second in zip(groups[::2], groups[1::2]):
        both = first + second
        parts = [both] if neighbours_agree(both, mask, offsets) else [first, second]
        total += sum(wavefronts_of(part, size, mask, offsets) for part in parts)
    return total


def shared_atomic(_size, mask, offsets):
    """Lanes at one bank are served in turn, even at the same word."""
    banks = collections.Counter(offsets[lane] // WORD % BANKS for lane in WARP if mask >> lane & 1)
    return max(banks.values())


def sectors(size, mask, offsets):
    """Different sectors of the full warp, whatever the access size."""
    touched = set()
    for lane in WARP:
        if mask >> lane & 1:
            touched.update(range(offsets[lane] // SECTOR, (offsets[lane] + size - 1) // SECTOR + 1))
    return len(touched)


RULE = {
    "shared_load": shared_load,
    "shared_store": shared_store,
    "shared_atomic": shared_atomic,
    "global_load": sectors,
    "global_store": sectors,
}


def main():
    if sys.argv[1:] == ["--metrics"]:
        print(",".join(METRIC.values()))
        return 0
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    plan = {}
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in file:
            number, kernel, size, pattern, mask, offsets = line.rstrip("\n").split("\t")
            plan[number] = (kernel, int(size), pattern, int(mask, 16), [int(offset) for offset in offsets.split(",")])
    with open(sys.argv[2], encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(line for line in file if line.startswith('"')) if row["ID"] in plan]
    met, all_launches = collections.Counter(), collections.Counter()
    for row in rows:
        kernel, size, pattern, mask, offsets = plan[row["ID"]]
        counted = int(float(row[METRIC[kernel]].replace(",", "")))
        expected = RULE[kernel](size, mask, offsets)
        all_launches[kernel, size] += 1
        met[kernel, size] += counted == expected
        if counted != expected:
            print(f"{kernel} {size} bytes, {pattern}, mask {mask:08x}: counted {counted}, rule {expected}")
    for kernel, size in sorted(all_launches):
        print(f"{kernel:14} {size:2} bytes: {met[kernel, size]} of {all_launches[kernel, size]} match the rule")
    return 0 if rows and met == all_launches else 1


if __name__ == "__main__":
    sys.exit(main())
