"""Checks metrics that are counted per instruction against the cpu device's own counters, by site and in
total."""
from harness import demand_equal, expect


class Sites:
    """The record `sites` of a launch: maps a function's instruction to its instructionId()."""

    def __init__(self, record):
        self.record = record
        blocks = record["blocks"]
        self.first = {}
        for block, function in enumerate(blocks["function"]):
            name = record["functions"][function]
            self.first[name] = min(self.first.get(name, blocks["first"][block]), blocks["first"][block])
        self.opcodes = [record["opcodes"][opcode] for opcode in record["instructions"]["opcode"]]

    def number(self, site):
        """Returns the number of a site of the device's counters; checks that both refer to the same
        instruction."""
        number = self.first[site["function"]] + site["instruction"]
        demand_equal(f"opcode of instruction {number}", self.opcodes[number], site["opcode"])
        return number


def per_site(sites, launch, value):
    """Returns the device's counts by instructionId(): value(site) for every site."""
    counts = [0] * len(sites.opcodes)
    for site in launch["sites"]:
        counts[sites.number(site)] = value(site)
    return counts


def check_sites(what, record, sites, launch, name, value):
    expect(name in record["results"], f"{what}: no result {name}, only {', '.join(record['results'])}")
    found = record["results"][name]["values"]
    expected = per_site(sites, launch, value)
    demand_equal(f"{what}: elements of {name}", len(found), len(expected))
    for number, (one, other) in enumerate(zip(found, expected)):
        demand_equal(f"{what}: {name} of instruction {number} ({sites.opcodes[number]})", one, other)


def check_totals(what, record, expected):
    for name, value in expected.items():
        expect(name in record["results"], f"{what}: no result {name}, only {', '.join(record['results'])}")
        demand_equal(f"{what}: {name}", record["results"].get(name), value)


def ratio(numerator, denominator):
    return numerator / denominator if denominator else None


def is_branch(site):
    return site["opcode"].split(".")[0] in ("bra", "brx")


def check_branch_divergence(what, record, launch, sites):
    branches = launch["branches"]
    check_sites(what, record, sites, launch, "branches", lambda site: site["warp_issues"] if is_branch(site) else 0)
    check_sites(what, record, sites, launch, "divergent", lambda site: site.get("divergent", 0))
    check_totals(what, record, {"total_branches": branches["warps"], "total_divergent": branches["divergent"],
                                "divergence_ratio": ratio(branches["divergent"], branches["warps"])})


SPACES = ("global", "shared", "local", "const", "param")


def memory_counts(site, space):
    """Returns the device's count for accesses to `space`: by name, or through a generic pointer. Copies read
    one space and write another; the specifications use the side that the opcode names."""
    named = {each for each in SPACES if "." + each in site["opcode"]}
    return site.get(space, {}) if not named or space in named else {}


def kind_of(site, space):
    """Returns what an instruction does in `space`: a copy writes the space that its opcode names first, and
    reads the other one."""
    words = site["opcode"].split(".")
    if words[0] in ("cp", "tensormap"):
        destination = next((word.split(":")[0] for word in words if word.split(":")[0] in SPACES), None)
        return "load" if space != destination else "atomic" if words[1] == "reduce" else "store"
    return {"atom": "atomic", "red": "atomic", "st": "store", "stmatrix": "store"}.get(words[0], "load")


def total(launch, kind, space, member):
    return sum(memory_counts(site, space).get(member, 0) for site in launch["sites"] if kind_of(site, space) == kind)


def check_memory_efficiency(what, record, launch, sites):
    for name, member in (("requests", "requests"), ("sectors", "sectors"), ("bytes_asked", "bytes")):
        check_sites(what, record, sites, launch, name, lambda site: memory_counts(site, "global").get(member, 0))
    for kind in ("load", "store", "atomic"):
        requests, sectors, asked = (total(launch, kind, "global", member) for member in ("requests", "sectors", "bytes"))
        check_totals(what, record, {f"{kind}_requests": requests, f"{kind}_sectors": sectors, f"{kind}_bytes_asked": asked})
        if kind != "atomic":
            check_totals(what, record, {f"{kind}_bytes_moved": 32 * sectors, f"{kind}_sectors_per_request": ratio(sectors, requests),
                                        f"{kind}_efficiency": ratio(asked, 32 * sectors)})


def check_shared_bank_conflicts(what, record, launch, sites):
    def conflicts(site):
        counts = memory_counts(site, "shared")
        return counts.get("wavefronts", 0) - counts.get("least_wavefronts", 0)

    for name in ("accesses", "wavefronts"):
        check_sites(what, record, sites, launch, name, lambda site: memory_counts(site, "shared").get(name, 0))
    check_sites(what, record, sites, launch, "conflicts", conflicts)
    for kind in ("load", "store", "atomic"):
        accesses, wavefronts, least = (total(launch, kind, "shared", member) for member in ("accesses", "wavefronts", "least_wavefronts"))
        check_totals(what, record, {f"{kind}_accesses": accesses, f"{kind}_wavefronts": wavefronts, f"{kind}_conflicts": wavefronts - least})
    check_modelled_wavefronts(what, record, launch)


def check_modelled_wavefronts(what, record, launch):
    """No matrix conflicts, whatever its layout. Without the boxes of some tensor copies, their lines are missing."""
    operands = [site["operands"] for site in launch["sites"] if "operands" in site]
    matrices, wavefronts = (sum(each[name] for each in operands) for name in ("matrices", "wavefronts"))
    demand_equal(f"{what}: wavefronts of matrices without conflicts", wavefronts, matrices)
    is_bulk = ("cp.async.bulk.", "cp.reduce.async.bulk.", "st.bulk.")
    copied = sum(site.get("copy_wavefronts", 0) for site in launch["sites"]
                 if site["opcode"].startswith(is_bulk) and ".tensor." not in site["opcode"])
    boxes = sum(box_lines(site) for site in launch["sites"] if is_tensor_copy(site["opcode"]))
    results = record["results"]
    demand_equal(f"{what}: modelled_operand_wavefronts", results.get("modelled_operand_wavefronts", 0), wavefronts)
    found = results.get("modelled_copy_wavefronts", 0)
    if "accesses_without_wavefronts" in results:
        expect(copied <= found <= copied + boxes, f"{what}: {found} wavefronts of copies, not {copied} to {copied + boxes}")
    else:
        demand_equal(f"{what}: modelled_copy_wavefronts", found, copied + boxes)


def is_tensor_copy(opcode):
    return opcode.startswith(("cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor"))


def box_lines(site):
    """Returns the lines of 128 bytes of whole boxes; a multicast copy counts once."""
    copies, size = (site.get("tensor", {}).get(name, 0) for name in ("copies", "bytes"))
    if copies == 0:
        return 0
    receivers = 2 if "multicast" in site["opcode"] else 1
    return copies * -(-size // (copies * receivers * 128))


def check_atomic_contention(what, record, launch, sites):
    def requests(site):
        counts = memory_counts(site, "shared").get("accesses", 0) + memory_counts(site, "global").get("requests", 0)
        return counts if "atomic" in (kind_of(site, "shared"), kind_of(site, "global")) else 0

    check_sites(what, record, sites, launch, "requests", requests)
    found = {name: record["results"][name]["values"] for name in ("lanes", "words", "requests", "hottest_word", "bank_conflicts")}

    def conflicts_of(site):
        counts = memory_counts(site, "shared")
        return counts.get("wavefronts", 0) - counts.get("least_wavefronts", 0) if requests(site) else 0

    conflicts = per_site(sites, launch, conflicts_of)
    for number, (lanes, words, asked, hottest, banks) in enumerate(zip(*found.values())):
        expect(asked <= words <= lanes <= 32 * asked and hottest <= lanes, f"{what}: instruction {number}: {lanes} {words} {asked} {hottest}")
        expect(banks <= conflicts[number], f"{what}: instruction {number}: {banks} of {conflicts[number]} conflicts")
        if lanes == words:
            demand_equal(f"{what}: conflicts of instruction {number}, whose lanes share no word", banks, conflicts[number])


FACTORS = {"e4m3": "f8", "e5m2": "f8", "s8": "int8", "u8": "int8", "s4": "int4", "u4": "int4"}


def factor_type(opcode):
    """Returns the type of the factors of a product of matrices, by the order of the opcode's types."""
    types = [word for word in opcode.split(".") if word in ("f64", "tf32", "f32", "f16", "bf16", "s32", "b1", *FACTORS)]
    return "f16" if len(types) == 2 else FACTORS.get(types[1], types[1])


def check_tensor_cores(what, record, launch):
    expected = {}
    for site in launch["sites"]:
        if operations := site.get("tensor_core_operations"):
            name = f"tensor_operations_{factor_type(site['opcode'])}"
            expected[name] = expected.get(name, 0) + operations
    demand_equal(f"{what}: tensor cores", {name: value for name, value in record["results"].items() if name.startswith("tensor_")}, expected)


def is_wait(site):
    return site["opcode"].startswith(("mbarrier.test_wait", "mbarrier.try_wait"))


def check_async_operations(what, record, launch, sites):
    """How often a thread asks whether a phase has completed depends on the order of the warps."""
    found = {name: record["results"][name]["values"] for name in ("executions", "bytes")}
    without_bytes = 0
    for site in launch["sites"]:
        opcode, tensor = site["opcode"], site.get("tensor", {"copies": 0, "bytes": 0})
        is_object = opcode.startswith(("mbarrier.", "cp.async.mbarrier.")) and ".pending_count" not in opcode
        if is_tensor_copy(opcode):
            executions, size = tensor["copies"], tensor["bytes"] // (2 if "multicast" in opcode else 1)
            if found["bytes"][sites.number(site)] == 0:
                without_bytes, size = without_bytes + executions, 0
        elif opcode.startswith(("cp.async.bulk.shared", "cp.async.bulk.global", "cp.reduce.async.bulk.")):
            executions, size = site["thread_executions"], site.get("global", {}).get("bytes", 0)
        elif opcode.startswith(("cp.async.ca.", "cp.async.cg.")):
            executions, size = site["thread_executions"], None
        else:
            executions, size = site["thread_executions"] if is_object else 0, site.get("expected_bytes", 0)
        number = sites.number(site)
        if not is_wait(site):
            demand_equal(f"{what}: executions of {opcode}", found["executions"][number], executions)
        if size is not None:
            demand_equal(f"{what}: bytes of {opcode}", found["bytes"][number], size)
    demand_equal(f"{what}: tensor copies without bytes", record["results"].get("tensor_copies_without_bytes", 0), without_bytes)
    check_totals(what, record, {"completed_waits": sum(site.get("completed_waits", 0) for site in launch["sites"])})
    demand_equal(f"{what}: tensor copies", sum(record["results"][f"tensor_{kind}"] for kind in ("loads", "stores", "reductions")),
                 sum(site.get("tensor", {}).get("copies", 0) for site in launch["sites"]))


def check_opcode_mix(what, record, launch, sites):
    def executions(site):
        return site["active_lanes"] if is_branch(site) else site["thread_executions"]

    check_sites(what, record, sites, launch, "executions", executions)
    expected = {}
    for site in launch["sites"]:
        expected[site["opcode"]] = expected.get(site["opcode"], 0) + executions(site)
    check_totals(what, record, {"thread_instructions": sum(expected.values()), **{opcode: count for opcode, count in expected.items() if count}})


CHECKS = {
    "async_operations": check_async_operations,
    "atomic_contention": check_atomic_contention,
    "branch_divergence": check_branch_divergence,
    "memory_efficiency": check_memory_efficiency,
    "opcode_mix": check_opcode_mix,
    "shared_bank_conflicts": check_shared_bank_conflicts,
}
