"""Checks that the grammar for colouring specifications (editors/cod.tmLanguage.json) knows the compiler's
words."""
import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAMMAR = json.loads((ROOT / "editors/cod.tmLanguage.json").read_text())


def patterns(name):
    return GRAMMAR["repository"][name]["patterns"]


def scopes(text):
    """Returns (word, scope) for each coloured word, like an editor: at each position, the first matching
    pattern applies."""
    found = []
    at = 0
    everything = [each for name in ("comments", "strings", "numbers", "words") for each in patterns(name)]
    while at < len(text):
        for each in everything:
            match = re.compile(each.get("match") or each["begin"], re.M).match(text, at)
            if match is None or not match.group():
                continue
            end = match.end()
            if "end" in each:
                while each["name"].startswith("string") and text[end:end + 1] == "\\":
                    end += 2
                end = re.compile(r'(?<!\\)"|$' if each["name"].startswith("string") else each["end"], re.M).search(text, end).end()
            found.append((text[at:end], each["name"].rsplit(".", 1)[0]))
            at = end
            break
        else:
            word = re.compile(r"\w+").match(text, at)
            at = word.end() if word else at + 1
    return found


def scope_of(text):
    return dict(scopes(text)).get(text.rstrip("(") if text.endswith("(") else text)


class Grammar(unittest.TestCase):
    def test_functions(self):
        table = (ROOT / "cod/syntax/api.def").read_text()
        names = set(re.findall(r"^LYNXPP_API(?:_SITE(?:_ARGUMENTS)?)?\((\w+),", table, re.M))
        self.assertGreater(len(names), 100)
        for name in names:
            self.assertEqual(scope_of(name + "("), "support.function", name)
        self.assertIsNone(scope_of("blockID("))

    def test_labels_and_extents(self):
        source = "".join((ROOT / "cod" / name).read_text() for name in ("handler.cpp", "instruction_filter.cpp", "syntax/api.cpp"))
        expected = {"TargetKind": "entity.name.section.target", "FilterLabel": "entity.other.attribute-name.filter",
                    "Named<Extent>": "support.constant.extent", "Named<std::uint64_t>": "support.constant.extent"}
        names = re.findall(r'(FilterLabel|Named<\w+(?:::\w+)?>)\{"(\w+)"', source)
        names += [("TargetKind", name) for name in re.findall(r'"(ON_\w+)"', re.search(r"target_names\{(.*?)\};", source, re.S).group(1))]
        self.assertGreater(len(names), 35)
        for kind, name in names:
            self.assertEqual(scope_of(name), expected[kind], name)
        listed = re.search(r"label_names\(\) \{\s*std::vector<std::string> names\{(.*?)\};", source, re.S).group(1)
        for name in re.findall(r'"(\w+)"', listed):
            self.assertIn(scope_of(name), ("entity.name.section.target", "entity.other.attribute-name.filter"), name)

    def test_words_of_the_grammar(self):
        rules = (ROOT / "cod/syntax/Cod.g4").read_text()
        words = set(re.findall(r"'([a-z_A-Z]\w+)'", rules)) - {"int", "8", "_t"}
        self.assertGreater(len(words), 30)
        for word in words:
            self.assertIsNotNone(scope_of(word), word)

    def test_a_specification(self):
        found = scopes('// counts\nglobal unsigned long n[WARPS];\nON_INSTRUCTION: MEM_READ: { n[warpId()] += 0x1F; }\n'
                       'ON_REPORT: emit("a \\" b", sum(n));\n')
        self.assertEqual(found, [
            ("// counts", "comment.line.double-slash"), ("global", "storage.modifier"), ("unsigned", "storage.type"), ("long", "storage.type"),
            ("WARPS", "support.constant.extent"), ("ON_INSTRUCTION", "entity.name.section.target"), (":", "keyword.operator"),
            ("MEM_READ", "entity.other.attribute-name.filter"), (":", "keyword.operator"), ("warpId", "support.function"),
            ("+=", "keyword.operator"), ("0x1F", "constant.numeric"), ("ON_REPORT", "entity.name.section.target"), (":", "keyword.operator"),
            ("emit", "support.function"), ('"a \\" b"', "string.quoted.double"), ("sum", "support.function")])


if __name__ == "__main__":
    unittest.main()
