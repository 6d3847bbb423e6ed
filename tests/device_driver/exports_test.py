"""Compares the stand-in's tables with the exports of the toolkit's driver library and of the stand-in, and with the
documented list, which it generates with --write.

Arguments: nm, the toolkit's libcuda.so, the stand-in, device/cpu/driver, docs/cpu-driver-functions.txt [--write].
"""

import pathlib
import re
import subprocess
import sys
import textwrap

INTRODUCTION = """\
The CUDA driver's functions on the cpu device. A name includes its variants with the suffixes _v2, _ptsz and
similar, unless the other list names them.
"""
VARIANT = re.compile(r"(?:_v\d|_ptsz|_ptds)$")


def entries_of(table):
    """Returns the functions of a .def file by its headings: [(heading, [exported names])]."""
    found = [("", [])]
    for line in table.read_text().splitlines():
        heading = re.fullmatch(r"// (.*)\.", line)
        entry = re.fullmatch(r"LYNXPP_DRIVER(_STREAM)?\((\w+), (\w+), .*\)", line)
        unsupported = re.fullmatch(r"LYNXPP_DRIVER_UNSUPPORTED\((\w+), .*\)", line)
        if unsupported:
            found[-1][1].append(unsupported[1])
        elif entry:
            found[-1][1].append(entry[2])
            if entry[1]:
                found[-1][1].append(f"{entry[2]}_{entry[3]}")
        elif heading:
            found.append((heading[1], []))
    return [(heading, names) for heading, names in found if names]


def without_variants(names, group):
    """Returns the names but variants of functions that are in the group, too."""
    return [name for name in names if not (VARIANT.search(name) and VARIANT.sub("", name) in group)]


def paragraph(text, **options):
    return textwrap.fill(text, 108, break_long_words=False, break_on_hyphens=False, **options) + "\n"


def document(has, lacks):
    text = INTRODUCTION + "\n## Has\n\n"
    all_has, all_lacks = ([name for _, names in entries for name in names] for entries in (has, lacks))
    for heading, names in has:
        listed = without_variants(names, all_has)
        text += paragraph(f"- {heading}: " + ", ".join(f"`{name}`" for name in listed) + ".", subsequent_indent="  ")
    text += "\n## Does not have\n\n"
    text += paragraph(", ".join(f"`{name}`" for name in without_variants(all_lacks, all_lacks)) + ".")
    return text


def exports(nm, library):
    listing = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True)
    return {line.split()[2].split("@")[0] for line in listing.stdout.splitlines() if " T " in line}


def main():
    nm, library, stand_in, folder, page = sys.argv[1:6]
    has = entries_of(pathlib.Path(folder) / "api.def")
    lacks = entries_of(pathlib.Path(folder) / "unsupported.def")
    if sys.argv[6:] == ["--write"]:
        pathlib.Path(page).write_text(document(has, lacks))
    exported = exports(nm, library)
    assert len(exported) > 500, f"{library} exports {len(exported)} functions, too few"
    all_has = {name for _, names in has for name in names}
    all_lacks = {name for _, names in lacks for name in names}
    problems = [f"{name} is exported by the driver, but in neither table" for name in exported - all_has - all_lacks]
    problems += [f"{name} is in a table, but not exported by the driver" for name in (all_has | all_lacks) - exported]
    problems += [f"{name} is in both tables" for name in all_has & all_lacks]
    problems += [f"{name}: exported only by the stand-in or only by the driver" for name in exports(nm, stand_in) ^ exported]
    if pathlib.Path(page).read_text() != document(has, lacks):
        problems.append(f"{page} differs from the tables; regenerate it with --write")
    print("\n".join(sorted(problems)) or f"{len(exported)} functions: {len(all_has)} supported, {len(all_lacks)} unsupported")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
