"""Matrix products for which XLA chooses kernels by their speed: later runs of the same parent use the choice
of the first."""
import os
import pathlib
import tempfile

chosen = pathlib.Path(tempfile.gettempdir()) / f"jax_autotuned_{os.getppid()}.txt"
load_or_dump = "load_autotune_results_from" if chosen.exists() else "dump_autotune_results_to"
os.environ["XLA_FLAGS"] = f"--xla_gpu_{load_or_dump}={chosen}"
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
