"""The PTX that compilers read is remembered by the bytes of the resulting cubin: for ptxas in child
processes, and for NVRTC and nvJitLink in the process.

Arguments: the build folder, ptxas, a program that requests a cubin from NVRTC, the NVRTC library; if
available, a program that requests one from nvJitLink, and its library; if both are available, a program
linked with them, one that opens a library, and a library linked with them.
"""
import pathlib
import stat
import sys
import tempfile

from harness import Build, TestFailure, demand_equal, expect

PTX = """// a comment
.version 8.0
.target sm_80
.address_size 64
.visible .entry nothing()
{
ret;
}
"""


def entries(store):
    folder = store / "lynxpp" / "ptx"
    return sorted(folder.iterdir()) if folder.exists() else []


def ptxas_is_watched(build, ptxas, folder):
    store, source, cubin = folder / "made" / "store", folder / "in.ptx", folder / "out.cubin"
    source.write_text(PTX)
    environment = {"LYNXPP_PTX_STORE": str(store)}

    def compile_with(*arguments):
        run = build.run(ptxas, *arguments, environment=environment, folder=folder)
        demand_equal(f"status of {run}", run.status, 0)

    compile_with("-arch=sm_80", source, "-o", cubin)
    kept, = entries(store)
    demand_equal("what is kept", kept.read_bytes(), cubin.read_bytes() + PTX.encode())
    demand_equal("access mode", stat.S_IMODE(kept.parent.stat().st_mode), 0o700)
    compile_with(f"--output-file={cubin}", "--gpu-name", "sm_80", source)
    demand_equal("entries after repeating it", entries(store), [kept])
    (folder / "32").mkdir()  # an option's value that could be mistaken for a file
    compile_with("-arch=sm_80", "-maxrregcount", "32", source, "-o", folder / "limited.cubin")
    remembered = {entry.read_bytes() for entry in entries(store)}
    expect((folder / "limited.cubin").read_bytes() + PTX.encode() in remembered, "a compilation with a limit is not remembered")
    kept = entries(store)
    compile_with("-arch=sm_80", "-O0", "--fmad=false", source, "-o", folder / "other.cubin")
    demand_equal("entries after a compilation with other arithmetic", entries(store), kept)
    run = build.run(ptxas, "-arch=sm_80", folder / "absent.ptx", "-o", folder / "absent.cubin", environment=environment)
    expect(run.status != 0 and entries(store) == kept, f"a failed compilation is remembered\n{run}")
    store.chmod(0o777)
    source.write_text(PTX.replace("nothing", "other"))
    compile_with("-arch=sm_80", source, "-o", cubin)
    demand_equal("entries of a world-writable folder", entries(store), kept)


def nvrtc_is_watched(build, program, library, folder):
    store, cubin = folder / "store", folder / "nvrtc.cubin"
    run = build.run(program, library, cubin, environment={"LYNXPP_PTX_STORE": str(store)})
    demand_equal(f"status of {run}", run.status, 0)
    kept, = entries(store)
    machine_code = cubin.read_bytes()
    text = kept.read_bytes()
    expect(text.startswith(machine_code), "the entry does not begin with the cubin")
    expect(b".visible .entry twice(" in text[len(machine_code):], "the entry does not end with the PTX")


def linker_is_watched(build, program, library, nvrtc, folder):
    source, cubin = folder / "in.ptx", folder / "linked.cubin"
    source.write_text(PTX)

    def linked(name, version, *options, environment=None):
        store = folder / name
        run = build.run(program, library, version, source, cubin, "-arch=sm_90", *options,
                        environment={"LYNXPP_PTX_STORE": str(store), **(environment or {})})
        demand_equal(f"status of {run}", run.status, 0)
        return [entry.read_bytes() for entry in entries(store)]

    for version in ("", "_13_0"):
        demand_equal("what is kept", linked("linked" + version, version), [cubin.read_bytes() + PTX.encode()])
    demand_equal("what is kept of other arithmetic", linked("apart", "", "-fma=0"), [])
    intermediate = {"LTO_OF_NVRTC": nvrtc}
    demand_equal("what is kept of intermediate code with nothing attached", linked("unused", "", "-lto", environment=intermediate), [])
    kept, = linked("intermediate", "", "-lto", environment={**intermediate, "LYNXPP_SPEC": "instruction_count"})
    machine_code = cubin.read_bytes()
    expect(kept.startswith(machine_code), "the entry does not begin with the cubin")
    expect(b".entry twice(" in kept[len(machine_code):], "the entry does not end with the PTX")


def linked_compilers_are_watched(build, folder, name, program, *library, in_constructor=False):
    source, store = folder / "in.ptx", folder / f"store_of_{name}"
    cubins = [folder / "by_linker.cubin", folder / "by_nvrtc.cubin"]
    source.write_text(PTX)
    environment = {"LYNXPP_PTX_STORE": str(store)}
    if in_constructor:
        paths = ":".join(map(str, [source, *cubins]))
        run = build.run("true", preload=f"{build.library} {library[0]}", environment={**environment, "CONSTRUCTS": paths})
    else:
        run = build.run(program, *library, source, *cubins, environment=environment)
    demand_equal(f"status of {run}", run.status, 0)
    kept = [entry.read_bytes() for entry in entries(store)]
    demand_equal("number of kept entries", len(kept), 2)
    by_linker, by_nvrtc = [cubin.read_bytes() for cubin in cubins]
    expect(by_linker + PTX.encode() in kept, "nvJitLink's cubin is not kept with its PTX")
    expect(any(entry.startswith(by_nvrtc) and b".visible .entry twice(" in entry for entry in kept),
           "NVRTC's cubin is not kept with its PTX")


def main():
    build = Build(sys.argv[1])
    ptxas, program, library, *linker = sys.argv[2:]
    linked = linker[2:]
    linker = linker[:2]
    with tempfile.TemporaryDirectory() as folder:
        ptxas_is_watched(build, ptxas, pathlib.Path(folder))
        nvrtc_is_watched(build, program, library, pathlib.Path(folder))
        if linker:
            linker_is_watched(build, *linker, library, pathlib.Path(folder))
        if linked:
            program, *opened = linked
            linked_compilers_are_watched(build, pathlib.Path(folder), "program", program)
            linked_compilers_are_watched(build, pathlib.Path(folder), "opened_library", *opened)
            linked_compilers_are_watched(build, pathlib.Path(folder), "constructor", *opened, in_constructor=True)


if __name__ == "__main__":
    try:
        main()
    except TestFailure as failure:
        sys.exit(f"failed: {failure}")
