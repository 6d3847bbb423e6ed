"""A program that loads machine code from a cache filled by an earlier, unobserved run: `lynxpp run` gives it
a cache next to the PTX, so that it is compiled once under observation and counted from then on. A cache that
the user has set is named if its kernels have no PTX. Evicting an entry also evicts the machine code.

Arguments: the build folder, the program.
"""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Build, Records, TestFailure, demand_equal, expect, read_json_lines  # noqa: E402


class Program:
    def __init__(self, build, path, folder):
        self.build, self.path, self.folder = build, path, folder
        self.store = folder / "cache" / "lynxpp" / "ptx"
        self.cache = self.store / "caches" / "cupy"
        self.environment = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}

    def compile_unobserved(self, kernel):
        run = self.build.run(self.path, kernel, "compile", preload=False,
                             environment={**self.environment, "LD_LIBRARY_PATH": str(self.build.folder / "lib" / "cpu-driver")})
        demand_equal(f"output of {run}", run.stdout, b"compiled\n")

    def run(self, kernel, environment=None):
        output = self.folder / "out.jsonl"
        run = self.build.run(self.build.command, "run", "-d", "cpu", "-s", "instruction_count", "-o", output, "--", self.path, kernel,
                             preload=False, environment={**self.environment, **(environment or {})})
        return run, Records(read_json_lines(output))

    def demand_counted(self, kernel, output, environment=None):
        run, records = self.run(kernel, environment)
        demand_equal(f"status of {run}", run.status, 0)
        demand_equal(f"output of {run}", run.stdout, output + b"\nok\n")
        expect(records.launches and all(entry["results"]["thread_instructions"] > 0 for entry in records.launches),
               f"nothing is counted\n{run}")
        demand_equal("where the PTX is from", [entry.get("ptx_from") for entry in records.coverage], ["the PTX store"])
        return records

    def entries(self):
        return sorted(path for path in self.store.iterdir() if path.is_file())


def make_entry(store, cubin, size, time):
    """Creates a large, old entry of the store, named by the length and the FNV-1a hash of the cubin."""
    digest = 14695981039346656037
    for byte in cubin:
        digest = (digest ^ byte) * 1099511628211 % (1 << 64)
    entry = store / f"{digest:016x}-{len(cubin)}"
    with entry.open("wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(cubin)
        file.truncate(size)
    os.utime(entry, (time, time))


def main():
    build, path = Build(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = Program(build, path, folder)
        program.compile_unobserved("add")
        usual = folder / ".cupy" / "kernel_cache"
        expect((usual / "add.cubin").exists(), "the program keeps no machine code")
        first = program.demand_counted("add", b"compiled")
        expect((program.cache / "add.cubin").exists(), "the cache is not in the store")
        second = program.demand_counted("add", b"loaded")
        demand_equal("counts of the second run", [entry["results"] for entry in second.launches],
                     [entry["results"] for entry in first.launches])

        own = folder / "own"
        program.demand_counted("add", b"compiled", {"CUPY_CACHE_DIR": str(own)})
        expect((own / "add.cubin").exists(), "the user's variable is ignored")
        program.compile_unobserved("unobserved")
        run, records = program.run("unobserved", {"CUPY_CACHE_DIR": str(usual)})
        expect(run.status != 0 and not records.launches, f"machine code runs on the cpu device\n{run}")
        expect(f"CuPy's cache ({usual}, CUPY_CACHE_DIR)" in run.stderr, f"the cache is not named\n{run}")

        # The oldest entries are evicted, each with the machine code stored after it.
        entry, = program.entries()
        for old in (entry, program.cache / "add.cubin"):
            os.utime(old, (1000000000, 1000000000))
        for i in range(4):
            make_entry(program.store, bytes([i]), (64 << 20) - 1, 1500000000)
        kept = program.cache / "kept.cubin"
        kept.write_bytes(b"later")
        program.demand_counted("other", b"compiled")
        expect(not entry.exists() and not (program.cache / "add.cubin").exists(), "old entries stay")
        expect(kept.exists() and (program.cache / "other.cubin").exists(), "new entries are evicted")
        program.demand_counted("add", b"compiled")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
