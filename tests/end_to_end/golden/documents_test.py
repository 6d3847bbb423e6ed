"""Every `lynxpp …` shown in the documents, the manual and the command's help is valid: its options and its
ready-made specifications exist.

usage: documents_test.py BUILD_FOLDER
"""
import functools
import pathlib
import re
import shlex
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True
from harness import Build  # noqa: E402

BUILD = Build(sys.argv.pop())
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "design").glob("*.md")),
             *sorted((ROOT / "examples").rglob("*.md")), *sorted((ROOT / "editors").glob("*.md"))]
COMMAND = re.compile(r"(?:^|[\s`(/])lynxpp ((?:[a-z][a-z-]*)(?: [^`\n|;]*)?)")


@functools.cache
def help_of(*command):
    run = BUILD.run(BUILD.command, *command, "--help", preload=False, environment={"COLUMNS": "100"})
    return run.stdout.decode() if run.status == 0 else None


@functools.cache
def inner_commands(command):
    return re.findall(r"(?m)^  ([a-z][a-z-]*)  ", help_of(command).partition("Subcommands:")[2])


@functools.cache
def options_of(*command):
    return set(re.findall(r"(?:^|[\s,])(--?[a-z][a-z-]*)", help_of(*command), re.M))


@functools.cache
def ready_made():
    return {line.split()[0] for line in BUILD.run(BUILD.command, "list", preload=False).stdout.decode().splitlines() if line[:1].strip()}


def commands_in(text):
    """Yields (line number, words after `lynxpp`), from code blocks and backquotes; `\\` at the end of a line
    joins lines."""
    joined = re.sub(r"\\\n\s*", "", text)
    is_block = False
    for number, line in enumerate(joined.split("\n"), 1):
        if line.startswith("```"):
            is_block = not is_block
            continue
        parts = [line] if is_block or line.startswith("    ") else re.findall(r"`([^`]+)`", line)
        for part in parts:
            for found in COMMAND.finditer(part):
                yield number, found[1].split(" # ")[0].split(" > ")[0].strip()


def complaint(command):
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    has_inner = len(words) > 1 and help_of(words[0]) is not None and words[1] in inner_commands(words[0])
    name = words[:2] if has_inner or words[0] == "ptx" else words[:1]
    if name[0] == "help":
        return ""
    if help_of(name[0]) is None:
        return f"there is no command '{name[0]}'"
    if help_of(*name) is None:
        return "" if name[0] == "ptx" and not re.fullmatch("[a-z]+", name[1]) else f"there is no command '{' '.join(name)}'"
    words = words[len(name):words.index("--") if "--" in words else None]
    for i, word in enumerate(words):
        option = word.split("=")[0]
        if re.fullmatch(r"--?[a-z][a-z-]*", option) and option not in options_of(*name):
            return f"'{' '.join(name)}' has no option '{option}'"
        is_specification = word in ("-s", "--spec") and i + 1 < len(words)
        for each in words[i + 1].split(",") if is_specification else []:
            is_name = re.fullmatch(r"[a-z_]+", each) and not each.startswith("my")
            if is_name and each not in ready_made():
                return f"there is no ready-made specification '{each}'"
    return ""


class Documents(unittest.TestCase):
    def test_shown_commands_exist(self):
        checked = 0
        for path in DOCUMENTS:
            for number, command in commands_in(path.read_text()):
                with self.subTest(f"{path.relative_to(ROOT)}:{number}: lynxpp {command}"):
                    self.assertEqual(complaint(command), "")
                checked += 1
        self.assertGreater(checked, 100)

    def test_the_examples_of_help_are_commands(self):
        for name in re.findall(r"(?m)^  ([a-z][a-z-]*)  ", help_of()):
            for _, command in commands_in("```\n" + re.sub(r"\n {2,}(?=\S)", " ", help_of(name)) + "\n```"):
                with self.subTest(f"lynxpp {name} --help: lynxpp {command}"):
                    self.assertEqual(complaint(command), "")


if __name__ == "__main__":
    unittest.main()
