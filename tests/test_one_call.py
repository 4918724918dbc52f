"""Calls of NumPy's functions that are recorded as one call: values, types, refused forms, and known paths."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp
from jittape.numpy_api.one_call import ONE_CALLS
from jittape.recording.trace import current_trace
from test_native_recording import calls_of_python, machine_code

__all__ = ["machine_code"]

A = np.array([[2.0, 0.5, 1.0], [0.25, 3.0, 0.75], [0.5, 1.5, 4.0]])
KNOWN = (
    "n.append(x, y, axis=0)", "n.array_split(x, 2)", "n.atleast_2d(x, v)", "n.average(v, weights=w)",
    "n.broadcast_arrays(x, v)", "n.broadcast_to(v, (2, 3))", "n.clip(x, 0.5, None)", "n.clip(x, a_min=0.5, a_max=2.0)",
    "n.clip(x, 1, 2)", "n.concatenate((x, y), axis=1)", "n.convolve(v, w, 'same')", "n.cov(x, rowvar=False)",
    "n.cross(v, w)", "n.delete(v, -1)", "n.diag(v, -1)", "n.einsum('ij,jk->ik', x, y)", "n.fft.rfft(v)",
    "n.full_like(x, 2.5)", "n.gradient(v)", "n.hsplit(x, 3)", "n.insert(v, 1, 7.0)", "n.interp(v, v, w)",
    "n.isclose(x, y, rtol=0.5)", "n.linalg.eigh(x)", "n.linalg.multi_dot([x, y, x])",
    "n.linalg.norm(x, axis=1, keepdims=True)", "n.linalg.slogdet(x)", "n.linalg.svd(x, full_matrices=False)",
    "n.median(x, axis=0)", "n.meshgrid(v, w)", "n.nanmean(x, 1)", "n.pad(x, ((1, 0), (0, 2)))",
    "n.pad(x, (1, 2), 'reflect')", "n.pad(v, 1, mode='edge')", "n.percentile(v, 30)", "n.polyval(v, w)",
    "n.percentile(v, (30, 60.5))", "n.quantile(x, f)", "n.quantile(x, [0.25, 0.5], axis=0)",
    "n.power(x, 2)", "n.power(x, y)", "n.ptp(x, axis=0)", "n.quantile(x, 0.25, axis=0)", "n.repeat(x, 2, axis=1)",
    "n.resize(x, (2, 5))", "n.interp(v, f, f)", "n.dot(v, k)", "n.where(m, x, k)", "n.hstack([v, k])",
    "n.roll(x, 1, axis=0)", "n.round(x, 1)", "n.split(x, (1, 2))", "n.stack([x, y], axis=-1)",
    "n.std(x, axis=0, ddof=1)", "n.sum(x, dtype=np.float32)", "n.take(x, t, axis=1)", "n.take(v, -2)",
    "n.take(x, [0, 2], axis=1)", "n.take(x, k[:2], -1)", "n.take(x, 1, 1)",
    "n.tile(x, (2, 1))", "n.trapezoid(v, w)", "n.tril(x)", "n.trunc(x)", "n.unwrap(v)", "n.var(x, axis=(0, 1))",
    "n.where(m, x, 0.0)", "n.zeros_like(x)",
    "n.broadcast_to(v, [2, 3])", "n.expand_dims(x, [0, 3])", "n.gradient(v, 0.5)", "n.gradient(x, 0.5, 0.25)",
    "n.linalg.pinv(x, 1e-3)", "n.linalg.pinv(x, rcond=1e-3)", "n.moveaxis(x, [0, 1], [1, 0])", "n.polyval(v, 2.5)",
    "n.pad(x, [(1, 0), [0, 2]])", "n.reshape(x, [1, 9])", "n.roll(x, [1, 1], axis=[0, 1])",
    "n.select([m, m], [x, y])", "n.split(v, [1, 2])", "n.tensordot(x, y, ([0, 1], [0, 1]))",
    "n.tensordot(x, y, axes=([0], [0]))", "n.transpose(x, [1, 0])", "n.trapezoid(x, dx=0.25, axis=0)",
    "n.add.reduce(x)", "n.add.reduce(x, axis=1, keepdims=True)", "n.maximum.reduce(x, axis=None)",
    "n.multiply.reduce(x, axis=(0, 1))", "n.logaddexp.reduce(v)", "n.subtract.reduce(v)", "n.add.accumulate(x, 1)",
    "n.add.reduce(x, dtype=np.float32)", "n.maximum.accumulate(x)", "n.subtract.outer(v, w)", "n.multiply.outer(v, k)",
    "n.add.reduceat(v, [0, 2])", "n.logical_or.reduce(m)", "n.searchsorted(v, x)", "n.searchsorted(v, 0.75, 'right')",
    "n.searchsorted(v, f, side='right')", "x.sum(dtype=np.float32)", "x.mean(axis=0, dtype='float32')",
    "v.searchsorted(x)", "x.std(ddof=1, keepdims=True)", "n.append(v, 1.0)", "n.hypot.reduce(v)",
)  # fmt: skip
"""Calls that machine code records by itself."""
REFUSED = (
    "n.where(x > y, 1, 2)", "n.where(x > y, 0.1, 0.2)", "n.full_like(x, 2)", "n.dot(x, 2)", "n.kron(2, x)",
    "n.sum(x, where=x > y)", "n.average(x, axis=0, weights=[1.0, 2.0, 3.0])", "n.repeat(v, np.array([1, 0, 2]))",
    "n.repeat(v[:2], t)", "n.take(x, -2)",
    "n.take(x, k)", "n.take(x, k[None], 0)", "n.take(x, 1, mode='wrap')",
    "n.quantile(x, f[::-1])", "n.percentile(v, [5] * 20)", "n.percentile(x, k)", "n.quantile(v, q=0.5)",
    "n.where(v > w)[0]",
    "n.unique(v)", "n.select([x > y, x < y], [x, y], 5.0)", "n.insert(v, 1, [7.0, 8.0])", "n.insert(x, 1, 7.0, axis=1)",
    "n.insert(v, 3, 7.0)", "n.insert(v, 1, 7)", "n.delete(x, -1, axis=0)", "n.delete(v, [0, 1])", "n.delete(v, obj=1)",
    "n.piecewise(v, [v > w], [1.0, 2.0])", "n.pad(v, 9, mode='wrap')", "n.histogram(v, 3)[0]",
    "n.einsum(x, [0, 1], [1, 0])", "n.block([[x, y], [y, x]])", "n.repeat(v, [1, 0, 2])",
    "n.nan_to_num(x, nan=0.5)", "n.repeat(v, [True, False, True])",
    "n.broadcast_to(v, [np.int64(2), 3])", "n.average(v, weights=[1, 2, 3])",
    "n.linspace(v, w, 4)", "n.median(x, axis=np.int64(1))",
    "n.add.reduce(x, initial=2.0)", "n.add.reduce(x, where=x > y)", "n.add.reduceat(v, k)",
    "n.dot(v, [1.0, 2.0, 3.0])", "n.interp(v, [0.0, 1.0], [2, 5])", "n.polyval([1.0, 2, 3], v)",
)  # fmt: skip
"""Calls with other arguments, or of functions that read values."""


def variables(dtype: Any = np.float64) -> dict[str, Any]:
    a = A.astype(dtype)
    return {
        "x": a,
        "y": a.T,
        "v": a[0],
        "w": a[1],
        "f": np.array([0.25, 0.75]),
        "k": np.array([2, 1, 0]),
        "t": np.array([2, 0]),
        "m": A > 1,
    }


def tensors(dtype: Any = np.float64) -> dict[str, Any]:
    return {name: a if name in ("f", "k") else jt.constant(a) for name, a in variables(dtype).items()}


def compiled(text: str) -> Callable[[Any, dict[str, Any]], Any]:
    code = compile(text, text, "eval")
    return lambda n, names: eval(code, {"n": n, "np": np, **names})


def assert_same(found: Any, wanted: Any) -> None:
    """Check that results have the values, dtypes and containers of NumPy's."""
    if isinstance(wanted, (list, tuple)):
        assert isinstance(found, list) == isinstance(wanted, list)
        assert getattr(found, "_fields", None) == getattr(wanted, "_fields", None)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)
    else:
        found = np.asarray(found)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=1e-12 if wanted.dtype.itemsize > 4 else 2e-6)


@pytest.mark.parametrize("text", [*KNOWN, *REFUSED])
def test_calls_agree_with_numpy(text: str):
    call, names = compiled(text), tensors()
    wanted = call(np, variables())
    for namespace in (np, jnp, np, jnp, np, jnp):
        current_trace().step()
        assert_same(call(namespace, names), wanted)


@pytest.mark.parametrize("namespace", [np, jnp])
@pytest.mark.parametrize("text", KNOWN)
def test_known_paths_run_no_python(text: str, namespace: Any):
    call, names = compiled(text), tensors()
    for _ in range(5):
        current_trace().step()
        seen = calls_of_python(lambda: call(namespace, names))
    allowed = {"<lambda>", "<module>", "_make", text}
    assert {name for name in seen if not name.endswith("_dispatcher")} <= allowed | OF_NUMPY


OF_NUMPY = {"_arrays_for_stack_dispatcher", "iterable", "_block_dispatcher", "broadcast_arrays", "__new__"}
"""Functions of NumPy that its functions run before they ask the tensor."""


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("n.sum(x, axis=-2)", np.sum), ("n.stack([x, y, x, y])", np.stack), ("n.round(x, 7)", np.round),
        ("n.einsum('ij,kj->ki', x, y)", np.einsum), ("n.concatenate((y, x), axis=-1)", np.concatenate),
    ],
)  # fmt: skip
def test_paths_have_the_parameters_that_machine_code_compares_by_identity(text: str, function: Any):
    call, names = compiled(text), tensors()
    for _ in range(3):
        current_trace().step()
        kept = call(np, names)
    node = current_trace().node
    assert node.parent is not None
    (key,) = [key for key, child in node.parent.children.items() if child is node]
    assert key[1] is ONE_CALLS[function].last[0]
    del kept


def test_each_call_is_recorded_as_one():
    names = tensors()
    for text in ("n.median(x)", "n.nanvar(x, ddof=1)", "n.pad(x, 1)", "n.einsum('ij->', x)"):
        current_trace().step()
        kept = compiled(text)(np, names)
        assert len(current_trace().pending) == 1, text
        del kept


@pytest.mark.parametrize("namespace", [np, jnp])
def test_numbers_that_change_are_not_kept(namespace: Any):
    x = jt.constant(np.arange(6.0))
    for i in range(60):
        shift, low, fill = i % 7, i * 0.25, float("nan") if i % 5 == 0 else i * 0.1
        current_trace().step()
        a = x.numpy()
        assert namespace.roll(x, shift).numpy().tolist() == np.roll(a, shift).tolist()
        assert namespace.clip(x, low, None).numpy().tolist() == np.clip(a, low, None).tolist()
        assert namespace.clip(x, 1, i).numpy().tolist() == np.clip(a, 1, i).tolist()
        assert namespace.where(x > 2, x, low).numpy().tolist() == np.where(a > 2, a, low).tolist()
        np.testing.assert_array_equal(namespace.full_like(x, fill).numpy(), np.full_like(a, fill))


@pytest.mark.parametrize("namespace", [np, jnp])
def test_indices_and_fractions_are_checked_and_not_kept(namespace: Any):
    x, a = jt.constant(np.arange(6.0)), np.arange(6.0)
    for i in range(60):
        current_trace().step()
        place, fraction = i % 12 - 6, i % 11 / 10
        assert float(namespace.take(x, place)) == a[place]
        assert namespace.delete(x, place).numpy().tolist() == np.delete(a, place).tolist()
        assert namespace.insert(x, place, 0.5 * i).numpy().tolist() == np.insert(a, place, 0.5 * i).tolist()
        assert float(namespace.quantile(x, fraction)) == np.quantile(a, fraction)
        assert float(namespace.percentile(x, i)) == np.percentile(a, i)
        for bad in (6 + i, -7 - i, 2**80):
            for function in (namespace.take, namespace.delete):
                with pytest.raises((IndexError, OverflowError)):
                    function(x, bad)
            with pytest.raises((IndexError, OverflowError)):
                namespace.insert(x, bad + (bad > 0), 1.0)
        for bad in (1.5 + i, -0.1, float("nan"), -1):
            with pytest.raises(ValueError, match="must be in the range"):
                namespace.quantile(x, bad)
            with pytest.raises(ValueError, match="must be in the range"):
                namespace.percentile(x, 100 * bad)
        with pytest.raises(np.exceptions.AxisError):
            namespace.delete(x, place, axis=1)


def quantile_on_one_line(namespace: Any, x: Any, q: Any) -> None:
    """Record a call on a path that depends on nothing but the kind of the numbers."""
    current_trace().step()
    namespace.quantile(x, q)


@pytest.mark.parametrize("namespace", [np, jnp])
def test_lists_and_arrays_of_fractions_are_checked_and_not_kept(namespace: Any):
    a = np.arange(6.0, dtype=np.float32)
    x, array, numbers, kept = jt.constant(a), np.zeros(2), [0.0, 1.0], []
    for i in range(40):
        current_trace().step()
        numbers[:] = array[:] = i % 11 / 10, i % 7 / 6
        for q in (numbers, tuple(numbers), array, [i % 2, 1], [i % 2, 0.5]):
            found, wanted = namespace.quantile(x, q), np.quantile(a, q)
            assert found.dtype == wanted.dtype
            kept.append((found, wanted))
        array[:] = numbers[:] = 2.0, 2.0  # the calls have copied them
        for found, wanted in kept[-5:]:
            np.testing.assert_array_equal(found.numpy(), wanted)
        for bad in (1.5, -0.1, float("nan"), -1, 2, 2**80):
            array[:] = 0.5, bad
            for good, q in (
                ([0.5, type(bad)(0)], [0.5, bad]),
                ((0.5, 1.0), (0.5, bad)),
                (np.ones(2), array),
                (np.ones(1), array[1:]),
                ([np.array(0.5)], [np.array(bad)]),
            ):
                quantile_on_one_line(namespace, x, good)
                with pytest.raises((ValueError, TypeError), match="must be"):
                    quantile_on_one_line(namespace, x, q)


@pytest.mark.parametrize("namespace", [np, jnp])
def test_arrays_and_lists_that_change_are_read_each_time(namespace: Any):
    x, rows = jt.constant(np.arange(3.0)), np.zeros(3)
    parts: list[Any] = [x, x]
    for i in range(50):
        rows[:] = i
        parts[1] = x * float(i)
        current_trace().step()
        dot, between = namespace.dot(x, rows), namespace.interp(x, np.arange(3.0), rows)
        stack = namespace.stack([x, rows])
        rows[:] = -1  # the calls have copied them
        assert dot.numpy() == 3.0 * i
        assert between.numpy().tolist() == [i] * 3
        assert stack.numpy()[1].tolist() == [i] * 3
        assert namespace.concatenate(parts).numpy()[3:].tolist() == [0.0, i, 2.0 * i]


def test_variables_are_read_in_their_latest_version():
    v, w = jt.Variable([1.0, 2.0, 3.0], dtype="float64"), jt.Variable([1.0, 1.0, 2.0], dtype="float64")
    for i in range(40):
        with jt.GradientTape() as tape:
            loss = np.average(v, weights=w) + np.median(np.append(v, w))
        gradients = tape.gradient(loss, [v, w])
        value = np.average(v.numpy(), weights=w.numpy()) + np.median(np.append(v.numpy(), w.numpy()))
        np.testing.assert_allclose(loss.numpy(), value, rtol=1e-12)
        v.assign_sub(0.01 * gradients[0])
        w.assign(w * (1.0 + 0.01 * (i % 3)))


def test_out_is_written_by_known_calls():
    x = jt.constant(A)
    for i in range(40):
        total = jt.Variable(np.zeros(3))
        np.median(x * float(i), axis=0, out=total)
        np.testing.assert_array_equal(total.numpy(), np.median(A * i, axis=0))


def test_indices_out_of_range_are_refused_at_once():
    x, rows = jt.constant(A), np.array([0, 1])
    for i in (0, 1, 2, 3, 1):
        rows[1] = i
        for take in (np.take, jnp.take):
            for index in (i, rows, [0, i]):
                if i < 3:
                    np.testing.assert_array_equal(take(x, index, axis=0).numpy(), A.take(index, 0))
                else:
                    with pytest.raises(IndexError, match="take|gather"):
                        take(x, index, axis=0)


def test_errors_are_those_of_the_function():
    names = tensors()
    for text in (
        "n.median(x, axis=3)",
        "n.tile(x, -1)",
        "n.split(v, 2)",
        "n.einsum('ij,jk', x, v)",
        "n.diag(x[None])",
    ):
        wanted: type[Exception] = Exception
        try:
            compiled(text)(np, variables())
        except Exception as error:
            wanted = ValueError if isinstance(error, ValueError) else TypeError
        for namespace in (np, jnp, np, jnp):
            with pytest.raises(wanted):
                compiled(text)(namespace, names)
    assert np.median(names["x"]).numpy() == np.median(A)


def test_lists_and_numbers_are_those_of_the_call():
    names = tensors()
    shape, axes, parts = [1, 9], [1, 0], [1, 2]
    for i in range(9):
        shape[:], axes[:], parts[:] = [(1, 9), (9, 1), (3, 3)][i % 3], [(1, 0), (0, 1)][i % 2], (1 + i % 2, 2)
        step = (0.5, 0.25, 2.0)[i % 3]
        for namespace in (np, jnp):
            current_trace().step()
            found = (
                namespace.reshape(names["x"], shape),
                namespace.transpose(names["x"], axes),
                namespace.split(names["v"], parts),
                namespace.trapezoid(names["v"], dx=step),
                namespace.polyval(names["v"], step),
                namespace.tensordot(names["x"], names["y"], (axes, [0, 1])),
            )
            wanted = (
                np.reshape(A, shape),
                np.transpose(A, axes),
                np.split(A[0], parts),
                np.trapezoid(A[0], dx=step),
                np.polyval(A[0], step),
                np.tensordot(A, A.T, (axes, [0, 1])),
            )
            for one, other in zip(found, wanted, strict=True):
                assert_same(one, [*other] if isinstance(other, list) else np.asarray(other))


def test_true_is_no_axis():
    x = jt.constant(A)
    for _ in range(3):
        np.testing.assert_array_equal(np.sum(x, 1).numpy(), A.sum(1))
        np.testing.assert_array_equal(np.sum(x, axis=0, keepdims=True).numpy(), A.sum(0, keepdims=True))
        np.testing.assert_array_equal(np.sum(x, axis=0, keepdims=1).numpy(), A.sum(0, keepdims=True))
        with pytest.raises(TypeError):
            np.sum(x, True)


def test_calls_hold_nothing():
    x, y = (jt.constant(A + i) for i in range(2))
    axes, parts, limit = (0, 1), [x, y], float("0.25")

    def step() -> None:
        for _ in range(100):
            with jt.GradientTape():
                np.sum(x, axis=axes), np.stack(parts), np.clip(x, limit, None), np.linalg.slogdet(x)
                np.average(x, weights=y), jnp.tile(x, axes), np.concatenate((x, y))
                for bad in (lambda: np.sum(x, axis=7), lambda: np.stack([x, "a"]), lambda: np.median(x, 0.5)):
                    with pytest.raises((TypeError, ValueError)):
                        bad()

    step()
    held = (x, y, axes, parts, limit)
    gc.collect()
    before = [sys.getrefcount(value) for value in held]
    step()
    current_trace().step()
    gc.collect()
    assert [abs(sys.getrefcount(v) - n) <= 20 for v, n in zip(held, before, strict=True)] == [True] * len(
        held
    )


@pytest.mark.parametrize("namespace", [np, jnp])
def test_lengths_stay_general_after_a_refused_call(namespace: Any):
    with pytest.raises(ValueError, match="axis"):
        namespace.median(jt.constant(A), axis=5)
    np.repeat(jt.constant(A[0]), np.array([1, 0, 2]))
    function = jt.function(lambda x: namespace.sum(x, axis=0) + namespace.tile(x, 2)[0])
    for n in range(2, 9):  # a warning, which is an error here, would say that each length is a trace
        assert float(function(np.ones(n))) == n + 1


@pytest.mark.parametrize("namespace", [np, jt.numpy])
def test_a_number_among_arrays_has_numpys_dtype(namespace):
    x = jt.constant(np.arange(3.0, dtype=np.float32))
    for sparse in (False, True):
        found = namespace.meshgrid(x, 2, sparse=sparse)
        assert [grid.dtype for grid in found] == [np.float32, np.int64]


@pytest.mark.parametrize("namespace", [np, jnp], ids=["np", "jnp"])
def test_shapes_and_numbers_that_follow_are_those_of_numpy(namespace: Any):
    seen: set[str] = set()
    for a in (A, A[0], np.float64(2.0), np.ones((0, 3)), np.ones((2, 3, 4), np.int32)):
        x, v = jt.constant(a), jt.Variable(a)
        for value in (x, v, x * 2):
            for ask in (namespace.shape, namespace.ndim, namespace.size):
                found = ask(value)
                assert (found, type(found)) == (
                    wanted := getattr(np, ask.__name__)(a),
                    type(wanted),
                )
        seen |= calls_of_python(lambda: (namespace.shape(x), namespace.size(x)))  # noqa: B023
        assert namespace.size(x * 2, None) == np.size(a)
        if np.ndim(a):
            assert namespace.size(x, axis=0) == np.size(a, 0)
    assert not seen
    for ask in (namespace.shape, namespace.size):
        with pytest.raises(TypeError):
            ask()
        with pytest.raises(TypeError):
            ask(jt.constant(A), no_such=1)


def test_sorts_keep_the_parameters_of_the_array_api():
    x = jt.constant(A)
    for _ in range(3):
        for name in ("sort", "argsort"):
            function, wanted = getattr(jnp, name), getattr(np, name)
            np.testing.assert_array_equal(function(x), wanted(A))
            np.testing.assert_array_equal(function(x, 0), wanted(A, 0))
            np.testing.assert_array_equal(function(x, axis=None), wanted(A, axis=None))
            np.testing.assert_array_equal(
                function(x, descending=True), wanted(-A) if name == "argsort" else -np.sort(-A)
            )
            np.testing.assert_array_equal(function(x, stable=True), wanted(A, stable=True))
            with pytest.raises((TypeError, ValueError)):
                function(x, 5)
            with pytest.raises(TypeError):
                function(x, no_such=1)
            for _ in range(3):
                current_trace().step()
                seen = calls_of_python(lambda: function(x))  # noqa: B023
            assert not seen


def test_asarray_copies_arrays_and_keeps_tensors():
    a = A.copy()
    for i in range(3):
        a[:] = A + i
        x = jnp.asarray(a)
        a[:] = 0
        np.testing.assert_array_equal(x, A + i)
        assert jnp.asarray(x) is x
        assert jnp.array(x) is not x
        assert jnp.copy(x) is not x
        assert jnp.array(x, ndmin=3).shape == (1, *A.shape)
