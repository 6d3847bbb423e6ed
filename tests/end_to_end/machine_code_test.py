"""Machine code without accompanying PTX, compiled with -lineinfo: kernels run and are counted from the text
in the debug sections, with the same results as from the PTX itself; coverage reports the source of the text;
commands also read it.

Arguments: the build folder.
"""
import pathlib
import sys
import tempfile

from harness import Build, Records, TestFailure, demand_equal, expect, read_json_lines

SOURCE = "the debug section of the cubin"


def measured(build, folder, program):
    output = pathlib.Path(folder, "records.jsonl")
    run = build.run(build.command, "run", "-d", "cpu", "-s", "instruction_count", "-o", output, "--", program, preload=False)
    demand_equal(f"status of {run}", run.status, 0)
    expect(output.exists(), f"no records\n{run}")
    return run, Records(read_json_lines(output))


def counts(records):
    return [(entry["kernel"], entry["launch"], entry["grid"], entry["block"], entry["results"]) for entry in records.launches]


def is_counted_as_ptx_is(build, folder, name):
    programs = [build.examples / "lines" / "ptx" / name, build.examples / "lines" / name]
    native = build.run(build.command, "run", "-d", "cpu", "--", programs[1], preload=False)
    demand_equal(f"status of {native}", native.status, 0)
    ptx, expected = measured(build, folder, programs[0])
    machine_code, found = measured(build, folder, programs[1])
    demand_equal(f"{name}: output of the uninstrumented run", native.stdout, ptx.stdout)
    demand_equal(f"{name}: output", machine_code.stdout, ptx.stdout)
    expect(expected.launches, f"{name}: nothing was counted\n{ptx}")
    demand_equal(f"{name}: counts", counts(found), counts(expected))
    demand_equal(f"{name}: sources of PTX in the image", {entry.get("ptx_from") for entry in expected.coverage}, {None})
    demand_equal(f"{name}: sources", {entry.get("ptx_from") for entry in found.coverage}, {SOURCE})
    expect(f"PTX from {SOURCE}" in machine_code.stderr, f"the table does not say where the PTX is from\n{machine_code}")
    expect("PTX from" not in ptx.stderr, f"the table says where the program's own PTX is from\n{ptx}")


def is_read_by_commands(build, folder):
    lines = build.examples / "lines"
    for path in (lines / "vecadd.cubin", lines / "vecadd", lines / "ptx" / "vecadd"):
        stat = build.run(build.command, "ptx", "stat", path, preload=False)
        demand_equal(f"status of {stat}", stat.status, 0)
        expect(b"kernel vecadd(" in stat.stdout, f"the kernel is not shown\n{stat}")
        out = pathlib.Path(folder, "out.ptx")
        instrumented = build.run(build.command, "ptx", "instrument", path, "-s", "instruction_count", "-o", out, preload=False)
        demand_equal(f"status of {instrumented}", instrumented.status, 0)
        expect("__lynxpp_probe" in out.read_text(), f"{path} is not instrumented")
    linked = lines / "relocatable"
    vague = build.run(build.command, "ptx", "instrument", linked, "-s", "instruction_count", preload=False)
    expect(vague.status == 1 and "holds 2 PTX modules" in vague.stderr, f"one of two modules is taken\n{vague}")
    one = build.run(build.command, "ptx", "stat", linked, "-k", "scale", preload=False)
    expect(one.status == 0 and b"kernel scale(" in one.stdout and b"kernel other(" not in one.stdout, f"wrong module\n{one}")
    without = build.run(build.command, "ptx", "stat", build.examples / "no_ptx" / "vecadd", preload=False)
    expect(without.status == 1 and "holds no PTX" in without.stderr, f"PTX is found in an image without PTX\n{without}")
    extract = build.folder / "bin" / "lynxpp_extract_ptx"
    extracted = build.run(extract, folder, lines / "vecadd.cubin", linked, preload=False)
    demand_equal(f"status of {extracted}", extracted.status, 0)
    written = [line.split("\t")[0] for line in extracted.stdout.decode().splitlines()]
    demand_equal("files of PTX", [pathlib.Path(path).name for path in written],
                 # Linked, and as individually compiled.
                 ["vecadd.cubin.0.ptx", *(f"relocatable.{number}.ptx" for number in range(4))])
    expect(all(".entry" in pathlib.Path(path).read_text() for path in written[:2]), f"no kernel is extracted\n{extracted}")


def main():
    build = Build(sys.argv[1])
    if not (build.examples / "lines" / "vecadd").exists():
        print("SKIP: the example programs are not built")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("vecadd", "symbols", "relocatable"):
            is_counted_as_ptx_is(build, folder, name)
        is_read_by_commands(build, folder)


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
