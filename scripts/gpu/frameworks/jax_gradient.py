"""A gradient, compiled by XLA with autotuning disabled."""
import os

os.environ["XLA_FLAGS"] = "--xla_gpu_autotune_level=0"
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

assert jax.default_backend() == "gpu", "jax has no GPU here"


def loss(weights, inputs):
    return jnp.mean(jnp.tanh(inputs @ weights) ** 2)


weights = jax.random.normal(jax.random.PRNGKey(1), (256, 64))
inputs = jax.random.normal(jax.random.PRNGKey(2), (1024, 256))
step = jax.jit(lambda w: w - 0.1 * jax.grad(loss)(w, inputs))
for _ in range(10):
    weights = step(weights)
print(float(jnp.sum(weights)), float(loss(weights, inputs)))
