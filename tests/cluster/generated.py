"""Generates records as a job of many ranks writes them: deterministic, without running anything.

usage: generated.py FOLDER RANKS KERNELS      writes FOLDER/rank0.jsonl and so on; prints the sum of the values
"""
import json
import pathlib
import sys


def process_of(rank):
    return f"{0x5eed00000000 + rank:012x}"


def value_of(rank, kernel):
    """Returns the work of a rank; rank 7 has twice the work of others."""
    return (1000 + kernel) * (2 if rank == 7 else 1) + rank % 3


def lines_of(rank, kernels):
    process = process_of(rank)
    yield {"record": "process", "process": process, "host": f"node{rank // 8}", "pid": 4000 + rank, "rank": rank, "program": "/opt/solver",
           "begin_us": 1764082464000000 + rank, "format": 2}
    yield {"record": "device", "process": process, "device": "NVIDIA H200", "ordinal": rank % 8, "uuid": f"GPU-{rank:08x}",
           "compute_capability": 90, "multiprocessors": 132, "clock_khz": 1980000, "memory_clock_khz": 0, "memory_bus_bits": 0,
           "threads_per_sm": 2048, "blocks_per_sm": 32, "registers_per_sm": 65536, "shared_per_sm": 233472, "shared_per_block_besides": 1024}
    for kernel in range(kernels):
        name = f"_Z{len(str(kernel)) + 6}kernel{kernel}Pf"
        text = f"kernel{kernel}(float*)"
        blocks = 2 + kernel % 3
        yield {"record": "sites", "process": process, "kernel": name, "demangled": text, "table": 0, "functions": [name], "opcodes": ["ret"],
               "files": [], "labels": [[]], "blocks": {"function": [0] * blocks, "first": list(range(blocks)), "instructions": [1] * blocks},
               "instructions": {"block": list(range(blocks)), "opcode": [0] * blocks, "labels": [0] * blocks,
                                "ptx_line": list(range(1, blocks + 1)), "file": [None] * blocks, "line": [0] * blocks}}
        value = value_of(rank, kernel)
        begin = 1764082465000000 + 1000 * kernel
        yield {"record": "series", "process": process, "series": kernel, "kernel": name, "demangled": text, "device": "NVIDIA H200",
               "grid": [128, 1, 1], "block": [256, 1, 1], "spec": "instruction_count",
               "columns": [{"name": "thread_instructions", "unit": "instructions"}, {"name": "warp_instructions"},
                           {"name": "block_executions", "extents": [blocks], "names": ["BASIC_BLOCKS"]}], "sites": 0,
               "place": {"ordinal": rank % 8, "context": 1, "stream": 0, "module": "00000000c0de", "thread": 4000 + rank}}  # english: ok
        yield {"record": "launch", "process": process, "series": kernel, "launch": 0, "values": [32 * value, value, [value] * blocks],
               "place": {"correlation": kernel, "begin_us": begin, "end_us": begin + 700}}  # english: ok
        yield {"record": "coverage", "process": process, "kernel": name, "demangled": text, "instrumented": True, "reason": "", "launches": 1,
               "instrumented_launches": 1, "sites": 3, "notes": [], "module": "00000000c0de"}


def write(folder, ranks, kernels):
    """Writes and returns the files."""
    paths = []
    for rank in range(ranks):
        path = pathlib.Path(folder, f"rank{rank}.jsonl")
        path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines_of(rank, kernels)))
        paths.append(path)
    return paths


def total(ranks, kernels):
    """Returns the sum of warp_instructions."""
    return sum(value_of(rank, kernel) for rank in range(ranks) for kernel in range(kernels))


if __name__ == "__main__":
    target, many, each = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    pathlib.Path(target).mkdir(parents=True, exist_ok=True)
    write(target, many, each)
    print(total(many, each))
