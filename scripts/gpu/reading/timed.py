"""Runs or times the variants of a program that uses PyTorch's streams."""
import statistics
import sys

import torch


def run(arguments, variants, launch, tolerance):
    """`launch(variant)` launches a kernel and returns its result. Prints "VARIANT ms MEDIAN LOWER UPPER" (quartiles) of
    each variant on stderr, launched in turn. Returns the exit status: 1 if a result differs from the first one's."""
    which, launches = arguments[1], int(arguments[2])
    if which != "all":
        for _ in range(launches):
            result = launch(which)
        torch.cuda.synchronize()
        print(f"{result.double().sum().item():.9g}")
        return 0
    expected, is_right = launch(variants[0]).double().clone(), True
    times = {variant: [] for variant in variants}
    for variant in variants[1:]:
        is_right &= torch.allclose(launch(variant).double(), expected, rtol=tolerance, atol=tolerance)
    for _ in range(launches):
        for variant in variants:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            # A kernel before the first event hides the time that the host needs to launch this one.
            torch.cuda._sleep(100000)
            begin.record()
            launch(variant)
            end.record()
            end.synchronize()
            times[variant].append(begin.elapsed_time(end))
    for variant, each in times.items():
        lower, median, upper = statistics.quantiles(each, n=4)
        print(f"{variant} ms {median:.6f} {lower:.6f} {upper:.6f}", file=sys.stderr)
    print("equal" if is_right else "DIFFERENT")
    return 0 if is_right else 1
