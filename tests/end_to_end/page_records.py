"""Writes records of many kernels, to test how the page and the report cope with them.

usage: page_records.py FILE KERNELS SITES [LAUNCHES]      SITES and LAUNCHES are per kernel
"""
import json
import sys


def values_of(kernel, sites):
    return [(kernel * 7919 + i * i * 31) % 100_003 + 1 for i in range(sites)]


def write(path, kernels, sites, launches=1, source="missing.cu"):
    with open(path, "w") as file:
        for kernel in range(kernels):
            for record in records_of(kernel, sites, launches, source):
                file.write(json.dumps(record, separators=(",", ":")) + "\n")


def records_of(kernel, sites, launches, source):
    name = f"k{kernel}"
    ptx = "".join(f"\tadd.s32 %r{i}, %r{i}, 1;\n" for i in range(sites - 1)) + "\tret;\n"
    yield {"record": "sites", "kernel": name, "demangled": name, "table": 0, "functions": [name], "opcodes": ["add.s32", "ret"], "files": [source],
           "labels": [["ARITHMETIC"], ["EXIT"]], "blocks": {"function": [0], "first": [0], "instructions": [sites]},
           "instructions": {"block": [0] * sites, "opcode": [0] * (sites - 1) + [1], "labels": [0] * (sites - 1) + [1],
                            "ptx_line": [i + 3 for i in range(sites)], "file": [0] * sites, "line": [2 + i // 2 for i in range(sites)]},
           "ptx": [{"line": 1, "text": f".visible .entry {name}()\n{{\n{ptx}}}\n"}]}
    for launch in range(launches):
        yield {"record": "launch", "kernel": name, "demangled": name, "launch": launch, "device": "cpu", "grid": [kernel % 100 + 1, 1, 1], "block": [128, 1, 1],
               "spec": "generated", "results": {"bytes": 1000 * kernel + launch, "executions": {"extents": [sites], "names": ["INSTRUCTIONS"],
                                                                                                "values": values_of(kernel, sites)}},
               "units": {"bytes": "bytes"}, "sites": 0}


if __name__ == "__main__":
    write(sys.argv[1], *map(int, sys.argv[2:]))
