"""What the gradients of loops save, read again and compute again; values in both execution modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.core.tuning import tuning
from jittape.runtime.counters import counters

RNG = np.random.default_rng(0)
STEPS, ROWS = 5, 1500
Z = RNG.normal(size=(STEPS, 2, ROWS))
X = RNG.normal(size=ROWS)


def saved_elements() -> int:
    """Return the number of elements that the loops of the last step stack."""
    program = counters.last.compiled.schedule.program
    picks = [(op, dict(op.params).get("result_index", ("", 0))) for op in program.ops]
    return sum(program.avals[op.out].size for op, pick in picks if pick[0] == "stack")


def in_a_loop(p: Any, z: Any, parts: Any) -> Any:
    """Return a sum over paths; `parts` returns two rows of `z` in step `i`."""

    def step(i: Any, state: Any) -> Any:
        x, v = state
        a, b = parts(z, i)
        return x + jt.sin(v) * a, v + p * a * b + 0.1 * v**2

    start = jt.zeros([ROWS], "float64"), jt.zeros([ROWS], "float64") + p
    return jt.reduce_sum(jt.fori_loop(0, STEPS, step, start)[0])


def written_out(p: Any, z: Any) -> Any:
    x, v = jt.zeros([ROWS], "float64"), jt.zeros([ROWS], "float64") + p
    for i in range(STEPS):
        x, v = x + jt.sin(v) * z[i, 0], v + p * z[i, 0] * z[i, 1] + 0.1 * v**2
    return jt.reduce_sum(x)


PARTS = {
    "two indices": lambda z, i: (z[i, 0], z[i, 1]),
    "a row of a row": lambda z, i: (z[i][0], z[i][1]),
    "a row, then taken apart": lambda z, i: jt.unstack(z[i]),
    "gather": lambda z, i: (jt.gather(z, i)[0], jt.gather(z, i)[1]),
    "a column first": lambda z, i: (z[:, 0][i], z[:, 1][i]),
    "from the end": lambda z, i: (z[i - STEPS, 0], z[i - STEPS, -1]),
}


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("name", PARTS)
def test_parts_of_a_captured_array_are_read_again(
    monkeypatch: pytest.MonkeyPatch, name: str, interpret: bool
) -> None:
    monkeypatch.setattr(jt.config, "interpret", interpret)
    monkeypatch.setattr(jt.config, "compile_after", 0)
    p, z = jt.constant(0.3, dtype="float64"), jt.constant(Z)
    expected = jt.grad(written_out)(p, z).numpy()
    np.testing.assert_allclose(jt.grad(in_a_loop)(p, z, PARTS[name]).numpy(), expected, rtol=1e-10)
    if not interpret:
        assert saved_elements() <= STEPS * (ROWS + 4), "one carry, and a few indices"
    both = jt.grad(in_a_loop, argnums=(0, 1))(p, z, PARTS[name])
    also = jt.grad(written_out, argnums=(0, 1))(p, z)
    for one, other in zip(both, also, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-10, atol=1e-12)
    second = jt.grad(lambda p: jt.grad(in_a_loop)(p, z, PARTS[name]))(p)
    np.testing.assert_allclose(second.numpy(), jt.grad(jt.grad(written_out))(p, z).numpy(), rtol=1e-9)


def test_short_parts_are_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading them again would check the index again, which takes longer."""
    monkeypatch.setattr(jt.config, "compile_after", 0)
    short = jt.constant(Z[0, :, : tuning.regathered_elements - 1])
    f = lambda x: jt.reduce_sum(jt.fori_loop(0, 2, lambda i, y: jt.sin(y) * short[i], x))  # noqa: E731
    jt.grad(f)(short[0]).numpy()
    assert saved_elements() == 4 * (tuning.regathered_elements - 1)


def test_numbers_drawn_in_a_loop_are_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jt.config, "compile_after", 0)
    seed = jt.constant([1, 2])

    def drawn(x: Any) -> Any:
        return jt.fori_loop(
            0, STEPS, lambda i, y: y * jt.random.stateless_normal([ROWS], seed + i, dtype="float64"), x
        )

    x = jt.constant(X)
    value, gradient = jt.value_and_grad(lambda x: jt.reduce_sum(drawn(x)))(x)
    value.numpy(), gradient.numpy()
    assert saved_elements() == STEPS * ROWS
    gradient = jt.grad(lambda x: jt.reduce_sum(drawn(x)))(x).numpy()
    assert saved_elements() == 0, "the loop that draws them is then one with the reverse loop"
    np.testing.assert_allclose(gradient, drawn(jt.ones([ROWS], "float64")).numpy(), rtol=1e-12)


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("trips", [0, 1, 3])
def test_cotangents_that_a_loop_does_not_change(
    monkeypatch: pytest.MonkeyPatch, trips: int, interpret: bool
) -> None:
    """`y` only collects, so its cotangent is the same in all iterations of the reverse loop."""
    monkeypatch.setattr(jt.config, "interpret", interpret)
    monkeypatch.setattr(jt.config, "compile_after", 0)

    def f(x: Any, y: Any, n: Any = trips) -> Any:
        x, y, same = jt.fori_loop(0, n, lambda i, s: (jt.sin(s[0]), s[1] + s[0] ** 2, s[2]), (x, y, x * y))
        return jt.reduce_sum(jt.exp(y) + x * same)

    def g(x: Any, y: Any) -> Any:
        same = x * y
        for _ in range(trips):
            x, y = jt.sin(x), y + x**2
        return jt.reduce_sum(jt.exp(y) + x * same)

    x, y = jt.constant(X[:7]), jt.constant(X[7:14])
    expected = [part.numpy() for part in jt.grad(g, argnums=(0, 1))(x, y)]
    for n in (trips, jt.constant(trips)):
        found = jt.grad(lambda x, y, n=n: f(x, y, n), argnums=(0, 1))(x, y)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.numpy(), other, rtol=1e-12)


VIEWS = {
    "transposed": lambda z: jt.transpose(z, [2, 0, 1]),
    "transposed and sliced": lambda z: jt.transpose(z, [2, 0, 1])[:, 1:],
    "sliced along the rows": lambda z: jt.transpose(z[:, :, 10:], [2, 1, 0]),
    "every other": lambda z: jt.transpose(z, [2, 0, 1])[::2],
    "broadcast": lambda z: jt.broadcast_to(jt.transpose(z[:, 0], [1, 0])[:, :, None], [ROWS, STEPS, 2]),
    "in order": lambda z: jt.transpose(jt.transpose(z, [2, 0, 1]), [1, 2, 0]),
}


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("name", VIEWS)
def test_views_of_arrays_that_a_loop_reads_rows_of(
    monkeypatch: pytest.MonkeyPatch, name: str, interpret: bool
) -> None:
    """The views move into the loop; carries, stacked results and gradients stay the same."""
    monkeypatch.setattr(jt.config, "interpret", interpret)
    monkeypatch.setattr(jt.config, "compile_after", 0)
    view = VIEWS[name]
    fixed = view(jt.constant(Z)).numpy()
    count, rows = (2, (0, -1)) if name == "in order" else (fixed.shape[1], (1, 0))

    def steps(p: Any, z: Any) -> Any:
        def step(x: Any, i: Any) -> Any:
            a = jt.gather(view(z), i, axis=rows[0])
            return x * p + jt.sin(a[..., 0]) * jt.gather(view(z), i, axis=rows[0])[..., -1]

        start = jt.zeros(np.take(fixed, 0, rows[0]).shape[:-1], "float64")
        return jt.scan(step, jt.range(count), start)

    def expected(p: float) -> np.ndarray[Any, Any]:
        x, found = 0.0, []
        for i in range(count):
            a = np.take(fixed, i, rows[0])
            x = x * p + np.sin(a[..., 0]) * a[..., -1]
            found.append(x)
        return np.array(found)

    p, z = jt.constant(0.7, dtype="float64"), jt.constant(Z)
    np.testing.assert_allclose(steps(p, z).numpy(), expected(0.7), rtol=1e-10, atol=1e-12)
    dp, dz = jt.grad(lambda p, z: jt.reduce_sum(steps(p, z) ** 2), argnums=(0, 1))(p, z)
    h = 1e-5
    slope = (np.sum(expected(0.7 + h) ** 2) - np.sum(expected(0.7 - h) ** 2)) / (2 * h)
    np.testing.assert_allclose(dp.numpy(), slope, rtol=1e-6)
    assert dz.shape == Z.shape


def test_vmap_along_the_last_axis_copies_nothing_before_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jt.config, "compile_after", 0)

    def path(z: Any) -> Any:
        return jt.fori_loop(
            0, STEPS, lambda i, x: jt.sin(x) + z[i, 0] * z[i, 1], jt.constant(0.5, dtype="float64")
        )

    z = jt.constant(Z)
    found = jt.vmap(path, in_axes=-1)(z).numpy()
    moved = sum(step.bytes_written for step in jt.explain().steps)
    assert moved < Z.nbytes / 2
    expected = np.full(ROWS, 0.5)
    for a, b in Z:
        expected = np.sin(expected) + a * b
    np.testing.assert_allclose(found, expected, rtol=1e-12)
