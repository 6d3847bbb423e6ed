"""Runs the examples of python/README.md with the package `lynxpp` that this Python finds, under `lynxpp run -d cpu`:
each block of Python prints the text that follows it. Without NumPy, leaves out the blocks that import it.
"""
import contextlib
import importlib.util
import io
import pathlib
import re
import sys

import launches

PAGE = pathlib.Path(__file__).resolve().parents[2] / "python/README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def run_examples():
    """Runs them all in this process. Returns their number and the differences."""
    launches.begin()
    kernels = {"mm_kernel": launches.Kernel("mm_kernel"), "other": launches.Kernel("other")}

    def program():
        for kernel in kernels.values():
            kernel.launch(2)

    has_numpy = importlib.util.find_spec("numpy") is not None
    space, text, different, count = {"program": program}, PAGE.read_text(), [], 0
    for block in BLOCK.finditer(text):
        if "import numpy" in block[1] and not has_numpy:
            continue
        count += 1
        printed = io.StringIO()
        line = text.count("\n", 0, block.start(1)) + 1
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (line - 1) + block[1], str(PAGE), "exec"), space)  # pylint: disable=exec-used
        if printed.getvalue() != (block[2] or ""):
            different.append(f"line {line} prints:\n{printed.getvalue()}")
    return count, different


def main():
    count, different = run_examples()
    print(f"{count} examples")
    sys.exit("\n".join(different) or 0)


if __name__ == "__main__":
    main()
