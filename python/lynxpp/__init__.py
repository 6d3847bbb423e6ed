"""Runs, measures and checks CUDA kernels, and reads lynxpp's records.

    import lynxpp
    with lynxpp.attach("instruction_count", kernels="mm.*") as run:    # lynxpp is preloaded into the program
        model(batch)
    print(run.frame())

    lynxpp.run_ptx(text, grid, block, [x, y, n])                       # NumPy arrays; needs no GPU
    lynxpp.check_ptx(text, grid, block, [x, y, n])                     # races, illegal accesses …

    @lynxpp.budget("instruction_count.thread_instructions", at_most=1_000_000)
    def test_scale(): …

    lynxpp.Records("job.jsonl")                                        # of LYNXPP_OUTPUT, `lynxpp report merge`

Needs Python 3.9 and its standard library. README.md next to this package has examples.
"""
from .arguments import out, tensor_map
from .attaching import attach
from .budgets import budget, budgets
from .checking import Finding, check_ptx
from .errors import Error, KernelError, LibraryError, PtxError
from .launching import run_ptx
from .records import (
    Array,
    Launch,
    Metric,
    Process,
    Ratio,
    Records,
    Run,
    Sites,
    Stream,
    Table,
    complete,
    completed,
    streams,
)

__all__ = [
    "Array",
    "Error",
    "Finding",
    "KernelError",
    "Launch",
    "LibraryError",
    "Metric",
    "Process",
    "PtxError",
    "Ratio",
    "Records",
    "Run",
    "Sites",
    "Stream",
    "Table",
    "attach",
    "budget",
    "budgets",
    "check_ptx",
    "complete",
    "completed",
    "out",
    "run_ptx",
    "streams",
    "tensor_map",
]
