"""Programs that end in unusual ways, launch nothing, or wait: registered as kinds of failure, see
failures.py."""
import os
import pathlib
import signal
import tempfile

from failures import expect_words, test
from harness import demand_equal, expect, read_json_lines

# ---------------------------------------------------------------- how a program ends

def measured_ending(build, *how):
    """Returns how the program ended, its records, and the kernel of each launch; requires its table."""
    run, records = build.measure(build.examples / "tests" / "endings", *how, spec="instruction_count")
    expect_words(run, "== lynxpp: instruction_count on cpu ==", "step(int*)")
    demand_equal(f"{how}: tables", run.stderr.count("== lynxpp: instruction_count"), 1)
    counts = [entry["results"]["thread_instructions"] for entry in records.launches if entry["kernel"].startswith("_Z4step")]
    expect(len(counts) == 1 and counts[0] > 0, f"{how}: one launch that was over, not {counts}\n{run}")
    demand_equal(f"{how}: stdout", run.stdout.splitlines()[0], f"endings: {how[0]}".encode())
    return run, records


@test
def results_of_a_program_that_dies(build):
    """The program dies of its signal, and finished records and the table are written."""
    for how, status in ((("abort",), -signal.SIGABRT), (("signal", int(signal.SIGINT)), -signal.SIGINT),
                        (("signal", int(signal.SIGTERM)), -signal.SIGTERM), (("_exit",), 3), (("quick_exit",), 4),
                        (("ignored",), 0)):
        run, records = measured_ending(build, *how)
        demand_equal(f"{how}: status", run.status, status)
        demand_equal(f"{how}: coverage", [entry["instrumented_launches"] for entry in records.coverage], [1])


@test
def results_are_written_while_the_program_runs(build):
    """SIGKILL, which cannot be handled, loses no record that the file had before."""
    run, records = build.measure(build.examples / "tests" / "endings", "written", int(signal.SIGKILL), spec="instruction_count")
    demand_equal("status", run.status, -signal.SIGKILL)
    demand_equal("launches", len(records.launches), 1)


@test
def signals_inside_a_kernel(build):
    """An endless kernel is interrupted: earlier launches are reported, and missing results are mentioned."""
    for number in (signal.SIGINT, signal.SIGTERM):
        run, records = measured_ending(build, "inside", int(number))
        demand_equal("status", run.status, -number)
        notes = {entry["kernel"][:6]: (entry["reason"], entry["notes"]) for entry in records.coverage}
        demand_equal("coverage of the kernel that ran", notes["_Z13wa"],
                     ("", ["the program ended before 1 launch finished; the results are missing"]))


@test
def handlers_of_the_program(build):
    """Handlers are kept: one that exits inside a launch, one that lets the program continue, and a child's
    death."""
    run, _ = measured_ending(build, "exit-inside")
    demand_equal("status set by the handler", run.status, 7)
    run, records = measured_ending(build, "handled-inside")
    demand_equal("status", run.status, 0)
    demand_equal("launches", len(records.launches), 2)
    run, _ = measured_ending(build, "fork")
    expect(b"the child died of 15" in run.stdout, f"the forked child\n{run}")


# ---------------------------------------------------------------- runs without a launch

def lynxpp_run(build, *command, options=(), environment=None):
    arguments = ["run", "-s", "instruction_count", *options, "--", *command]
    return build.run(build.command, *arguments, preload=False, environment=environment)


@test
def runs_without_a_launch(build):
    """`lynxpp run` reports it once, at the end, with the reason; a nonzero status is kept, and 0 becomes
    3."""
    for command, status, words in (
            (["/bin/ls", "/dev/null"], 3, "no kernel launch was seen in 'ls': "),
            (["/bin/sh", "-c", "/bin/true; /bin/true; exit 5"], 5, "no kernel launch was seen in 'sh': "),
            (["/bin/sh", "-c", "exec /bin/ls /dev/null"], 3, "no kernel launch was seen in 'ls': "),
            (["python3", "-c", "print('text')"], 3, "no kernel launch was seen in 'python3"),
            (["python3", "-c", "import os; os._exit(0)"], 3, "no kernel launch was seen in 'python3"),
            (["python3", "-c", "import os; os._exit(4)"], 4, "no kernel launch was seen in 'python3")):
        for device in ("cpu", "auto"):
            run = lynxpp_run(build, *command, options=("-d", device))
            demand_equal("status", run.status, status)
            expect_words(run, words)
            demand_equal("lines", len(run.stderr.splitlines()), 1)
    run = lynxpp_run(build, "/bin/sh", "-c", "/bin/true; exit 3", options=("-d", "cpu"))
    expect_words(run, "none was seen in its child processes either", "neither links CUDA's runtime library")


@test
def runs_whose_children_launch(build):
    """A shell prints nothing if a program that it started has launched kernels."""
    for status in (0, 5):
        run = lynxpp_run(build, "/bin/sh", "-c", f"{build.examples / 'vecadd'}; exit {status}", options=("-d", "cpu"))
        demand_equal("status", run.status, status)
    expect_words(run, "thread_instructions")
    expect("no kernel launch" not in run.stderr, f"there was one\n{run}")


@test
def runs_of_a_static_runtime(build):
    """The runtime that nvcc links by default: runs and counts as with a shared runtime."""
    for program in ("vecadd", "reduction", "jacobi"):
        shared, expected = build.measure(build.examples / program, spec="instruction_count")
        static, records = build.measure(build.examples / "static" / program, spec="instruction_count")
        demand_equal(f"{program}: status", static.status, 0)
        demand_equal(f"{program}: stdout", static.stdout, shared.stdout)
        demand_equal(f"{program}: counts", [entry["results"] for entry in records.launches],
                     [entry["results"] for entry in expected.launches])


@test
def statuses_when_nothing_is_measured(build):
    """A program that succeeds but was not measured: status 3, with every measuring command."""
    idle = ["/bin/true"]
    no_ptx = [build.examples / "no_ptx" / "vecadd"]
    for arguments, status in (
            (["run", "-d", "cpu", "-s", "instruction_count", "-k", "no_such_kernel", "--", build.examples / "vecadd"], 3),
            (["run", "-d", "cpu", "-s", "instruction_count", "--", *idle], 3),
            (["run", "-d", "cpu", "--", *idle], 0),  # no measurement requested
            (["record", "-d", "cpu", "-o", os.devnull, "--", *idle], 3),
            (["check-run", "--", *idle], 3),
            (["bench", "-d", "cpu", "-s", "instruction_count", "--", *idle], 3),
            (["quality", "-d", "cpu", "--", *idle], 3),
            (["characterize", "-d", "cpu", "--", *idle], 3),
            (["advise", "-d", "cpu", "--", *idle], 3),
            (["run", "-d", "cpu", "-s", "instruction_count", "--", build.examples / "vecadd"], 0)):
        run = build.run(build.command, *arguments, preload=False)
        demand_equal(f"status of {arguments[0]}\n{run}\n", run.status, status)
    run = build.run(build.command, "run", "-d", "cpu", "-s", "instruction_count", "--", *no_ptx, preload=False)
    expect(run.status != 0, f"a program without PTX cannot run there\n{run}")


@test
def runs_whose_filters_match_nothing(build):
    """The launched kernels are named with the reason."""
    run = lynxpp_run(build, build.examples / "vecadd", options=("-d", "cpu", "-k", "no_such_kernel"))
    expect_words(run, "vecadd(", "not selected by LYNXPP_KERNELS", "'no_such_kernel' matches no kernel; the one that was launched is vecadd(")
    run = lynxpp_run(build, build.examples / "vecadd", options=("-d", "cpu", "-l", "1000-"))
    expect_words(run, "vecadd(", "no launch selected by LYNXPP_LAUNCHES")


@test
def patterns_of_long_names(build):
    """No pattern overflows the stack of a launching thread (64 KiB), and none takes forever."""
    program = build.examples / "tests" / "long_names"
    nested = "(" * 5000 + "aaa" + ")" * 5000
    for pattern, selected in ((".*foo", 0), ("(a+)+$", 0), (nested, 1), ("f?o?i?n?t[*]{299}", 1)):
        run = lynxpp_run(build, program, options=("-d", "cpu", "-k", pattern))
        demand_equal(f"{pattern[:20]}: output", run.stdout.splitlines()[-1:], [b"long names: 2"])
        demand_equal(f"{pattern[:20]}: status", run.status, 0 if selected else 3)
        run, records = build.measure(program, spec="instruction_count", environment={"LYNXPP_KERNELS": pattern})
        demand_equal(f"{pattern[:20]}: status of {run}", run.status, 0)
        demand_equal(f"{pattern[:20]}: launches", len(records.launches), selected)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "my.cod")
        path.write_text('global unsigned long n;\nON_REPORT: emit("n", n);\nON_KERNEL_ENTRY: KERNEL("(a+)+$"): KERNEL(".*foo"): { ++n; }\n'
                        'ON_KERNEL_EXIT: KERNEL("pointed"): { ++n; }\n')
        run, records = build.measure(program, spec=path)
    demand_equal(f"status of {run}", run.status, 0)
    demand_equal("counts", {"pointed" in each["kernel"]: each["results"]["n"] for each in records.launches}, {True: 1, False: 0})


@test
def patterns_that_are_refused(build):
    """Says what is wrong, where, and what to do; nothing is measured by an invalid filter."""
    expected = ("'foo(?!bar)' is not a valid regular expression: invalid perl operator '(?!' at character 4", "hint: patterns have RE2's syntax")
    run = build.run(build.examples / "vecadd", spec="instruction_count", environment={"LYNXPP_KERNELS": "foo(?!bar)"})
    expect_words(run, f"LYNXPP_KERNELS: {expected[0]}", expected[1], "the program runs uninstrumented")
    demand_equal("status", run.status, 0)
    run = lynxpp_run(build, build.examples / "vecadd", options=("-d", "cpu", "-k", "foo(?!bar)"))
    expect_words(run, f"--kernels: {expected[0]}", expected[1])
    demand_equal("status", run.status, 2)


# ---------------------------------------------------------------- programs that wait

def waiting(build, what, spec=None, **more):
    """Returns the program's output and, if it is instrumented, its record of the kernel's instructions."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out.jsonl")
        run = build.run(build.examples / "tests" / "waiting", what, spec=spec, environment={"LYNXPP_OUTPUT": str(output)})
        records = read_json_lines(output) if output.exists() else []
        return run, [record for record in records if record["record"] == "launch"]


@test
def a_kernel_waits_for_the_host(build):
    """Launches are asynchronous, and results of instrumented ones arrive nevertheless."""
    for spec in (None, "instruction_count"):
        run, launches = waiting(build, "host", spec)
        expect(run.status == 0 and run.stdout == b"waiting: cudaErrorNotReady, 32\n", f"the program changed\n{run}")
        expect(len(launches) == (0 if spec is None else 1), f"one record of the launch, not {launches}")


@test
def blocks_wait_for_one_another(build):
    """All blocks that occupancy allows are resident."""
    for spec in (None, "instruction_count"):
        run, _ = waiting(build, "blocks", spec)
        expect(run.status == 0 and run.stdout == b"waiting: all met\n", f"the program changed\n{run}")


@test
def what_kernels_print_comes_at_synchronisation(build):
    run, _ = waiting(build, "print")
    expect(run.status == 0 and run.stdout == b"host\ndevice\nend\n", f"the program changed\n{run}")


@test
def a_kernel_that_does_not_end_is_interrupted(build):
    run, _ = waiting(build, "forever")
    expect(run.status == -signal.SIGINT and run.stdout == b"waiting: launched\n", f"the program changed\n{run}")


@test
def graphs_run_and_stand_in_coverage(build):
    """Each replay of a graph is a launch of its kernels, and counted."""
    run, records = build.measure(build.examples / "tests" / "waiting", "graph", spec="instruction_count")
    expect(run.status == 0 and run.stdout == b"7\n", f"the program changed\n{run}")
    coverage, = records.coverage
    demand_equal("launches, counted", [coverage["launches"], coverage["instrumented_launches"]], [7, 7])
    demand_equal("notes", coverage["notes"], [])


@test
def what_the_cpu_device_does_not_have(build):
    """The runtime reports the error, each function is named once, and nothing runs instead of a captured
    launch."""
    run, _ = waiting(build, "refused")
    expect(run.status == 0 and run.stdout == b"cudaErrorNotSupported cudaErrorNotSupported "
           b"cudaErrorStreamCaptureInvalidated 0\n", f"the program changed\n{run}")
    for name in ("cudaIpcGetMemHandle", "cudaStreamBeginCaptureToGraph"):
        expect(run.stderr.count(f"the cpu device does not have {name};") == 1, f"{name} is not named once\n{run}")
