"""The parts of scripts/gpu-check that compare: outputs, counts, attaching, conformance."""
import concurrent.futures
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from common import Findings, TestFailure, read_json_lines, total

# A thread's work is the same on every device. A warp's need not be: hardware need not reconverge where the
# cpu device does.
EXACT = re.compile(r"^(total_)?thread|per_thread|bytes_asked")


def all_specs(package):
    return ",".join(package.specs)


def in_parallel(package, work, items):
    workers = 8 if package.device == "cuda" else 2
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        yield from zip(items, pool.map(work, items))


def identity(package, apps, budget):
    """Every example prints the same with every specification, and with all of them together, as without."""
    findings = Findings("identity", identity.__doc__)
    specs = package.specs + [all_specs(package)]

    def check(item):
        app, form = item
        program = package.program(app, form)
        rows = []
        try:
            native = package.run(program, preload=False, environment={"LYNXPP_DEVICE": "cpu"}) if package.device == "cuda" else package.run(program)
            if native.status != 0:
                return [[app, form, "", f"fails without lynxpp: {native.stderr.strip()[-200:]}"]]
            if native.stdout.decode() != package.expected["apps"][app]["stdout"]:
                rows.append([app, form, "none", "prints a different result than on the cpu device"])
            unattached = package.run(program)
            if (unattached.status, unattached.stdout, unattached.stderr) != (0, native.stdout, native.stderr):
                rows.append([app, form, "none", "the preload library alone changes it"])
            for spec in specs:
                rows.append([app, form, "all at once" if "," in spec else spec, verdict(package, program, native, spec)])
        except TestFailure as failure:
            rows.append([app, form, "", str(failure).splitlines()[-1]])
        return rows

    runs = 0
    for _, rows in in_parallel(package, check, [(app, form) for app in apps for form in package.forms()]):
        runs += len(rows)
        for row in rows:
            if row[3].startswith(TOO_LARGE):
                findings.say(" ".join(row))
            elif row[3] != "identical":
                findings.fail(" ".join(row))
    findings.table("Outputs", ["programs", "runtimes", "specifications", "runs", "identical"],
                   [[len(apps), " ".join(package.forms()), len(specs), runs, runs - len(findings.failures)]])
    findings.table("Specifications", ["specification"], [[spec] for spec in package.specs] + [["all at once"]])
    findings.say(f"{runs - len(findings.failures)} of {runs} instrumented runs print byte for byte what the program prints without")
    no_ptx(package, findings)
    ptx_in_debug_sections(package, findings)
    return findings


# With all specifications together, a kernel may exceed the size limit for the driver; it then runs
# uninstrumented, as coverage reports.
TOO_LARGE = "identical, as a kernel ran uninstrumented"


def verdict(package, program, native, spec):
    run, records = package.measure(program, spec=spec)
    if run.status != 0:
        return f"exit status {run.status}: {run.stderr.strip()[-300:]}"
    if run.stdout != native.stdout:
        return "OUTPUT CHANGED"
    for entry in records.coverage:
        if not entry["instrumented"]:
            if "," in spec and "LYNXPP_VARIANT_LIMIT" in entry["reason"]:
                return f"{TOO_LARGE}: {entry['kernel']}: {entry['reason']}"
            return f"{entry['kernel']} not instrumented: {entry['reason']}"
    return "identical" if records.launches else "no records"


def no_ptx(package, findings):
    """A program without PTX runs unchanged and is named."""
    program = package.build.examples / "no_ptx" / "vecadd"
    if package.device != "cuda" or not program.exists():
        return
    native = package.run(program, preload=False)
    if native.status != 0:
        findings.say("the program without PTX does not run on this GPU (it holds machine code for sm_75 and sm_90)")
        return
    run, records = package.measure(program, spec="instruction_count")
    reasons = {entry["reason"] for entry in records.coverage if not entry["instrumented"]}
    if (run.status, run.stdout) != (0, native.stdout) or not reasons or records.launches:
        findings.fail(f"the program without PTX\n{run}")
    else:
        findings.say(f"kernel without PTX: ran unchanged; coverage says: {'; '.join(sorted(reasons))}")


def ptx_in_debug_sections(package, findings):
    """Programs of machine code for sm_90, compiled with -lineinfo, are instrumented from the PTX in their
    debug sections."""
    folder = package.build.examples / "lines"
    if package.device != "cuda" or not folder.exists():
        return
    for program in (folder / name for name in ("vecadd", "symbols")):
        native = package.run(program, preload=False)
        if native.status != 0:
            findings.say(f"{program.name} of machine code for sm_90 does not run on this GPU")
            continue
        run, records = package.measure(program, spec="instruction_count")
        sources = {entry.get("ptx_from") for entry in records.coverage if entry["instrumented"]}
        if (run.status, run.stdout) != (0, native.stdout) or sources != {"the debug section of the cubin"}:
            findings.fail(f"{program.name}, whose PTX is in debug sections: {sources}\n{run}")
        else:
            findings.say(f"{program.name}: counted from the PTX in its debug section")


def same(found, wanted):
    if isinstance(wanted, dict):
        return isinstance(found, dict) and len(found["values"]) == wanted["elements"] and same(total(found), wanted["sum"])
    if isinstance(found, dict):
        return False
    if found is None or wanted is None:
        return found is wanted
    return found == wanted or (isinstance(wanted, float) and math.isclose(found, wanted, rel_tol=1e-12))


def number(result):
    return result["sum"] if isinstance(result, dict) and "sum" in result else total(result)


def compare_counts(package, app, attached, spec, problem, table, totals, rows, findings):
    """Compares one specification's results of one run; adds to `totals` and `rows`."""
    wanted = {(entry["kernel"], entry["launch"]): entry["results"] for entry in package.expected["apps"][app]["results"][spec]}
    if sorted(table) != sorted(wanted):
        findings.fail(f"{app} with {attached}: {spec}, {len(table)} launch records, expected {len(wanted)}; {problem}")
        return
    sums = {}
    for key, results in wanted.items():
        for name, value in results.items():
            found = table[key]["results"].get(name)
            entry = sums.setdefault(name, [True, 0, 0])
            equal = name in table[key]["results"] and same(found, value)
            entry[0] &= equal
            entry[1] += number(found) if found is not None else 0
            entry[2] += number(value) if value is not None else 0
            totals["compared"] += 1
            totals["equal"] += equal
    for name, (equal, found, wanted_sum) in sums.items():
        if equal:
            continue
        difference = f"{100 * (found - wanted_sum) / wanted_sum:+.3f} %" if wanted_sum else ""
        rows.append([app, spec if spec == attached else f"{spec} of {attached}", name, f"{found:,}", f"{wanted_sum:,}", difference])
        if EXACT.search(name):
            findings.fail(f"{app} with {attached}: {spec}, {name} {found:,}, the cpu device says {wanted_sum:,}")


# Attached together they share registers and one flush, for which ptxas generates different code.
TOGETHER = ("instruction_count,branch_divergence,memory_efficiency", "basic_block_count,opcode_mix,shared_bank_conflicts,active_lanes")


def counts(package, apps, budget):
    """Results of every specification, alone and with others, launch by launch, compared with the cpu device's."""
    findings = Findings("counts", counts.__doc__)

    def check(item):
        app, attached = item
        try:
            run, records = package.measure(package.program(app), spec=attached)
        except TestFailure as failure:
            return str(failure), None
        if run.status != 0:
            return f"exit status {run.status}\n{run}", None
        reasons = [f"{entry['kernel']} ran unchanged: {entry['reason']}" for entry in records.coverage if not entry["instrumented"]]
        return "; ".join(reasons), {spec: records.by_launch(spec) for spec in attached.split(",")}

    specs = [spec for spec in package.specs if spec in package.expected["apps"][apps[0]]["results"]]
    together = [names for names in TOGETHER if set(names.split(",")) <= set(specs)]
    per_spec = {spec: {"equal": 0, "compared": 0} for spec in specs + together}
    rows = []
    for (app, attached), (problem, tables) in in_parallel(package, check, [(app, names) for app in apps for names in specs + together]):
        if tables is None:
            findings.fail(f"{app} with {attached}: {problem}")
            continue
        for spec in attached.split(","):
            compare_counts(package, app, attached, spec, problem, tables[spec], per_spec[attached], rows, findings)
    findings.table("By specification", ["specification", "results compared", "equal"], [[spec, entry["compared"], entry["equal"]] for spec, entry in per_spec.items()])
    if rows:
        findings.table("Differences (sums over the launches)", ["program", "specification", "result", package.device, "cpu device", "difference"], rows)
    compared, equal = (sum(entry[key] for entry in per_spec.values()) for key in ("compared", "equal"))
    findings.say(f"{equal:,} of {compared:,} results are equal to the cpu device's; {len(rows)} sums differ, none of them of threads"
                 if not findings.failures else f"{equal:,} of {compared:,} results are equal; {len(findings.failures)} failures")
    findings.data = per_spec
    return findings


def attach(package, apps, budget):
    """The program's own setenv and unsetenv attach, change and detach, from the next launch on."""
    findings = Findings("attach", attach.__doc__)
    program = package.build.examples / "tests" / "attach"
    steps = ["instruction_count", "kernel_runtime", "-", "instruction_count"]
    wanted = [(1, "instruction_count"), (2, "kernel_runtime"), (4, "instruction_count")]
    for start, shift in ((None, 0), ("instruction_count", 0)):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.jsonl")
            run = package.run(program, *steps, spec=start, environment={"LYNXPP_OUTPUT": str(output)})
            records = read_json_lines(output) if output.exists() else []
        specs = [record["spec"] for record in records if record["record"] == "launch"]
        expected = ([start] if start else []) + [spec for _, spec in wanted]
        good = run.status == 0 and run.stdout == b"attach: 400\n" and specs == expected
        if not good:
            findings.fail(f"started with {start or 'nothing'} attached: records of {specs}, expected {expected}\n{run}")
        findings.say(f"started with {start or 'nothing'} attached, then {', '.join(steps)}: records of {', '.join(specs)}")
    reset(package, findings)
    local_memory(package, findings)
    block_times(package, apps, findings)
    return findings


def block_times(package, apps, findings):
    """Every block and warp is timed once and ends after it starts, on an existing multiprocessor, within the launch; the blocks of
    a multiprocessor do not take longer together than its slots allow."""
    checked = 0
    for app in apps:
        run, records = package.measure(package.program(app), spec="kernel_runtime,block_runtime,warp_timeline")
        clock = next((record["clock_khz"] for record in records.all if record["record"] == "device"), 0)
        launches, wrong = {}, []
        for record in records.launches:
            launches.setdefault((record["kernel"], record["launch"]), {})[record["spec"]] = record
        for specs in launches.values():
            wrong += wrong_block_times(specs, clock)
        if run.status != 0 or not launches or wrong:
            findings.fail(f"{app}: times of blocks: {wrong or run}")
        checked += len(launches)
    findings.say(f"{checked} launches of {len(apps)} programs: blocks and warps timed once, in order, within the launch")


def wrong_block_times(specs, clock_khz):
    """Returns which times contradict others of the same launch."""
    blocks, threads = (math.prod(specs["block_runtime"][name]) for name in ("grid", "block"))
    cycles, sms = (specs["block_runtime"]["results"][name]["values"] for name in ("cycles", "sm"))
    load, distribution = (specs["kernel_runtime"]["results"][name]["values"] for name in ("load", "distribution"))
    table = specs["warp_timeline"]["results"]
    warp, begins, ends, where = (table[f"warps.{name}"]["values"] for name in ("warp", "begin", "end", "sm"))
    resident, tick = 32, 2000  # most blocks of a multiprocessor; nanoseconds between two values of the global timer, at most
    most = (max(ends) - min(begins) + tick) * clock_khz / 1e6
    rules = {"blocks": len(cycles) == len(sms) == sum(distribution) == blocks,
             "order": all(each > 0 for each in cycles) and all(begin <= end for begin, end in zip(begins, ends)),
             "warps": sorted(warp) == list(range(blocks * -(-threads // 32))),
             "multiprocessors": {*sms, *where} <= set(range(len(load))),
             "time": not clock_khz or (max(cycles) <= most and max(load) <= resident * most)}
    return [f"{name} of {specs['block_runtime']['demangled']}" for name, holds in rules.items() if not holds]


def local_memory(package, findings):
    """The rule `local memory` holds in its planted program, but not in the repaired twin."""
    programs = [package.build.examples / "tests" / name for name in ("finding_local", "finding_local_fixed")]
    if package.device != "cuda" or not all(program.exists() for program in programs):
        return
    for program, expected in zip(programs, (True, False)):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.jsonl")
            run = package.run(package.build.command, "record", "-d", "cuda", "-o", output, "--", program, preload=False)
            report = package.run(package.build.command, "report", output, "--format", "json", preload=False)
        found = [each["sentence"] for each in json.loads(report.stdout)["findings"]["list"] if each["rule"] == "local memory"]
        if run.status != 0 or bool(found) != expected:
            findings.fail(f"{program.name}: findings about local memory: {found}\n{run}")
        findings.say(f"{program.name}: {'; '.join(found) or 'nothing about local memory'}")


def reset(package, findings):
    """Results of launches that were not waited for when cudaDeviceReset is called."""
    run, records = package.measure(package.build.examples / "tests" / "reset", spec="instruction_count")
    counts = [record["results"]["thread_instructions"] for record in records.launches]
    if run.status != 0 or run.stdout != b"reset: twice\n" or len(counts) != 6 or len(set(counts)) != 1:
        findings.fail(f"cudaDeviceReset: six equal launches, not {counts}\n{run}")
    findings.say(f"two rounds of three launches and cudaDeviceReset: {len(counts)} records, thread instructions {counts}")


RANDOM_KERNELS = ("driver", 1, 300, 3, 6, 32)
RANDOM_SPECS = ("instruction_count", "memory_efficiency", "branch_divergence")


def random_ptx(package, findings):
    """Random PTX kernels, and each of their operations alone, compute the same as the host, also if
    instrumented."""
    operations, kernels = (package.folder / "random_ptx" / name for name in ("run_operations", "run_random_ptx"))
    if not operations.exists():
        findings.say("this package has no random PTX kernels")
        return
    commands = [[operations], [kernels, *RANDOM_KERNELS]]
    commands += [[package.build.command, "run", "-d", package.device, "-s", spec, "-o", os.devnull, "--", kernels, *RANDOM_KERNELS] for spec in RANDOM_SPECS]
    miscompiled = set()  # by the driver, natively: variants are compiled with optimizations, too
    for command in commands:
        words = " ".join(str(word.name if isinstance(word, pathlib.Path) else word) for word in command)
        run = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, env={**os.environ, **package.environment()})
        findings.say(f"{words}: {'; '.join(run.stdout.strip().splitlines()[-2:])}")
        miscompiled |= set(re.findall(r"^seed (\d+): equal without the compiler's optimizations", run.stdout, re.MULTILINE))
        wrong = set(re.findall(r"^seed (\d+):", run.stdout, re.MULTILINE))
        if run.returncode != 0 and not (wrong and wrong <= miscompiled):
            findings.fail(f"{words}: exit status {run.returncode}\n{run.stdout[-2000:]}\n{run.stderr[-1000:]}")


def conformance(package, apps, budget):
    """The conformance suite of the language, and random PTX kernels, on this device."""
    findings = Findings("conformance", conformance.__doc__)
    script = next((path for path in (pathlib.Path(__file__).parent / "conformance", pathlib.Path(__file__).parents[1] / "conformance") if path.is_file()), None)
    if script is None:
        findings.say("this package has no scripts/conformance: nothing was run")
        return findings
    random_ptx(package, findings)
    command = [sys.executable, str(script), "--build", str(package.folder), "--device", package.device]
    functions = package.folder / "differential"
    if functions.is_dir():
        command += ["--specifications", str(functions)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=budget + 120, env={**os.environ, **package.environment()})
    for line in run.stdout.strip().splitlines()[-12:]:
        findings.say(line)
    if run.returncode not in (0, 77):
        findings.fail(f"{' '.join(command)}: exit status {run.returncode}\n{run.stdout[-3000:]}\n{run.stderr[-1000:]}")
    return findings
