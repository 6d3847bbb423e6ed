"""Findings of `lynxpp record`: each rule holds in its planted program at the marked lines, with the exact
sentence, and at no line of the repaired twin; programs that only come close have no findings.

Argument: the build folder.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from harness import Build, TestFailure, clean_environment, demand_equal, expect

SOURCES = pathlib.Path(__file__).resolve().parent / "findings"
# Rule, object and sentence, by kernel.
SENTENCES = {
    "strided": [
        ("uncoalesced access", "argument 1 (float const*)",
         "loads take 32 sectors per warp request where 4 would suffice: 4,194,304 bytes of sectors at L1 for "
         "524,288 bytes of data (88 % unused by the request); neighbouring lanes are 64 bytes apart")],
    "pitched": [
        ("uncoalesced access", "argument 2 (double*)",
         "stores take 32 sectors per warp request where 8 would suffice: 262,144 bytes of sectors at L1 for "
         "65,536 bytes of data (75 % unused by the request); neighbouring lanes are 8 * argument 3 bytes apart")],
    "gathered": [
        ("scattered access", "argument 2 (float const*)",
         "loads take 31.5 sectors per warp request where 4 would suffice: 257,728 bytes of sectors at L1 for "
         "32,768 bytes of data (87 % unused by the request)")],
    "column_of_tile": [
        ("bank conflicts", "tile",
         "loads of shared memory take 32 times the wavefronts that they need: 63,488 of 65,536 are bank conflicts; "
         "neighbouring lanes are 128 bytes apart")],
    "narrow_rows": [
        ("bank conflicts between rows", "tile",
         "stores of shared memory take 2 times the wavefronts that they need: 2,048 of 4,096 are bank conflicts; "
         "neighbouring lanes of a row access neighbouring words, but the rows of a warp share banks")],
    "table_look_up": [
        ("scattered bank conflicts", "table",
         "loads of shared memory take 32 times the wavefronts that they need: 63,488 of 65,536 are bank conflicts")],
    "block_histogram": [
        ("shared atomics on one word", "local",
         "a word of shared memory is updated by 8 lanes of a warp on average, which takes 40,192 of 44,288 wavefronts")],
    "atomics_in_columns": [
        ("bank conflicts", "column",
         "atomics of shared memory take 32 times the wavefronts that they need: 126,976 of 131,072 are bank conflicts; "
         "neighbouring lanes are 128 bytes apart"),
        ("bank conflicts", "column",
         "loads of shared memory take 32 times the wavefronts that they need: 7,936 of 8,192 are bank conflicts; "
         "neighbouring lanes are 128 bytes apart")],
    "device_histogram": [
        ("contended atomics", "argument 2 (unsigned int*)",
         "at least 2,048 of 8,192 atomic operations update the same word of global memory; a word is updated by "
         "8 lanes of a warp on average")],
    "divergent": [
        ("divergent branch", None,
         "warps diverge in 256 of 256 executions of this branch (100 %); up to where the paths join, 16 of 32 lanes are "
         "active per instruction on average")],
    "uneven_rows": [
        ("uneven loop", None,
         "the lanes of a warp iterate this loop different numbers of times: a warp enters it with 9 lanes and iterates 25 times on "
         "average, a lane 3.67 times; 1.32 lanes are active per iteration")],
    "partial_warps": [
        ("partial warps", None,
         "a block has 48 threads, which is not a multiple of 32: 25 % of the lanes of its warps have no thread")],
    "small_blocks": [("small blocks", None, "each of 3,200 blocks has 32 threads")],
    "tiny_launch": [
        ("many tiny launches", None,
         "100 launches execute 24 warp instructions each on average: an estimated 0.79 microseconds of work, while a "
         "launch costs some 3")],
}
OTHERS = ("misaligned", "device memory")


class Recorded:
    """The output of `lynxpp record` for a program, and of `lynxpp report` for its records."""

    def __init__(self, build, program, *options, folder, environment=None):
        self.file = pathlib.Path(folder, f"{program}.jsonl")
        command = [build.command, "record", "-d", "cpu", "-o", self.file, *options, "--", build.examples / "tests" / program]
        variables = {**clean_environment(), "COLUMNS": "1000", **(environment or {})}
        ended = subprocess.run(list(map(str, command)), env=variables, capture_output=True, text=True, timeout=300)
        self.text = ended.stderr
        demand_equal(f"{program} prints", ended.stdout, "cudaSuccess\n")
        demand_equal("the exit code", ended.returncode, 0)
        self.list = json.loads(self.report(build, "json"))["findings"]["list"]

    def report(self, build, form):
        command = [str(build.command), "report", str(self.file), "--format", form, "--width", "1000"]
        return subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=120).stdout

    def of(self, kernel):
        return [each for each in self.list if each["demangled"].split("(")[0] == kernel]


def planted_lines(source):
    """Returns the rules that the program's comments expect, with their lines if any."""
    lines = enumerate(source.read_text().splitlines(), 1)
    return sorted((line.split("// RULE: ")[1], number) for number, line in lines if "// RULE: " in line)


def check_planted(build, folder):
    planted = Recorded(build, "finding_planted", folder=folder)
    demand_equal("kernels with findings", {each["demangled"].split("(")[0] for each in planted.list}, set(SENTENCES))
    for kernel, expected in SENTENCES.items():
        found = [(each["rule"], each.get("place", {}).get("object"), each["sentence"]) for each in planted.of(kernel)]
        demand_equal(f"findings of {kernel}", sorted(found, key=str), sorted(expected, key=str))
    promised = planted_lines(SOURCES / "planted.cu")
    for each in planted.list:
        place = each.get("place")
        if place is None:
            expect(each["rule"] in [rule for rule, _ in promised], f"no comment promises {each['rule']}")
        elif each["sentence"] != SENTENCES["atomics_in_columns"][1][2]:
            expect((each["rule"], place["line"]) in promised, f"{each['rule']} at {place['file']}:{place['line']}: no comment says so")
            demand_equal("the file", place["file"], "planted.cu")
    demand_equal("rules found", {each["rule"] for each in planted.list}, {rule for rule, _ in promised})
    benefits = [each["benefit"] for each in planted.list if each["benefit"] is not None]
    demand_equal("the order", benefits, sorted(benefits, reverse=True))
    expect(planted.list[-1]["benefit"] is None, "findings without an estimate come last")
    for words in OTHERS:
        expect(words not in planted.text, f"'{words}' in\n{planted.text}")
    return planted


def check_fixed(build, folder):
    fixed = Recorded(build, "finding_planted_fixed", folder=folder)
    demand_equal("findings of the repaired twins", [(each["rule"], each["demangled"]) for each in fixed.list], [])
    expect("No rule found anything to improve." in fixed.text, fixed.text)


def check_quiet(build, folder):
    quiet = Recorded(build, "finding_quiet", folder=folder)
    loud = [(each["rule"], each["demangled"]) for each in quiet.list if each["benefit"] is None or each["benefit"] >= 0.01]
    demand_equal("findings worth a change", loud, [])
    expect("No rule found anything that would save 1 % of the run." in quiet.text, quiet.text)
    small = {(each["rule"], each["demangled"].split("(")[0]) for each in quiet.list}
    demand_equal("findings below a hundredth", small,
                 {("uncoalesced access", "bound_by_arithmetic"), ("divergent branch", "every_fourth")})


def check_numbers(build, planted):
    """The summary, the totals and the page agree on the traffic."""
    totals = json.loads(planted.report(build, "json"))["specifications"]
    memory = next(each for each in totals if each["spec"] == "memory_efficiency")
    total = {name: sum(kernel["results"][name]["value"] for kernel in memory["kernels"])
             for name in ("load_bytes_asked", "store_bytes_asked", "load_bytes_moved", "store_bytes_moved")}
    requested = total["load_bytes_asked"] + total["store_bytes_asked"]
    sectors = total["load_bytes_moved"] + total["store_bytes_moved"]
    found = re.search(r"global loads and stores request ([\d.]+)M bytes in ([\d.]+)M bytes of sectors at L1", planted.text)
    expect(found, planted.text)
    demand_equal("bytes", [float(each) for each in found.groups()], [round(requested / 1e6, 3), round(sectors / 1e6, 3)])
    expect(planted.text.startswith(planted.report(build, "summary")), "record and report differ")


def check_inlined(build, folder):
    """Lines of the toolkit's headers are attributed to the user's calls; the user's functions to their own
    lines."""
    inlined = Recorded(build, "finding_inlined", folder=folder)
    text = (SOURCES / "inlined.cu").read_text().splitlines()
    line = {name: next(i for i, each in enumerate(text, 1) if f"// LINE: {name}" in each) for name in ("load", "first", "second", "atomic")}
    places = sorted((each["rule"], each["place"]["line"], tuple(each["place"].get("inlined_at", ()))) for each in inlined.list)
    demand_equal("places", places, [("contended atomics", line["atomic"], ()),
                                    ("uncoalesced access", line["load"], (f"inlined.cu:{line['first']}",))])
    other = f"together with those in inlined.cu:{line['load']}, inlined at inlined.cu:{line['second']}"
    expect(any(each["sentence"].endswith(other) for each in inlined.list), inlined.list)
    expect(f"inlined.cu:{line['load']}, inlined at inlined.cu:{line['first']} (ld.global.f32, argument 1 (float const*))" in inlined.text,
           inlined.text)
    hot = [row for spec in json.loads(inlined.report(build, "json"))["specifications"] for kernel in spec["kernels"]
           for table in kernel["hot_sites"] for row in table["rows"]]
    demand_equal("files of hot sites", {row["file"] for row in hot if "file" in row}, {"inlined.cu"})


def check_alone(build, folder):
    """Rules that need less, or another specification."""
    idle = Recorded(build, "finding_planted", "-s", "instruction_count", folder=folder)
    demand_equal("idle lanes", [(each["rule"], each["sentence"]) for each in idle.of("uneven_rows")],
                 [("idle lanes", "3.64 of 32 lanes are active per instruction on average")])
    twin = Recorded(build, "finding_planted_fixed", "-s", "instruction_count", folder=folder)
    demand_equal("idle lanes of the twin", [each["rule"] for each in twin.of("uneven_rows")], [])
    warps = [[(each["rule"], each["sentence"]) for each in
              Recorded(build, f"finding_device{suffix}", "-s", "instruction_count_per_warp", folder=folder).of("uneven")]
             for suffix in ("", "_fixed")]
    expect(len(warps[0]) == 1 and warps[0][0][0] == "uneven warps", str(warps))
    expect(re.fullmatch(r"one warp executes [\d,]+ instructions, [\d.]+ times the average", warps[0][0][1]), str(warps))
    demand_equal("uneven warps of the twin", warps[1], [])


def check_device(build, folder):
    """Rules about multiprocessors, on a modelled machine."""
    rules = {}
    for suffix in ("", "_fixed"):
        recorded = Recorded(build, f"finding_device{suffix}", folder=folder, environment={"LYNXPP_CPU_CLOCK": "compute_9_0"})
        rules[suffix] = {(each["demangled"].split("(")[0], each["rule"]): each["sentence"] for each in recorded.list}
    expected = {
        ("few", "small grid"): "a grid of 33 blocks leaves 75 % of 132 multiprocessors without work",
        ("tail", "tail of the grid"): r"2,904 blocks are 1\.38 times the 2,112 that run at once: if all blocks take equally "
                                      r"long, multiprocessors idle for 31 % of the kernel while the last blocks run",
        ("uneven", "uneven multiprocessors"): r"the busiest multiprocessor is busy [\d.]+ times as long as the average one",
        ("uneven", "uneven blocks"): r"the longest block of a launch takes [\d.]+ times the average of its blocks, up to [\d,]+ cycles",
        ("crowded", "low occupancy"): r"16 of 64 warps fit on a multiprocessor \(25 %\)",
    }
    for key, sentence in expected.items():
        expect(key in rules[""], f"{key} is not in {rules['']}")
        expect(re.fullmatch(sentence, rules[""][key]), f"{key}: {rules[''][key]}")
        expect(key not in rules["_fixed"], f"{key} is in the twin: {rules['_fixed'].get(key)}")


def check_operands(build, folder):
    """Tiles of wgmma: rows that are stored into the layout without a swizzle share banks. Reading them conflicts in
    neither layout."""
    planted, fixed = (Recorded(build, f"finding_operands{suffix}", folder=folder) for suffix in ("", "_fixed"))
    places = [(each["rule"], each["place"]["line"]) for each in planted.list]
    demand_equal("findings of tiles", sorted(places), planted_lines(SOURCES / "operands.cu"))
    for each in planted.list:
        demand_equal("the sentence", each["sentence"], "stores of shared memory take 8 times the wavefronts that they need: 14,336 of 16,384 "
                     "are bank conflicts")
        expect("its rows cannot be padded" in each["what_to_try"] and "128-byte swizzle in the matrix descriptor" in each["what_to_try"], each)
    demand_equal("findings of the repaired twin", fixed.list, [])
    for recorded in (planted, fixed):
        totals = json.loads(recorded.report(build, "json"))["specifications"]
        banks = next(each for each in totals if each["spec"] == "shared_bank_conflicts")["kernels"][0]["results"]
        # 4 blocks multiply 8 tiles in 4 steps: each reads 16 core matrices of A and 16 of B.
        demand_equal("wavefronts of operands", banks["modelled_operand_wavefronts"]["value"], 4 * 8 * 4 * 32)
        demand_equal("conflicts of loads", banks["load_conflicts"]["value"], 0)


def main():
    build = Build(sys.argv[1])
    if not (build.examples / "tests" / "finding_planted").exists():
        print("SKIP: no program was built (no nvcc)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        planted = check_planted(build, folder)
        check_numbers(build, planted)
        check_fixed(build, folder)
        check_quiet(build, folder)
        check_inlined(build, folder)
        check_alone(build, folder)
        check_device(build, folder)
        check_operands(build, folder)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TestFailure as failure:
        sys.exit(f"FAIL: {failure}")
