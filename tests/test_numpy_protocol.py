"""NumPy's functions on tensors: the same values, shapes and dtypes; what cannot be recorded is refused by name."""

from __future__ import annotations

import io
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp
import numpy_table_analysis
import numpy_table_functions
from jittape.numpy_api.numpy_functions import FUNCTIONS
from jittape.numpy_api.numpy_protocol import UFUNCS, VALUE_FUNCTIONS
from jittape.numpy_api.numpy_support import READS_VALUES, support
from numpy_linalg_calls import LINALG_CALLS

X = np.random.default_rng(0).normal(size=(3, 4))
DTYPES = {"float64": X, "float32": X.astype(np.float32), "int64": (X * 4).astype(np.int64)}

CALLS: dict[str, Callable[[Any], Any]] = {
    "sum": np.sum,
    "sum axis": lambda a: np.sum(a, 0),
    "sum keepdims": lambda a: np.sum(a, axis=(0, 1), keepdims=True),
    "sum dtype": lambda a: np.sum(a, dtype=np.float64),
    "mean": np.mean,
    "mean axis": lambda a: np.mean(a, 1),
    "prod": np.prod,
    "max": np.max,
    "max axis": lambda a: np.max(a, 0),
    "min": np.min,
    "amax": np.amax,
    "amin": np.amin,
    "ptp": lambda a: np.ptp(a, 1),
    "any": lambda a: np.any(a > 0),
    "all": lambda a: np.all(a > 0, axis=1),
    "any of numbers": np.any,
    "argmax": np.argmax,
    "argmax axis": lambda a: np.argmax(a, 1),
    "argmin keepdims": lambda a: np.argmin(a, 0, keepdims=True),
    "argmax keepdims": lambda a: np.argmax(a, keepdims=True),
    "var": np.var,
    "var ddof": lambda a: np.var(a, 0, ddof=1),
    "std": lambda a: np.std(a, 1, keepdims=True),
    "std ddof": lambda a: np.std(a, ddof=1),
    "average": lambda a: np.average(a, 0),
    "average weights": lambda a: np.average(a, weights=a * a),
    "cumsum": np.cumsum,
    "cumsum axis": lambda a: np.cumsum(a, 1),
    "cumprod": lambda a: np.cumprod(a, axis=0),
    "norm": np.linalg.norm,
    "norm axis": lambda a: np.linalg.norm(a, axis=1),
    "norm 1": lambda a: np.linalg.norm(a, 1, 0),
    "norm inf": lambda a: np.linalg.norm(a, np.inf, axis=0, keepdims=True),
    "reshape": lambda a: np.reshape(a, (4, 3)),
    "reshape -1": lambda a: np.reshape(a, -1),
    "ravel": np.ravel,
    "transpose": np.transpose,
    "transpose axes": lambda a: np.transpose(a, (1, 0)),
    "matrix_transpose": np.matrix_transpose,
    "linalg.matrix_transpose": np.linalg.matrix_transpose,
    "swapaxes": lambda a: np.swapaxes(a, 0, -1),
    "moveaxis": lambda a: np.moveaxis(a, 0, 1),
    "squeeze": lambda a: np.squeeze(a[:1]),
    "expand_dims": lambda a: np.expand_dims(a, (0, 2)),
    "broadcast_to": lambda a: np.broadcast_to(a, (2, 3, 4)),
    "broadcast_arrays": lambda a: np.broadcast_arrays(a, a[0]),
    "atleast_1d": lambda a: np.atleast_1d(a[0, 0]),
    "atleast_2d": lambda a: np.atleast_2d(a[0]),
    "atleast_3d": lambda a: np.atleast_3d(a, a[0]),
    "concatenate": lambda a: np.concatenate([a, a]),
    "concatenate flat": lambda a: np.concatenate([a, a], axis=None),
    "concatenate arrays": lambda a: np.concatenate([np.ones((1, 4)), a], dtype=np.float64),
    "stack": lambda a: np.stack([a, a], 1),
    "vstack": lambda a: np.vstack([a, a[0]]),
    "hstack": lambda a: np.hstack([a, a]),
    "hstack vectors": lambda a: np.hstack([a[0], a[1]]),
    "dstack": lambda a: np.dstack([a, a]),
    "column_stack": lambda a: np.column_stack([a, a[:, 0]]),
    "split": lambda a: np.split(a, 2, 1),
    "split at": lambda a: np.split(a, [1, 2, 7], 1),
    "array_split": lambda a: np.array_split(a, 3, 1),
    "array_split at": lambda a: np.array_split(a, [2]),
    "flip": np.flip,
    "flip axis": lambda a: np.flip(a, 1),
    "fliplr": np.fliplr,
    "flipud": np.flipud,
    "roll": lambda a: np.roll(a, 1),
    "roll axes": lambda a: np.roll(a, (1, 2), axis=(0, 1)),
    "tile": lambda a: np.tile(a, (2, 2)),
    "repeat": lambda a: np.repeat(a, 2),
    "repeat each": lambda a: np.repeat(a, [1, 2, 3], axis=0),
    "pad": lambda a: np.pad(a, 1),
    "pad constant": lambda a: np.pad(a, ((1, 2), (0, 1)), constant_values=3),
    "pad reflect": lambda a: np.pad(a, 1, mode="reflect"),
    "diff": np.diff,
    "diff twice": lambda a: np.diff(a, 2, 0),
    "diag": np.diag,
    "diag of a vector": lambda a: np.diag(a[0], 2),
    "diag below": lambda a: np.diag(a[0], -1),
    "diagonal": lambda a: np.diagonal(a, 1),
    "linalg.diagonal": lambda a: np.linalg.diagonal(a, offset=-1),
    "tril": np.tril,
    "triu": lambda a: np.triu(a, 1),
    "trace": np.trace,
    "trace offset": lambda a: np.trace(a, 1),
    "linalg.trace": np.linalg.trace,
    "meshgrid": lambda a: np.meshgrid(a[0], a[1]),
    "dot": lambda a: np.dot(a, a.T),
    "dot vectors": lambda a: np.dot(a[0], a[1]),
    "dot 3-d": lambda a: np.dot(a, np.stack([a.T, a.T])),
    "dot scalar": lambda a: np.dot(a, a[0, 0]),
    "inner": lambda a: np.inner(a, a),
    "vdot": lambda a: np.vdot(a, a),
    "outer": lambda a: np.outer(a, a),
    "linalg.outer": lambda a: np.linalg.outer(a[0], a[1]),
    "linalg.matmul": lambda a: np.linalg.matmul(a, a.T),
    "tensordot": lambda a: np.tensordot(a, a),
    "tensordot axes": lambda a: np.tensordot(a, a, ([0], [0])),
    "linalg.tensordot": lambda a: np.linalg.tensordot(a, a, axes=2),
    "einsum": lambda a: np.einsum("ij,kj->ik", a, a),
    "where": lambda a: np.where(a > 0, a, 0),
    "where mask": lambda a: np.where(a > 0),
    "clip": lambda a: np.clip(a, -1, 1),
    "clip one side": lambda a: np.clip(a, None, 1),
    "round": np.round,
    "around": lambda a: np.around(a, 2),
    "take": lambda a: np.take(a, [1, 5]),
    "take axis": lambda a: np.take(a, [1, 2], axis=1),
    "take_along_axis": lambda a: np.take_along_axis(a, np.argsort(a, 1), 1),
    "zeros_like": np.zeros_like,
    "ones_like": lambda a: np.ones_like(a, shape=(2,)),
    "empty_like": lambda a: np.empty_like(a) * 0,
    "full_like": lambda a: np.full_like(a, 3),
    "linspace": lambda a: np.linspace(a[0], a[1], 5),
    "copy": np.copy,
    "real": np.real,
    "imag": np.imag,
    "angle": np.angle,
    "shape": np.shape,
    "ndim": np.ndim,
    "size": lambda a: np.size(a, 1),
    "result_type": lambda a: np.result_type(a, np.float32).name,
    "add.reduce": np.add.reduce,
    "add.reduce axis": lambda a: np.add.reduce(a, axis=1, keepdims=True),
    "multiply.reduce": lambda a: np.multiply.reduce(a, axis=None),
    "maximum.reduce": np.maximum.reduce,
    "ufunc dtype": lambda a: np.add(a, 1, dtype=np.float32),
    "weak scalar": lambda a: np.add(a, 1.5),
    "strong scalar": lambda a: np.float64(2) * a,
    "array left": lambda a: np.ones((2, 3)) @ a,
    "array right": lambda a: a @ np.ones((4, 2)),
    "divmod": lambda a: np.divmod(a, 2),
    "allclose": lambda a: np.allclose(a, a),
    "argsort": np.argsort,
    "argwhere": lambda a: np.argwhere(a > 0),
    "array2string": np.array2string,
    "array_equal": lambda a: np.array_equal(a, a + 1),
    "array_equiv": lambda a: np.array_equiv(a, a),
    "array_repr": np.array_repr,
    "array_str": np.array_str,
    "bincount": lambda a: np.bincount(np.where(a > 0, 1, 0)[0]),
    "count_nonzero": lambda a: np.count_nonzero(a > 0),
    "flatnonzero": lambda a: np.flatnonzero(a > 0),
    "histogram": lambda a: np.histogram(a, 3)[0],
    "isclose": lambda a: np.isclose(a, 1.0),
    "nonzero": lambda a: np.nonzero(a > 0),
    "searchsorted": lambda a: np.searchsorted(np.arange(3), a),
    "einsum_path": lambda a: np.einsum_path("ij,kj", a, a)[0],
    "shares_memory": lambda a: np.shares_memory(a, np.zeros(2)),
    "may_share_memory": lambda a: np.may_share_memory(a, np.zeros(2)),
    **LINALG_CALLS,
}


def assert_like(got: Any, expected: Any, rtol: float = 1e-12) -> None:
    if isinstance(expected, tuple | list):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            assert_like(a, b, rtol)
    elif isinstance(expected, bool | int | str):
        assert got == expected
    else:
        assert (np.shape(got), got.dtype) == (np.shape(expected), expected.dtype)
        np.testing.assert_allclose(np.asarray(got), expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_functions(call: Callable[[Any], Any], dtype: str) -> None:
    array = DTYPES[dtype]
    assert_like(call(jt.constant(array)), call(array), 1e-5 if dtype == "float32" else 1e-12)


def test_every_function_of_the_table_is_called() -> None:
    called = {name.split(" ")[0] for name in CALLS}
    compared = {row.call for table in (numpy_table_functions, numpy_table_analysis) for row in table.ROWS}
    saving = {"save", "savetxt", "savez", "savez_compressed"}
    for function in {*FUNCTIONS, *VALUE_FUNCTIONS} - compared:
        name = function.__name__
        assert name in called | saving or f"linalg.{name}" in called, name


INSIDE = (np.arccos, np.arcsin, np.arctanh)
POSITIVE = (np.log, np.log10, np.log1p, np.log2, np.sqrt, np.power, np.float_power)
BITS = (
    np.gcd,
    np.lcm,
    np.bitwise_and,
    np.bitwise_or,
    np.bitwise_xor,
    np.bitwise_count,
    np.invert,
    np.left_shift,
    np.right_shift,
)


def operand(ufunc: np.ufunc) -> Any:
    """An array in the domain of `ufunc`."""
    if ufunc in INSIDE:
        return np.clip(X, -0.9, 0.9)
    if ufunc in POSITIVE:
        return abs(X)
    if ufunc in BITS:
        return abs(DTYPES["int64"])
    return abs(X) + 1 if ufunc is np.arccosh else X


SECOND = {
    np.ldexp: lambda x: (x * 4).astype(np.int64),
    np.matmul: np.transpose,
    np.matvec: lambda x: x[0],
    np.vecmat: lambda x: np.stack([x.T] * 3),
}
"""The second operand of a ufunc that does not take two alike."""


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_ufuncs(ufunc: np.ufunc) -> None:
    x = operand(ufunc)
    rest = [] if ufunc.nin == 1 else [SECOND.get(ufunc, lambda x: x[::-1].copy())(x)]
    expected = ufunc(x, *rest)
    assert_like(ufunc(jt.constant(x), *rest), expected)
    if rest:
        assert_like(ufunc(x, jt.constant(rest[0])), expected)


def test_what_numpy_calls_is_recorded() -> None:
    x = jt.Variable(X)
    with jt.GradientTape() as tape:
        y = np.sum(np.exp(x) * np.ones((3, 4)), axis=0).__rmatmul__(np.arange(4.0))
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), np.exp(X) * np.arange(4.0))


def test_logaddexp_at_a_tie_and_at_minus_infinity() -> None:
    a, b = jt.Variable([1.0, -np.inf]), jt.Variable([1.0, 2.0])
    with jt.GradientTape() as tape:
        y = np.logaddexp(a, b)
    da, db = tape.gradient(y, [a, b])
    np.testing.assert_allclose(y.numpy(), [1 + np.log(2), 2], rtol=1e-6)
    assert da.numpy().tolist() == [0.5, 0.0]
    assert db.numpy().tolist() == [0.5, 1.0]


def test_saving() -> None:
    file = io.BytesIO()
    np.save(file, jt.constant(X))
    file.seek(0)
    np.testing.assert_array_equal(np.load(file), X)


def test_every_function_of_numpy_is_accounted_for() -> None:
    rows = support(FUNCTIONS, UFUNCS, VALUE_FUNCTIONS)
    assert not [row.name for row in rows if row.status == "not recorded"]
    assert not [row.name for row in rows if row.status == "refused" and not row.remark]
    assert {*READS_VALUES} <= {*FUNCTIONS, *UFUNCS}


@pytest.mark.parametrize(
    "call",
    [
        np.unique,
        lambda t: np.compress([True, False] * 6, t),
        lambda t: np.union1d(t, t),
        lambda t: np.trim_zeros(t[0]),
    ],
)
def test_gradients_flow_through_functions_that_read_values(call: Callable[[Any], Any]) -> None:
    x = jt.Variable(X)
    with jt.GradientTape() as tape:
        y = jt.reduce_sum(np.square(call(x)))
    expected = np.where(np.isin(X, call(X)), 2 * X, 0)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), expected)


@pytest.mark.parametrize(
    "call",
    [np.floor, np.argsort, lambda t: np.histogram(t, 3)[0], lambda t: np.digitize(t, [0.0, 1.0]), np.isclose],
)
def test_a_gradient_that_does_not_exist_is_explained(call: Callable[..., Any]) -> None:
    x = jt.Variable(X)
    with jt.GradientTape(persistent=True) as tape:
        y = jt.reduce_sum(jt.cast(call(x, x) if call is np.isclose else call(x), jt.float64))
    with pytest.warns(jt.errors.UnconnectedGradientWarning):
        assert tape.gradient(y, x) is None
    assert len(str(tape.explain(y, x))) > 20


def test_errors_of_covariances_have_numpys_type() -> None:
    for weights in ({"fweights": [1, 2]}, {"aweights": [1.0, 2.0]}):
        with pytest.raises(RuntimeError, match=r"\[np.cov\] incompatible numbers of samples"):
            np.cov(jt.constant(X), **weights)


# ---- refused ---------------------------------------------------------------------------------------------------------


def in_place(t: Any) -> None:
    array = np.zeros((3, 4))
    array += t


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: np.add(t, 1, out=np.zeros((3, 4))), r"np.add cannot record into an array .*Variable"),
        (in_place, "Write `array = array \\+ tensor`"),
        (lambda t: np.add(t, 0.5, out=jt.zeros((3, 4), int)), r"^\[np.add\] Cannot cast float64 to int"),
        (lambda t: np.sum(t, out=np.zeros(())), "np.sum cannot record into out="),
        (lambda t: np.add(t, t, where=X > 0), "np.add on a tensor does not support where="),
        (lambda t: np.linalg.norm(jt.cast(t, "float16"), 2), "must have one of the dtypes .*, got float16"),
        (
            lambda t: np.add.at(t, 0, 1.0),
            "np.add.at would write into its operand; call add.at of jittape.numpy",
        ),
        (lambda t: np.subtract.reduce(t, where=X > 0, initial=0), "has no neutral element"),
        (lambda t: np.put(t, 0, 1.0), "np.put would write into its operand: use jt.tensor_scatter_nd_update"),
        (lambda t: np.fill_diagonal(t, 1.0), "np.fill_diagonal would write .* jt.linalg.set_diag"),
        (lambda t: np.copyto(np.zeros((3, 4)), t), "np.copyto would write .* np.where"),
        (np.isnat, "np.isnat is for dates"),
        (lambda t: np.pad(t, 1, mode=lambda *a: None), "does not support a function as mode"),
        (lambda t: np.nan_to_num(t, copy=False), "cannot change a tensor in place"),
        (lambda t: np.concatenate([t, t], out=np.zeros((6, 4))), "np.concatenate cannot record into out="),
    ],
)
def test_refused(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(jt.constant(X))


def test_weighted_quantiles_are_elements_with_a_gradient():
    x, w = np.array([[3.0, 1.0, 2.0], [np.nan, 5.0, 4.0]]), np.array([0.0, 2.0, 1.0])
    t = jt.constant(x)
    for function, q in ((np.quantile, 0.5), (np.percentile, [0.0, 70.0]), (np.quantile, [[0.2, 1.0]])):
        options = {"axis": 1, "weights": w, "method": "inverted_cdf"}
        np.testing.assert_array_equal(function(t, q, **options), function(x, q, **options))
    with jt.GradientTape() as tape:
        tape.watch(t)
        found = np.nanquantile(t, 0.9, axis=1, weights=jt.constant(w), method="inverted_cdf")
    np.testing.assert_array_equal(found, [2.0, 5.0])
    np.testing.assert_array_equal(tape.gradient(found, t), [[0, 0, 1], [0, 1, 0]])
    for weights, message in ((w[:2], "do not fit axis"), (-w, "non-negative"), (0 * w, "all zero")):
        with pytest.raises(ValueError, match=message):
            np.quantile(t, 0.5, axis=1, weights=weights, method="inverted_cdf")
    with pytest.raises(ValueError, match="Only method 'inverted_cdf' supports weights"):
        np.quantile(t, 0.5, weights=t)


@pytest.mark.parametrize("dtype", ["int8", "bool", "uint8", "int32", "int64", "float16", "float32"])
def test_averages_have_numpys_dtype(dtype):
    x = np.array([[100, 0, 100], [100, 100, 1]]).astype(dtype)
    weights = np.array([[100, 2, 1], [100, 100, 1]], np.int8)
    for function in (
        np.mean,
        np.var,
        np.std,
        np.linalg.norm,
        lambda a: np.mean(a, axis=0, dtype=np.float32),
        lambda a: np.var(a, ddof=1),
        lambda a: np.average(a, weights=weights),
        lambda a: np.average(a, axis=1, weights=weights.astype(np.float32)),
    ):
        expected, got = function(x), function(jt.constant(x))
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=2e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("name", ["copysign", "fmax", "fmin", "hypot", "heaviside"])
def test_gradients_of_ufuncs_of_two_operands(name):
    x, y = np.array([1.5, -2.0, 3e200, -0.5]), np.array([-0.5, 3.0, 4e200, -2.5])
    ufunc = getattr(np, name)
    for position in range(1 if name == "copysign" else 2):  # the sign has no derivative
        found = jt.grad(lambda a, b: jt.reduce_sum(ufunc(a, b)), argnums=position)(x, y)
        step = 1e-6 * np.abs((x, y)[position])
        d = (step, 0) if position == 0 else (0, step)
        expected = (ufunc(x + d[0], y + d[1]) - ufunc(x - d[0], y - d[1])) / (2 * step)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_sinc_of_infinity_is_nan_as_in_numpy():
    x = np.array([np.inf, -np.inf, 0.0, 0.5])
    np.testing.assert_allclose(np.sinc(jt.constant(x)), [np.nan, np.nan, 1.0, 2.0 / np.pi])


def test_take_checks_no_index_for_an_empty_result() -> None:
    for shape, axis in (((0, 3, 1), -1), ((2, 0, 3), 2), ((0, 2, 0), 2)):
        a = np.zeros(shape)
        found = np.take(jt.constant(a), [2, 7], axis=axis)
        assert found.numpy().shape == np.take(a, [2, 7], axis=axis).shape
    with pytest.raises(IndexError):
        np.take(jt.zeros([0, 3]), [1], axis=0).numpy()


def test_out_and_where_write_to_tensors() -> None:
    """Values and dtypes are NumPy's, the results are the tensors in `out`, and gradients follow the mask."""
    x, mask = np.array([4.0, -1.0, 9.0]), np.array([True, False, True])
    t = jt.constant(x)
    calls: list[Callable[[Any, Any], Any]] = [
        lambda a, o: np.sqrt(a, out=o, where=mask),
        lambda a, o: np.divide(a, [2.0, 0.0, 3.0], out=o, where=mask),
        lambda a, o: np.add(a, 1, o),
        lambda a, o: np.multiply(a, a, out=o, where=a > 0, casting="unsafe", dtype=np.float32),
        lambda a, o: np.cumsum(a, out=o),
        lambda a, o: np.clip(a, 0, 5, out=o),
    ]
    for call in calls:
        ours, reference = jt.ones(3, np.float64), np.ones(3)
        found, wanted = call(t, ours), call(x, reference)
        assert found is ours
        np.testing.assert_array_equal(ours.numpy(), reference)
        assert ours.dtype == reference.dtype == wanted.dtype
    state, parts = jt.Variable(np.zeros(3)), (jt.zeros(3, np.float64), None)
    assert np.add(t, 1.0, out=state) is state
    assert np.divmod(t, 2.0, out=parts)[0] is parts[0]
    np.testing.assert_array_equal([*state.numpy(), *parts[0].numpy()], [5, 0, 10, 2, -1, 4])
    total = jt.zeros((), np.float64)
    assert t.sum(out=total) is total
    assert np.sum(t, out=total) is total

    def masked(x: Any) -> Any:
        out = np.zeros_like(x)
        np.divide(1.0, x, out=out, where=mask)
        return np.sum(3.0 * out)

    np.testing.assert_allclose(jt.grad(masked)(x), np.where(mask, -3 / x**2, 0), rtol=1e-12)
    for options in ({"dtype": int, "casting": "unsafe"}, {"order": "F"}, {"subok": False}):
        found, wanted = np.add(t, 1.5, **options), np.add(x, 1.5, **options)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found.numpy(), wanted)


def test_one_call_on_a_known_path_reads_the_same_arguments() -> None:
    """Equal keys mean the same: True, 1 and 1.0 are equal, but only 1 is an axis of NumPy."""
    x = np.arange(6.0).reshape(2, 3)
    t = jt.constant(x)
    for axis in (1, (1,), -1, (0, 1), None, np.int64(1)):
        np.testing.assert_array_equal(np.sum(t, axis=axis).numpy(), np.sum(x, axis=axis))
        np.testing.assert_array_equal(t.sum(axis, keepdims=True).numpy(), x.sum(axis, keepdims=True))
        np.testing.assert_array_equal(
            t.max(axis, initial=2, where=x > 0).numpy(), x.max(axis, initial=2, where=x > 0)
        )
    for wrong in (1.0, "1"):
        with pytest.raises(TypeError):
            np.sum(t, axis=wrong)
        with pytest.raises(TypeError):
            t.sum(axis=wrong)
    np.testing.assert_array_equal(np.reshape(t, (3, -1)).numpy(), x.reshape(3, -1))
    np.testing.assert_array_equal(np.diff(t, n=1, axis=0).numpy(), np.diff(x, n=1, axis=0))
    np.testing.assert_array_equal(np.where(t > 2, t, t * 0).numpy(), np.where(x > 2, x, 0))


def test_values_that_random_expressions_found() -> None:
    """Quantiles of integers at integers, a gradient next to nan, float16 angles, spacings with a vector as base."""
    t = jt.constant
    x, holes = np.array([1, 2, 3, 5]), np.array([1.0, np.nan, 0.5, 2.0])
    half = np.linspace(0.1, 5, 50).astype(np.float16)
    calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        *[(f, (x, q)) for f in (np.percentile, np.nanpercentile) for q in ([25, 50], 25, 0)],
        *[(f, (x, q)) for f in (np.quantile, np.nanquantile) for q in ([0, 1], 1, 0.5)],
        (np.gradient, (holes,)),
        (np.gradient, (holes, 2.0)),
        *[(f, (half,)) for f in (np.deg2rad, np.rad2deg, np.radians, np.degrees)],
        (lambda a: np.median(a, axis=0), (np.zeros((0, 3), np.float32),)),
        (lambda a, b: np.logspace(a, 2.0, 4, base=b), (np.array(0.5), np.array([2.0, 3.0]))),
        (lambda a: np.linspace(a, 7, 4, endpoint=False, retstep=True)[1], (np.array(1),)),
        (lambda a: np.linspace(a, 7, 1, retstep=True)[1], (np.array(1),)),
    ]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for function, arguments in calls:
            found, wanted = t(function(t(arguments[0]), *arguments[1:])), function(*arguments)
            wanted = np.asarray(wanted)
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-14)


NAN = np.array([1 + 1j, complex(np.nan, 1), complex(2, np.nan), complex(np.nan, np.nan)])
ORDERED = {
    **{
        f.__name__: f for f in (np.max, np.min, np.argmax, np.argmin, np.median, np.ptp, np.nanmax, np.nanmin)
    },
    **{f.__name__: f for f in (np.nanargmax, np.nanargmin, np.sort, np.argsort)},
    "max of axes": lambda z: np.max(z, axis=(0, -1), keepdims=True) if z.ndim > 1 else np.max(z, axis=0),
    "nanmedian of rows": lambda z: np.nanmedian(z, axis=-1),
    "max initial": lambda z: np.max(z, initial=2 + 1j, where=z.real > 0),
    "clip": lambda z: np.clip(z, -1j, 1 + 0.5j),
    "maximum.reduceat": lambda z: np.maximum.reduceat(z, [0, 1]),
    "lexsort": lambda z: np.lexsort((z, z.real)),
    "method": lambda z: z.argmax(-1) + z.max().real,
}


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("compiled", [False, True])
def test_complex_numbers_are_ordered_as_in_numpy(
    name: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jt.config, "interpret", not compiled)
    ties = np.array([[1 + 2j, 1 - 2j, 5j], [3 - 1j, 3 - 1j, -1], [3 + 0j, complex(3, -0.0), -1]])
    for z in (ties, ties.astype(np.complex64), NAN[:3]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function = jt.function(ORDERED[name]) if compiled else ORDERED[name]
            found, wanted = function(jt.constant(z)), np.asarray(ORDERED[name](z))
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found.numpy(), wanted)


def test_the_gradient_of_a_complex_maximum_goes_to_the_first_greatest() -> None:
    z = jt.constant([1 + 2j, 3 - 1j, 3 - 1j])
    with jt.GradientTape() as tape:
        tape.watch(z)
        y = np.max(z).imag + np.median(z).real
    np.testing.assert_array_equal(tape.gradient(y, z).numpy(), [0, 1 + 1j, 0])


def test_deviations_convert_each_step_to_a_dtype_as_numpy_does() -> None:
    arrays = [
        np.array([[1, 2, 4, 9], [2, 2, 5, 1]]),
        np.array([[1.5, 2, 4, 9]]),
        np.array([1 + 2j, 3, 4 - 1j]),
    ]
    for a in (*arrays, np.array([True, False, True])):
        for dtype in (np.int64, np.int8, np.float16, np.complex128):
            for options in ({}, {"axis": -1}, {"keepdims": True}, {"mean": a.mean()}):
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    wanted = np.var(a, dtype=dtype, **options)
                    found = np.var(jt.constant(a), dtype=dtype, **options)
                assert found.dtype == wanted.dtype
                np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-14 if dtype != np.float16 else 2e-3)
    assert np.std(jt.constant(arrays[0]), dtype=np.int64).numpy() == np.std(arrays[0], dtype=np.int64)
    with pytest.raises(TypeError, match="use astype"):
        np.std(jt.constant(arrays[0]), axis=0, dtype=np.int64)


def test_numbers_beside_integers_and_bools() -> None:
    """A quotient is a float, so that a Python int need not fit; the operator ``** 2`` of bools squares them."""
    small, bools = np.array([1, 7], np.uint8), np.array([True, False])
    for function in (lambda x: x / 300, lambda x: -1 / x, lambda x: np.divide(x, -1), np.degrees):
        np.testing.assert_array_equal(function(jt.constant(small)).numpy(), function(small), strict=True)
    for function in (lambda x: x**2, lambda x: x**3, np.square):
        np.testing.assert_array_equal(function(jt.constant(bools)).numpy(), function(bools), strict=True)


@pytest.mark.parametrize("namespace", [np, jnp])
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("options", [{"dtype": bool}, {"dtype": "?", "casting": "unsafe"}, {}])
def test_numbers_beyond_the_dtype_of_a_comparison(
    namespace: Any, swap: bool, options: dict[str, Any]
) -> None:
    for ufunc, number in itertools.product(
        ("equal", "greater", "greater_equal", "less", "not_equal"), (300, -1)
    ):
        for dtype in (None, complex, np.float32):
            a = np.array([1, 2], np.uint8)
            outs = [{} if dtype is None else {"out": np.zeros(2, dtype)} for _ in range(2)]
            outs[1] |= {name: jt.Variable(out) for name, out in outs[1].items()}
            found, wanted = (
                getattr(n, ufunc)(*((number, x) if swap else (x, number)), **options, **out)
                for n, x, out in ((namespace, jt.constant(a), outs[1]), (np, a, outs[0]))
            )
            assert np.asarray(found).dtype == wanted.dtype
            assert np.asarray(found).tolist() == wanted.tolist(), ufunc


@pytest.mark.parametrize("namespace", [np, jnp])
def test_powers_of_bools(namespace: Any) -> None:
    a = np.array([True, False])
    x = jt.constant(a)
    for exponent in (0, 1, 2, 3, True, 2.0, np.int8(2)):
        found = namespace.power(x, exponent)
        assert found.dtype == np.power(a, exponent).dtype, exponent
        assert found.numpy().tolist() == np.power(a, exponent).tolist()
    assert (x**2).dtype == (a**2).dtype == np.int8
    with pytest.raises(ValueError, match="negative integer powers"):
        namespace.power(x, -1)


@pytest.mark.parametrize("ufunc", [np.arctan2, np.power, np.divide, np.subtract])
def test_methods_of_ufuncs_that_are_not_associative(ufunc: np.ufunc) -> None:
    """NumPy 2.4 gives wrong numbers for two of them, so a loop is the reference."""
    x = np.array([[4.2, 1.0, 0.5, 0.2], [2.0, 0.4, 3.0, 1.1]])
    wanted = [x[:, 0]]
    for column in x.T[1:]:
        wanted.append(ufunc(wanted[-1], column))
    np.testing.assert_allclose(ufunc.reduce(jt.constant(x), axis=1), wanted[-1], rtol=1e-14)
    np.testing.assert_allclose(ufunc.accumulate(jt.constant(x), axis=1), np.stack(wanted, 1), rtol=1e-14)
