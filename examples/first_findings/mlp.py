"""JAX: training steps of a small network, with an embedding of the day of the week.

usage: mlp.py [ROUNDS]    MENDED=1: multiplies one-hot vectors rather than looking up rows

XLA's choice of kernels by their times is off: it would run hundreds of candidates, and each would be instrumented.
"""
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

BATCH, FEATURES, DAYS, WIDTH, HIDDEN, CLASSES = 65536, 32, 7, 32, 128, 10


def loss(params, features, days, labels):
    if os.environ.get("MENDED") == "1":
        embedded = jax.nn.one_hot(days, DAYS) @ params["table"]
    else:
        embedded = params["table"][days]
    x = jnp.concatenate([features, embedded], axis=1)
    x = jax.nn.gelu(x @ params["w1"] + params["b1"])
    x = jax.nn.gelu(x @ params["w2"] + params["b2"])
    logits = x @ params["w3"] + params["b3"]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1))


@jax.jit
def step(params, features, days, labels):
    value, gradient = jax.value_and_grad(loss)(params, features, days, labels)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    keys = jax.random.split(jax.random.PRNGKey(0), 7)
    params = {"table": jax.random.normal(keys[0], (DAYS, WIDTH)) * 0.1,
              "w1": jax.random.normal(keys[1], (FEATURES + WIDTH, HIDDEN)) * 0.1, "b1": jnp.zeros(HIDDEN),
              "w2": jax.random.normal(keys[2], (HIDDEN, HIDDEN)) * 0.1, "b2": jnp.zeros(HIDDEN),
              "w3": jax.random.normal(keys[3], (HIDDEN, CLASSES)) * 0.1, "b3": jnp.zeros(CLASSES)}
    features = jax.random.normal(keys[4], (BATCH, FEATURES))
    days = jax.random.randint(keys[5], (BATCH,), 0, DAYS)
    labels = jax.random.randint(keys[6], (BATCH,), 0, CLASSES)
    params, value = jax.block_until_ready(step(params, features, days, labels))
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        params, value = jax.block_until_ready(step(params, features, days, labels))
        times.append(1000 * (time.perf_counter() - begin))
    if rounds > 3:
        print("kernel_ms", *(f"{each:.6f}" for each in (statistics.median(times), *statistics.quantiles(times, n=4)[::2])), file=sys.stderr)
    print(f"loss {float(value):.4f}")


if __name__ == "__main__":
    main()
