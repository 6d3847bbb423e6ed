"""Launches of a kernel that no filter selects are all counted, from several threads, while its module is
unloaded and reloaded and another module's kernel, which is selected, may get its handle; captured launches do
not count.

Arguments: the build folder, the program.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import Build, TestFailure, demand_equal, read_json_lines  # noqa: E402


def main():
    build = Build(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "records.jsonl")
        run = build.run(build.command, "run", "-d", "cpu", "-s", "instruction_count", "-k", "^selected$", "-o", output, "--",
                        sys.argv[2], preload=False)
        demand_equal(f"status of {run}", run.status, 0)
        wanted = int(run.stdout)
        records = read_json_lines(output)
    seen = {each["kernel"]: (each["launches"], each["instrumented_launches"])
            for each in records if each["record"] == "coverage"}
    demand_equal("launches and those counted", seen, {"selected": (wanted, wanted), "unselected": (wanted, 0)})
    numbers = [each["launch"] for each in records if each["record"] == "launch"]
    demand_equal("records", sorted(numbers), list(range(wanted)))
    print(f"{wanted} launches of each kernel")


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
