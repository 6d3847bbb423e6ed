#!/usr/bin/env python3
"""Checks the layering of includes.

TABLE is the only definition of the layering: for every folder, the folders whose headers its files may
include (its own are always allowed). Errors are: a folder that is not in the table, an include that the table
does not allow, an include that is not written from the repository's root, a heavy library's header in a
folder where it is not allowed, and files that include each other in a cycle (a header and its source count as
one). docs/architecture.md explains the layers.

usage: scripts/check_layers.py [ROOT]        exit status 1 if there are errors, printed as file:line: message
"""
import pathlib
import re
import sys

TABLE = {
    "support": [],
    "image": ["support"],
    "ptx/ir": ["support"],
    "ptx/parser": ["support", "ptx/ir"],
    "ptx/emitter": ["support", "ptx/ir"],
    "ptx/analysis": ["support", "ptx/ir"],
    "ptx/replay": ["support", "ptx/ir", "ptx/analysis"],
    "ptx/passes": ["support", "ptx/ir", "ptx/analysis", "ptx/emitter"],
    "ptx/perturb": ["support", "ptx/ir", "ptx/analysis", "ptx/emitter", "ptx/passes"],
    "cod/syntax": ["support", "ptx/ir", "cod/handler.h", "cod/site_value.h", "cod/storage.h"],
    "cod/sema": ["support", "ptx/ir", "cod/handler.h", "cod/host_report.h", "cod/instruction_filter.h", "cod/site_counter.h", "cod/site_value.h", "cod/storage.h",
                 "cod/trace_stream.h", "cod/word_map.h", "cod/syntax"],
    "cod/codegen": ["support", "ptx/ir", "ptx/parser", "cod/allocation_table.h", "cod/device_code.h", "cod/host_report.h", "cod/site_table.h", "cod/site_value.h",
                    "cod/storage.h", "cod/trace_stream.h", "cod/word_map.h", "cod/word_scheme.h", "cod/word_statistics.h", "cod/syntax", "cod/sema"],
    "cod": ["support", "ptx/ir", "ptx/parser", "cod/syntax", "cod/sema", "cod/codegen"],
    "models": ["support"],
    "report": ["support", "models"],
    "observe": ["support", "ptx/ir", "ptx/parser", "ptx/analysis", "models", "report"],
    "device": ["support"],  # device.h, the interface
    "device/cpu/simt": ["support", "models", "ptx/ir", "ptx/parser", "ptx/analysis"],
    "device/cpu/runtime": ["support", "models", "image", "ptx/parser", "device", "device/cpu/simt"],
    "device/cpu/runtime/library": ["device/cpu/runtime"],
    "device/cpu/driver": ["support", "image", "ptx/parser", "device", "device/cpu/simt", "device/cpu/runtime"],
    "device/cpu/driver/library": ["interposer/engine_api.h", "device/cpu/driver"],
    "device/cpu": ["support", "models", "image", "device", "device/cpu/simt", "device/cpu/runtime"],
    "device/cuda": ["support", "device"],
    "engine": ["support", "ptx/ir", "ptx/parser", "ptx/analysis", "ptx/replay", "ptx/passes", "ptx/perturb", "ptx/emitter", "cod", "device"],
    "instrumentors": ["support", "cod/word_scheme.h"],
    "interposer": ["interposer/control", "support", "image", "models/limits/schedule.h", "ptx/ir", "ptx/parser", "ptx/analysis", "ptx/passes", "ptx/perturb", "engine", "cod", "instrumentors", "report", "device", "device/cpu", "device/cpu/driver", "device/cpu/runtime",
                   "device/cuda"],
    "interposer/preload": ["image", "interposer/engine_api.h", "interposer/lynxpp.h", "interposer/driver_api.def", "interposer/owned_mutex.h", "device/cpu/driver/api.def",
                           "device/cpu/driver/unsupported.def", "support/call_stack.h", "support/check.h",
                           "support/control_socket.h", "support/own_program.h", "support/printable.h", "support/run_mark.h", "support/system_call_filter.h", "support/tensor_boxes.h", "support/write_signals.h"],
    "interposer/control": ["support", "interposer/session/session.h"],
    "cli": ["support", "image", "ptx/ir", "ptx/parser", "ptx/analysis", "ptx/emitter", "ptx/passes", "ptx/perturb", "cod", "engine", "instrumentors", "report", "device", "models", "observe"],
    "calibrate": [],
    "examples/agents": [],
    "examples/apps": ["interposer/lynxpp.h"],
    "examples/primitives": [],
    "examples/cumapz": ["examples/apps"],
    "examples/first_findings": [],
    "examples/limits": ["examples/apps"],
    "examples/reading": [],
    "bench": ["*"],
    "fuzz": ["*"],
    "tests": ["*"],
}

# Libraries that are expensive or must not appear in an interface: a pattern of the header's name, and the
# folders that may include it. A header that includes one (directly or indirectly) may only be included inside
# its own folder.
LIBRARIES = {
    "ANTLR": (r"antlr4-runtime\.h|(Ptx|Cod|Description)(Lexer|Parser|Visitor|BaseVisitor|Listener|BaseListener)\.h", ["ptx/parser", "cod/syntax", "models"]),
    "LLVM": (r"llvm(-c)?/.*", ["cod/codegen", "device/cpu/simt"]),
    "nlohmann-json": (r"nlohmann/.*", ["report", "device/cpu/runtime", "cli", "models", "interposer/control"]),
    "Eigen": (r"Eigen/.*", ["models"]),
    "Boost.Math": (r"boost/math/.*", ["models"]),
    "CLI11": (r"CLI/.*", ["cli"]),
    "toml++": (r"toml\+\+/.*", ["cli"]),
    "zstd": (r"zstd.*\.h", ["image", "report"]),
    "LZ4": (r"lz4.*\.h", ["image"]),
    "zlib": (r"zlib\.h", ["report"]),
    "RE2": (r"re2/.*", ["support"]),
    "spdlog": (r"(spdlog|fmt)/.*", ["support"]),
    "CUDA": (r"(cuda|cuda_[a-z_]*|driver_types|vector_types|crt/.*)\.h",
             ["device/cpu/runtime", "device/cpu/driver", "device/cpu", "device/cuda", "interposer", "interposer/preload", "calibrate",
              "examples/agents", "examples/apps", "examples/cumapz", "examples/first_findings", "examples/limits", "examples/primitives", "examples/reading"]),
}
# Exceptions that other folders may include.
OPEN_LIBRARIES = {"spdlog", "CUDA"}

SUFFIXES = {".h", ".hpp", ".cpp", ".cc", ".c", ".cu", ".def"}
SKIPPED_FOLDERS = {"build", "dist", "third_party", ".git", ".cache"}
# Programs may run with raised rights: code loaded into them must not read environment variables then
# (docs/security.md).
OUTSIDE_PROGRAMS = {"cli", "calibrate", "examples/agents", "examples/apps", "examples/primitives", "examples/cumapz", "examples/first_findings", "examples/limits", "examples/reading", "bench", "fuzz", "tests"}
GETENV = re.compile(r"\bgetenv\s*\(")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def owner(path):
    """Returns the folder of the table that contains `path` (the longest match), or None."""
    best = None
    for folder in TABLE:
        if (path == folder or path.startswith(folder + "/")) and (best is None or len(folder) > len(best)):
            best = folder
    return best


def sources(root):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if relative.parts[0] in SKIPPED_FOLDERS or path.suffix not in SUFFIXES or not path.is_file():
            continue
        if len(relative.parts) > 1:
            yield relative.as_posix(), path


def includes(path):
    """Yields (line, name, quoted) of each include."""
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1) or match.group(2), match.group(1) is not None


def calls_of_getenv(path):
    return [number for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1) if GETENV.search(line)]


def library_of(name):
    for library, (pattern, folders) in LIBRARIES.items():
        if re.fullmatch(pattern, name):
            return library, folders
    return None, None


def reached_libraries(files):
    """Returns, for each file, the closed libraries that including it brings along."""
    reached = {}
    for file, lines in files.items():
        direct = {library_of(name)[0] for _, name, _ in lines} - {None} - OPEN_LIBRARIES
        reached[file] = direct
    changed = True
    while changed:
        changed = False
        for file, lines in files.items():
            for _, name, quoted in lines:
                if quoted and name in reached and not reached[name] <= reached[file]:
                    reached[file] |= reached[name]
                    changed = True
    return reached


def allowed(folder, name):
    """True if a file of `folder` may include the project's file `name`."""
    target = owner(name)
    entries = TABLE[folder]
    return target == folder or "*" in entries or target in entries or name in entries


def unit_of(file):
    return file[:file.rindex(".")]


def cycles(files):
    """The sets of units that include each other, in order of their first name."""
    edges = {}
    for file, lines in files.items():
        if "*" in TABLE.get(owner(file), ["*"]):
            continue
        included = {unit_of(name) for _, name, quoted in lines if quoted and name in files}
        edges.setdefault(unit_of(file), set()).update(included - {unit_of(file)})
    index, low, stack, found = {}, {}, [], []
    for root in sorted(edges):
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        path = [(root, iter(sorted(edges[root])))]
        while path:
            unit, rest = path[-1]
            following = next((each for each in rest if each in edges and (each not in index or each in stack)), None)
            if following is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[unit])
                if low[unit] == index[unit]:
                    group = stack[stack.index(unit):]
                    del stack[stack.index(unit):]
                    if len(group) > 1:
                        found.append(sorted(group))
            elif following in index:
                low[unit] = min(low[unit], index[following])
            else:
                index[following] = low[following] = len(index)
                stack.append(following)
                path.append((following, iter(sorted(edges[following]))))
    return sorted(found)


def cycle_errors(files):
    errors = []
    for group in cycles(files):
        for file, lines in files.items():
            if unit_of(file) in group:
                errors += [(file, line, f'"{name}" closes a cycle of includes: {", ".join(group)}') for line, name, quoted in lines
                           if quoted and name in files and unit_of(name) in group and unit_of(name) != unit_of(file)]
    return errors


def check(root):
    """Returns the errors as (file, line, message)."""
    root = pathlib.Path(root)
    files = {name: list(includes(path)) for name, path in sources(root)}
    reached = reached_libraries(files)
    errors = []
    for file, lines in files.items():
        folder = owner(file)
        if folder is None:
            errors.append((file, 1, "the folder is not in the layering table of scripts/check_layers.py"))
            continue
        if folder not in OUTSIDE_PROGRAMS:
            errors += [(file, line, "getenv also reads under raised rights: call secure_getenv") for line in calls_of_getenv(root / file)]
        for line, name, quoted in lines:
            library, folders = library_of(name)
            if library is not None:
                if folder not in folders and "*" not in TABLE[folder]:
                    errors.append((file, line, f"{library} header <{name}> may be included in {', '.join(folders)} only"))
                continue
            if not quoted:
                if owner(name) is not None and (root / name).exists():
                    errors.append((file, line, f'<{name}> is a file of the project: write "{name}"'))
                continue
            if owner(name) is None or not ((root / name).exists() or "/" in name):
                beside = (root / file).parent / name
                if folder in ("examples/apps", "tests") and beside.exists():
                    continue
                if beside.exists():
                    errors.append((file, line, f'"{name}" is not written from the root of the repository'))
                else:
                    errors.append((file, line, f'"{name}" is neither a file of the project nor a known library'))
                continue
            if not allowed(folder, name):
                may = ", ".join(TABLE[folder]) or "nothing"
                errors.append((file, line, f'{folder} may not include "{name}" (it may include: {may})'))
            elif "*" not in TABLE[folder] and owner(name) != folder and reached.get(name):
                brought = ", ".join(sorted(reached[name]))
                errors.append((file, line, f'"{name}" brings {brought} along and is private to {owner(name)}'))
    return errors + cycle_errors(files)


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    errors = check(root)
    for file, line, message in errors:
        print(f"{file}:{line}: {message}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
