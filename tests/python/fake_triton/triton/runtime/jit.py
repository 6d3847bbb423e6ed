import collections
import inspect

from ..compiler import ASTSource, compile  # pylint: disable=redefined-builtin
from ..language import constexpr
from .driver import driver

_TYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64", "int32": "i32", "int64": "i64"}


def _type_of(value):
    if hasattr(value, "data_ptr"):
        return "*" + _TYPES[str(value.dtype).split(".")[-1]]
    if isinstance(value, tuple):
        return tuple(map(_type_of, value))
    if hasattr(value, "block_shape"):
        return f"tensordesc<{_TYPES[str(value.base.dtype)]}{value.block_shape}>"
    if isinstance(value, bool):
        return "i1"
    if value is None or isinstance(value, int) and value == 1:
        return "constexpr"
    if isinstance(value, int):
        return "i32" if abs(value) < 1 << 31 else "i64"
    if isinstance(value, float):
        return "fp32"
    raise TypeError(f"Unsupported type: {type(value)}")


class JITFunction:
    def __init__(self, function):
        self.fn = function
        self.signature = inspect.signature(function)
        self.device_caches = collections.defaultdict(lambda: ({}, driver.active.get_current_target()))

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)

    def run(self, *args, grid, warmup, num_warps=4, **kwargs):
        device = driver.active.get_current_device()
        stream = driver.active.get_current_stream(device)
        kernels, target = self.device_caches[device]
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        signature = {
            name: "constexpr" if self.signature.parameters[name].annotation is constexpr else _type_of(value)
            for name, value in bound.arguments.items()
        }
        constants = {
            (number,): bound.arguments[name]
            for number, (name, kind) in enumerate(signature.items())
            if kind == "constexpr"
        }
        key = (str(signature), str(constants), num_warps)
        if key not in kernels:
            source = ASTSource(self, signature, constants)
            kernels[key] = compile(source, target=target, options={"num_warps": num_warps})
        kernel = kernels[key]
        grid = tuple(grid(bound.arguments) if callable(grid) else grid) + (1, 1)
        kernel.run(*grid[:3], stream, kernel.function, None, None, None, None, *bound.arguments.values())
        return kernel
