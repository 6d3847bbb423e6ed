"""JAX: steps of k-means, which groups points around centers.

usage: kmeans.py [ROUNDS]    MENDED=1: adds up the groups by a product with one-hot vectors rather than by segment_sum
"""
import os
import statistics
import sys
import time

import jax
import jax.numpy as jnp

POINTS, FEATURES, CENTERS = 1 << 22, 8, 8


@jax.jit
def step(points, centers):
    distances = jnp.sum((points[:, None, :] - centers[None, :, :]) ** 2, axis=2)
    nearest = jnp.argmin(distances, axis=1)
    if os.environ.get("MENDED") == "1":
        member = jax.nn.one_hot(nearest, CENTERS)
        total, count = member.T @ points, jnp.sum(member, axis=0)
    else:
        total = jax.ops.segment_sum(points, nearest, CENTERS)
        count = jnp.sum(nearest[:, None] == jnp.arange(CENTERS), axis=0)
    return total / jnp.maximum(count, 1)[:, None]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    points = jax.random.normal(jax.random.PRNGKey(0), (POINTS, FEATURES))
    centers = jax.block_until_ready(step(points, points[:CENTERS]))
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        centers = jax.block_until_ready(step(points, centers))
        times.append(1000 * (time.perf_counter() - begin))
    if rounds > 3:
        print("kernel_ms", *(f"{each:.6f}" for each in (statistics.median(times), *statistics.quantiles(times, n=4)[::2])), file=sys.stderr)
    print(f"centers {float(jnp.sum(jnp.abs(centers))):.4f}")


if __name__ == "__main__":
    main()
