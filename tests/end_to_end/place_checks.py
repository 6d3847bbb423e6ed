"""Checks metrics of loops, calls, active lanes and warps against the cpu device's own counters, by block and
by call."""
import collections

from harness import demand_equal, expect, product
from site_checks import check_sites, check_totals, kind_of, memory_counts, ratio
from word_checks import counts_of, parts

LANES = 33
GLOBAL_SPACE, SHARED_SPACE = 1, 4  # accessSpace()


def block_numbers(record):
    """Maps a function and a block of the device's counters to basicBlockId()."""
    first = {}
    for number, function in enumerate(record["blocks"]["function"]):
        first.setdefault(record["functions"][function], number)
    return first


def per_block(record, launch):
    """Returns the device's counters for each basicBlockId(); None if the block was not reached."""
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
    """Every execution of a loop's first block belongs to an entry of the loop."""
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


def check_hang_location(what, record, launch, sites):
    warps = product(launch["grid"]) * -(-product(launch["block"]) // 32)
    demand_equal(f"{what}: finished warps", record["results"]["finished_warps"], warps)
    demand_equal(f"{what}: unfinished warps", record["results"]["unfinished_warps"], 0)


def is_traced(site):
    """Returns true if memory_trace contains accesses of the instruction, judging by its opcode alone."""
    name, *modifiers = (word.split("::")[0] for word in site["opcode"].split("."))  # "param::entry"
    return name in ("ld", "ldu", "st", "atom", "red", "cp", "ldmatrix", "stmatrix") and not {"param", "const"} & set(modifiers) \
        and not {"commit_group", "wait_group", "wait_all"} & set(modifiers)


def traced_accesses(record):
    """Returns the rows of memory_trace as dictionaries, and the known addresses of each row by lane."""
    def rows(table):
        columns = {name.removeprefix(table + "."): result["values"] for name, result in record["results"].items()
                   if name.startswith(table + ".")}
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    accesses = rows("accesses")
    for access in accesses:
        lanes = [lane for lane in range(32) if access["mask"] >> lane & 1]
        access["addresses"] = {lane: access["address"] + access["step"] * (lane - lanes[0]) for lane in lanes} if access["regular"] else {}
    for row in rows("lane_addresses"):
        access = accesses[row["access"]]
        expect(not access["regular"] and access["mask"] >> row["lane"] & 1 and row["lane"] not in access["addresses"], f"{access} {row}")
        access["addresses"][row["lane"]] = row["address"]
    return accesses


def words_of(accesses, spaces):
    """Returns how often each word was accessed, by word number."""
    counts = collections.Counter()
    for access in accesses:
        if access["space"] in spaces:
            for address in access["addresses"].values():
                counts.update(range(address // 4, (address + access["size"] + 3) // 4))
    return counts


def check_memory_trace(what, record, launch, sites):
    results = record["results"]
    # A copy has two sides; in the first, some lanes may be inactive, and there is one entry for each size
    # among its lanes.
    copies = {number for number, opcode in enumerate(sites.opcodes) if opcode.startswith("cp.")}

    def requests(site):
        is_fetched = sites.number(site) in copies and kind_of(site, "global") == "load"
        return memory_counts(site, "global").get("requests", 0) if is_fetched else site["executing_warps"] if is_traced(site) else 0

    check_sites(what, record, sites, launch, "requests", requests)
    made = [0 if number in copies else requests for number, requests in enumerate(results["requests"]["values"])]
    accesses = traced_accesses(record)
    check_totals(what, record, {"traced": len(accesses)} if copies else {"traced": len(accesses), "not_traced": sum(made) - len(accesses)})
    if results["not_traced"]:
        demand_equal(f"{what}: the trace is full", len(accesses), 16384)
        return
    threads = collections.Counter()
    for access in accesses:
        made[access["instruction"]] -= access["instruction"] not in copies
        threads[access["instruction"]] += access["mask"].bit_count()
    demand_equal(f"{what}: accesses of instructions that are not in the trace", set(made), {0} if made else set())
    for site in filter(is_traced, launch["sites"]):
        number = sites.number(site)
        if number not in copies and "matrix" not in site["opcode"]:
            demand_equal(f"{what}: lanes of instruction {number}", threads[number], site["thread_executions"])
    if results["addresses_not_traced"]:
        return
    expect(all(access["mask"].bit_count() == len(access["addresses"]) for access in accesses), f"{what}: a lane has no address")
    shared = sum((collections.Counter(counts_of(part)) for part in parts(launch, "shared")), collections.Counter())
    demand_equal(f"{what}: words of shared memory", words_of(accesses, {SHARED_SPACE}), shared)
    # The addresses of allocations differ from run to run.
    demand_equal(f"{what}: accesses of words of global memory", sorted(words_of(accesses, {GLOBAL_SPACE}).values()),
                 sorted(count for part in parts(launch, "global") for count in counts_of(part).values()))


def check_race_hints(what, record, launch, sites):
    """The examples have no races."""
    check_totals(what, record, {"total_hints": 0, "write_after_write": 0, "read_after_write": 0, "write_after_read": 0})
    demand_equal(f"{what}: hints", sum(record["results"]["hints"]["values"]), 0)


def check_reuse_distance(what, record, launch, sites):
    """For every sector, the previous access is by no SM or another SM, or has a distance."""
    check_sites(what, record, sites, launch, "of_instruction.sectors", lambda site: memory_counts(site, "global").get("sectors", 0))
    results = record["results"]
    sectors, reused, near = (sum(results[f"of_instruction.{name}"]["values"]) for name in ("sectors", "reused", "reused_near"))
    distance = results["distance"]
    demand_equal(f"{what}: distances", sum(distance["values"]) + sum(distance["overflow"]), reused)
    demand_equal(f"{what}: distances of 0", sum(distance["underflow"]), 0)
    demand_equal(f"{what}: sectors", results["first_accesses"] + results["of_other_sm"] + reused, sectors)
    near_bins = sum(count for count, bound in zip(distance["values"], distance["bounds"]) if 2 * bound <= 4096)
    expect(near_bins <= near <= reused, f"{what}: {near} of {reused} near")
    check_totals(what, record, {"sectors": sectors, "reused_percent": ratio(100 * reused, sectors)})


CHECKS = {
    "reuse_distance": check_reuse_distance,
    "race_hints": check_race_hints,
    "memory_trace": check_memory_trace,
    "active_lanes": check_active_lanes,
    "loop_trips": check_loop_trips,
    "call_counts": check_call_counts,
    "value_check": check_value_check,
    "warp_timeline": check_warp_timeline,
    "hang_location": check_hang_location,
}
