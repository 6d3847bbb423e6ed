"""A stand-in for Triton in tests: the classes and functions that lynxpp.triton uses, with the same names and
arguments as in Triton 3.6. It compiles nothing: a kernel's docstring is its PTX."""
from . import runtime
from .runtime.autotuner import Autotuner, Config
from .runtime.jit import JITFunction


def jit(function):
    return JITFunction(function)


def autotune(configs, key):
    return lambda function: Autotuner(function, configs, key)


def cdiv(count, size):
    return -(-count // size)


__all__ = ["Autotuner", "Config", "JITFunction", "autotune", "cdiv", "jit", "runtime"]
