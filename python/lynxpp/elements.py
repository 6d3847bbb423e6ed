"""Arrays of PTX's types: from numbers and files, and back."""
import array
import ast
import contextlib
import math
import operator
import re
import struct

from .errors import Error

# The names of a type in PTX, in `array` and `struct`, and in .npy files.
_NAMES = """u8 B |u1  u16 H <u2  u32 I <u4  u64 Q <u8  s8 b |i1  s16 h <i2  s32 i <i4  s64 q <i8  f32 f <f4
            f64 d <f8""".split()
_CODES = dict(zip(_NAMES[::3], _NAMES[1::3]))
_NPY = {**dict(zip(_NAMES[::3], _NAMES[2::3])), "f16": "<f2"}
_NPY_CODES = {**dict(zip(_NAMES[2::3], _NAMES[1::3])), "|b1": "B", "<f2": "e"}
_HEADER = b"\x93NUMPY"
TYPES = (*_CODES, "f16", "bf16")


def type_named(name):
    """Returns the type of an element: "i32" and "b32" are names of "s32" and "u32"."""
    name = re.sub(r"^b(?=\d)", "u", re.sub(r"^i(?=\d)", "s", name.lstrip(".")))
    if name not in TYPES:
        raise Error(f"no type '{name}'", f"the types are {', '.join(TYPES)}")
    return name


def is_float(kind):
    return "f" in kind


def bytes_of(kind):
    return int(kind.lstrip("usbf")) // 8


def _bf16(bits):
    """Rounds the bits of a single-precision number to bf16's."""
    is_nan = bits & 0x7FFFFFFF > 0x7F800000
    return bits >> 16 | 0x40 if is_nan else bits + 0x7FFF + (bits >> 16 & 1) >> 16


def pack(kind, values):
    """Returns the bytes of numbers as this type. Raises OverflowError if one does not fit."""
    if kind == "f16":
        return bytearray(struct.pack(f"<{len(values)}e", *values))
    if kind == "bf16":
        return bytearray(array.array("H", map(_bf16, array.array("I", pack("f32", values)))).tobytes())
    if is_float(kind):
        return bytearray(array.array(_CODES[kind], values).tobytes())
    if any(isinstance(each, float) and not each.is_integer() for each in values):
        raise OverflowError(f"a fraction is not a .{kind}")
    return bytearray(array.array(_CODES[kind], map(int, values)).tobytes())


def unpack(kind, data):
    """Returns the numbers of such bytes, as a sequence."""
    if kind == "f16":
        return struct.unpack(f"<{len(data) // 2}e", data)
    if kind == "bf16":
        return array.array("f", array.array("I", (each << 16 for each in array.array("H", bytes(data)))).tobytes())
    return array.array(_CODES[kind], bytes(data))


def text_of(kind, value):
    """Returns the shortest decimal number that is this value in its type."""
    if not is_float(kind):
        return str(value)
    if not math.isfinite(value):
        return str(value)
    for digits in range(1, 18):
        rounded = float(f"{value:.{digits}g}")
        with contextlib.suppress(OverflowError):  # a number near the largest may be rounded upwards
            if unpack(kind, pack(kind, [rounded]))[0] == value:
                return repr(rounded).removesuffix(".0")
    return repr(value)


def _parts_of_npy(data, path):
    """Returns what numpy.save wrote: the code of the elements, the shape and the bytes."""
    try:
        begin, width = (10, "<H") if data[6] == 1 else (12, "<I")
        end = begin + struct.unpack_from(width, data, 8)[0]
        header = ast.literal_eval(data[begin:end].decode("latin-1"))
        kind, shape = str(header["descr"]), tuple(map(operator.index, header["shape"]))
        is_transposed = header["fortran_order"] and len(shape) > 1
    except (struct.error, IndexError, KeyError, TypeError, ValueError, SyntaxError):
        raise Error(f"'{path}' is not a valid .npy file") from None
    if kind not in _NPY_CODES:
        hint = "the types are integers, bool, float16, float32 and float64, little-endian"
        raise Error(f"'{path}' has elements of type {kind}", hint)
    code = _NPY_CODES[kind]
    if is_transposed:
        raise Error(f"'{path}' is in Fortran's order", "save numpy.ascontiguousarray(…)")
    size = struct.calcsize("<" + code) * math.prod(shape)
    if len(data) - end != size:
        raise Error(f"'{path}' has {len(data) - end} bytes of elements, but its shape {shape} needs {size}")
    return code, shape, data[end:]


def read(path, kind):
    """Returns the elements of a file, as bytes of this type, and their shape. A .npy file may have another
    type and is converted; other files hold the bytes."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as problem:
        raise Error(f"cannot read '{path}': {problem.strerror}") from None
    if not data.startswith(_HEADER):
        count, rest = divmod(len(data), bytes_of(kind))
        if rest:
            size = bytes_of(kind)
            raise Error(f"'{path}' has {len(data)} bytes, which is not a multiple of .{kind}'s {size}")
        return bytearray(data), (count,)
    code, shape, content = _parts_of_npy(data, path)
    if code == _CODES.get(kind):
        return bytearray(content), shape
    try:
        return pack(kind, struct.unpack(f"<{math.prod(shape)}{code}", content)), shape
    except OverflowError as problem:
        raise Error(f"'{path}' has numbers that .{kind} cannot hold: {problem}") from None


def write(path, kind, shape, data):
    """Writes a .npy file if the path ends so, else the bytes. NumPy has no bf16: it gets float32."""
    if str(path).endswith(".npy"):
        if kind == "bf16":
            kind, data = "f32", pack("f32", unpack(kind, data))
        header = repr({"descr": _NPY[kind], "fortran_order": False, "shape": tuple(shape)})
        header += " " * (-(len(header) + 11) % 64) + "\n"
        data = _HEADER + b"\1\0" + struct.pack("<H", len(header)) + header.encode() + bytes(data)
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as problem:
        raise Error(f"cannot write '{path}': {problem.strerror}") from None
