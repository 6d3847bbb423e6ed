"""Compares the stand-in's tables with what the toolkit's driver library exports, with what the stand-in itself
exports, and with the documentation, which it writes when asked to.

Arguments: nm, the toolkit's libcuda.so, the stand-in, device/cpu/driver, docs/cpu-driver.md [--write].
"""

import pathlib
import re
import subprocess
import sys
import textwrap

INTRODUCTION = """\
# The CUDA driver on the cpu device

Every function that the driver library of CUDA 13.0 exports, the variants with the suffixes `_ptsz` and
`_ptds` included. A function that the device does not have returns `CUDA_ERROR_NOT_SUPPORTED` and is named
in the log once. The tables are `device/cpu/driver/api.def` and `unsupported.def`; the test
`device_driver_exports` compares them with the toolkit's library and with this page, which
`tests/device_driver/exports_test.py … --write` makes of them.

A program finds the stand-in, `lib/cpu-driver/libcuda.so.1`, when `lynxpp run` starts it for the cpu
device (`-d cpu`, or no driver on the machine); with `LD_PRELOAD` alone when it opens `libcuda.so.1`
itself. A program that is linked with `libcuda.so.1` and started without `lynxpp run` needs
`LD_LIBRARY_PATH` to name that folder. The hooks stand before the stand-in as before a GPU's driver, so
its launches are instrumented by the same path.

- Modules, libraries and linker take PTX: as text, in fatbinaries, from files. The linker makes one of
  several.
- There is one device, or as many as [`LYNXPP_CPU_DEVICES`](cpu-runtime.md) says. All contexts of a device
  share its memory and its default stream; what a context has allocated, loaded and created goes away with it.
  A module belongs to the device of the context that loads it, a library to all.
- A kernel that died is a sticky error of its device until a context there is destroyed or reset.
- Virtual memory comes in units of 2 MB, of devices alone. A mapping begins at its memory's beginning;
  access is for reading and writing or none. Memory is exported as a file descriptor.
- `cuGetExportTable` gives out no table. CUDA runtimes that are linked statically need one, so they stay
  refused.
"""


def entries_of(table):
    """The functions of a .def file by its headings: [(heading, [exported names])]."""
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


def paragraph(text, **options):
    return textwrap.fill(text, 108, break_long_words=False, break_on_hyphens=False, **options) + "\n"


def document(has, lacks):
    text = INTRODUCTION + "\n## Has\n\n"
    for heading, names in has:
        text += paragraph(f"- {heading}: " + ", ".join(f"`{name}`" for name in names) + ".", subsequent_indent="  ")
    text += "\n## Does not have\n\n"
    text += paragraph(", ".join(f"`{name}`" for _, names in lacks for name in names) + ".")
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
    assert len(exported) > 500, f"{library} exports {len(exported)} functions only"
    all_has = {name for _, names in has for name in names}
    all_lacks = {name for _, names in lacks for name in names}
    problems = [f"{name} is exported by the driver and in neither table" for name in exported - all_has - all_lacks]
    problems += [f"{name} is in a table and not exported by the driver" for name in (all_has | all_lacks) - exported]
    problems += [f"{name} is in both tables" for name in all_has & all_lacks]
    problems += [f"{name}: only one of stand-in and driver exports it" for name in exports(nm, stand_in) ^ exported]
    if pathlib.Path(page).read_text() != document(has, lacks):
        problems.append(f"{page} differs from the tables; --write makes it anew")
    print("\n".join(sorted(problems)) or f"{len(exported)} functions: {len(all_has)} done, {len(all_lacks)} refused")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
