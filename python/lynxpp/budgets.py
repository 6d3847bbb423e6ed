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
    """Returns the names of the numeric results of a specification."""
    launch = next(run_ptx(_EMPTY, 1, 32, spec=specification).launches())
    return [metric.name for metric in launch.metrics()]


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
        for name, limit in (("at_most", at_most), ("at_least", at_least)):
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float))):
                raise ValueError(f"{name} is not a number")
        self._kernels = re.compile(kernels or "")

    def verify(self):
        """Raises Error if the specification has no such result."""
        known = _results_of(self.specification)
        if self.name not in known:
            raise Error(f"{self.specification} has no result '{self.name}'", f"it has {', '.join(known)}")

    def _results(self, launches, unmeasured):
        """Returns the results of the kernels that are limited, with their launches."""
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
        return [(launch.results[self.name], launch) for launch in wanted]

    def check(self, launches, unmeasured):
        """Raises AssertionError with the measured value if that of a kernel is beyond the limit."""
        by_kernel = {}
        for result, launch in self._results(launches, unmeasured):
            by_kernel.setdefault(launch.demangled, []).append(result)
        for kernel, results in by_kernel.items():
            value = _folded(results)
            where = f"{self.metric} of {kernel} in {len(results)} launch{'es' if len(results) != 1 else ''}"
            if self.at_most is not None and value > self.at_most:
                raise AssertionError(
                    f"{where} is {_text(value)}, more than the budget of {_text(self.at_most)}"
                    f"{_excess(value, self.at_most)}"
                )
            if self.at_least is not None and value < self.at_least:
                raise AssertionError(
                    f"{where} is {_text(value)}, less than the required {_text(self.at_least)}"
                )


def _folded(results):
    """Returns the sum of numbers, or the ratio of the sums of ratios; NaN if their denominator is 0."""
    if not isinstance(results[0], Ratio):
        return sum(results)
    denominator = sum(ratio.denominator for ratio in results)
    return sum(ratio.numerator for ratio in results) / denominator if denominator else math.nan


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

    metric    SPECIFICATION.RESULT; holds for each kernel: for the sum over its launches in the call, or for their
              ratio
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
                each.verify()
            meter = Meter(limits)
            with meter.measure():
                result = function(*args, **keywords)
            for each in limits:
                each.check(meter.launches, meter.unmeasured)
            return result

        measured.lynxpp_limits = [limit]
        return measured

    return decorate


def budgets(path):
    """Makes a function fail like `budget` for each budget of a file, as `lynxpp report diff --budgets` reads it:

    [[budget]]
    kernel = "^softmax"                        # a regular expression
    metric = "memory_efficiency.load_sectors"  # SPECIFICATION.RESULT
    at_most = 4096                             # and/or at_least

    Needs Python 3.11. Raises Error if the file has other contents.
    """
    try:
        import tomllib  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise Error("files of budgets need Python 3.11", "use lynxpp.budget") from error
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except (OSError, ValueError) as error:
        raise Error(f"{path}: {error}") from error
    tables = content.get("budget")
    if set(content) != {"budget"} or not isinstance(tables, list) or not tables:
        raise Error(f"{path}: must contain [[budget]] tables and nothing else")
    limits = []
    for number, table in enumerate(tables, 1):
        known = {"kernel", "metric", "at_most", "at_least"}
        if not isinstance(table, dict) or not {"kernel", "metric"} <= set(table) <= known:
            raise Error(f"{path}: budget {number} must have kernel, metric, and at_most or at_least")
        try:
            limits.append(
                budget(table["metric"], table.get("at_most"), table.get("at_least"), table["kernel"])
            )
        except (ValueError, TypeError, AttributeError, re.error) as error:
            raise Error(f"{path}: budget {number}: {error}") from error

    def decorate(function):
        for limit in limits:
            function = limit(function)
        return function

    return decorate
