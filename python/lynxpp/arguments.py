"""Converts Python values to the arguments of a kernel, whose types are in its PTX."""
import collections
import ctypes
import operator
import re
import struct
import sys

from . import elements
from .errors import PtxError

# Comments, except in strings.
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_ENTRY = re.compile(r"\.entry\s+([\w$%]+)\s*(?:\(([^)]*)\))?([^{;]*)")
_TYPE = r"[usb](?:8|16|32|64|128)|f(?:16|16x2|32|64)|bf16|texref|samplerref|surfref"
_PARAMETER = re.compile(
    rf"\.param\b.*?\.({_TYPE})\b(?:\s*\.\w+(?:\s+\d+)?)*?\s+([\w$%]+)\s*(?:\[\s*(\d+)\s*\])?\s*$", re.DOTALL
)
_REQUIRED = re.compile(r"\.reqntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")
# In the order of CUtensorMapDataType and of CUtensorMapSwizzle.
TENSOR_TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16")
SWIZZLES = (0, 32, 64, 128)
_TENSOR_MAP_BYTES = 128
_FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}

Parameter = collections.namedtuple("Parameter", "name type bytes is_array")
Parameter.__doc__ = (
    """A kernel's parameter: `type` as in the PTX ("u64"); `is_array`: an aggregate, passed by value."""
)
Entry = collections.namedtuple("Entry", "name parameters block")
Entry.__doc__ = """A kernel: its parameters, and the block size that it requires (None: any size)."""


def _parameter(text):
    found = _PARAMETER.search(text.strip())
    if found is None:
        raise PtxError(f"cannot understand the parameter '{' '.join(text.split())}'")
    kind, name, count = found.groups()
    bits = {"f16x2": 32, "texref": 64, "samplerref": 64, "surfref": 64}
    width = (bits.get(kind) or int(kind.lstrip("usbf"))) // 8
    return Parameter(name, kind, width * int(count or 1), count is not None)


def entries(text):
    """Returns the kernels of a module."""
    bare = _COMMENT.sub(lambda match: match[1] or " ", text)
    found = []
    for name, parameters, directives in _ENTRY.findall(bare):
        required = _REQUIRED.search(directives)
        block = tuple(int(each or 1) for each in required.groups()) if required else None
        found.append(Entry(name, [_parameter(each) for each in parameters.split(",") if each.strip()], block))
    return found


def extent(value, what):
    """Returns (x, y, z) for a grid or a block: an int, or up to three of them."""
    try:
        values = [
            operator.index(each) for each in ((value,) if hasattr(value, "__index__") else tuple(value))
        ]
    except TypeError:
        values = []
    if not 1 <= len(values) <= 3 or min(values) < 1 or max(values) >= 1 << 32:
        raise ValueError(f"the {what} must be one to three positive integers, not {value!r}")
    return values + [1] * (3 - len(values))


class out:  # pylint: disable=invalid-name
    """Marks an array that a kernel only writes: check_ptx then reports reads of elements that the kernel has
    not written."""

    def __init__(self, array):
        self.array = array


class tensor_map:  # pylint: disable=invalid-name
    """A tensor map (CUtensorMap) of an array, which is contiguous in memory, for tensor copies of tiles.

    shape, box   of the array and of a tile, slowest dimension first, as in NumPy; in elements
    type         of the elements: "f16", "f32", "u8" …
    swizzle      0, 32, 64 or 128 bytes
    """

    def __init__(self, array, shape, box, type, swizzle=0):  # pylint: disable=redefined-builtin
        if not 1 <= len(shape) == len(box) <= 5:
            raise ValueError(f"a tensor map has 1 to 5 dimensions, not {shape} with boxes of {box}")
        if type not in TENSOR_TYPES or swizzle not in SWIZZLES:
            raise ValueError(f"a tensor map has no elements of type '{type}' with swizzle {swizzle}")
        self.array, self.swizzle = array, swizzle
        self.shape, self.box, self.type = list(shape), list(box), type

    def description(self):
        """Returns the arguments of cuTensorMapEncodeTiled: the fastest dimension first, strides in bytes."""
        extents = self.shape[::-1]
        strides, stride = [], elements.bytes_of(self.type)
        for extent in extents[:-1]:
            stride *= extent
            strides.append(stride)
        return {
            "type": TENSOR_TYPES.index(self.type),
            "extents": extents,
            "strides": strides,
            "box": self.box[::-1],
            "swizzle": SWIZZLES.index(self.swizzle),
        }


class Inside:
    """An address `offset` bytes after the beginning of an array; messages name the argument `name`."""

    def __init__(self, array, offset, name):
        self.array, self.offset, self.name = array, offset, name


class Buffer:
    """An array argument: `memory` is a view of its bytes; `address` is unset (None) if they are read-only;
    the kernel gets the address `start` bytes after the beginning. If set, `name` replaces that of the
    parameter in messages. The kernel gets the tensor map of the array instead if there is one."""

    def __init__(self, value, what):
        self.tensor_map = value if isinstance(value, tensor_map) else None
        value = value.array if isinstance(value, tensor_map) else value
        self.is_output = isinstance(value, out)
        self.start, self.name = (value.offset, value.name) if isinstance(value, Inside) else (0, None)
        self.memory = _bytes_of(value.array if isinstance(value, (out, Inside)) else value, what)
        self.bytes = len(self.memory)
        self.address = None
        if not self.memory.readonly and self.bytes:
            self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        if self.is_output and self.memory.readonly:
            raise TypeError(f"{what} is an output, but it is read-only")


def _bytes_of(value, what):
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        if value.dtype.hasobject:
            raise TypeError(f"{what} is an array of Python objects")
        if not value.flags.c_contiguous and not value.flags.f_contiguous:
            raise ValueError(f"{what} is not contiguous in memory; pass numpy.ascontiguousarray(…)")
        value = value.reshape(-1, order="C" if value.flags.c_contiguous else "F").view(numpy.uint8)
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(
            f"{what} is a {type(value).__name__}: neither a number nor an array whose memory can be used"
        ) from None
    if not view.c_contiguous:
        raise ValueError(f"{what} is not contiguous in memory")
    return (
        view
        if view.format == "B" and view.ndim == 1
        else memoryview(bytearray())
        if not view.nbytes
        else view.cast("B")
    )


def _is_scalar(value):
    numpy = sys.modules.get("numpy")
    is_ctypes = isinstance(value, ctypes._SimpleCData)  # pylint: disable=protected-access
    return (
        value is None
        or is_ctypes
        or hasattr(value, "__index__")
        and not hasattr(value, "__len__")
        and not hasattr(value, "ndim")
        or isinstance(value, float)
        or numpy is not None
        and isinstance(value, numpy.generic)
    )


def _packed(kind, value, what):
    """Returns the bytes of a number of a PTX type."""
    try:
        if kind == "bf16":
            return bytes(elements.pack(kind, [value]))
        if kind in _FLOATS:
            return struct.pack(_FLOATS[kind], value)
        match = re.fullmatch(r"([usb])(8|16|32|64|128)", kind)
        if match is None:
            raise ValueError(
                f"{what}: no number has the type '{kind}'; types are u32, s64, f16, bf16, f32, f64 …"
            )
        if isinstance(value, float):
            raise TypeError(
                f'{what} is a float, but the parameter is .{kind}: pass an int, or ("f{match[2]}", {value})'
            )
        number, bits = operator.index(value), int(match[2])
        if not -(1 << bits - 1) <= number < 1 << bits:
            raise OverflowError(f"{what}: {number} does not fit into .{kind}")
        return (number & (1 << bits) - 1).to_bytes(bits // 8, "little")
    except struct.error as problem:
        raise TypeError(f"{what}: {problem}") from None


def _number(parameter, value, what):
    """Returns the bytes of a number as the parameter's type, or of (type, value) and ctypes as their own."""
    if isinstance(value, ctypes._SimpleCData):  # pylint: disable=protected-access
        packed = bytes(value)
    elif isinstance(value, tuple):
        packed = _packed(value[0].lstrip("."), value[1], what)
    else:
        if hasattr(value, "item"):
            value = value.item()
        packed = _packed(parameter.type, 0 if value is None else value, what)
    if len(packed) != parameter.bytes:
        raise TypeError(
            f"{what} has {len(packed)} bytes, but the parameter is .{parameter.type} with {parameter.bytes}"
        )
    return packed


def convert(entry, values):
    """Returns, for each parameter of the kernel, bytes or a Buffer."""
    if len(values) != len(entry.parameters):
        expected = ", ".join(
            f".{each.type}{f'[{each.bytes}]' if each.is_array else ''}" for each in entry.parameters
        )
        count = len(entry.parameters)
        raise TypeError(
            f"kernel {entry.name} has {count} parameter{'s' * (count != 1)} ({expected or 'none'}), "
            f"but {len(values)} argument{'s are' if len(values) != 1 else ' is'} given"
        )
    converted = []
    for number, (parameter, value) in enumerate(zip(entry.parameters, values), 1):
        what = f"argument {number} ({parameter.name})"
        is_typed = isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)
        if parameter.type in ("texref", "samplerref", "surfref"):
            raise PtxError(f"{what} is a .{parameter.type}, which run_ptx does not support")
        if isinstance(value, tensor_map):
            if parameter.bytes != _TENSOR_MAP_BYTES:
                raise TypeError(f"{what} is a tensor map of 128 bytes, but the parameter has {parameter.bytes}")
            converted.append(Buffer(value, what))
        elif parameter.is_array:
            packed = bytes(_bytes_of(value, what))
            if len(packed) != parameter.bytes:
                raise TypeError(f"{what} has {len(packed)} bytes, but the parameter has {parameter.bytes}")
            converted.append(packed)
        elif is_typed or _is_scalar(value):
            converted.append(_number(parameter, value, what))
        elif parameter.bytes != 8 or parameter.type == "f64":
            _bytes_of(
                value.array if isinstance(value, (out, Inside)) else value, what
            )  # better messages for other objects
            raise TypeError(f"{what} is an array, but the parameter is .{parameter.type}, not an address")
        else:
            converted.append(Buffer(value, what))
    return converted


class Group:
    """Memory of the device for buffers that overlap: `at` is its offset in the memory file."""

    def __init__(self, begin, size):
        self.begin, self.bytes, self.at = begin, size, 0
        self.buffers = []  # (number of the argument, offset, Buffer)


def group(converted):
    """Returns the groups of the arrays. Arrays that share memory also share it on the device."""
    arrays = [(number, each) for number, each in enumerate(converted, 1) if isinstance(each, Buffer)]
    groups = []
    for number, each in sorted(arrays, key=lambda array: (array[1].address or 0, -array[1].bytes)):
        last = groups[-1] if groups else None
        if (
            each.address is None
            or last is None
            or last.begin is None
            or each.address >= last.begin + last.bytes
        ):
            groups.append(Group(each.address, each.bytes))
            last = groups[-1]
        offset = each.address - last.begin if each.address is not None else 0
        last.bytes = max(last.bytes, offset + each.bytes)
        last.buffers.append((number, offset, each))
    at = 0
    for each in groups:
        each.at = at
        at += -(-each.bytes // 256) * 256
    return groups, at
