"""`jt.vmap`: the same as a Python loop over the elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 3, 3))
S = RNG.normal(size=5)
COUNTS = np.array([2, 0, 3, 1, 2])


def bilinear(v: Any, m: Any) -> Any:
    return jt.reduce_sum(v * jt.linalg.matvec(m, v))


def looped(v: Any) -> Any:
    return jt.fori_loop(0, 4, lambda i, y: jt.sin(y) * v, v)


def chosen(v: Any) -> Any:
    return jt.cond(jt.reduce_sum(v) > 0.0, lambda: v**2, lambda: -v)


def until_large(s: Any) -> Any:
    return jt.while_loop(lambda y: jt.abs(y) < 10.0, lambda y: y * 2.0, s)


def repeated(v: Any, count: Any) -> Any:
    """Run loops that end apart, one inside of the other."""

    def inner(i: Any, y: Any) -> Any:
        return jt.fori_loop(0, (count + i) % 3, lambda j, u: jt.tanh(u) * v + 0.1 * y, y)

    return jt.reduce_sum(jt.fori_loop(0, count, inner, v) ** 2)


CASES: dict[str, tuple[Any, Any, Any, tuple[Any, ...]]] = {
    "vectors": (lambda v: jt.reduce_sum(v * v), 0, 0, (A,)),
    "two stacks": (bilinear, 0, 0, (A, B)),
    "shared": (bilinear, (0, None), 0, (A, B[0])),
    "shared first": (bilinear, (None, 0), 0, (A[0], B)),
    "last axis": (bilinear, (-1, 2), 0, (A.T.copy(), np.moveaxis(B, 0, 2).copy())),
    "result along the last axis": (lambda v: jt.tanh(v), 0, -1, (A,)),
    "two results": (lambda v: (v * 2.0, {"sum": jt.reduce_sum(v)}), 0, (1, 0), (A,)),
    "gradient": (jt.grad(bilinear), (0, None), 0, (A, B[1])),
    "value and gradient": (jt.value_and_grad(bilinear), 0, 0, (A, B)),
    "hessian": (jt.hessian(lambda v: jt.reduce_sum(jt.exp(v) * v[::-1])), 0, 0, (A,)),
    "loop": (looped, 0, 0, (A,)),
    "gradient of a loop": (jt.grad(lambda v: jt.reduce_sum(looped(v))), 0, 0, (A,)),
    "branch": (chosen, 0, 0, (A,)),
    "while": (until_large, 0, 0, (S,)),
    "gradient of loops that end apart": (jt.grad(repeated), 0, 0, (A, COUNTS)),
    "hessian of loops that end apart": (jt.hessian(repeated), 0, 0, (A, COUNTS)),
    "linear system": (lambda m, v: jt.linalg.solve(m, v[:, None])[:, 0], 0, 0, (B, A)),
    "shared table": (lambda t, i: t[i] * 2.0, (None, 0), 0, (A, COUNTS)),
    "column of a shared table": (lambda t, i, v: t[:, i] @ v[:2], (None, 0, 0), 0, (A[:2], COUNTS % 3, A)),
    "gradient by a shared table": (
        jt.grad(lambda v, t, i: jt.reduce_sum(v**2 * t["rows"][i])),
        (0, None, 0),
        0,
        (A, {"rows": A}, COUNTS),
    ),
    "nested": (jt.vmap(lambda x, m: jt.sin(x) * m, (0, None)), (0, 0), 0, (A, S)),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_equals_a_loop(name: str, compiled: bool) -> None:
    f, in_axes, out_axes, args = CASES[name]
    mapped = jt.vmap(jt.function(f) if compiled else f, in_axes, out_axes)
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    rows = [
        f(*[a if axis is None else np.take(a, i, axis) for a, axis in zip(args, axes, strict=True)])
        for i in range(5)
    ]
    for _ in range(3):
        found, tree = _leaves(mapped(*args))
        expected = [_leaves(row)[0] for row in rows]
        outs = out_axes if isinstance(out_axes, tuple) else (out_axes,) * len(found)
        assert tree == _leaves(rows[0])[1]
        for i, (one, axis) in enumerate(zip(found, outs, strict=True)):
            assert isinstance(one, np.ndarray)
            stacked = np.stack([np.asarray(row[i]) for row in expected], axis)
            np.testing.assert_allclose(one, stacked, rtol=1e-10, atol=1e-12)


def test_shared_arrays_stay_arrays_where_they_can() -> None:
    def f(v: Any, counts: Any) -> Any:
        return v * int(counts[0]) if counts.max() > 2 else v

    np.testing.assert_array_equal(jt.vmap(f, (0, None))(A, COUNTS), A * 2)
    with pytest.raises(jt.errors.ControlFlowError, match=r"for array\(\).*use jt.constant\(array\)\[index\]"):
        jt.vmap(lambda i: A[i] * 2.0)(COUNTS)
    rows = jt.vmap(lambda i, t: t[i] * int(t[0, 0]), (0, None))(COUNTS, A)
    np.testing.assert_array_equal(rows, A[COUNTS] * int(A[0, 0]))


def _leaves(value: Any) -> tuple[list[Any], Any]:
    import optree

    return optree.tree_flatten(value)


def test_gradient_of_gradients_of_loops_that_end_apart() -> None:
    gradients = jt.vmap(jt.grad(repeated))
    found = jt.grad(lambda a: jt.reduce_sum(jt.sin(gradients(a, COUNTS))))(A)
    own = jt.grad(lambda v, n: jt.reduce_sum(jt.sin(jt.grad(repeated)(v, n))))
    np.testing.assert_allclose(
        found, [own(v, n) for v, n in zip(A, COUNTS, strict=True)], rtol=1e-9, atol=1e-12
    )
    assert gradients(A[:0], COUNTS[:0]).shape == (0, 3)


def from_start(v: Any, start: Any) -> Any:
    return jt.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + v[i] ** 2), (start, v[0] * 0.0))[1]


def written_from_start(v: Any, start: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        y[i] = 2.0 * y[i] * v[0]
        return i + 1, y

    return jt.reduce_sum(jt.while_loop(lambda i, y: i < 3, body, (start, v * 1.0))[1])


def asserted(v: Any, start: Any) -> Any:
    def small() -> Any:
        jt.debugging.assert_less(start, jt.constant(3, "int64"))
        return v[start] ** 2

    return jt.cond(start < 3, small, lambda: v[0] * 0.5)


def factored(v: Any, start: Any) -> Any:
    def factor() -> Any:
        return (
            jt.reduce_sum(jt.linalg.cholesky(jt.eye(2, dtype="float64") * (3.0 - jt.cast(start, "float64"))))
            * v[0]
        )

    return jt.switch_case(jt.cast(start > 2, "int32"), [factor, lambda: jt.reduce_sum(v)])


@pytest.mark.parametrize("starts", [[2, 0, 3, 1, 3], [3, 3, 3, 3, 3]])
@pytest.mark.parametrize("f", [from_start, written_from_start, asserted, factored])
def test_elements_that_have_ended_or_take_another_branch_do_not_fail(f: Any, starts: list[int]) -> None:
    mapped = jt.vmap(jt.value_and_grad(f))
    for _ in range(2):
        values, gradients = mapped(A, np.array(starts))
        for i, start in enumerate(starts):
            value, gradient = jt.value_and_grad(f)(A[i], jt.constant(start, "int64"))
            np.testing.assert_allclose(values[i], value, rtol=1e-12)
            np.testing.assert_allclose(gradients[i], gradient, rtol=1e-12)
    empty = mapped(A[:0], np.array(starts)[:0])
    assert [part.shape for part in empty] == [(0,), (0, 3)]


def test_elements_that_fail_are_refused() -> None:
    with pytest.raises(jt.errors.InvalidArgumentError, match="index 3 is out of bounds"):
        jt.vmap(lambda v, s: jt.cond(s > 2, lambda: v[s], lambda: v[0]))(A, np.array([2, 0, 3, 1, 3]))


def test_types_of_results_follow_the_arguments() -> None:
    double = jt.vmap(lambda v: v * 2.0)
    assert isinstance(double(A), np.ndarray)
    assert isinstance(double(jt.constant(A)), jt.Tensor)
    x = jt.Variable(A)
    with jt.GradientTape() as tape:
        y = jt.reduce_sum(double(x) ** 2)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), 8.0 * A, rtol=1e-12)


def test_a_result_without_a_value_stays_none() -> None:
    assert jt.vmap(lambda x: None)(A) is None
    doubled, nothing = jt.vmap(lambda x: (2.0 * x, None))(A)
    np.testing.assert_array_equal(doubled, 2.0 * A)
    assert nothing is None


def test_nested_structures_and_keywords() -> None:
    def f(pair: Any, *, rate: Any) -> Any:
        return pair["x"] * pair["s"] * rate

    mapped = jt.vmap(f, in_axes=({"x": 0, "s": None},))
    np.testing.assert_allclose(mapped({"x": A, "s": np.float64(2.0)}, rate=3.0), A * 6.0, rtol=1e-12)


def test_each_element_draws_its_own_numbers() -> None:
    jt.random.set_seed(0)
    noisy = jt.vmap(lambda v: v * 0.0 + jt.random.normal([3], dtype="float64"))(np.zeros((100, 3)))
    assert len(np.unique(noisy)) == 300


ERRORS: list[tuple[Any, type[Exception], str]] = [
    (lambda: jt.vmap(bilinear, None)(A, B), ValueError, "must give an axis for at least one argument"),
    (lambda: jt.vmap(bilinear, (0,))(A, B), ValueError, "in_axes has 1 entries for 2 positional arguments"),
    (
        lambda: jt.vmap(bilinear)(A[:4], B),
        ValueError,
        "must have the same length, got (4, 3) along axis 0, (5, 3, 3)",
    ),
    (
        lambda: jt.vmap(jt.sin, 2)(A),
        ValueError,
        "in_axes: axis 2 is out of range for an array of shape (5, 3)",
    ),
    (
        lambda: jt.vmap(jt.sin, 0, 2)(A),
        ValueError,
        "out_axes: axis 2 is out of range for an array of shape (5, 3)",
    ),
    (lambda: jt.vmap(jt.sin, 0, None)(A), ValueError, "out_axes must be ints"),
    (
        lambda: jt.vmap(jt.sin, "a")(A),
        TypeError,
        "[vmap] in_axes must be an int, None or a structure of them, got 'a'",
    ),
    (lambda: jt.vmap(jt.sin)(3.0), ValueError, "axis 0 is out of range"),
    (lambda: jt.vmap(jt.sin)(np.array(["a"])), TypeError, "[vmap] Cannot convert an array of dtype"),
    (lambda: jt.vmap(bilinear)(A, m=B), TypeError, "the argument m is an array passed by keyword"),
    (lambda: jt.vmap(3), TypeError, "f"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case: int) -> None:
    call, kind, text = ERRORS[case]
    with pytest.raises(kind) as raised:
        call()
    assert text in str(raised.value)
