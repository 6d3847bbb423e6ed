"""Compares the cpu device's tables with what the toolkit's runtime exports and with the documentation.

Arguments: nm, libcudart.so, device/cpu/runtime, docs/cpu-runtime-functions.txt.
"""

import pathlib
import re
import subprocess
import sys

# Called by host code of older toolkits; the runtime of CUDA 13 does not export them.
OLDER = {"__cudaRegisterTexture", "__cudaRegisterSurface"}


def names_of(table):
    """Returns the functions of a .def file: name -> its entry with a suffix or None."""
    lines = [line for line in table.read_text().splitlines() if line.startswith("LYNXPP_")]
    entries = [re.fullmatch(r"LYNXPP_\w+\((\w+)(?:, (\w+))?\)", line) for line in lines]
    return {entry[1]: entry[2] and f"{entry[1]}_{entry[2]}" for entry in entries}


def all_of(names):
    return set(names) | {suffixed for suffixed in names.values() if suffixed}


def main():
    nm, library, folder, document = sys.argv[1:]
    listing = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True)
    exported = {line.split()[2].split("@")[0] for line in listing.stdout.splitlines() if " T " in line}
    assert len(exported) > 300, f"{library} exports {len(exported)} functions, too few"
    has = names_of(pathlib.Path(folder) / "api.def")
    lacks = names_of(pathlib.Path(folder) / "unsupported.def")
    problems = []
    for name in sorted(exported - all_of(has) - all_of(lacks)):
        problems.append(f"{name} is exported by the runtime, but in neither table")
    for name in sorted((all_of(has) | all_of(lacks)) - exported - OLDER):
        problems.append(f"{name} is in a table, but not exported by the runtime")
    for name in sorted(all_of(has) & all_of(lacks)):
        problems.append(f"{name} is in both tables")
    sections = pathlib.Path(document).read_text().split("\n## ")
    for title, names in (("Has", has), ("Does not have", lacks)):
        text = next(section for section in sections if section.startswith(title + "\n"))
        listed = set(re.findall(r"\b(?:__)?cuda\w+", text))
        for name in sorted(set(names) ^ listed):
            problems.append(f"{document}: '{title}' and the table differ in {name}")
    print("\n".join(problems) or f"{len(exported)} functions, each in one table")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
