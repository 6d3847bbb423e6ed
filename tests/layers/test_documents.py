"""Checks the documents: no long lines, no dead links; repository paths named in them or in comments exist."""
import glob
import itertools
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = 110
# Folders with files of the repository. Build folders, downloads and installed files are elsewhere.
FOLDERS = ("action", "bench", "cli", "cmake", "cod", "device", "docs", "engine", "examples", "fuzz", "image",
           "instrumentors", "interposer", "man", "ptx", "python", "report", "scripts", "support", "tests")
FENCE = re.compile(r"^\s*```")
CODE_SPAN = re.compile(r"(`+)(.+?)\1", re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?)\s*$")
COMMENT = re.compile(r"//(.*)")
FILE = re.compile(r"(?<![\w/.}$-])(?:%s)/(?:[\w-]+/)*[\w.-]+\.(?:h|cpp|def|g4|md|json|svg|cu|cod|py|S)\b"
                  % "|".join(FOLDERS))
PLACEHOLDER = re.compile(r"[<>…$]|NAME|FOLDER")


def documents():
    found = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "action/README.md", "python/README.md")]
    return found + sorted((ROOT / "docs").rglob("*.md"))


def name_of(path):
    return str(path.relative_to(ROOT))


def prose(text):
    """Yields (number, line) for lines outside fenced and indented code blocks."""
    is_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line):
            is_code = not is_code
        elif not is_code and not line.startswith("    "):
            yield number, line


def prose_text(text):
    return "\n".join(line for _, line in prose(text))


def too_long(text):
    return [number for number, line in prose(text) if len(line) > COLUMNS and not line.startswith("|")]


def anchor_of(heading):
    """Returns the anchor that GitHub generates for a heading."""
    text = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(text):
    return {anchor_of(match.group(1)) for _, line in prose(text) if (match := HEADING.match(line))}


def dead_links(path, text):
    dead = []
    for target in LINK.findall(CODE_SPAN.sub("", prose_text(text))):
        name, _, anchor = target.partition("#")
        file = path if name == "" else path.parent / name
        if "://" in target:
            continue
        if not file.exists() or (anchor and anchor not in anchors(file.read_text())):
            dead.append(target)
    return dead


def with_braces_expanded(word):
    """"a/{b,c}.h" ▶ "a/b.h", "a/c.h"."""
    pieces = re.split(r"\{([^{}]*)\}", word)
    choices = [piece.split(",") if i % 2 else [piece] for i, piece in enumerate(pieces)]
    return ["".join(choice) for choice in itertools.product(*choices)]


def exists(path):
    """True for a file or folder, a pattern that matches some, or a program named like its source."""
    return bool(glob.glob(str(ROOT / path)) or glob.glob(str(ROOT / path) + ".c*"))


def missing_paths(text):
    """Yields the paths in code spans that begin with a folder of the repository."""
    missing = []
    for _, span in CODE_SPAN.findall(prose_text(text)):
        for word in span.split():
            if PLACEHOLDER.search(word) or not word.startswith(tuple(folder + "/" for folder in FOLDERS)):
                continue
            missing += [path for path in with_braces_expanded(word.rstrip(".,;:")) if not exists(path)]
    return missing


def missing_files(source):
    """Yields (line, name) for files named in C++ comments."""
    return [(number, name) for number, line in enumerate(source.split("\n"), 1)
            for comment in COMMENT.findall(line) for name in FILE.findall(comment) if not exists(name)]


class Documents(unittest.TestCase):
    maxDiff = None

    def check_each_document(self, problems_of):
        self.assertEqual([], [f"{name_of(path)}: {problem}" for path in documents()
                              for problem in problems_of(path, path.read_text())])

    def test_lines_are_short(self):
        self.check_each_document(lambda path, text: too_long(text))

    def test_link_targets_exist(self):
        self.check_each_document(dead_links)

    def test_paths_in_documents_exist(self):
        self.check_each_document(lambda path, text: missing_paths(text))

    def test_files_named_in_comments_exist(self):
        suffixes = (".h", ".cpp", ".cu", ".def", ".g4", ".cod", ".S")
        sources = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))
                   if path.suffix in suffixes and path.is_file()]
        self.assertGreater(len(sources), 400)
        self.assertEqual([], [f"{name_of(path)}:{line}: {name}" for path in sources
                              for line, name in missing_files(path.read_text(errors="replace"))])

    def test_trust_names_every_specification(self):
        text = (ROOT / "docs/trust.md").read_text()
        names = [path.stem for path in sorted((ROOT / "examples/specs").glob("*.cod"))]
        self.assertGreater(len(names), 20)
        self.assertEqual([], [name for name in names if f"`{name}`" not in text])

    def test_the_change_log_has_the_version(self):
        version = re.search(r"project\(lynxpp VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        self.assertRegex((ROOT / "CHANGELOG.md").read_text(), rf"(?m)^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$")

    def test_the_checks_detect_mistakes(self):
        wide = "word " * 30
        self.assertEqual([1], too_long(f"{wide}\n| {wide} |\n    {wide}\n```\n{wide}\n```\n"))
        self.assertEqual({"what-must-hold", "cod-the-language"},
                         anchors("# What must hold\n## `cod`: the language\n```\n# none\n```\n"))
        links = "[a](nowhere.md) [b](adding.md#a-pass) [c](adding.md#nothing) `[d](e.md)` [f](https://x/y)"
        self.assertEqual(["nowhere.md", "adding.md#nothing"],
                         dead_links(ROOT / "docs" / "adding.md", links))
        paths = "`ptx/passes/{pass.h,none.h}` `cod/nothing` `cod/syntax/*.g4` `examples/specs/<name>.cod`"
        self.assertEqual(["ptx/passes/none.h", "cod/nothing"], missing_paths(paths))
        source = '#include "ptx/none.h"\n// ptx/ir/module.h, build/ptx/a.h, ptx/ir/none.h'
        self.assertEqual([(2, "ptx/ir/none.h")], missing_files(source))


if __name__ == "__main__":
    unittest.main()
