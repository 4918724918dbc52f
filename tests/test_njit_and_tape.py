"""The same random programs through the tape and through the generated gradients of ``@njit`` code."""

import linecache
import random

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import as_python


def pure_program(seed):
    """Return an ``@njit`` function of two vectors and a number that writes no array, so tensors can run it."""
    choose = random.Random(seed)
    lines = ["@numba.njit", "def program(x, w, p):", "    s = p", "    v = x * w"]

    def number():
        return choose.choice(
            ["s", "p", f"x[{choose.randrange(4)}]", f"w[{choose.randrange(-4, 4)}]", "np.sum(v * w)"]
        )

    def vector():
        one, other = choose.choice(["x", "w", "v"]), choose.choice(["x", "w", "v[::-1]", "v"])
        return choose.choice([f"{one} * {other}", f"np.sin({one}) - {other}", f"np.tanh({one} * {number()})"])

    def statement(depth):
        pad = "    " * depth
        kind = choose.choice(
            ["number", "vector", "sum", "if", "loop"] if depth < 3 else ["number", "vector", "sum"]
        )
        if kind == "number":
            one, other = number(), number()
            forms = [
                f"np.sin({one}) * {other}",
                f"{one} / (2.0 + {other} ** 2)",
                f"np.exp(-({one} ** 2)) + {other}",
            ]
            lines.append(f"{pad}s = {choose.choice(forms)}")
        elif kind == "vector":
            lines.append(f"{pad}v = 0.5 * v + 0.3 * np.cos({vector()})")
        elif kind == "sum":
            lines.append(f"{pad}s = 0.5 * s + 0.2 * np.sum({vector()})")
        elif kind == "if":
            lines.append(f"{pad}if {choose.choice(['x[0] > w[1]', 'p < 0.1', 's > 0.2'])}:")
            statement(depth + 1)
            lines.append(f"{pad}else:")
            statement(depth + 1)
        else:
            name = f"i{depth}"
            lines.append(f"{pad}for {name} in range({choose.randrange(4)}):")
            statement(depth + 1)
            lines.append(f"{pad}    s = np.tanh(s) + x[{name}] * v[{name} - 1]")

    for _ in range(5):
        statement(1)
    lines.append("    return s + np.sum(v * v)")
    text, file = "\n".join(["import numba, numpy as np", *lines]) + "\n", f"<pure program {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace = {"numba": numba, "np": np}
    exec(compile(text, file, "exec"), namespace)
    return namespace["program"], text


@pytest.mark.parametrize("block", range(3))
def test_generated_gradients_are_those_of_the_tape(block):
    for seed in range(4 * block, 4 * block + 4):
        function, text = pure_program(seed)
        generator = np.random.default_rng(seed)
        arguments = *generator.normal(size=(2, 4)), float(generator.normal())
        gradient = jt.njit_value_and_grad(function, argnums=(0, 1, 2))
        value, gradients = as_python(gradient, arguments)(*arguments)
        tensors = [jt.constant(one, jt.float64) for one in arguments]
        with jt.GradientTape() as tape:
            for one in tensors:
                tape.watch(one)
            expected = function.py_func(*tensors)
        np.testing.assert_allclose(value, expected, rtol=1e-12, err_msg=text)
        others = tape.gradient(expected, tensors, unconnected_gradients="zero")
        for one, other in zip(gradients, others, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=text)


@numba.njit
def announced(x, y):
    print("computed")
    return x * x * y


def test_an_op_of_arrays_prints_once(capfd):
    op = jt.numba_op(announced, result=lambda x, y: x)
    x, y = jt.constant([1.0, 2.0], jt.float64), jt.constant([3.0, 4.0], jt.float64)
    with jt.GradientTape() as tape:
        tape.watch([x, y])
        total = jt.reduce_sum(op(x, y))
    gradients = tape.gradient(total, [x, y])
    np.testing.assert_allclose(np.stack([one.numpy() for one in gradients]), [[6.0, 16.0], [1.0, 4.0]])
    assert capfd.readouterr().out.count("computed") == 1


@numba.njit
def cost_of_index(x, w):
    x[np.argmin(x)] *= w[np.argmax(w)]
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i] * w[i]
    return total


def test_an_op_of_arrays_whose_functions_have_no_form_for_numbers():
    # Numba raises an AttributeError instead of a TypingError for np.argmin and others of a number.
    x, w = np.array([3.0, -1.0, 2.0]), np.array([0.5, 1.5, 2.5])
    tensors = [jt.constant(x), jt.constant(w)]
    with jt.GradientTape() as tape:
        tape.watch(tensors)
        cost = jt.numba_op(cost_of_index)(*tensors)
    value, gradients = jt.njit_value_and_grad(cost_of_index, argnums=(0, 1))(x, w)
    np.testing.assert_allclose(cost.numpy(), value)
    for one, other in zip(tape.gradient(cost, tensors), gradients, strict=True):
        np.testing.assert_allclose(one, other)


@numba.njit
def by_flat(x):
    for i in range(1, x.size):
        x.flat[i] *= x.flat[i - 1]
    return x[0, 0] * x[1, 1] + x[0, 1] ** 2


@numba.njit
def by_diagonal(x):
    np.fill_diagonal(x, x[0, 1] ** 2)
    return x[0, 0] * x[1, 1] * x[1, 0]


@numba.njit
def by_product(x):
    np.dot(x[:, :].copy(), x + 1.0, x)
    return x[0, 0] * x[1, 1] + x[0, 1] ** 2


@numba.njit
def by_contiguous(x):
    y = np.ascontiguousarray(x)
    y[0, 0] = y[1, 1] ** 2
    return x[0, 0] * x[1, 0]


@numba.njit
def by_callee(x):
    return x[1, 0] * by_flat(x)


@pytest.mark.parametrize("function", [by_flat, by_diagonal, by_product, by_contiguous, by_callee])
def test_an_op_does_not_write_to_its_operands(function):
    # Numba compiles these writes for read-only arrays too.
    x = np.array([[2.0, 3.0], [5.0, 7.0]])
    value, gradient = jt.njit_value_and_grad(function)(x.copy())
    tensor = jt.constant(x)
    with jt.GradientTape() as tape:
        tape.watch(tensor)
        y = jt.numba_op(function)(tensor)
    np.testing.assert_allclose(y.numpy(), value)
    np.testing.assert_allclose(tape.gradient(y, tensor), gradient)
    np.testing.assert_array_equal(tensor.numpy(), x)
    compiled = jt.function(jt.value_and_grad(jt.numba_op(function)))
    for one, other in zip(compiled(tensor), (value, gradient), strict=True):
        np.testing.assert_allclose(one, other)
    np.testing.assert_array_equal(tensor.numpy(), x)
