"""A JAX step of k-means, whose sums per cluster XLA computes by atomic additions, and the same sums as a product.

usage: clusters.py all|VARIANT LAUNCHES    all: times every variant and compares its result with the first one's
"""
import os
import statistics
import sys
import time

# Without XLA's trials of kernels, and with launches instead of command buffers.
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0 --xla_gpu_enable_command_buffer=")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

POINTS, WIDTH, CLUSTERS = 1 << 17, 32, 8
VARIANTS = ("slow", "atomic")


def step(variant, centers, points):
    distances = jnp.sum(centers * centers, axis=1)[None, :] - 2 * points @ centers.T
    nearest = jnp.argmin(distances, axis=1)
    if variant == "slow":
        sums = jax.ops.segment_sum(points, nearest, CLUSTERS)
        counts = jax.ops.segment_sum(jnp.ones_like(nearest, dtype=jnp.float32), nearest, CLUSTERS)
    else:
        members = jax.nn.one_hot(nearest, CLUSTERS)
        sums = jnp.dot(members.T, points, precision="highest")
        counts = jnp.sum(members, axis=0)
    return sums / jnp.maximum(counts, 1)[:, None]


def main():
    which, launches = sys.argv[1], int(sys.argv[2])
    points = jax.random.normal(jax.random.PRNGKey(1), (POINTS, WIDTH))
    first = points[:CLUSTERS]
    steps = {variant: jax.jit(lambda centers, points, variant=variant: step(variant, centers, points)) for variant in VARIANTS}
    if which != "all":
        for _ in range(launches):
            centers = jax.block_until_ready(steps[which](first, points))
        print(f"{float(jnp.sum(jnp.abs(centers))):.3f}")
        return 0
    results = {variant: jax.block_until_ready(each(first, points)) for variant, each in steps.items()}
    times = {variant: [] for variant in VARIANTS}
    for _ in range(launches):
        for variant, each in steps.items():
            begin = time.perf_counter()
            jax.block_until_ready(each(first, points))
            times[variant].append(1000 * (time.perf_counter() - begin))
    for variant, each in times.items():
        lower, median, upper = statistics.quantiles(each, n=4)
        print(f"{variant} ms {median:.6f} {lower:.6f} {upper:.6f}", file=sys.stderr)
    is_right = bool(jnp.allclose(results["slow"], results["atomic"], rtol=1e-3, atol=1e-3))
    print("equal" if is_right else "DIFFERENT")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
