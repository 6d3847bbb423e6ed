"""Checks of the metrics of loops, calls, active lanes and warps against the cpu device's own counters, block by block and call by call."""
from harness import demand_equal, expect, product
from site_checks import check_sites, check_totals, ratio

LANES = 33


def block_numbers(record):
    """basicBlockId() by function and block of the device's counters."""
    first = {}
    for number, function in enumerate(record["blocks"]["function"]):
        first.setdefault(record["functions"][function], number)
    return first


def per_block(record, launch):
    """The device's counters of each block, by basicBlockId(); None where it was not reached."""
    first = block_numbers(record)
    blocks = [None] * len(record["blocks"]["function"])
    for block in launch["blocks"]:
        blocks[first[block["function"]] + block["block"]] = block
    return blocks


def check_active_lanes(what, record, launch, sites):
    blocks = per_block(sites.record, launch)
    found = record["results"]["executions"]["values"]
    demand_equal(f"{what}: extents of executions", record["results"]["executions"]["extents"], [len(blocks), LANES])
    issued = active = 0
    for number, block in enumerate(blocks):
        of_block = found[number * LANES:(number + 1) * LANES]
        warps, lanes = (block["warp_executions"], block["thread_executions"]) if block else (0, 0)
        demand_equal(f"{what}: warps of block {number}", sum(of_block), warps)
        demand_equal(f"{what}: lanes of block {number}", sum(lane * count for lane, count in enumerate(of_block)), lanes)
        issued += warps * (block["instructions"] if block else 0)
        active += lanes * (block["instructions"] if block else 0)
    check_totals(what, record, {"average_active_lanes": ratio(active, issued)})
    demand_equal(f"{what}: warp instructions", sum(record["results"]["warp_instructions"]["values"]), launch["warp_instructions"])


def check_loop_trips(what, record, launch, sites):
    """What runs a loop's first block has run it in some entry; who leaves has entered."""
    results = {name: record["results"][name]["values"] for name in ("entries", "trips", "min_trips", "mean_trips", "max_trips")}
    blocks = per_block(sites.record, launch)
    for number, entries in enumerate(results["entries"]):
        trips = results["trips"][number]
        if entries == 0:
            demand_equal(f"{what}: trips of block {number}", trips, 0)
            continue
        demand_equal(f"{what}: trips of block {number}", trips, blocks[number]["thread_executions"])
        demand_equal(f"{what}: mean of block {number}", results["mean_trips"][number], trips / entries)
        least, most = results["min_trips"][number], results["max_trips"][number]
        expect(1 <= least <= trips / entries <= most, f"{what}: block {number}: {least} to {most} trips, {trips} in {entries} entries")
    check_totals(what, record, {"total_trips": sum(results["trips"]), "executed_loops": sum(entries != 0 for entries in results["entries"])})


def check_call_counts(what, record, launch, sites):
    def is_call(site):
        return site["opcode"].split(".")[0] == "call"

    check_sites(what, record, sites, launch, "calls", lambda site: site["thread_executions"] if is_call(site) else 0)
    check_sites(what, record, sites, launch, "warp_calls", lambda site: site["warp_issues"] if is_call(site) else 0)
    named = sum(value for name, value in record["results"].items() if name not in ("total_calls", "total_warp_calls") and not isinstance(value, dict))
    demand_equal(f"{what}: calls by function", named, record["results"]["total_calls"])


def check_value_check(what, record, launch, sites):
    for name in ("nan", "infinite", "denormal", "made"):
        demand_equal(f"{what}: total_{name}", record["results"][f"total_{name}"], sum(record["results"][name]["values"]))


def check_warp_timeline(what, record, launch, sites):
    warps = product(launch["grid"]) * -(-product(launch["block"]) // 32)
    begins, ends = (record["results"][f"warps.{name}"]["values"] for name in ("begin", "end"))
    demand_equal(f"{what}: warps", record["results"]["warps.warp"]["values"], list(range(warps)))
    expect(all(begin <= end for begin, end in zip(begins, ends)), f"{what}: a warp ends before it begins")
    demand_equal(f"{what}: nanoseconds", record["results"]["nanoseconds"], max(ends) - min(begins))


CHECKS = {
    "active_lanes": check_active_lanes,
    "loop_trips": check_loop_trips,
    "call_counts": check_call_counts,
    "value_check": check_value_check,
    "warp_timeline": check_warp_timeline,
}
