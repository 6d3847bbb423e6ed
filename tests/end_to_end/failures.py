"""Kinds of failure: each must leave the program's behaviour unchanged and say what is wrong and what to do."""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile

from harness import Records, TestFailure, clean_environment, demand_equal, expect, read_json_lines

TESTS = {}


def test(function):
    TESTS[function.__name__] = function
    return function


def good_output(build, app="vecadd"):
    run = build.run(build.examples / app)
    expect(run.status == 0, f"the program fails without a specification\n{run}")
    return run.stdout


def expect_unchanged(build, run, app="vecadd"):
    expect(run.status == 0, f"the program failed\n{run}")
    expect(run.stdout == good_output(build, app), f"the program's output changed\n{run}")


def expect_words(run, *words):
    for word in words:
        expect(word in run.stderr, f"stderr does not say '{word}'\n{run}")


def write_specification(folder, text):
    path = pathlib.Path(folder, "my.cod")
    path.write_text(text)
    return path


# ---------------------------------------------------------------- specifications

@test
def unknown_specification(build):
    """The closest ready-made name is suggested."""
    run = build.run(build.examples / "vecadd", spec="instruction_cuont")
    expect_words(run, "instruction_cuont", "instruction_count")
    expect_unchanged(build, run)


@test
def scheme_of_words_that_is_none(build):
    """Reports the location and the wrong text; nothing is measured by a scheme that was not requested."""
    run = build.run(build.examples / "vecadd", spec="device_memory_profile", environment={"LYNXPP_WORDS": "plain,statc"})
    expect_words(run, "LYNXPP_WORDS:1:7: error: unknown scheme 'statc'", "did you mean 'static'?")
    expect_unchanged(build, run)
    run = build.run(build.command, "run", "-d", "cpu", "-s", "device_memory_profile", "--words", "shared=9", "--", build.examples / "vecadd", preload=False)
    demand_equal("status of lynxpp run", run.status, 2)
    expect_words(run, "--words:1:1: error: counters in shared memory must have 8, 16 or 32 bits")


@test
def missing_specification_file(build):
    run = build.run(build.examples / "vecadd", spec="./nowhere/my.cod")
    expect_words(run, "nowhere/my.cod")
    expect_unchanged(build, run)


@test
def syntax_error(build):
    with tempfile.TemporaryDirectory() as folder:
        path = write_specification(folder, "unsigned long count = 0;\nON_KERNEL_EXIT: {\n  count = count + ;\n}\n")
        run = build.run(build.examples / "vecadd", spec=path)
    expect_words(run, f"{path}:3:19: error", "  count = count + ;")
    expect(re.search(r"^\s*\|?\s*\^", run.stderr, flags=re.M), f"no caret\n{run}")
    expect_unchanged(build, run)


@test
def type_error(build):
    """An unknown name: location, caret and the likely name."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_specification(folder, "global unsigned long counts[WARPS];\nON_KERNEL_EXIT: {\n  atomicAdd(&counts[warpIdd()], 1);\n}\n")
        run = build.run(build.examples / "vecadd", spec=path)
    expect_words(run, f"{path}:3:21: error", "warpIdd", "warpId")
    expect(re.search(r"^\s*\|?\s*\^", run.stderr, flags=re.M), f"no caret\n{run}")
    expect_unchanged(build, run)


@test
def result_emitted_twice(build):
    """Result names must be unique: if two results certainly share one, the specification is refused with both
    locations."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_specification(folder, 'ON_REPORT: {\n  emit("x", 1);\n  if (THREADS > 1) emitRatio("x", 1, 2);\n}\n')
        run = build.run(build.examples / "vecadd", spec=path)
    expect_words(run, f"{path}:3:30: error: a result 'x' already exists", "hint: line 2 emits it; choose a unique name")
    expect_unchanged(build, run)


@test
def one_bad_specification_of_two(build):
    """No partial measurement: the error is shown and the program runs correctly."""
    run = build.run(build.examples / "vecadd", spec="instruction_count,nonsense_count")
    expect_words(run, "nonsense_count")
    expect_unchanged(build, run)


@test
def no_specification(build):
    """Unset or empty: the program runs as usual and lynxpp prints nothing."""
    for spec in (None, ""):
        run = build.run(build.examples / "vecadd", spec=spec)
        expect_unchanged(build, run)
        demand_equal(f"stderr with LYNXPP_SPEC {spec!r}", run.stderr, "")


@test
def results_leave_before_a_reset(build):
    """cudaDeviceReset destroys the buffers, but earlier counts are reported nevertheless."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out.jsonl")
        run = build.run(build.examples / "tests" / "reset", spec="instruction_count", environment={"LYNXPP_OUTPUT": str(output)})
        expect(run.status == 0 and run.stdout == b"reset: twice\n", f"the program changed\n{run}")
        counts = [r["results"]["thread_instructions"] for r in read_json_lines(output) if r["record"] == "launch"]
    expect(len(counts) == 6 and len(set(counts)) == 1 and counts[0] > 0, f"six equal launches, not {counts}")


# ---------------------------------------------------------------- kernels and filters

def attach_program(build):
    return build.examples / "tests" / "attach"


@test
def attach_while_running(build):
    """The program's own setenv and unsetenv attach, change and detach, from the next launch on."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out.jsonl")
        run = build.run(attach_program(build), "instruction_count", "kernel_runtime", "-", "instruction_count",
                        environment={"LYNXPP_OUTPUT": str(output)})
        expect(run.status == 0 and run.stdout == b"attach: 400\n", f"the program changed\n{run}")
        launches = [(r["spec"], r["launch"]) for r in read_json_lines(output) if r["record"] == "launch"]
        demand_equal("launch records", launches, [("instruction_count", 0), ("kernel_runtime", 1), ("instruction_count", 2)])


@test
def memory_of_the_program(build):
    """Lists the program's memory at each launch, with its allocation sites; freed memory is absent, and new
    memory has a new number even if its address is the same."""
    run = build.run(build.examples / "vecadd", spec="instruction_count", environment={"LYNXPP_LOG": "trace"})
    expect(run.status == 0 and run.stdout == good_output(build), f"the program changed\n{run}")
    found = re.findall(r"trace: allocation (\d+): (\d+) bytes at 0x[0-9a-f]+, device, (.*)", run.stderr)
    # Five launches: the constructor of DeviceArray allocates two arrays once; main allocates one per launch.
    numbers = [int(number) for number, _, _ in found]
    demand_equal("live allocations at each launch", [sorted(numbers[i:i + 3]) for i in range(0, len(numbers), 3)],
                 [[0, 1, last] for last in range(2, 7)])
    expect(len({size for _, size, _ in found}) == 1 and int(found[0][1]) > 0, f"arrays of one size\n{run}")
    for number, _, chain in found:
        pattern = r".*DeviceArray\(.*\)\+0x[0-9a-f]+ < main\+0x[0-9a-f]+" if int(number) < 2 else r"main\+0x[0-9a-f]+"
        expect(re.fullmatch(pattern, chain) is not None, f"allocation {number} is by {chain}")
    expect(len({chain for number, _, chain in found if int(number) < 2}) == 2, f"two call sites in main\n{run}")
    quiet = build.run(build.examples / "vecadd", spec="instruction_count", environment={"LYNXPP_LOG": "debug"})
    expect("allocation 0" not in quiet.stderr, f"listed at level debug\n{quiet}")


@test
def attach_something_unknown_while_running(build):
    """A list that cannot be attached detaches the specifications attached before."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out.jsonl")
        run = build.run(attach_program(build), "instruction_count", "no_such_thing", environment={"LYNXPP_OUTPUT": str(output)})
        expect(run.status == 0 and run.stdout == b"attach: 240\n", f"the program changed\n{run}")
        expect_words(run, "no_such_thing", "the program runs uninstrumented")
        launches = [(r["spec"], r["launch"]) for r in read_json_lines(output) if r["record"] == "launch"]
        demand_equal("launch records", launches, [("instruction_count", 0)])


@test
def kernel_filter(build):
    """LYNXPP_KERNELS: unwanted kernels are left alone, and coverage says so."""
    run, records = build.measure(build.examples / "symbols", spec="instruction_count", environment={"LYNXPP_KERNELS": ".*apply.*"})
    expect_unchanged(build, run, "symbols")
    kernels = {record["kernel"] for record in records.launches}
    demand_equal("instrumented kernels", [kernel for kernel in kernels if "apply" not in kernel], [])
    expect(kernels, f"no kernel was instrumented\n{run}")
    for entry in records.coverage:
        demand_equal(f"{entry['kernel']} instrumented", entry["instrumented"], "apply" in entry["kernel"])
        if not entry["instrumented"]:
            expect(entry["reason"], f"no reason for {entry['kernel']}")


@test
def variant_limit(build):
    """LYNXPP_VARIANT_LIMIT: a variant that would be too large is not created; coverage has the numbers and
    the variable."""
    run, records = build.measure(build.examples / "vecadd", spec="shared_bank_conflicts,instruction_count", environment={"LYNXPP_VARIANT_LIMIT": "30"})
    expect_unchanged(build, run, "vecadd")
    demand_equal("launch records", records.launches, [])
    for entry in records.coverage:
        expect(not entry["instrumented"], f"{entry['kernel']} was instrumented")
        expect("the limit is 30 (LYNXPP_VARIANT_LIMIT)" in entry["reason"], f"another reason: {entry['reason']}")
    run, records = build.measure(build.examples / "vecadd", spec="instruction_count", environment={"LYNXPP_VARIANT_LIMIT": "0"})
    expect(all(entry["instrumented"] for entry in records.coverage), f"0 is no limit\n{run}")


@test
def share_that_is_counted(build):
    """A kernel that cannot be instrumented next to one that can: the share comes first, and known properties
    are reported."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out.jsonl")
        run = build.run(build.command, "record", "-d", "cpu", "-s", "shared_bank_conflicts,instruction_count", "-o", output, "--",
                        build.examples / "symbols", preload=False, environment={"LYNXPP_VARIANT_LIMIT": "100"})
        expect_unchanged(build, run, "symbols")
        expect_words(run, "Counted: 50 % of launches, 1 of 2 kernels.\n1 of 2 kernels were not instrumented: 50 % of launches; details: ")
        demand_equal("warnings", run.stderr.count("runs uninstrumented"), 1)
        records = Records(read_json_lines(output))
        refused, = [entry for entry in records.coverage if not entry["instrumented"]]
        demand_equal("launches of the other", refused["launches"], 4)
        expect(refused["shape"]["grid"] and refused["shape"]["block"] and not refused.get("lacks_ptx"), f"known properties are not reported\n{refused}")
        timing, = [entry for entry in records.timing if entry["kernel"] == refused["kernel"]]
        demand_equal("timed launches of the other", timing["launches"], 4)
        report = build.run(build.command, "report", output, preload=False)
        expect(report.stdout.startswith(b"Counted: 50 % of launches"), f"the report does not begin with the share\n{report}")


@test
def bad_filters(build):
    """An ambiguous setting: nothing is measured."""
    for name, value in (("LYNXPP_KERNELS", "vec(add"), ("LYNXPP_LAUNCHES", "9-2")):
        run, records = build.measure(build.examples / "vecadd", spec="instruction_count", environment={name: value})
        expect_words(run, name, value, "the program runs uninstrumented")
        expect_unchanged(build, run)
        demand_equal(f"records with {name}={value}", records.all, [])


@test
def no_ptx(build):
    """Machine code only: the cpu device cannot run it and reports that PTX is missing; no crash."""
    run = build.run(build.examples / "no_ptx" / "vecadd", spec="instruction_count")
    demand_equal("exit status (a CUDA error the program reports)", run.status, 2)
    expect_words(run, "PTX", "cudaErrorNoKernelImageForDevice")


# ---------------------------------------------------------------- faults of kernels

def faults_program(build):
    return build.examples / "tests" / "faults"


# Fault, error, and parts of the message.
KERNEL_FAULTS = [
    ("none", 0, []),
    ("overrun", 700, ["illegal address: a store of 4 bytes to 0x", "by thread (104, 0, 0) of block (7, 0, 0)",
                      "just past the end of 4000 bytes at 0x", "device memory allocated by make_array(int)+0x"]),
    ("host", 700, ["illegal address: a store of 4 bytes to 0x"]),
    ("wild", 700, ["illegal address: a store of 4 bytes to 0x12345678", "nothing is allocated there"]),
    ("misaligned", 716, ["misaligned address: a store of 4 bytes to 0x", "the address is not a multiple of 4"]),
    ("freed", 700, ["of freed memory: 4000 bytes at 0x", "allocated by make_array(int)+0x", "freed by main+0x"]),
]


def expect_fault(build, run, fault, error, words):
    expect(run.status == 0, f"the process has died\n{run}")
    demand_equal("stdout", run.stdout.decode(), f"{fault}: {error}, then {error}; after the reset 0 0 999\n")
    if error != 0:
        expect_words(run, *words, "fill(int*, int)", "faults.cu:10", "PTX line ")


@test
def kernel_faults(build):
    """A kernel with an invalid access: reports a GPU's error, the location and the array; the process
    continues."""
    for fault, error, words in KERNEL_FAULTS:
        expect_fault(build, build.run(faults_program(build), fault), fault, error, words)


@test
def kernel_faults_in_variants(build):
    """Same, in an instrumented kernel; correct launches are measured before and after."""
    for fault, error, words in KERNEL_FAULTS:
        run, records = build.measure(faults_program(build), fault, spec="instruction_count,memory_efficiency")
        expect_fault(build, run, fault, error, words)
        measured = [record["launch"] for record in records.launches if record["spec"] == "instruction_count"]
        # The launch after the fault has no results; whether it has a number depends on when the fault is
        # noticed.
        expected = measured[-1:] if error else [0, 1, 2]
        demand_equal(f"launches measured around the fault '{fault}'", measured, expected)
        expect(bool(measured), f"the launch after the reset is not measured\n{run}")


# ---------------------------------------------------------------- libraries and images

@test
def relocatable_device_code(build):
    """-rdc=true with two files: linked into code that ptxas accepts too, and counted like any other."""
    with tempfile.TemporaryDirectory() as folder:
        run = build.run(build.examples / "tests" / "relocatable", spec="instruction_count", environment={"LYNXPP_DUMP": folder})
        demand_equal("stdout", run.stdout,
                     b"first file, 1000\nsecond file, 20\nrelocatable: cudaSuccess, cudaSuccess, 1021 60 3\n")
        expect_words(run, "scale(int*)", "other(int*)")
        ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
        linked = sorted(pathlib.Path(folder).glob("*.ptx"))
        demand_equal("files", len(linked), 4)
        for file in linked if pathlib.Path(ptxas).exists() else []:
            subprocess.run([ptxas, "-arch=sm_90", "-o", f"{folder}/out.cubin", file], check=True)


@test
def device_side_launch(build):
    """A kernel that launches kernels runs, but is not measured; others of its image are."""
    program = build.examples / "tests" / "device_launch"
    output = b"parent: cudaSuccess, 104 104\ndescend: cudaSuccess, 124 124\nadd: cudaSuccess, 1124 1124\n"
    demand_equal("stdout", build.run(program).stdout, output)
    run, records = build.measure(program, spec="instruction_count")
    demand_equal("stdout with a specification", run.stdout, output)
    demand_equal("measured", [entry["kernel"] for entry in records.launches], ["_Z3addPii"])
    reasons = {entry["kernel"]: entry["reason"] for entry in records.coverage if entry["reason"]}
    demand_equal("not measured", sorted(reasons), ["_Z6parentPi", "_Z7descendPii"])
    expect(all("from the device" in reason for reason in reasons.values()), reasons)
    checked = build.run(build.command, "check-run", "--", program, preload=False)
    demand_equal("status of check-run", (checked.status, checked.stdout), (0, output))


@test
def library_with_a_static_runtime(build):
    """The message names the library, not the program."""
    linked = subprocess.run(["ldd", build.examples / "vecadd"], capture_output=True, text=True).stdout
    runtime = re.search(r"=> (\S*libcudart\S*)", linked)
    found = sorted(pathlib.Path(runtime[1]).parent.glob("libcurand.so.*")) if runtime else []
    if not found:
        print("SKIP: the toolkit's libcurand is not installed")
        raise SystemExit(77)
    script = ("import ctypes, sys; library = ctypes.CDLL(sys.argv[1]); generator = ctypes.c_void_p();"
              "print(library.curandCreateGenerator(ctypes.byref(generator), 100) != 0)")
    run = build.run("python3", "-c", script, found[0])
    demand_equal("stdout", run.stdout, b"True\n")
    lines = [line for line in run.stderr.splitlines() if "links the CUDA runtime statically" in line]
    demand_equal("lines about it", len(lines), 1)
    expect("libcurand.so." in lines[0] and "cannot run on the cpu device" in lines[0], f"the line says {lines[0]}")


@test
def stripped_static_runtime(build):
    """A static runtime whose functions cannot be found: one line that says what to do."""
    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder) / "stripped"
        subprocess.run(["strip", "-o", stripped, build.examples / "static" / "vecadd"], check=True)
        run = build.run(stripped, spec="instruction_count")
    demand_equal("exit status (a CUDA error the program reports)", run.status, 2)
    lines = [line for line in run.stderr.splitlines() if "-cudart shared" in line]
    demand_equal("lines with the advice", len(lines), 1)
    expect("lynxpp" in lines[0], f"the line does not name its sender: {lines[0]}")


@test
def missing_engine(build):
    """liblynxpp.so alone: the missing engine is named once and the program continues as without lynxpp."""
    with tempfile.TemporaryDirectory() as folder:
        alone = shutil.copy(build.library, folder)
        run = build.run(build.examples / "vecadd", spec="instruction_count", preload=alone)
        lines = [line for line in run.stderr.splitlines() if "liblynxpp-engine.so" in line]
        demand_equal("lines naming the engine", len(lines), 1)
        without = build.run(build.examples / "vecadd", preload=False)
        demand_equal("exit status, compared with a run without lynxpp", run.status, without.status)
        demand_equal("stdout, compared with a run without lynxpp", run.stdout, without.stdout)
        # A program that never uses CUDA prints nothing.
        quiet = build.run("/bin/true", spec="instruction_count", preload=alone)
        demand_equal("/bin/true", (quiet.status, quiet.stderr), (0, ""))


def section(data, wanted):
    """Returns (offset, size) of a section of an ELF64 file."""
    table, = struct.unpack_from("<Q", data, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * entry_size) for i in range(count)]
    names = headers[names_index][4]
    for header in headers:
        begin = names + header[0]
        if data[begin:data.index(b"\0", begin)].decode() == wanted:
            return header[4], header[5]
    raise TestFailure(f"no section {wanted}")


def damaged(source, target, damage):
    """Copies a program with its fatbinary changed by `damage(bytearray)`."""
    data = bytearray(pathlib.Path(source).read_bytes())
    offset, size = section(data, ".nv_fatbin")
    fatbinary = data[offset:offset + size]
    damage(fatbinary)
    expect(len(fatbinary) == size, "damage must not change the size")
    data[offset:offset + size] = fatbinary
    target.write_bytes(data)
    target.chmod(0o755)
    return target


def first_ptx_entry(fatbinary):
    """Returns the offsets of the last container's first PTX entry and of its payload."""
    container = fatbinary.rindex(struct.pack("<I", 0xBA55ED50))
    header_size, = struct.unpack_from("<H", fatbinary, container + 6)
    entry = container + header_size
    while struct.unpack_from("<H", fatbinary, entry)[0] != 1:
        size, payload = struct.unpack_from("<IQ", fatbinary, entry + 4)
        entry += size + payload
    return entry, entry + struct.unpack_from("<I", fatbinary, entry + 4)[0]


def damage_magic(fatbinary):
    container = fatbinary.rindex(struct.pack("<I", 0xBA55ED50))
    fatbinary[container] ^= 0xFF


def damage_sizes(fatbinary):
    entry, _ = first_ptx_entry(fatbinary)
    struct.pack_into("<Q", fatbinary, entry + 8, 0x7FFFFFFFFFFF)


def damage_header_size(fatbinary):
    entry, _ = first_ptx_entry(fatbinary)
    struct.pack_into("<I", fatbinary, entry + 4, 0)


def damage_uncompressed_size(fatbinary):
    entry, _ = first_ptx_entry(fatbinary)
    struct.pack_into("<Q", fatbinary, entry + 56, 1 << 60)


def damage_payload(fatbinary):
    _, payload = first_ptx_entry(fatbinary)
    for i in range(payload, min(payload + 64, len(fatbinary))):
        fatbinary[i] ^= 0xA5


@test
def malformed_fatbinary(build):
    """The program receives a CUDA error and reports it; neither it nor lynxpp crashes or hangs."""
    with tempfile.TemporaryDirectory() as folder:
        for damage in (damage_magic, damage_sizes, damage_header_size, damage_uncompressed_size, damage_payload):
            program = damaged(build.examples / "vecadd", pathlib.Path(folder, "vecadd"), damage)
            run = build.run(program, spec="instruction_count")
            expect(run.status == 2, f"{damage.__name__}: exit status {run.status}, expected 2 (the program reports a CUDA error)\n{run}")
            expect("lynxpp" in run.stderr, f"{damage.__name__}: lynxpp does not say what is wrong\n{run}")


# ---------------------------------------------------------------- the process around it

@test
def programs_without_cuda(build):
    """Nothing is printed and nothing changes in a process that does not use CUDA."""
    for command in (["/bin/true"], ["/bin/sh", "-c", "echo one; exit 7"], ["python3", "-c", "import ctypes, json; print(json.dumps(1))"]):
        outputs = []
        for preload in (False, True):
            run = build.run(*command, spec="instruction_count" if preload else None, preload=preload)
            outputs.append((run.status, run.stdout, run.stderr))
        demand_equal(" ".join(command), outputs[1], outputs[0])


@test
def exit_status_is_the_programs(build):
    run = build.run(build.examples / "vecadd", "nonsense", spec="instruction_count")
    demand_equal("exit status", run.status, 2)
    expect_words(run, "usage")


@test
def unwritable_output(build):
    run = build.run(build.examples / "vecadd", spec="instruction_count", environment={"LYNXPP_OUTPUT": "/nowhere/out.jsonl"})
    expect_words(run, "/nowhere/out.jsonl")
    expect_unchanged(build, run)


@test
def stdout_is_the_programs(build):
    """The table goes to stderr."""
    run = build.run(build.examples / "vecadd", spec="instruction_count")
    expect_unchanged(build, run)
    expect_words(run, "vecadd", "thread_instructions")


@test
def dump_folder(build):
    """LYNXPP_DUMP receives the original and the instrumented PTX."""
    with tempfile.TemporaryDirectory() as folder:
        run = build.run(build.examples / "vecadd", spec="instruction_count", environment={"LYNXPP_DUMP": folder})
        expect_unchanged(build, run)
        texts = [path.read_text() for path in pathlib.Path(folder).rglob("*.ptx")]
    expect(len(texts) >= 2, f"{len(texts)} files in LYNXPP_DUMP, expected the original and the instrumented PTX\n{run}")
    expect(all(".entry" in text for text in texts), "a dumped file contains no kernel")
    expect(len(set(texts)) >= 2, "the instrumented PTX is the original")


@test
def command_run(build):
    """`lynxpp run` has the effect of the environment variables and exits with the program's status."""
    program = build.examples / "reduction"
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out.jsonl")
        command = [build.command, "run", "-s", "instruction_count", "-d", "cpu", "-o", output, "--", program]
        completed = subprocess.run(command, env=clean_environment(), capture_output=True, timeout=300)
        demand_equal("exit status", completed.returncode, 0)
        demand_equal("stdout", completed.stdout, good_output(build, "reduction"))
        records = Records(read_json_lines(output))
        demand_equal("launches measured", len(records.launches), 5)
        failing = subprocess.run([build.command, "run", "-s", "instruction_count", "-d", "cpu", "--", program, "nonsense"],
                                 env=clean_environment(), capture_output=True, timeout=300)
        demand_equal("exit status of a failing program", failing.returncode, 2)


@test
def several_processes(build):
    """A shell and its descendants inherit the preload: each program writes its own records, as complete
    lines, into one file."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out.jsonl")
        script = f"{build.examples / 'vecadd'} && /bin/true && {build.examples / 'vecadd'}"
        run = build.run("/bin/sh", "-c", script, spec="instruction_count", environment={"LYNXPP_OUTPUT": str(output)})
        demand_equal("exit status", run.status, 0)
        records = read_json_lines(output)
    demand_equal("launch records of two runs of five launches", sum(entry["record"] == "launch" for entry in records), 10)


@test
def installed_folder(build):
    """The result of `cmake --install` runs from any folder, even if its name contains a blank."""
    source = pathlib.Path(__file__).resolve().parents[2]
    with tempfile.TemporaryDirectory() as folder:
        first, second = pathlib.Path(folder, "first"), pathlib.Path(folder, "a folder", "prefix")
        installed = subprocess.run(["cmake", "--install", build.folder, "--prefix", first, "--strip"], capture_output=True, text=True)
        expect(installed.returncode == 0, f"cmake --install failed\n{installed.stdout}{installed.stderr}")
        second.parent.mkdir()
        os.rename(first, second)
        checked = subprocess.run([source / "scripts" / "check_relocatable", second], capture_output=True, text=True)
        expect(checked.returncode == 0, f"not relocatable:\n{checked.stdout}{checked.stderr}")
        command = [second / "bin" / "lynxpp", "run", "-s", "instruction_count", "-d", "cpu", "--", build.examples / "vecadd"]
        run = subprocess.run(command, env=clean_environment(), capture_output=True, timeout=300)
        expect(run.returncode == 0, f"the installed lynxpp fails: {run}")
        demand_equal("stdout", run.stdout, good_output(build))
        expect(b"thread_instructions" in run.stderr, f"no table: {run.stderr!r}")
