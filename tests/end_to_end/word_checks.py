"""Checks the memory profiles against the cpu device's own counts of words (LYNXPP_CPU_WORDS,
device/cpu/runtime/counters.h)."""
import collections
import math

from harness import demand_equal, expect

CELLS = 64  # of a heat map
BINS = 32  # of a distribution


def counts_of(part):
    """Returns {word: accesses} for a part of memory."""
    return {first + i: accesses for first, words, accesses in part["runs"] for i in range(words)}


def parts(launch, space):
    return [part for part in launch["words"] if part["space"] == space]


def profile(counts, words):
    """Returns what emitWords() reports for an array."""
    every = [counts.get(word, 0) for word in range(words)]
    heat, distribution = [0] * CELLS, [0] * BINS
    for word, count in counts.items():
        heat[word * CELLS // words] += count
        distribution[count.bit_length() - 1] += 1
    return {"words": words, "accesses": sum(every), "mean": sum(every) / words, "least": min(every), "greatest": max(every),
            "never": every.count(0), "once": every.count(1), "reused": sum(count > 1 for count in every),
            "heat": heat, "distribution": distribution}


def layout(counts):
    """Returns sectors touched, sectors that the same runs would touch if each began at one, and distance and
    position of accessed words. Arrays of the examples begin at a sector."""
    accessed = sorted(word for word, count in counts.items() if count != 0)
    runs, stride = [], 0
    for word in accessed:
        stride = math.gcd(stride, word - accessed[0])
        if runs and runs[-1][1] == word:
            runs[-1][1] += 1
        else:
            runs.append([word, word + 1])
    return [len({word // 8 for word in accessed}), sum(-(-(end - begin) // 8) for begin, end in runs), max(stride, 1),
            accessed[0] if accessed else 0]


def layouts(record):
    """Returns {allocation: layout of its accessed words as reported by emitWords()}."""
    results = record["results"]
    labels = results["arrays.words"]["labels"] if results else []
    return {int(label.split()[0][1:]): results["arrays_layout"]["values"][4 * i:4 * i + 4]
            for i, label in enumerate(labels) if label.startswith("#")}


def reported(record):
    """[(array, its profile)]"""
    results = record["results"]
    if not results:
        return []
    columns = {name.removeprefix("arrays."): result["values"] for name, result in results.items() if name.startswith("arrays.")}
    found = []
    for i, label in enumerate(results["arrays.words"]["labels"]):
        of_array = {name: values[i] for name, values in columns.items()}
        of_array["heat"] = results["arrays_heat"]["values"][CELLS * i:CELLS * (i + 1)]
        of_array["distribution"] = results["arrays_distribution"]["values"][BINS * i:BINS * (i + 1)]
        found.append((label, of_array))
    return found


def check_device_of_any(what, records, launches):
    """The arrays of several launches, in any launch and allocation order: host threads create them in any
    order."""
    def accessed(profiles):
        return sorted((each for each in profiles if each["accesses"] != 0), key=str)

    demand_equal(what, accessed(of_array for record in records for _, of_array in reported(record)),
                 accessed(profile(counts_of(part), -(-part["bytes"] // 4)) for launch in launches for part in parts(launch, "global")))


def check_device(what, record, launch):
    found = reported(record)
    by_allocation = {int(label.split()[0][1:]): of_array for label, of_array in found if label.startswith("#")}
    variables = [of_array for label, of_array in found if not label.startswith("#")]
    wanted_variables = []
    for part in parts(launch, "global"):
        expect("bytes" in part, f"{what}: the device saw accesses outside of all arrays")
        wanted = profile(counts_of(part), -(-part["bytes"] // 4))
        if "variable" in part:
            wanted_variables.append(wanted)
            continue
        number = part["allocation"]
        expect(number in by_allocation, f"{what}: allocation {number} is missing in {[label for label, _ in found]}")
        demand_equal(f"{what}: allocation {number}", by_allocation.pop(number), wanted)
        demand_equal(f"{what}: layout of allocation {number}", layouts(record)[number], layout(counts_of(part)))
    for number, of_array in by_allocation.items():
        demand_equal(f"{what}: accesses of allocation {number}", of_array["accesses"], 0)
    accessed = [of_array for of_array in variables if of_array["accesses"] != 0]
    demand_equal(f"{what}: variables", sorted(accessed, key=str), sorted(wanted_variables, key=str))


def check_shared(what, record, launch):
    """Compares all arrays together, because the device may store an array anywhere."""
    counted = collections.Counter()
    for part in parts(launch, "shared"):
        counted.update(counts_of(part))
    wanted = [0] * BINS
    for count in counted.values():
        wanted[count.bit_length() - 1] += 1
    found = reported(record)
    demand_equal(f"{what}: accesses", sum(of_array["accesses"] for _, of_array in found), sum(counted.values()))
    demand_equal(f"{what}: words by count", [sum(of_array["distribution"][i] for _, of_array in found) for i in range(BINS)], wanted)
    for label, of_array in found:
        demand_equal(f"{what}: heat of {label}", sum(of_array["heat"]), of_array["accesses"])


def check_shared_words(what, record, launch):
    """Each word, by tests/end_to_end/shared_words.cod."""
    counted = counts_of((parts(launch, "shared") or [{"runs": []}])[0])
    values = record["results"]["words"]["values"]
    expect(all(word < len(values) for word in counted), f"{what}: the device has more shared memory than the array")
    demand_equal(f"{what}: words", values, [counted.get(word, 0) for word in range(len(values))])


JACOBI_TILES = 70  # 10 by 7 of 16 by 16 in 160 by 112 points
# (ranges, accesses to them, reused): a word for each point of a tile, written and read; with halo, written and
# read by its neighbours, four of a point inside the tile.
JACOBI = {"jacobi_v1": (256, 2 * 256, 0), "jacobi_v2": (256 + 4 * 16, 256 + 4 * 16 + 4 * 256, 256)}


def check_jacobi_ranges(what, record, kernel):
    """The live ranges of examples/apps/jacobi.cu, computed by hand (Table 5 of GMProf)."""
    expected = JACOBI["jacobi_v1" if "jacobi_v1" in kernel else "jacobi_v2"]
    results = record["results"]
    found = [results[f"arrays.{name}"]["values"] for name in ("ranges", "range_accesses", "reused_ranges")]
    demand_equal(f"{what}: live ranges", found, [[JACOBI_TILES * each] for each in expected])


CHECKS = {"device_memory_profile": check_device, "shared_memory_profile": check_shared}
