"""The examples of python/README.md: each block of Python prints the text that follows it.

usage: readme_test.py BUILD_FOLDER
"""
import contextlib
import importlib.util
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from support import BUILD, ROOT, SKIPPED

PAGE = ROOT / "python/README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def run_examples():
    """Runs them all in this process. Returns the differences."""
    import launches

    launches.begin()
    kernels = {"mm_kernel": launches.Kernel("mm_kernel"), "other": launches.Kernel("other")}

    def program():
        for kernel in kernels.values():
            kernel.launch(2)

    space, text, different = {"program": program}, PAGE.read_text(), []
    for block in BLOCK.finditer(text):
        printed = io.StringIO()
        line = text.count("\n", 0, block.start(1)) + 1
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (line - 1) + block[1], str(PAGE), "exec"), space)  # pylint: disable=exec-used
        if printed.getvalue() != (block[2] or ""):
            different.append(f"line {line} prints:\n{printed.getvalue()}")
    print(f"{len(BLOCK.findall(text))} examples")
    return different


def main():
    if os.environ.get("LYNXPP_README"):
        different = run_examples()
        sys.exit("\n".join(different) or 0)
    if importlib.util.find_spec("numpy") is None:
        print("numpy (python3-numpy) is not installed")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "LYNXPP_README": "1",
            "LYNXPP_TABLE": "0",
            "LYNXPP_OUTPUT": str(pathlib.Path(folder, "records.jsonl")),
        }
        command = [BUILD.command, "run", "-d", "cpu", "--", sys.executable, "-B", os.path.abspath(__file__)]
        ended = subprocess.run(
            command, cwd=folder, env=environment, timeout=280, capture_output=True, text=True
        )
    print(ended.stdout + ended.stderr)
    count = len(BLOCK.findall(PAGE.read_text()))
    sys.exit(
        ended.returncode
        or (0 if f"{count} examples" in ended.stdout and count >= 8 else "not all examples have run")
    )


if __name__ == "__main__":
    main()
