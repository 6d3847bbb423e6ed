"""The checker of the project's English on small texts: what it must find, and what it must leave alone."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("check_english", str(ROOT / "scripts" / "check_english"))
spec = importlib.util.spec_from_loader("check_english", loader)
check_english = importlib.util.module_from_spec(spec)
loader.exec_module(check_english)


class CheckEnglish(unittest.TestCase):
    def found(self, name, text):
        return check_english.findings(pathlib.PurePosixPath(name), text)

    def test_comments_that_open_with_a_clause(self):
        for opener in ("Of", "What", "Whether", "Where", "Whose", "Who"):
            self.assertEqual([(2, f"a sentence opens with '{opener}'")], self.found("a.cpp", f"int a;\n/// {opener} the warps need it.\nint b;\n"))
        self.assertEqual([(1, "a sentence opens with 'Whether'")], self.found("a.h", "int a;  ///< Whether it is known\n"))
        self.assertEqual([(2, "a sentence opens with 'What'")], self.found("a.cpp", "// Returns it.\n// Fails. What fails is left.\n"))
        self.assertEqual([(1, "a sentence opens with 'Where'")], self.found("scripts/a.py", "# Where it is.\n"))

    def test_questions_and_code_are_left_alone(self):
        for text in ("// What does it cost?\n", "// Returns `Of` the `behind` member.\n", 'call("place");\n', "int behind = place(1);\n", "// Names stand_ins and place_of().\n"):
            self.assertEqual([], self.found("a.cpp", text), text)
        self.assertEqual([], self.found("a.md", "```\nWhat stands behind\n```\n\n    places\n\nA `place` in code.\n"))
        self.assertEqual([], self.found("a.py", 'print(f"{place} of {behind}")\n'))

    def test_words_in_comments_messages_and_documents(self):
        self.assertEqual([(1, "'behind': after, past the end")], self.found("a.cpp", "// Appends it behind the block.\n"))
        self.assertEqual([(1, "'stands': is, appears in; represents")], self.found("a.cpp", 'fail("the label stands twice");\n'))
        self.assertEqual([(3, "'for ever': forever")], self.found("a.md", "A line,\nand another one that\nwaits for ever.\n")[:1])
        self.assertEqual([(2, "'of which': a sentence of its own")],
                         self.found("a.cpp", "// Loops,\n// of which there are two.\n"))

    def test_places_that_are_not_locations(self):
        for text in ("// It takes place in place of the other, with three decimal places.\n",):
            self.assertEqual([], self.found("a.cpp", text))
        self.assertEqual([(1, "'places': location, program point, site, slot")], self.found("a.cpp", "// Lists places in the kernel.\n"))

    def test_names_of_tests(self):
        self.assertEqual([(1, "the test name 'WhatALoopCosts' opens with a clause")], self.found("a.cpp", "TEST(Loops, WhatALoopCosts) {\n"))
        self.assertEqual([], self.found("a.cpp", "TEST(Loops, CostNothing) {\n"))

    def test_a_line_may_be_excepted(self):
        self.assertEqual([], self.found("a.cpp", "// A quotation: behind the scenes stands  english: ok\n"))


class Tree(unittest.TestCase):
    def test_the_tree_is_clean(self):
        found = [f"{name}:{number}: {message}" for name in check_english.tracked() if check_english.is_read(name)
                 for number, message in check_english.findings(ROOT / name, (ROOT / name).read_text(encoding="utf-8", errors="replace"))]
        self.assertEqual([], found)


if __name__ == "__main__":
    unittest.main()
