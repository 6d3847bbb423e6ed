"""Data for the paper's figures from a program's records: sums over launches, and phases of first instrumented
launches."""
import collections

SCALARS = {"memory_efficiency": ["load_requests", "load_sectors", "load_bytes_asked", "load_bytes_moved",
                                 "store_requests", "store_sectors", "store_bytes_asked", "store_bytes_moved"],
           "branch_divergence": ["total_branches", "total_divergent"],
           "paper_memory_efficiency": ["warp_accesses", "transactions"]}
PHASES = ("parse", "instrument", "emit", "load", "execute")


def scalar_sums(records):
    """Returns the scalars of SCALARS, summed over all launches."""
    sums = collections.Counter()
    for record in records.launches:
        for name in SCALARS.get(record["spec"], ()):
            sums[name] += record["results"][name]
    return dict(sums)


def phase_sums(records):
    """Returns the milliseconds of every phase, summed over all kernels (LYNXPP_TIMING)."""
    return [sum(record[f"{phase}_ms"] for record in records.timing) for phase in PHASES]
