"""Creates the archive that scripts/gpu-check needs on the machine with the GPU: an installation, the
examples, and the cpu device's results for them."""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile

from common import Build, LIBRARY_FOLDERS, TestFailure, values

# Numbers that depend on the device's clock or on the placement of blocks are not compared.
NOT_COMPARED = {"block_runtime", "kernel_runtime", "memory_trace", "reuse_distance", "warp_timeline"}
RANDOM_FUNCTIONS = 2000


def is_program(path):
    return path.is_file() and path.suffix == "" and os.access(path, os.X_OK)


def copy_programs(build_folder, tree):
    for group in (".", "static", "no_ptx", "lines", "tests", "cumapz", "cumapz/static"):
        (tree / "examples" / group).mkdir(parents=True, exist_ok=True)
        for path in (build_folder / "examples" / group).iterdir():
            if is_program(path):
                copy = tree / "examples" / group / path.name
                shutil.copy(path, copy)
                subprocess.run(["strip", copy], check=True)
    runtime = next((folder / "libcudart.so.13" for folder in LIBRARY_FOLDERS if (folder / "libcudart.so.13").exists()), None)
    if runtime:
        (tree / "cudart").mkdir(exist_ok=True)
        shutil.copy(runtime, tree / "cudart")


def brief(result):
    """Returns a result in a few bytes: a number, or the sum and the number of its elements."""
    if not isinstance(result, dict):
        return result
    numbers = values(result)
    return {"sum": sum(number for number in numbers if number is not None), "elements": len(numbers)}


def what_cpu_says(build, app, specs):
    """Returns the program's output, the device's own counters, and the results of every specification, launch
    by launch."""
    program = build.examples / app
    run, counters = build.count(program)
    if run.status != 0:
        raise TestFailure(f"{app} fails on the cpu device\n{run}")
    launches = [{key: value for key, value in launch.items() if key not in ("blocks", "sites", "opcodes")} for launch in counters]
    results = {}
    for spec in specs:
        run, records = build.measure(program, spec=spec)
        if run.status != 0:
            raise TestFailure(f"{app} with {spec} fails on the cpu device\n{run}")
        results[spec] = [{"kernel": record["kernel"], "launch": record["launch"],
                          "results": {name: brief(result) for name, result in record["results"].items()}} for record in records.launches]
    return {"stdout": run.stdout.decode(), "launches": launches, "results": results}


def copy_random_ptx(build_folder, tree):
    (tree / "random_ptx").mkdir(exist_ok=True)
    for name in ("run_operations", "run_random_ptx"):
        shutil.copy(build_folder / "bin" / name, tree / "random_ptx")
        subprocess.run(["strip", tree / "random_ptx" / name], check=True)


def export_functions(build_folder, tree):
    """Specifications with random functions and their results according to this machine's C compiler."""
    program = build_folder / "bin" / "cod_differential_test"
    if not program.exists():
        print(f"{program} is missing: the package has no random functions")
        return
    subprocess.run([program, "--gtest_brief=1", "--gtest_filter=Differential.SpecificationsForAGpuAreExported"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "LYNXPP_DIFFERENTIAL_EXPORT": str(tree / "differential"), "LYNXPP_DIFFERENTIAL_FUNCTIONS": str(RANDOM_FUNCTIONS)})


def prepare(root, build_folder, target, jobs):
    tree = target / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    target.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cmake", "--install", build_folder, "--prefix", tree, "--strip"], check=True, stdout=subprocess.DEVNULL)
    copy_programs(build_folder, tree)
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    subprocess.run([nvcc, "-O2", "-o", tree / "examples" / "launch_rate", root / "bench" / "launch_rate.cu"], check=True)
    shutil.copytree(root / "scripts" / "gpu", tree / "gpu", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "scripts" / "gpu-check", tree / "gpu-check")
    tests = root / "tests" / "end_to_end"
    for script in (tests / "harness.py", tests / "programs" / "hanging.py", root / "scripts" / "conformance"):
        if script.is_file():
            shutil.copy(script, tree / "gpu" / script.name)
    shutil.copytree(root / "python" / "lynxpp", tree / "gpu" / "lynxpp", ignore=shutil.ignore_patterns("__pycache__"))
    export_functions(build_folder, tree)
    copy_random_ptx(build_folder, tree)
    build = Build(build_folder)
    specs = sorted(path.stem for path in (tree / "share" / "lynxpp" / "specs").glob("*.cod"))
    apps = sorted(path.name for path in (build_folder / "examples" / "static").iterdir() if is_program(path))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        found = dict(zip(apps, pool.map(lambda app: what_cpu_says(build, app, [s for s in specs if s not in NOT_COMPARED]), apps)))
    for app in apps:
        shutil.copy(build_folder / "examples" / f"{app}.ptx", tree / "examples")
    version = re.search(r"project\(lynxpp VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text())
    commit = subprocess.run(["git", "-C", root, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    (tree / "expected.json").write_text(json.dumps({"version": version.group(1), "commit": commit, "apps": found}))
    package = target / "package.tar.gz"
    with tarfile.open(package, "w:gz", compresslevel=9) as archive:
        archive.add(tree, arcname="lynxpp")
    launches = sum(len(entry["launches"]) for entry in found.values())
    print(f"{package}: {package.stat().st_size / 1e6:.1f} MB, {len(apps)} programs, {launches} launches, {len(specs)} specifications")
    return package
