"""Other tools with a program under lynxpp: ncu, compute-sanitizer and cuda-gdb work as they do without it."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from common import Findings
from harness import clean_environment

PLANTED = '''
import cupy as cp
kernel = cp.RawKernel(r"""extern "C" __global__ void planted(int* p) { p[threadIdx.x < 3 ? (1 << 28) + threadIdx.x : threadIdx.x] = 1; }""", "planted")
cell = cp.zeros(64, dtype=cp.int32)
try:
    kernel((1,), (64,), (cell,))
    cp.cuda.runtime.deviceSynchronize()
except Exception as error:
    print(type(error).__name__)
print("end")
'''
TRAINED = '''
import torch
torch.manual_seed(1)
model = torch.nn.Linear(64, 8).cuda()
out = torch.compile(lambda x: torch.tanh(model(x)) * 2)(torch.randn(32, 64, device="cuda"))
print(round(float(out.double().sum()), 3))
'''
TOOLS = {"ncu": ["--clock-control", "none", "--launch-count", "3", "--section", "SpeedOfLight"],
         "compute-sanitizer": ["--tool", "memcheck"],
         "cuda-gdb": ["--batch", "-ex", "run", "-ex", "info cuda devices", "--args"]}
TIMEOUT = 150


def under(tool, options, program, lynxpp):
    """Returns exit status, the program's output, the number of sanitizer errors, and the full output."""
    command = [tool, *options, "env", *lynxpp, *map(str, program)]
    try:
        run = subprocess.run(command, env=clean_environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired as expired:
        return "timeout", "", None, (expired.stdout or b"").decode(errors="replace")
    text, said = (stream.decode(errors="replace") for stream in (run.stdout, run.stderr))
    errors = re.search(r"ERROR SUMMARY: (\d+) error", text + said)
    # The tools also write to standard output; lynxpp does not.
    printed = "\n".join(line for line in text.splitlines() if re.match(r"(-?\d|end|\w*Error$|\w+: ok)", line))
    return run.returncode, printed, errors and int(errors.group(1)), text + said


def tools(package, apps, budget):
    """Other tools with a program under lynxpp: same exit status, same output, same number of errors."""
    findings = Findings("tools", tools.__doc__)
    python = os.environ.get("LYNXPP_PYTHON") or shutil.which("python3") or sys.executable
    folder = pathlib.Path(os.environ.get("TMPDIR", "/tmp"))
    programs = {"vecadd": [package.program("vecadd", "static")]}
    for name, text in (("planted", PLANTED), ("trained", TRAINED)):
        path = folder / f"lynxpp_tools_{name}.py"
        path.write_text(text)
        programs[name] = [python, path]
    preloaded = [f"LD_PRELOAD={package.build.library}", f"LYNXPP_DEVICE={package.device}", "LYNXPP_SPEC=instruction_count"]
    rows, began = [], time.monotonic()
    for tool, options in TOOLS.items():
        if not shutil.which(tool):
            findings.say(f"{tool}: skipped, it is not installed")
            continue
        for name, program in programs.items():
            if time.monotonic() - began > budget:
                findings.say(f"{tool} over {name}: skipped, the time was up")
                continue
            alone = under(tool, options, program, [])
            beside = under(tool, options, program, preloaded)
            rows.append([tool, name, alone[0], beside[0], alone[2] if alone[2] is not None else "-", beside[2] if beside[2] is not None else "-",
                         "yes" if alone[1] == beside[1] else "no"])
            if alone[:3] != beside[:3]:
                findings.fail(f"{tool} over {name}: alone {alone[:3]}, with lynxpp {beside[:3]}\n{beside[3][-3000:]}")
    findings.table("Programs under other tools, alone and with lynxpp preloaded",
                   ["tool", "program", "status alone", "status with", "errors alone", "errors with", "same output"], rows)
    for row in rows:
        findings.say(f"{row[0]} over {row[1]}: status {row[2]} alone, {row[3]} with lynxpp; errors {row[4]}, {row[5]}; same output: {row[6]}")
    return findings
