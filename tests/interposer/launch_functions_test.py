"""Compares the hooked functions with every function of cuda.h that launches kernels or creates or changes objects
that do, and with the documentation, which it writes on request.

Arguments: cuda.h, interposer/driver_api.def, docs/launch-functions.md [--write].
"""
import pathlib
import re
import sys

INTRODUCTION = """\
# Functions that launch

Every function in CUDA 13.0's cuda.h that launches kernels, or that creates or changes objects that do, with
`_ptsz` variants and earlier versions, and how lynxpp treats the kernels. The CUDA runtime
(`cudaLaunchKernel`, `cudaGraphLaunch`, …) calls these functions. Kernels launched by kernels run unchanged
and are not seen. If a kernel cannot be instrumented, the original runs and coverage gives the reason.

The test `launch_functions` compares this page with cuda.h and with `interposer/driver_api.def`, and
`tests/interposer/launch_functions_test.py … --write` generates it. For the launch of graphs, see
[design/launching.md](design/launching.md#graphs).
"""

LAUNCHES = re.compile(
    r"cu(Launch\w*|GraphLaunch|GraphUpload|GraphInstantiate\w*|GraphExec\w*Set(Params|Event)|GraphExecUpdate|"
    r"GraphNodeSetEnabled|GraphExecDestroy)(_v\d+)?(_ptsz)?")

# Treatment by wrapper of preload/.
TREATMENT = {
    "launch_kernel": "instrumented",
    "launch_kernel_ex": "instrumented",
    "launch_cooperative_kernel": "instrumented",
    "graph_launch": "instrumented: each kernel of the graph, in each replay; else counted in coverage with the reason",
    "graph_instantiate": "the graph is copied; nothing is launched",
    "graph_update": "followed in the copy",
    "graph_set_kernel": "followed in the copy",
    "graph_set_node": "followed in the copy",
    "graph_set_work": "followed in the copy",
    "graph_set_enabled": "followed in the copy",
    "graph_set_child": "followed in the copy, which receives the new child graph too",
    "graph_destroy": "the copy is destroyed; results are still collected",
    "launch_multi_device": "counted in coverage: the kernels of several devices wait for each other",
    "launch_legacy": "counted in coverage: only the driver knows parameters that were set one by one",
}
# Functions without a hook, with the reason.
NOT_HOOKED = {
    "cuLaunchHostFunc": "launches no kernel, but a host function",
    "cuLaunchHostFunc_ptsz": "launches no kernel, but a host function",
    "cuGraphUpload": "launches nothing",
    "cuGraphUpload_ptsz": "launches nothing",
}


def functions_of(header):
    text = header.read_text()
    names = {name for name in re.findall(r"\bcu[A-Z]\w*", text) if LAUNCHES.fullmatch(name)}
    for name in re.findall(r"__CUDA_API_PTSZ\((\w+)\)", text):
        if LAUNCHES.fullmatch(name):
            names.add(name + "_ptsz")
    return names


def hooks_of(table):
    entry = re.compile(r"LYNXPP_DRIVER_HOOK\(\s*(\w+),\s*\w+,\s*\d,\s*\d+,\s*\w+,\s*(\w+)\)")
    return dict(entry.findall(table.read_text()))


def document(functions, hooks):
    treatments = {name: TREATMENT[hooks[name]] if name in hooks else NOT_HOOKED[name] for name in functions}
    text = INTRODUCTION + "\n| functions | kernels |\n| --- | --- |\n"
    for treatment in dict.fromkeys([*TREATMENT.values(), *NOT_HOOKED.values()]):
        names = sorted(name for name, each in treatments.items() if each == treatment)
        if names:
            text += f"| {', '.join(f'`{name}`' for name in names)} | {treatment} |\n"
    return text


def main():
    header, table, page = map(pathlib.Path, sys.argv[1:4])
    functions, hooks = functions_of(header), hooks_of(table)
    for name in ("cuLaunchKernel", "cuLaunchKernelEx_ptsz", "cuGraphLaunch", "cuGraphExecUpdate"):
        if name not in functions:
            sys.exit(f"{name} was not found in {header}")
    for name in sorted(functions):
        if (name in hooks) == (name in NOT_HOOKED):
            sys.exit(f"{name} launches, but is neither hooked nor in NOT_HOOKED"
                     if name not in hooks else f"{name} is hooked although it launches nothing")
        if name in hooks and hooks[name] not in TREATMENT:
            sys.exit(f"TREATMENT does not describe launches by {name}")
    text = document(functions, hooks)
    if "--write" in sys.argv:
        page.write_text(text)
    elif page.read_text() != text:
        sys.exit(f"{page} is out of date; run {pathlib.Path(__file__).name} --write")
    print(f"{len(functions)} functions")


if __name__ == "__main__":
    main()
