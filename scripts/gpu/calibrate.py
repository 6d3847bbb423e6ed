"""The part of scripts/gpu-check that calibrates the GPU for `lynxpp band` and draws the bands of the examples it is about."""
import json
import pathlib

from common import Findings

APPS = [("partitions", 8), ("electrostatics", 64), ("cliques", 200000)]


def calibrate(package, _apps, _budget):
    findings = Findings("calibrate", "what memory transactions cost, spread over memory and confined to 256 bytes; bands of kernels")
    file = pathlib.Path(package.folder, "calibration.json")
    machine = () if package.device == "cuda" else ("--machine", "compute_1_3", "--iterations", 64)
    run = package.run(package.build.command, "calibrate", *machine, "-o", file, preload=False)
    if run.status != 0:
        findings.fail(f"calibrate fails\n{run}")
        return findings
    calibration = json.loads(file.read_text())
    findings.data["calibration"] = calibration
    for line in run.stdout.decode().splitlines():
        if " spread, " in line:
            findings.say(line)
    for line in run.stderr.splitlines():
        findings.say(line)
    for form, equations in calibration["equations"].items():
        rows = []
        for each in equations:
            terms = [each["intercept"], *each["coefficients"]]
            rows.append([each["direction"], each["placement"], f"{each['r_squared']:.3f}", f"{each['rmse_ms']:.4g}",
                         "; ".join(f"{term['name']} {term['value']:.4g} ± {term['standard_error']:.2g} (p {term['p']:.2g})" for term in terms),
                         ", ".join(f"{dropped['name']} (p {dropped['p']:.2g})" for dropped in each["dropped"])])
        findings.table(f"equations, {form}", ["direction", "placement", "R²", "RMSE ms", "coefficients", "dropped"], rows)
    rows = []
    for app, size in APPS:
        form = "static" if package.device == "cuda" else "shared"
        size = size if package.device == "cuda" else 2 if app != "cliques" else 2000
        for equation in ("sums", "products"):
            run = package.run(package.build.command, "band", "-c", file, "-e", equation, "--json", "--", package.program(app, form), size,
                              preload=False)
            if run.status != 0:
                findings.say(f"{app} {size} has no band by {equation}: {run.stderr.strip()}")
                continue
            for band in map(json.loads, run.stdout.decode().splitlines()):
                degree = "-" if band["degree"] is None else f"{band['degree']:.3f}"
                rows.append([f"{app} {size}", band["kernel"].split("(")[0], equation, band["warps"], f"{band['ms']:.4g}", f"{band['best_ms']:.4g}",
                             f"{band['worst_ms']:.4g}", degree])
    findings.table("bands", ["program", "kernel", "equation", "warps", "ms", "best ms", "worst ms", "degree"], rows)
    return findings
