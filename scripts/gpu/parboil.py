"""Programs of Parboil for scripts/public_programs, with generated inputs, because its data sets are not in the public
mirrors. Texture references, which CUDA 12 removed, keep bfs and sad from compiling."""
import array
import pathlib
import random
import shutil
import struct
import tempfile

# Folder: sources, inputs, arguments.
PROGRAMS = {
    "bfs": ("main.cu", [], ""),
    "cutcp": ("main.c readatom.c output.c excl.c cutcpu.c cutoff6overlap.cu", ["atoms.pqr"], ""),
    "histo": ("main.cu histo_final.cu histo_intermediates.cu histo_main.cu histo_prescan.cu util.cu", ["image.bin"], "4"),
    "lbm": ("main.cc lbm.cu", [], "20"),
    "mri-gridding": ("main.cu CPU_kernels.c CUDA_interface.cu scanLargeArray.cu sort.cu", ["samples.uks"], "32"),
    "mri-q": ("main.cu file.cc", ["mri-q.bin"], ""),
    "sad": ("main.cu file.c image.c sad4.cu largerBlocks.cu", [], ""),
    "sgemm": ("main.cu io.cc", ["a.txt", "b.txt", "b.txt"], ""),
    "spmv": ("main.cu file.cc gpu_info.cc convert_dataset.c mmio.c", ["matrix.mtx", "vector.bin"], ""),
    "stencil": ("main.cu file.cc", ["grid.bin"], "128 128 32 20"),
    "tpacf": ("main.cu args.cc model_io.cc", [f"points{i}.txt" for i in range(11)], "-- -n 10 -p 4096"),
}
# Undefined behaviour that today's compilers turn into crashes (an uninitialized and a null pointer, a missing
# `return`), and an unused texture reference.
MENDED = [("parboil.c", "subtimerlist->subtimer_list = subtimer;", "subtimerlist->current = NULL; subtimerlist->subtimer_list = subtimer;"),
          ("parboil.c", "} else {\n      pb_StopTimer(topLevelToStop);", "} else if (topLevelToStop != NULL) {\n      pb_StopTimer(topLevelToStop);"),
          ("io.cc", "v.pop_back();", "v.pop_back(); return true;"),
          ("spmv_jds.h", "texture<float,1> tex_x_float;", "")]
SPECIFICATIONS = ("instruction_count", "memory_efficiency", "branch_divergence")


def build(checkout, name, target, compile_program):
    """Returns `None` or the compiler's message."""
    with tempfile.TemporaryDirectory() as scratch:
        work = pathlib.Path(scratch)
        folders = [checkout / "benchmarks" / name / "src" / "cuda", checkout / "benchmarks" / name / "common_src" / "convert-dataset"]
        for file in [checkout / "common" / "src" / "parboil.c", *(each for folder in folders if folder.exists() for each in folder.iterdir())]:
            shutil.copy(file, work)
        for file, before, after in MENDED:
            if (work / file).exists():
                (work / file).write_text((work / file).read_text().replace(before, after))
        return compile_program(f"parboil_{name}", work, [*PROGRAMS[name][0].split(), "parboil.c"], [f"-I{checkout / 'common' / 'include'}", "-I."], target)


def make_inputs(folder):
    """Writes the same inputs each time."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = random.Random(1)

    def floats(count, low=0.0, high=1.0):
        return array.array("f", (numbers.uniform(low, high) for _ in range(count)))

    def write(name, *parts):
        (folder / name).write_bytes(b"".join(part.encode() if isinstance(part, str) else bytes(part) for part in parts))
    for name in ("a.txt", "b.txt"):
        write(name, "256 256 " + " ".join(f"{each:.4f}" for each in floats(256 * 256)) + "\n")
    write("grid.bin", floats(128 * 128 * 32))
    write("mri-q.bin", struct.pack("<ii", 2048, 16384), *[floats(count, -0.5, 0.5) for count in (2048, 2048, 2048, 16384, 16384, 16384)],
          floats(2048), floats(2048))
    for i in range(11):
        write(f"points{i}.txt", "".join(f"{numbers.uniform(0, 360):.6f} {numbers.uniform(-90, 90):.6f}\n" for _ in range(4096)))
    write("atoms.pqr", "".join(f"ATOM  {i} C RES {i} {' '.join(f'{numbers.uniform(0, 40):.3f}' for _ in range(3))} {numbers.uniform(-1, 1):.3f} 1.0\n"
                               for i in range(1, 5001)))
    width, height, rows = 996, 1040, 1024  # of the image, and rows of the histogram
    write("image.bin", struct.pack("<IIII", width, height, width, rows),
          array.array("I", (min(width * rows - 1, max(0, int(numbers.gauss(498 * rows, 40000)))) for _ in range(width * height))))
    rows = 8192
    entries = sorted({(row, numbers.randrange(1, rows + 1)) for row in range(1, rows + 1) for _ in range(numbers.randrange(4, 24))})
    write("matrix.mtx", f"%%MatrixMarket matrix coordinate real general\n{rows} {rows} {len(entries)}\n",
          "".join(f"{row} {column} {numbers.uniform(-1, 1):.6f}\n" for row, column in entries))
    write("vector.bin", floats(rows))
    samples = 100000
    write("samples.uks", f"aquisition.numsamples={samples}\naquisition.kmax=32 32 32\naquisition.matrixSize=64 64 64\n"
          "reconstruction.matrixSize=64 64 64\ngridding.matrixSize=64 64 64\ngridding.oversampling=1\nkernel.width=4\nkernel.useLUT=1\n")
    write("samples.uks.data", array.array("f", (value for _ in range(samples) for value in
                                                 (*floats(2, -1), *floats(3, -30, 30), 1.0))))


def options(name, output, inputs):
    """Returns the command line; `output` is the file of results."""
    files = ",".join(str(inputs / each) for each in PROGRAMS[name][1])
    return ["-o", str(output), *(["-i", files] if files else []), *PROGRAMS[name][2].split()]


def identity(build, programs, names, limit=60):
    """Compares the files of results, with each specification and without. Returns the number of programs that differ."""
    different = 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        make_inputs(scratch / "in")
        for name in names:
            program, results, launches = programs / f"parboil_{name}", {}, 0
            for each in ("native", *SPECIFICATIONS):
                output = scratch / f"{name}.{each}"
                command = [program, *options(name, output, scratch / "in")]
                if each == "native":
                    run = build.run(*command, preload=False)
                else:
                    run, records = build.measure(*command, spec=each)
                    launches = len(records.launches)
                results[each] = output.read_bytes() if run.status == 0 and output.exists() else None
            wrong = [each for each in SPECIFICATIONS if results[each] is None or results[each] != results["native"]]
            different += bool(wrong)
            size = len(results["native"] or b"")
            print(f"parboil_{name}: {'DIFFERENT with ' + ', '.join(wrong) if wrong else 'same'}, {size} bytes, {launches} records", flush=True)
    return different
