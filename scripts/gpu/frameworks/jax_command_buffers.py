"""A training step that XLA launches as command buffers, and control flow on the device.

The products are cuBLAS calls: XLA captures each into a child graph, which it replaces and destroys between launches."""
import os

os.environ["XLA_FLAGS"] = "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false"
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

assert jax.default_backend() == "gpu", "jax has no GPU here"
SIZES = [(128, 256), (256, 256), (256, 10)]


def loss(weights, inputs, labels):
    for weight in weights[:-1]:
        inputs = jax.nn.gelu(inputs @ weight)
    chances = jax.nn.softmax(inputs @ weights[-1])
    return -jnp.mean(jnp.log(chances[jnp.arange(labels.shape[0]), labels] + 1e-6))


@jax.jit
def step(weights, inputs, labels):
    value, slope = jax.value_and_grad(loss)(weights, inputs, labels)
    return [weight - 0.1 * each for weight, each in zip(weights, slope)], value


@jax.jit
def halve_until_small(value):
    return jax.lax.while_loop(lambda state: state[1] > 1.0, lambda state: (state[0] + 1, state[1] * 0.5), (0, value))


@jax.jit
def running_products(matrix):
    return jax.lax.scan(lambda state, row: (jnp.tanh(state @ matrix + row), state.sum()), matrix[0], matrix)


@jax.jit
def choose(flag, value):
    return jax.lax.cond(flag, lambda x: jnp.sin(x) * 2, lambda x: jnp.cos(x) + 1, value)


keys = jax.random.split(jax.random.PRNGKey(0), 5)
weights = [jax.random.normal(key, size) * 0.1 for key, size in zip(keys, SIZES)]
inputs = jax.random.normal(keys[3], (512, 128))
labels = jax.random.randint(keys[4], (512,), 0, 10)
for _ in range(20):
    weights, value = step(weights, inputs, labels)
print("loss", float(value))
print("halvings", [int(halve_until_small(jnp.float32(start))[0]) for start in (3.0, 1000.0, 1e9)])
state, sums = running_products(jax.random.normal(keys[0], (64, 64)) * 0.1)
print("scan", float(state.sum()), float(sums.sum()))
print("cond", float(choose(True, inputs).sum()), float(choose(False, inputs).sum()))
