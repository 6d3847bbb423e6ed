"""Checks sizes: C++ and CUDA files have at most 600 lines; outside tests/, functions have at most 60."""
import importlib.util
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("check_layers", ROOT / "scripts" / "check_layers.py")
check_layers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_layers)

FILE_LINES = 600
FUNCTION_LINES = 60

# Strings, characters and comments. A ' after a digit separates digits.
OPAQUE = re.compile(r'\b(?:u8|[uUL])?R"(?P<mark>[^()\\\s]*)\([\s\S]*?\)(?P=mark)"'
                    r'|//(?:\\\n|[^\n])*|/\*[\s\S]*?\*/|"(?:\\[\s\S]|[^"\\\n])*"'
                    r"|(?:(?<![0-9a-fA-F])|\bu8)'(?:\\.|[^'\\\n])+'")
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)(?:\\\n|[^\n])*", re.MULTILINE)
TOKEN = re.compile(r'\boperator(?:\s*\(\s*\)|\s*[^\w\s(]{1,3}|\s[\w:<>]+[\s*&]*)(?=\s*\()'
                   r'|\w+|::|->|\.\.\.|[=!<>]=|""|\S')
CLOSING = {"(": ")", "[": "]", "{": "}"}

# Keywords followed by parentheses that are not parameter lists.
ANNOTATIONS = {"alignas", "decltype", "explicit", "noexcept", "__attribute__", "__declspec", "__launch_bounds__"}
BEHIND_PARAMETERS = {"const", "volatile", "noexcept", "override", "final", "mutable", "try", "requires"}
BEFORE_SCOPE = {"typedef", "static", "inline", "constexpr", "const", "extern", "[]", '""'}
TAIL = re.compile(r"(?:(?:const|volatile|override|final|try|&|\(\)|\[\]|[A-Z_]+) )*"
                  r"(?:(?:->|requires) .*|: (?:.* )?(?:\(\)|\{\}|\.\.\.) )?")


class Unmatched(Exception):
    """(line, word) of a bracket without a partner: the scan does not understand the file."""


def ends_of_lines(text):
    return "\n" * text.count("\n")


def without_directives(text):
    """If the branch of an #if opens brackets that it does not close, the other branches do so too, and are
    removed."""
    kept, end, depth, branches = "", 0, 0, []  # each (depth at its #if, whether it stays)

    def keep(piece):
        nonlocal kept, depth
        stays = all(each for _, each in branches)
        kept += piece if stays else ends_of_lines(piece)
        if stays:
            depth += sum(piece.count(opening) - piece.count(closing) for opening, closing in CLOSING.items())

    for match in DIRECTIVE.finditer(text):
        keep(text[end:match.start()])
        kept += ends_of_lines(match.group())
        end = match.end()
        if match.group(1) in ("if", "ifdef", "ifndef"):
            branches.append((depth, True))
        elif match.group(1) in ("else", "elif") and branches:
            before, stays = branches[-1]
            branches[-1] = (before, stays and depth == before)
        elif match.group(1) == "endif" and branches:
            branches.pop()
    keep(text[end:])
    return kept


def tokens_of(text):
    """Returns (text, line) of each token; "" represents any literal."""
    text = OPAQUE.sub(lambda match: (" " if match.group().startswith("/") else '""') + ends_of_lines(match.group()), text)
    text = without_directives(text)
    line, end, tokens = 1, 0, []
    for match in TOKEN.finditer(text):
        line += text.count("\n", end, match.start())
        end = match.start()
        tokens.append((match.group(), line))
    return tokens


def partner(tokens, at):
    """Returns the index of the bracket that closes the one at this index."""
    open_ones = []
    for i in range(at, len(tokens)):
        word = tokens[i][0]
        if word in CLOSING:
            open_ones.append(CLOSING[word])
        elif word in CLOSING.values():
            if open_ones.pop() != word:
                break
            if not open_ones:
                return i
    raise Unmatched(tokens[at][1], tokens[at][0])


def behind_template(tokens, at):
    """Returns the index after the "<…>" that begins here."""
    depth = 0
    while at < len(tokens):
        word = tokens[at][0]
        depth += (word == "<") - (word == ">")
        at = partner(tokens, at) + 1 if word in CLOSING else at + 1
        if depth == 0:
            break
    return at


def is_scope(words):
    """True if declarations follow a brace, given the words before it."""
    if "namespace" in words or words == ["extern", '""']:
        return True
    first = next((word for word in words if word not in BEFORE_SCOPE), "")
    if first not in ("class", "struct", "union") or "=" in words:
        return False
    return "()" not in words or ":" in words[:words.index("()")]


def function_name(words):
    """Returns the function's name, given the words before a brace; None: not a function. A brace may also
    begin a constructor's member initializer."""
    if "=" in words or words[-2:] == ["requires", "()"] or words[-1:] == ["requires"]:
        return None
    for i, word in enumerate(words):
        if word == "()" and i > 0 and TAIL.fullmatch("".join(each + " " for each in words[i + 1:])):
            first = i - 1
            while first > 0 and (words[first - 1] in ("::", "~") or words[first] == "::" and words[first - 1].isidentifier()):
                first -= 1
            return "".join(words[first:i]).lstrip(":")
    return None


def functions(text):
    """Yields (line, name, lines) for each function defined in the text, from its signature to its closing
    brace."""
    tokens = tokens_of(text) + [("", 0)]
    found, scopes, at = [], [], 0
    head = []  # (word, line) of the current declaration, without bracketed parts
    while at + 1 < len(tokens):
        word, line = tokens[at]
        following = tokens[at + 1][0]
        words = [each for each, _ in head]
        # A macro call alone on its line is not part of the next declaration.
        if words[-1:] == ["()"] and re.match(r"\w", word) and word not in BEHIND_PARAMETERS and line > tokens[at - 1][1]:
            head = words = []
        if word == "template" and following == "<":
            head, at = [], behind_template(tokens, at + 1)
        elif word in ANNOTATIONS:
            at = partner(tokens, at + 1) + 1 if following == "(" else at + 1
        elif word == "{" and is_scope(words):
            scopes.append((line, word))
            head, at = [], at + 1
        elif word in CLOSING:
            end = partner(tokens, at)
            name = function_name(words) if word == "{" else None
            if name is not None:
                found.append((head[0][1], name, tokens[end][1] - head[0][1] + 1))
            head = [] if name is not None else head + [(word + CLOSING[word], line)]
            at = end + 1
        else:
            if word in CLOSING.values() and (word != "}" or not scopes):
                raise Unmatched(line, word)
            if word == "}":
                scopes.pop()
            is_access = word == ":" and words in (["public"], ["protected"], ["private"])
            head = [] if word in (";", "}") or is_access else head + [(word, line)]
            at += 1
    if scopes:
        raise Unmatched(*scopes[-1])
    return found


def too_large(root):
    """Yields messages about files and, outside tests/, functions."""
    found = []
    for name, path in check_layers.sources(root):
        text = path.read_text(errors="replace")
        if text.count("\n") > FILE_LINES:
            found.append(f"{name}:1: the file has {text.count(chr(10))} lines")
        if name.startswith("tests/"):
            continue
        try:
            found += [f"{name}:{line}: {function} has {lines} lines"
                      for line, function, lines in functions(text) if lines > FUNCTION_LINES]
        except Unmatched as unmatched:
            line, word = unmatched.args
            found.append(f"{name}:{line}: '{word}' has no partner")
    return found


def function_of(lines, name="f"):
    """Returns a function with the given number of lines."""
    return f"int {name}() {{\n" + "  g();\n" * (lines - 2) + "}\n"


class Sizes(unittest.TestCase):
    maxDiff = None

    def test_files_and_functions_are_small(self):
        found = too_large(ROOT)
        self.assertEqual([], found, "\n" + "\n".join(found))

    def test_large_ones_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            files = {"cod/good.cpp": function_of(60), "cod/bad.cpp": "\n" + function_of(61), "tests/long.cpp": function_of(61),
                     "cod/whole.h": "\n" * 600, "tests/more.cu": "\n" * 601, "build/x.cpp": "\n" * 601, "ptx/torn.cpp": "\nint f() {\n"}
            for name, text in files.items():
                (root / name).parent.mkdir(exist_ok=True)
                (root / name).write_text(text)
            self.assertEqual(["cod/bad.cpp:2: f has 61 lines", "ptx/torn.cpp:2: '{' has no partner", "tests/more.cu:1: the file has 601 lines"],
                             too_large(root))

    def expect(self, text, *expected):
        self.assertEqual(list(expected), functions(text))

    def test_signatures(self):
        self.expect("static int f(int a,\n             int b) {\n  return a;\n}\n", (1, "f", 4))
        self.expect("template <typename T, int n = (1 > 0)>\nT A<T>::f() const noexcept(noexcept(T())) {}\n", (2, "f", 1))
        self.expect("auto f(X x = {}) -> std::array<int, 2> {\n}\nvoid a::B::~B() {}", (1, "f", 2), (3, "a::B::~B", 1))
        self.expect("bool A::operator==(const A&) const {}\nA::operator bool() {}\nvoid A::operator()(int) {}",
                    (1, "A::operator==", 1), (2, "A::operator bool", 1), (3, "A::operator()", 1))
        self.expect("A::A(int b) : b_(b), c_{b},\n  d_{} {\n}\nA::A() : b_{1} {}", (1, "A::A", 3), (4, "A::A", 1))
        self.expect("__global__ void __launch_bounds__(256) k(int* a) {\n}", (1, "k", 2))
        self.expect("struct S* f() {}\nS (*g(int))(int) {\n}", (1, "f", 1), (2, "S", 2))  # the name is not searched for there
        self.expect("MACRO(a, b)\nMACRO(c)\nint f() {\n}", (3, "f", 2))
        self.expect('extern "C" int f(void) {\n}\n', (1, "f", 2))
        self.expect("template <typename T>\n  requires requires(T t) { t.x(); }\nvoid f() {\n}", (2, "f", 3))

    def test_code_that_is_not_a_function(self):
        self.expect("enum class E : int { a,\n b };\nint t[] = {\n f(1),\n};\nstd::atomic<int> n{f()};\nstd::function<void(int)> g{};")
        self.expect("int f(int);\nusing F = void (*)();\nA a(1);\nconcept C = requires(T t) { t.x(); };")
        self.expect("const auto t = [] {\n  return 1;\n}();\n#define M(a) \\\n  void a() { \\\n  }\n")

    def test_scopes(self):
        self.expect('namespace a::b {\nextern "C" {\nclass alignas(16) C final : public D<E> {\n public:\n  C() : c(1) {}\n'
                    "  void f() {\n  }\n private:\n  struct { int x; } s{};\n  int c = 0;\n};\n}\nnamespace {\nvoid g() {}\n}\n}\n",
                    (5, "C", 1), (6, "f", 2), (14, "g", 1))

    def test_nested_code_counts(self):
        self.expect("void f() {\n  const auto g = [&](int a) {\n    return a;\n  };\n  struct S {\n    void h() {}\n  };\n}\n", (1, "f", 8))

    def test_literals_and_comments(self):
        self.expect('void f() {  // }\n  /* }\n } */ s("}\\"}"), c(\'}\'), c(\'"\'), c(\'\\\'\'), n(1\'000), c(u8\'}\');\n'
                    '  s(R"(\n}")"), s(R"x(})")x"), s(u8R"(\\)");\n  // \\\n }\n}\n', (1, "f", 8))

    def test_branches(self):
        self.expect("#if A\nint f(int a) {\n#elif B\nint f(long a) {\n#else\nint f() {\n#endif\n}\n", (2, "f", 7))
        self.expect("#ifdef A\nint f() {}\n#else\nint f() {\n}\n#endif\n#  error don't\n", (2, "f", 1), (4, "f", 2))

    def test_incomplete_texts(self):
        for text, line in (("int f() {\n", 1), ("namespace {\nint a;\n", 1), ("int a;\n}\n", 2), ("int f(\n{)", 1)):
            with self.assertRaises(Unmatched) as caught:
                functions(text)
            self.assertEqual(line, caught.exception.args[0], text)


if __name__ == "__main__":
    unittest.main()
