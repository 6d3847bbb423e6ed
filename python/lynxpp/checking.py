"""Checks PTX on the cpu device."""
import json

from .launching import Request
from .worker import Worker


class Finding:
    """An error of a kernel, as `lynxpp check-run` reports it.

    check, kind   "memory", "race", "init" or "sync"; "out of bounds", "race", "uninitialized read" …
    class_        "error", or "hazard": may go wrong in another order of execution
    message       what happened, in the words of `lynxpp check-run`; str() begins with the class
    line          in the PTX; source_file and source_line are those of its line information, or None
    count         how many times: accesses of single threads, or warps at a barrier
    block, thread of the first one, or None
    other_line    of a race: the PTX line of the access that came first
    record        the complete JSON object (docs/schema/check.schema.json)
    """

    def __init__(self, record, named):
        site, other = record["place"], record.get("other", {})  # english: ok
        self.record = record
        self.check, self.kind, self.kernel, self.count = (
            record["check"],
            record["kind"],
            record["kernel"],
            record["count"],
        )
        self.line, self.other_line = site.get("ptx_line"), other.get("ptx_line")
        self.source_file, self.source_line = site.get("source_file"), site.get("source_line")
        self.block = tuple(site["block"]) if "block" in site else None
        self.thread = tuple(site["thread"]) if "thread" in site else None
        self.class_, self.message = record["class"], named(record["message"])

    def __str__(self):
        return f"{self.class_}: {self.message}"

    def __repr__(self):
        return f"Finding({self.kind!r}, line={self.line}, count={self.count})"


def check_ptx(
    text,
    grid,
    block,
    args=(),
    *,
    kernel=None,
    shared_bytes=0,
    cluster=None,
    checks="memory,race,init,sync",
    timeout=None,
):
    """Runs a kernel once and returns a list of Finding: illegal accesses, races, uninitialized reads, wrong
    barriers (docs/checking.md).

    Arguments as for run_ptx; arrays stay unchanged. `checks` selects. Raises PtxError for PTX that cannot
    run, and KernelError if the kernel fails in a way that is not a finding, such as a trap.
    """
    unknown = set(map(str.strip, checks.split(","))) - {"memory", "race", "init", "sync"}
    if unknown:
        raise ValueError(f"unknown check {sorted(unknown)[0]!r}; the checks are memory, race, init and sync")
    request = Request(text, grid, block, args, kernel, shared_bytes, cluster)
    worker = Worker(checks)
    try:
        reply = request.run(worker, timeout, keeps_outputs=False)
        reply.show()
        found = [json.loads(line) for line in worker.finish().lines.splitlines()]
    finally:
        worker.close()
    findings = [
        Finding(each, lambda message: request.named(message, reply.addresses))
        for each in found
        if each["type"] == "finding"
    ]
    if reply.stage is not None and not findings:
        raise request.problem(reply, "cpu")
    return findings
