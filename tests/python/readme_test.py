"""The examples of python/README.md, with the package of this repository (readme_examples.py).

usage: readme_test.py BUILD_FOLDER
"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

from support import BUILD, ROOT, SKIPPED


def main():
    if importlib.util.find_spec("numpy") is None:
        print("numpy (python3-numpy) is not installed")
        sys.exit(SKIPPED)
    examples = pathlib.Path(__file__).resolve().with_name("readme_examples.py")
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "python"),
            "LYNXPP_TABLE": "0",
            "LYNXPP_OUTPUT": str(pathlib.Path(folder, "records.jsonl")),
        }
        command = [BUILD.command, "run", "-d", "cpu", "--", sys.executable, "-B", examples]
        ended = subprocess.run(
            command, cwd=folder, env=environment, timeout=280, capture_output=True, text=True
        )
    print(ended.stdout + ended.stderr)
    count = (ROOT / "python/README.md").read_text().count("```python\n")
    is_complete = f"{count} examples" in ended.stdout and count >= 8
    sys.exit(ended.returncode or (0 if is_complete else "not all examples have run"))


if __name__ == "__main__":
    main()
