"""The command `lynxpp ptx run`: launches a kernel of a PTX file with arguments that are given as text."""
import argparse
import json
import math
import random
import re
import sys

from . import arguments, elements
from .checking import check_ptx
from .errors import Error, KernelError
from .launching import run_ptx

EXIT_EQUAL, EXIT_DIFFERENT, EXIT_ERROR = 0, 1, 2
_SHOWN = 5  # differences
_PRINTED = 10  # elements
_FORM = "TYPE[COUNT]=FILL or TYPE[COUNT]:box[COUNT]=FILL for an array, TYPE=NUMBER or null"
_FILLS = "zero, iota, const:NUMBER, random[:LOW:HIGH[:STEP]], NUMBER,NUMBER…, or @FILE"
_BOX = r"(?::box\[([\d\s,]+)\](?::swizzle(\d+))?)?"
_ARGUMENT = re.compile(rf"(\w+)(?:\[([\d\s,]*)\]{_BOX})?(?:=(.*))?", re.DOTALL)


def _integers(text):
    return tuple(int(each) for each in text.split(",") if each.strip())


class Argument:
    """An argument of the kernel.

    type    of its elements; None for a null pointer
    shape   of an array; None for a number
    value   as run_ptx takes it
    data    an array's bytes
    """

    def __init__(self, number, text, seed):
        self.number, self.text = number, text
        self.type = self.shape = self.value = self.data = None
        if text == "null":
            return
        match = _ARGUMENT.fullmatch(text)
        if match is None:
            raise self.error("is not understood", f"the form is {_FORM}")
        name, counts, box, swizzle, fill = match.groups()
        self.type = elements.type_named(name)
        if counts is None:
            self.value = (self.type, self._number(fill or ""))
            return
        self.shape = _integers(counts)
        self.data = self._filled(fill, seed)
        self.value = arguments.out(self.data) if fill is None else self.data
        if box is not None:
            self.value = self._tensor_map(_integers(box), int(swizzle or 0))

    def error(self, message, hint=""):
        return Error(f"argument {self.number} ('{self.text}') {message}", hint)

    def _tensor_map(self, box, swizzle):
        try:
            return arguments.tensor_map(self.value, self.shape, box, self.type, swizzle)
        except ValueError as problem:
            raise self.error("is not understood", str(problem)) from None

    @property
    def elements(self):
        return elements.unpack(self.type, self.data)

    def _number(self, text):
        try:
            return float(text) if elements.is_float(self.type) else int(text, 0)
        except ValueError:
            hint = "" if text else f"an array is {self.type}[COUNT]=FILL"
            raise self.error(f"has no number of type .{self.type}", hint) from None

    def _filled(self, fill, seed):
        if fill is not None and fill.startswith("@"):
            return self._from_file(fill[1:])
        if not self.shape:
            hint = f"{self.type}[1024], or a file: {self.type}[]=@FILE"
            raise self.error("has no number of elements", hint)
        try:
            return elements.pack(self.type, self._numbers(fill or "zero", math.prod(self.shape), seed))
        except OverflowError as problem:
            raise self.error(f"has numbers that .{self.type} cannot hold", str(problem)) from None

    def _numbers(self, fill, count, seed):
        """Returns the elements that a filling describes."""
        kind, *limits = fill.split(":")
        if fill == "zero":
            return [0] * count
        if fill == "iota":
            return range(count)
        if kind == "const" and len(limits) == 1:
            return [self._number(limits[0])] * count
        if kind == "random" and len(limits) in (0, 2, 3):
            return self._random(count, [self._number(each) for each in limits], seed)
        if "," in fill or count == 1:
            numbers = [self._number(each) for each in fill.split(",")]
            if len(numbers) == count:
                return numbers
            raise self.error(f"has {count} elements, but {len(numbers)} numbers")
        raise self.error(f"has an unknown filling '{fill}'", f"it is {_FILLS}")

    def _random(self, count, limits, seed):
        """Returns numbers from LOW to HIGH: integers, multiples of STEP above LOW, or any."""
        is_float = elements.is_float(self.type)
        low, high = limits[:2] or ((-1.0, 1.0) if is_float else (0, 99))
        step = limits[2] if len(limits) == 3 else 0 if is_float else 1
        if not low <= high or step < 0:
            raise self.error("has an empty range", "random:LOW:HIGH:STEP needs LOW <= HIGH and STEP > 0")
        draw = random.Random(f"{seed}:{self.number}").random
        if step == 0:
            return [low + (high - low) * draw() for _ in range(count)]
        steps = int((high - low) // step) + 1
        return [low + step * int(draw() * steps) for _ in range(count)]

    def _from_file(self, path):
        data, shape = elements.read(path, self.type)
        if self.shape and math.prod(self.shape) != math.prod(shape):
            raise self.error(f"has {math.prod(self.shape)} elements, but '{path}' has {math.prod(shape)}")
        self.shape = self.shape or shape
        return data

    def index(self, position):
        """Returns an element's index in the shape, as text."""
        indices = []
        for extent in reversed(self.shape[1:]):
            position, each = divmod(position, extent)
            indices.append(each)
        return f"[{', '.join(map(str, [position, *reversed(indices)]))}]"


def _extent(text, what):
    try:
        return arguments.extent([int(each) for each in text.replace("x", ",").split(",")], what)
    except ValueError:
        raise Error(f"the {what} '{text}' is not X, X,Y or X,Y,Z with positive integers") from None


def _parameters(entry):
    """Returns the kernel's parameters, one a line."""
    if not entry.parameters:
        return f"{entry.name} has no parameters"
    lines = [f"the parameters of {entry.name} are"]
    for number, each in enumerate(entry.parameters, 1):
        note = f": {each.bytes} bytes by value" if each.is_array else ""
        if not note and each.type in ("u64", "b64"):
            note = ": a number, or an array's address"
        lines.append(f"{number:4} .{each.type} {each.name}{note}")
    return "\n  ".join(lines)


def _entry(text, kernel):
    entries = {each.name: each for each in arguments.entries(text)}
    if kernel is None and len(entries) == 1:
        kernel = next(iter(entries))
    if kernel not in entries:
        what = f"no kernel '{kernel}'" if kernel else f"{len(entries)} kernels"
        raise Error(f"the module has {what}", f"choose with --kernel: {', '.join(entries)}")
    return entries[kernel]


def _converted(entry, values):
    """Raises Error if the arguments do not suit the kernel's parameters."""
    try:
        arguments.convert(entry, [each.value for each in values])
    except (TypeError, ValueError, OverflowError) as problem:
        raise Error(str(problem), _parameters(entry)) from None


def _chosen(values, text, option):
    """Returns the argument with the number before ':' or '=', and the text after it ("" without one)."""
    number, _, rest = re.fullmatch(r"([^:=]*)([:=]?)(.*)", text, re.DOTALL).groups()
    if not number.isdecimal() or not 1 <= int(number) <= len(values):
        hint = "the first --arg has the number 1"
        raise Error(f"{option} {text}: '{number}' is not the number of an argument", hint)
    chosen = values[int(number) - 1]
    if chosen.shape is None:
        raise Error(f"{option} {text}: argument {number} ('{chosen.text}') is not an array")
    return chosen, rest


def is_close(got, expected, tolerance):
    """True if two numbers differ by at most `tolerance`, relative to expected numbers above 1."""
    if got == expected or (got != got and expected != expected):
        return True
    return math.isfinite(expected) and abs(got - expected) <= tolerance * max(1, abs(expected))


class Expectation:
    """The contents that an array must have after the launch."""

    def __init__(self, values, text, tolerance):
        self.argument, self.path = _chosen(values, text, "--expect")
        self.tolerance = tolerance if elements.is_float(self.argument.type) else 0
        data, _ = elements.read(self.path, self.argument.type)
        self.elements = elements.unpack(self.argument.type, data)
        count = math.prod(self.argument.shape)
        if len(self.elements) != count:
            raise self.argument.error(f"has {count} elements, but '{self.path}' has {len(self.elements)}")

    def holds(self, entry):
        """Prints the first differences. Returns false if there are any."""
        argument = self.argument
        pairs = enumerate(zip(argument.elements, self.elements))
        different = [(at, *pair) for at, pair in pairs if not is_close(*pair, self.tolerance)]
        name = f"argument {argument.number} ({entry.parameters[argument.number - 1].name})"
        if not different:
            print(f"{name}: {len(self.elements)} elements as expected")
            return True
        print(f"{name}: {len(different)} of {len(self.elements)} elements differ from '{self.path}'")
        for at, *pair in different[:_SHOWN]:
            got, expected = (elements.text_of(argument.type, each) for each in pair)
            print(f"  {argument.index(at)} is {got}, expected {expected}")
        if len(different) > _SHOWN:
            print(f"  and {len(different) - _SHOWN} more")
        return False


def _print(argument, count):
    shown = [elements.text_of(argument.type, each) for each in argument.elements[:count]]
    rest = math.prod(argument.shape) > len(shown)
    print(f"argument {argument.number}: {' '.join(shown)}{' …' if rest else ''}")


def _count(text, option):
    if text and (not text.isdecimal() or int(text) < 1):
        raise Error(f"{option}: '{text}' is not a number of elements")
    return int(text or _PRINTED)


def _check(text, launch, values, options):
    found = check_ptx(text, *launch, [each.value for each in values], **options)
    for each in found:
        print(each, file=sys.stderr)
    print(f"{len(found) or 'no'} finding{'s' * (len(found) != 1)}", file=sys.stderr)
    return not found


def _write_records(run, path):
    with open(path, "w", encoding="utf-8") as file:
        for record, _ in run:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")


def _launch(options):
    """Returns true if everything is as expected."""
    with open(options.file, encoding="utf-8") as file:
        text = file.read()
    entry = _entry(text, options.kernel)
    if options.block is None and entry.block is None:
        raise Error(f"kernel {entry.name} runs with blocks of any size", "choose one with --block")
    block = list(entry.block) if options.block is None else _extent(options.block, "block")
    launch = _extent(options.grid, "grid"), block
    values = [Argument(number, each, options.seed) for number, each in enumerate(options.arg, 1)]
    _converted(entry, values)
    printed = [_chosen(values, each, "--print") for each in options.print]
    printed = [(argument, _count(count, "--print")) for argument, count in printed]
    written = [_chosen(values, each, "--output") for each in options.output]
    expected = [Expectation(values, each, options.tolerance) for each in options.expect]
    common = {"kernel": entry.name, "shared_bytes": options.shared, "timeout": options.timeout}
    if options.cluster is not None:
        common["cluster"] = _extent(options.cluster, "cluster")
    is_good = not options.check or _check(text, launch, values, common)
    try:
        run = run_ptx(text, *launch, [each.value for each in values], spec=options.spec, device=options.device or "cpu", **common)
    except KernelError:
        if is_good:
            raise
        return False  # the findings say why
    if options.records:
        _write_records(run, options.records)
    for argument, count in printed:
        _print(argument, count)
    for argument, path in written:
        elements.write(path, argument.type, argument.shape, argument.data)
    return all([each.holds(entry) for each in expected]) and is_good


def _parsed(words):
    parser = argparse.ArgumentParser(prog="lynxpp ptx run", add_help=False)
    for name in ("grid", "block", "cluster", "device", "kernel", "spec", "records"):
        parser.add_argument(f"--{name}")
    for name in ("arg", "expect", "print", "output"):
        parser.add_argument(f"--{name}", action="append", default=[])
    parser.add_argument("--shared", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=0)
    parser.add_argument("--timeout", type=float)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("file")
    return parser.parse_args(words)


def main(words=None):
    """Returns the exit status."""
    options = _parsed(words)
    try:
        return EXIT_EQUAL if _launch(options) else EXIT_DIFFERENT
    except (Error, ValueError, OSError, MemoryError) as problem:
        if isinstance(problem, MemoryError):
            problem = "there is not enough memory for the arrays"
        sys.stdout.flush()
        print(f"lynxpp: error: {problem}", file=sys.stderr)
        return EXIT_ERROR


if __name__ == "__main__":
    sys.exit(main())
