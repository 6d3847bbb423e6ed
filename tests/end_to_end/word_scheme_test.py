"""Compares the schemes of counting words (LYNXPP_WORDS, cod/word_scheme.h) for one example with the cpu
device's own counts.

usage: word_scheme_test.py BUILD_FOLDER APP [--exact] [LYNXPP_NAME=VALUE]... [ARGUMENTS OF THE PROGRAM]
--exact: only the default and the static analysis; for programs with long code, since every run compiles it.
"""
import copy
import pathlib
import re
import sys
import tempfile

sys.dont_write_bytecode = True
import word_checks  # noqa: E402
from harness import Build, TestFailure, demand_equal, expect, read_json_lines  # noqa: E402

PROFILES = ("shared_memory_profile", "device_memory_profile")
EVERY_SHARED_WORD = pathlib.Path(__file__).with_name("shared_words.cod")


def stopped_at(launch, threshold):
    """Returns the device's counts, saturated at the threshold."""
    launch = copy.deepcopy(launch)
    for part in launch["words"]:
        part["runs"] = [[first, words, min(accesses, threshold)] for first, words, accesses in part["runs"]]
    return launch


class Program:
    def __init__(self, build, app, arguments):
        self.build, self.app, self.path = build, app, build.examples / app
        settings = [each for each in arguments if each.startswith("LYNXPP_")]
        self.environment = dict(each.split("=", 1) for each in settings)
        self.arguments = arguments = [each for each in arguments if each not in settings]
        run, self.launches = build.count(self.path, *arguments)
        expect(run.status == 0, f"{app} fails\n{run}")
        self.stdout = run.stdout
        self.known = {}

    def measure(self, spec, scheme):
        """Returns the run with a specification and a scheme; each is run only once."""
        if (spec, scheme) not in self.known:
            self.known[spec, scheme] = self.run(spec, scheme)
        return self.known[spec, scheme]

    def run(self, spec, scheme):
        run, records = self.build.measure(self.path, *self.arguments, spec=spec, environment={**self.environment, "LYNXPP_WORDS": scheme})
        what = f"{self.app} with {scheme}"
        expect(run.status == 0 and run.stdout == self.stdout, f"{what}: the output changed\n{run}")
        for entry in records.coverage:
            expect(entry["instrumented"], f"{what}: {entry['kernel']}: {entry.get('reason')}")
        name = pathlib.Path(spec).stem
        table = records.by_launch(name)
        demand_equal(f"{what}: launches", sorted(table), sorted((each["kernel"], each["launch"]) for each in self.launches))
        return records, [(f"{what}: {each['kernel']} launch {each['launch']}", table[each["kernel"], each["launch"]], each)
                         for each in self.launches]

    def check_exact(self, scheme, threshold=None):
        """Every count is the device's, or the threshold if that is less."""
        for profile in PROFILES:
            launches = self.measure(profile, scheme)[1]
            for what, record, launch in launches:
                word_checks.CHECKS[profile](what, record, launch if threshold is None else stopped_at(launch, threshold))
                notes = " ".join(record.get("notes", []))
                expect("estimate" not in notes, f"{what} says: {notes}")
                expect((f"stop at {threshold}" in notes) == (threshold is not None), f"{what} says: {notes}")

    def check_every_shared_word(self, scheme, threshold=None):
        for what, record, launch in self.measure(EVERY_SHARED_WORD, scheme)[1]:
            word_checks.check_shared_words(what, record, launch if threshold is None else stopped_at(launch, threshold))

    def global_atomics(self, scheme):
        """Returns {kernel: requests} for the instrumented launches."""
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "counters.jsonl")
            run = self.build.run(self.path, *self.arguments, spec=PROFILES[0],
                                 environment={"LYNXPP_WORDS": scheme, "LYNXPP_CPU_COUNTERS": str(output), "LYNXPP_OUTPUT": f"{folder}/out.jsonl"})
            expect(run.status == 0, f"{self.app} with {scheme}: {run}")
            return {launch["kernel"]: launch["global"]["atomics"]["requests"] for launch in read_json_lines(output) if launch["instrumented"]}

    def check_spare_counters(self):
        """Words that the default must probe are counted in the block's shared memory: few atomic operations
        remain, to sum them up."""
        default, in_device_memory = self.global_atomics(""), self.global_atomics("global")
        demand_equal(f"{self.app}: kernels", sorted(default), sorted(in_device_memory))
        for kernel, requests in default.items():
            probed = in_device_memory[kernel]
            expect(requests < probed / 4,
                   f"{self.app}: {kernel}: {requests} atomic operations on device memory by default, {probed} with counters there")

    def shared_counts(self, scheme):
        """Returns [(what, counts by word, the device's counts, notes)]."""
        found = []
        for what, record, launch in self.measure(EVERY_SHARED_WORD, scheme)[1]:
            counted = word_checks.counts_of((word_checks.parts(launch, "shared") or [{"runs": []}])[0])
            found.append((what, record["results"]["words"]["values"], counted, " ".join(record.get("notes", []))))
        return found

    def check_plain(self, scheme):
        """Updates may be lost, but none is invented; a word that was accessed has a count."""
        for what, counts, actual, notes in self.shared_counts(scheme):
            expect("word counts are estimates" in notes, f"{what} says: {notes}")
            for word, count in enumerate(counts):
                expect(count <= actual.get(word, 0) and (count > 0) == (actual.get(word, 0) > 0),
                       f"{what}: word {word} has {count}, the device counted {actual.get(word, 0)}")

    def check_sampling(self):
        """Counts are multiples of the rate, depend only on the seed, and are close to the truth on
        average."""
        one, other = (self.shared_counts(f"sample=10,seed={seed}") for seed in (1, 2))
        self.known.clear()
        again = self.shared_counts("sample=10,seed=1")
        demand_equal(f"{self.app}: counts with one seed", [each[1] for each in one], [each[1] for each in again])
        actual, estimate = sum(sum(each[2].values()) for each in one), sum(sum(each[1]) for each in one)
        for what, counts, counted, notes in one:
            expect("estimates: 1 of 10 accesses" in notes, f"{what} says: {notes}")
            expect(all(count % 10 == 0 for count in counts), f"{what}: a count is not a multiple of 10")
            expect(all(count == 0 or counted.get(word, 0) > 0 for word, count in enumerate(counts)), f"{what}: a word that was not accessed has a count")
        if actual > 20000:  # five standard deviations are less
            expect(abs(estimate - actual) < actual / 10, f"{self.app}: {estimate} estimated, {actual} counted")
            expect([each[1] for each in one] != [each[1] for each in other], f"{self.app}: another seed chose the same accesses")

    def check_kinds(self):
        """Each kernel has all its accesses, whatever the scheme does with them."""
        for profile in PROFILES:
            records, _ = self.measure(profile, "static")
            accesses_only = EVERY_SHARED_WORD if profile == "shared_memory_profile" else profile  # not its live ranges
            basic = {entry["kernel"]: entry["sites"] for entry in self.measure(accesses_only, "basic")[0].coverage}
            for entry in records.coverage:
                notes = [note for note in entry.get("notes", []) if "accesses in the code" in note]
                demand_equal(f"{self.app}: {entry['kernel']}: notes of kinds", len(notes), 1)
                kinds = [int(number) for number in re.findall(r"\d+", notes[0])]
                demand_equal(f"{self.app}: {entry['kernel']}: {notes[0]}", (len(kinds), sum(kinds)), (5, basic[entry["kernel"]]))
                print(f"{self.app}: {entry['kernel']}: {notes[0]}")


def main():
    build, app, arguments = Build(sys.argv[1]), sys.argv[2], sys.argv[3:]
    if not (build.examples / app).exists():
        print("skipped: no examples (they need nvcc)")
        return 77
    try:
        program = Program(build, app, [each for each in arguments if each != "--exact"])
        if "--exact" in arguments:
            for scheme in ("", "static"):
                program.check_exact(scheme)
            program.check_kinds()
            return 0
        for scheme in ("", "global", "basic", "static", "shared=32", "basic,shared=32", "static,shared=32"):
            program.check_exact(scheme)
            program.check_every_shared_word(scheme)
        for scheme, threshold in (("threshold=3", 3), ("basic,threshold", 255), ("static,shared=8", 255), ("basic,shared=16,threshold=9", 9),
                                  ("basic,shared=8,threshold=2", 2)):
            program.check_exact(scheme, threshold)
            program.check_every_shared_word(scheme, threshold)
        for scheme in ("basic,plain", "static,plain", "basic,plain,shared=32", "static,plain,shared=8"):
            program.check_plain(scheme)
        if app == "cocluster":
            program.check_spare_counters()
        program.check_kinds()
        program.check_sampling()
    except TestFailure as failure:
        print(f"FAIL: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
