"""Limits for what kernels do, as tests."""
import contextlib
import functools
import inspect
import math
import re

from .attaching import attach, find_api
from .errors import Error
from .launching import meters, name_of, run_ptx
from .records import Ratio

_EMPTY = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry empty() { ret; }\n"


@functools.lru_cache(maxsize=None)
def _results_of(specification):
    """Returns {name: is a ratio} for the numeric results of a specification."""
    launch = next(run_ptx(_EMPTY, 1, 32, spec=specification).launches())
    return {metric.name: isinstance(launch.results[metric.name], Ratio) for metric in launch.metrics()}


class _Limit:
    def __init__(self, metric, at_most, at_least, kernels):
        self.metric, self.at_most, self.at_least = metric, at_most, at_least
        self.specification, _, self.name = metric.rpartition(".")
        if not self.specification:
            raise ValueError(
                f"'{metric}' is not SPECIFICATION.RESULT, as in instruction_count.thread_instructions"
            )
        if at_most is None and at_least is None:
            raise ValueError("a budget needs at_most or at_least")
        self._kernels = re.compile(kernels or "")

    def is_ratio(self):
        """Raises Error if the specification has no such result."""
        known = _results_of(self.specification)
        if self.name not in known:
            raise Error(f"{self.specification} has no result '{self.name}'", f"it has {', '.join(known)}")
        return known[self.name]

    def _values(self, launches, unmeasured):
        """Returns the measured values of the kernels that are limited, with their launches. Skips undefined
        ratios."""
        wanted = [
            launch
            for launch in launches
            if launch.spec == name_of(self.specification)
            and (self._kernels.search(launch.kernel) or self._kernels.search(launch.demangled))
        ]
        if unmeasured := [kernel for kernel in unmeasured if self._kernels.search(kernel)]:
            raise Error(
                f"budget of {self.metric}: launches of {', '.join(unmeasured)} ran uninstrumented",
                "the coverage in the records says why (LYNXPP_OUTPUT)",
            )
        if not wanted:
            raise Error(
                f"budget of {self.metric}: no kernel was measured",
                "measured are run_ptx and, in a process with lynxpp (LD_PRELOAD, `lynxpp run`), "
                "the program's launches",
            )
        results = [(launch.results[self.name], launch) for launch in wanted]
        values = [(value.value if isinstance(value, Ratio) else value, launch) for value, launch in results]
        return [(value, launch) for value, launch in values if not math.isnan(value)]

    def check(self, launches, unmeasured):
        """Raises AssertionError with the measured value if it is beyond the limit."""
        values = self._values(launches, unmeasured)
        count = len(values)
        if self.is_ratio():
            measured = [
                (value, f"{self.metric} of {launch.demangled} (launch {number} of {count})")
                for number, (value, launch) in enumerate(values, 1)
            ]
        else:
            measured = [
                (
                    sum(value for value, _ in values),
                    f"{self.metric} of {count} launch{'es' if count != 1 else ''}",
                )
            ]
        for value, what in measured:
            if self.at_most is not None and value > self.at_most:
                raise AssertionError(
                    f"{what} is {_text(value)}, more than the budget of {_text(self.at_most)}"
                    f"{_excess(value, self.at_most)}"
                )
            if self.at_least is not None and value < self.at_least:
                raise AssertionError(
                    f"{what} is {_text(value)}, less than the required {_text(self.at_least)}"
                )


def _text(value):
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.6g}"


def _excess(value, limit):
    return f" ({100 * (value - limit) / limit:+.1f} %)" if limit > 0 else ""


class Meter:
    """Measures the launches of a test: those of run_ptx, and those of the process if lynxpp is in it."""

    def __init__(self, limits):
        self.specifications = list(dict.fromkeys(limit.specification for limit in limits))
        self.launches, self.unmeasured = [], []

    def add(self, run):
        self.launches += run.launches()

    @contextlib.contextmanager
    def measure(self):
        meters.append(self)
        try:
            if find_api() is None:
                yield
            else:
                with attach(self.specifications) as run:
                    yield
                self.add(run)
                self.unmeasured += run.unmeasured
        finally:
            meters.remove(self)


def budget(metric, at_most=None, at_least=None, kernels=None):
    """Makes a function fail (AssertionError with the measured value) if its kernels exceed a limit. For
    tests, with any test runner:

        @lynxpp.budget("instruction_count.thread_instructions", at_most=1_000_000)
        @lynxpp.budget("memory_efficiency.load_efficiency", at_least=0.9, kernels="softmax")
        def test_softmax():
            lynxpp.run_ptx(…)

    metric    SPECIFICATION.RESULT; a count is summed over all launches of the call, a ratio must hold for
              each launch
    kernels   a regular expression: only kernels whose name contains a match

    Measures the launches of run_ptx and, if lynxpp is preloaded, those of the process. Fails, too, if no
    kernel was measured.
    """
    limit = _Limit(metric, at_most, at_least, kernels)

    def decorate(function):
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise TypeError(
                f"lynxpp.budget cannot measure {function.__name__}, which is not a plain function"
            )
        if hasattr(function, "lynxpp_limits"):
            function.lynxpp_limits.append(limit)
            return function

        @functools.wraps(function)
        def measured(*args, **keywords):
            limits = measured.lynxpp_limits
            for each in limits:
                each.is_ratio()
            meter = Meter(limits)
            with meter.measure():
                result = function(*args, **keywords)
            for each in limits:
                each.check(meter.launches, meter.unmeasured)
            return result

        measured.lynxpp_limits = [limit]
        return measured

    return decorate
