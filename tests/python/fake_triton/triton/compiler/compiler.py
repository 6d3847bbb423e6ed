import collections
import inspect
import re
import textwrap

Metadata = collections.namedtuple(
    "Metadata", "name num_warps num_ctas shared global_scratch_size profile_scratch_size"
)


class ASTSource:
    def __init__(self, fn, signature, constexprs):
        self.fn, self.signature, self.constants = fn, signature, constexprs


class CompiledKernel:
    def __init__(self, source, metadata, ptx):
        self.src, self.metadata, self.asm = source, metadata, {"ptx": ptx}
        self.hash = str(hash(ptx))
        self.module = self.function = self._run = None

    def _init_handles(self):
        raise RuntimeError("this machine has no GPU")

    @property
    def run(self):
        if self._run is None:
            self._init_handles()
        return self._run


def compile(src, target, options):  # pylint: disable=redefined-builtin
    """A kernel's docstring is its PTX, in which {NAME} is a constant. Comments such as "// shared = 512" set
    metadata, and "//@ N" is the position of the N-th line of the kernel."""
    function = src.fn.fn
    names = list(src.signature)
    text = textwrap.dedent(function.__doc__)
    for (number,), value in src.constants.items():
        text = text.replace("{" + names[number] + "}", str(value))
    first = inspect.getsourcelines(function)[1]
    text = re.sub(r"//@ (\d+)", lambda match: f".loc 1 {first + int(match[1])} 0", text)
    if ".version" not in text:
        header = f".version 8.0\n.target sm_{target.arch}\n.address_size 64\n"
        text = f'{header}{text}\n.file 1 "{inspect.getsourcefile(function)}"\n'
    numbers = {"global_scratch_size": 0, "profile_scratch_size": 0, "shared": 0, "num_ctas": 1}
    numbers.update((name, int(value)) for name, value in re.findall(r"// (\w+) = (\d+)", text))
    name = re.search(r"\.entry (\w+)", text)[1]
    return CompiledKernel(src, Metadata(name=name, num_warps=options["num_warps"], **numbers), text)
