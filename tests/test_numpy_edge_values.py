"""Values, dtypes and errors of NumPy at numbers that do not fit, infinities, and lengths of 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp

INF = np.inf


def _outcome(np: Any, call: Callable[..., Any], arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the parts of the result of a call as arrays, or the type of NumPy's error."""
    try:
        result = call(np, *[np.asarray(a) for a in arrays])
        parts = result if isinstance(result, tuple) else (result,)
        return tuple(p.numpy() if isinstance(p, jt.Tensor) else p for p in parts)
    except (TypeError, ValueError, OverflowError, IndexError) as error:
        return (error,)


def _check_as_numpy(call: Callable[..., Any], *arrays: Any) -> None:
    with np.errstate(all="ignore"):
        expected = _outcome(np, call, tuple(np.array(a) for a in arrays))
    found = _outcome(jnp, call, arrays)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        if isinstance(other, Exception):
            kind = next(t for t in (OverflowError, IndexError, TypeError, ValueError) if isinstance(other, t))
            assert isinstance(one, kind), (one, other)
        else:
            assert not isinstance(one, Exception), (one, other)
            np.testing.assert_allclose(one, other, rtol=1e-6)
            assert np.asarray(one).dtype == np.asarray(other).dtype


@pytest.mark.parametrize("q", [0, 1, np.array([0, 1]), 0.5])
def test_quantiles_at_integers_are_elements(q: Any) -> None:
    for numbers in ([-INF, 1.0, INF], [-INF], [2**55 + 1, 2**55 + 3]):
        _check_as_numpy(lambda np, a: np.quantile(a, q), numbers)
        _check_as_numpy(lambda np, a: np.nanquantile(a, q), numbers)


@pytest.mark.parametrize(
    "method", ["linear", "lower", "midpoint", "weibull", "inverted_cdf", "averaged_inverted_cdf"]
)
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles_at_tensors_out_of_range_are_nan(name: str, method: str, mode: str) -> None:
    """NumPy raises an error, for which the values of tensors and of arguments of a traced function come too late."""
    a, places = np.arange(12.0).reshape(4, 3), np.array([0.0, -0.01, 1.01, np.nan, 0.4, 1.0, INF])
    expected = np.full((7, 3), np.nan)
    expected[[0, 4, 5]] = getattr(np, name)(a, places[[0, 4, 5]], axis=0, method=method)
    quantile = getattr(jnp, name)
    call = jt.function(lambda a, q: quantile(a, q, axis=0, method=method))
    weights = jt.function(lambda a, q: quantile(a, q, axis=0, method=method, weights=np.ones((4, 3))))
    for _ in range(3):
        np.testing.assert_allclose(quantile(a, jt.constant(places), axis=0, method=method), expected)
        np.testing.assert_allclose(call(a, jt.constant(places)), expected)
        for q, one in zip(places.tolist(), expected, strict=True):
            np.testing.assert_allclose(call(a, q), one)
        if method == "inverted_cdf":
            np.testing.assert_allclose(weights(a, jt.constant(places)), expected)


@pytest.mark.parametrize("equation", ["ii", "ii->i", "ii,ij->ij"])
def test_einsum_takes_no_diagonal_of_unequal_lengths(equation: str) -> None:
    operands = [np.ones((3, 1)), np.ones((3, 2))][: equation.count(",") + 1]
    _check_as_numpy(lambda np, *x: np.einsum(equation, *x), *operands)


@pytest.mark.parametrize("low", [-2.0, None, 1, 1.5])
@pytest.mark.parametrize("high", [3.0, np.float32(1.5), np.float64(2), np.int16(300), None])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "bool"])
def test_dtype_of_clip_is_that_of_all_operands(low: Any, high: Any, dtype: str) -> None:
    if low is not None or high is not None:
        _check_as_numpy(lambda np, a: np.clip(a, low, high), np.array([1, 0, 1], dtype))


@pytest.mark.parametrize("name", ["rfftn", "irfftn", "fftn", "ifftn", "rfft2"])
def test_transform_of_several_axes(name: str) -> None:
    _check_as_numpy(lambda np, a: getattr(np.fft, name)(a), np.float64(3))
    _check_as_numpy(lambda np, a: getattr(np.fft, name)(a), np.arange(4, dtype="float16").reshape(1, 4))
    if not name.endswith("2"):
        _check_as_numpy(lambda np, a: getattr(np.fft, name)(a), np.arange(4, dtype="float16"))


@pytest.mark.parametrize("name", ["nanmean", "nanvar", "nanstd", "mean", "var"])
@pytest.mark.parametrize("dtype", ["int8", "bool", "float32", int])
def test_dtype_of_mean(name: str, dtype: Any) -> None:
    for numbers in ([1.5, np.nan, 2.5], [1, 2, 4], [1.5, 2.0]):
        if name.startswith("nan"):
            _check_as_numpy(lambda np, a: getattr(np, name)(a, dtype=dtype), numbers)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "nansum", "nanprod"])
@pytest.mark.parametrize("initial", [3, -1, 300, 2.5, 1j, np.nan, INF, 2**70, np.float64(2.5), np.int64(300)])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32"])
def test_initial_fits_the_result(name: str, initial: Any, dtype: str) -> None:
    _check_as_numpy(lambda np, a: getattr(np, name)(a, initial=initial), np.ones(2, dtype))


def test_average_adds_weights_in_the_dtype_of_the_result() -> None:
    for a, weights in (
        ([1, 2], [2**62, 2**62]),
        ([100, 120], np.array([1.0001, 0.5], "float16")),
        (np.array([1, 2], "float16"), np.array([3, 4], "int8")),
        (np.array([1, 2], "int8"), np.array([100, 100], "int8")),
        ([1.0, 2.0], [True, True]),
        ([True, False], [1j, 2]),
    ):
        _check_as_numpy(lambda np, a, w: np.average(a, weights=w, returned=True), a, weights)


def test_weights_outside_the_bins_count_nothing() -> None:
    a, weights = [-5.0, 0.5, 9.0, 1.5], [INF, 2.0, np.nan, 3.0]
    _check_as_numpy(lambda np, a, w: np.histogram(a, 2, (0, 2), weights=w), a, weights)


def test_bincount_refuses_what_overflows() -> None:
    for largest in (2**63 - 1, 2**64 - 1):
        with pytest.raises((ValueError, TypeError)):
            jnp.bincount(jnp.asarray(np.array([largest])))


VALUES = [
    3, 300, -1, 2.5, 1j, np.nan, INF, np.float64(2.5), np.int64(3), np.int64(300), np.array(4), np.array([2.5]),
    [2.5, 1], [300], [1], True, np.array([1, 2], "int8"), np.array([True]), [],
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("dtype", ["int8", "float32", "bool"])
@pytest.mark.parametrize("name", ["put", "putmask", "place", "copyto", "copyto_where"])
def test_written_values_fit(name: str, dtype: str, value: Any) -> None:
    mask = np.array([True, False, True])

    def written(np: Any, a: Any) -> Any:
        a = a.copy()
        if name == "put":
            np.put(a, [0, 1], value)
        elif name == "putmask":
            np.putmask(a, mask, value)
        elif name == "place":
            np.place(a, mask, value)
        else:
            np.copyto(a, value, where=mask if name.endswith("where") else True)
        return a

    if np.iscomplexobj(value) and dtype == "bool":
        return
    _check_as_numpy(written, np.array([1, 0, 1], dtype))


REDUCTIONS = (
    "sum mean max min prod std var any all count_nonzero nansum nanmean nanstd nanmax ptp average argmax"
)


@pytest.mark.parametrize("name", REDUCTIONS.split())
@pytest.mark.parametrize(
    "keepdims", ["abc", 2, 0, -1, None, [1], np.array([True, False]), 1.5, {}, np.int8(1), np.True_], ids=repr
)
def test_keepdims_is_an_int(name: str, keepdims: Any) -> None:
    if name == "argmax" and not isinstance(keepdims, (int, np.integer)):
        return
    _check_as_numpy(lambda np, a: getattr(np, name)(a, keepdims=keepdims), np.ones((2, 3)))


def test_options_that_numpy_refuses() -> None:
    x = np.array([1.0, 2.0])
    for name in ("std", "var", "nanstd"):
        _check_as_numpy(lambda np, a, name=name: getattr(np, name)(a, ddof=None), x)
    _check_as_numpy(lambda np, a: np.exp(a, order="X"), x)
    for order in ("X", "C", "K"):
        _check_as_numpy(lambda np, a, order=order: a.copy(order), x)
    for copy in ("a", True, None):
        _check_as_numpy(lambda np, a, copy=copy: np.array(a, copy=copy), x)


def test_shifts_and_axes_as_numpy_takes_them() -> None:
    a = np.arange(6.0).reshape(2, 3)
    for shift, axis in ((2.0, None), (-1.7, 1), ((1.0, 2.9), (0, 1)), (np.float32(1), 0)):
        _check_as_numpy(lambda np, a, shift=shift, axis=axis: np.roll(a, shift, axis), a)
    for name in ("cumulative_sum", "cumulative_prod"):
        for axis in ((0,), (-1,), (0, 1), (2,)):
            for initial in (False, True):
                _check_as_numpy(
                    lambda np, a, name=name, axis=axis, initial=initial: getattr(np, name)(
                        a, axis=axis, include_initial=initial
                    ),
                    a,
                )
    t = jt.constant(a)
    np.testing.assert_array_equal(np.cumulative_sum(t, axis=(1,)), np.cumulative_sum(a, axis=(1,)))


def test_clip_broadcasts_to_its_target() -> None:
    x, target = np.array([1.0, 5.0, -3.0]), np.zeros((2, 3))
    np.clip(x, 0.0, 2.0, out=target)
    for call in (np.clip, jnp.clip):
        out = jt.constant(np.zeros((2, 3)))
        call(jt.constant(x), 0.0, 2.0, out=out)
        np.testing.assert_array_equal(out, target)
    with pytest.raises(jt.ShapeError, match="out has shape"):
        np.round(jt.constant(x), out=jt.constant(np.zeros((2, 3))))


def test_sinc_of_complex_numbers() -> None:
    """The series near 0 meets the formula, and both have the derivatives of differences."""
    z = np.array([0j, 1 + 1j, 0.0499, 0.0501j, 0.04 - 0.03j, 0.5, -2.5 + 0.1j])
    _check_as_numpy(lambda np, z: np.sinc(z), z)
    step = 1e-5
    slope = [jt.grad(lambda v, w=w: jnp.real(jnp.sinc(v + 1j * w.imag)))(w.real) for w in z]
    wanted = (np.sinc(z + step) - np.sinc(z - step)).real / (2 * step)
    np.testing.assert_allclose(slope, wanted, atol=1e-9)
    curvature = jt.grad(jt.grad(lambda v: jnp.real(jnp.sinc(v + 0j))))(np.float64(0.0))
    assert float(curvature) == pytest.approx(-(np.pi**2) / 3)


@pytest.mark.parametrize("method", ["lower", "nearest", "inverted_cdf"])
def test_integers_have_no_quantiles_out_of_range(method: str) -> None:
    """NumPy raises an error; floats are nan there, as the values of a tensor come late."""
    for function, greatest in ((jnp.quantile, 1.0), (jnp.percentile, 100.0)):
        with pytest.raises(ValueError, match="must be in the range"):
            function(np.arange(4), jt.constant([0.5, 1.01 * greatest]), method=method)
        assert int(function(np.arange(4), jt.constant(greatest), method=method)) == 3


MASK = np.array([[True], [False], [True]])
CONDITIONS = [np.array([True, False]), np.array([True, True])]


@pytest.mark.parametrize(
    "write",
    [
        lambda np, a: np.put(a, [0, 2], []),
        lambda np, a: np.place(a, MASK, [7, 8]),
        lambda np, a: np.putmask(a, MASK, [7, 8, 9]),
        lambda np, a: np.place(a, np.array([True]), 5),
        lambda np, a: np.place(a, True, 5),
        lambda np, a: np.putmask(a, np.array([True]), 5),
        lambda np, a: np.putmask(a, True, 5),
        lambda np, a: np.putmask(a, [True, False, True, True], 5),
        lambda np, a: np.put_along_axis(a, np.array([[0], [1]]), 5, None),
        lambda np, a: np.put_along_axis(a, np.array([0, 1]), 5, None),
    ],
)
def test_masks_and_indices_of_writes_have_the_size_of_numpy(write: Any) -> None:
    def written(np: Any, a: Any) -> Any:
        a = a.copy()
        write(np, a)
        return a

    _check_as_numpy(written, np.array([1, 2, 3]))
    _check_as_numpy(written, np.array([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("dtype", ["int64", "float64"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("indices", [[[0, 1, 1]], [[0], [1], [2]], [0, 1], [[-1, 0, 2]], [[5, 0, 0]]])
def test_indices_along_an_axis_broadcast(indices: Any, axis: int, dtype: str) -> None:
    a, values = np.arange(9).reshape(3, 3).astype(dtype), np.array([[7, 8, 9]])

    def put(np: Any, a: Any) -> Any:
        a = a.copy()
        np.put_along_axis(a, np.array(indices), values, axis)
        return a

    _check_as_numpy(put, a)
    _check_as_numpy(lambda np, a: np.take_along_axis(a, np.array(indices), axis), a)


@pytest.mark.parametrize("shape", [(3, 3), (2, 3), (3, 2), (2, 2, 2), (0, 3), (1, 3)])
@pytest.mark.parametrize(
    "value", [5, 2.5, [1], [1, 2], [1, 2, 3, 4], [[1, 2], [3, 4]], np.array([1.5, 2.5, 3.5])]
)
@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_diagonals_are_filled_in_the_order_of_the_elements(
    shape: tuple[int, ...], value: Any, dtype: str
) -> None:
    def filled(np: Any, a: Any) -> Any:
        a = a.copy()
        np.fill_diagonal(a, value)
        return a

    _check_as_numpy(filled, np.arange(math.prod(shape)).reshape(shape).astype(dtype))


def test_nothing_is_put_into_nothing() -> None:
    for indices in ([], [0], [0, -1]):
        for values in ([], 1, [1, 2]):

            def put(np: Any, a: Any, indices: Any = indices, values: Any = values) -> Any:
                a = a.copy()
                np.put(a, indices, values)
                return a

            _check_as_numpy(put, np.zeros((0, 2)))
            _check_as_numpy(put, np.zeros(2))


@pytest.mark.parametrize("number", [3.5, 2, 300, True])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "complex64"])
def test_numbers_among_choices_are_weak(dtype: str, number: float) -> None:
    def select(np: Any, a: Any) -> Any:
        return np.select(CONDITIONS, [a, number])

    def choose(np: Any, a: Any) -> Any:
        return np.choose([0, 1], [a, number])

    for call in (select, choose):
        if not (number == 300 and dtype == "int8"):  # NumPy wraps it in `choose`
            _check_as_numpy(call, np.array([1, 2], dtype))


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "bool"])
@pytest.mark.parametrize("value", [-1, -1.0, 300, 1j, np.nan, 1.7, True, np.float64(-1.0)])
def test_pieces_that_are_numbers_are_stored_as_numpy_stores_them(value: Any, dtype: str) -> None:
    if isinstance(value, np.float64) and dtype == "uint8":
        return  # the result depends on the processor
    _check_as_numpy(lambda np, a: np.piecewise(a, [a > 1, a < 0], [value, 1]), np.array([1, 2, 0], dtype))


@pytest.mark.parametrize("name", ["matmul", "vecdot", "matvec", "vecmat"])
@pytest.mark.parametrize("out", [(), (1,), (3,), (2, 1), (2, 3), (1, 3), (3, 3), (5, 2, 3), (2, 3, 3)])
@pytest.mark.parametrize(
    ("left", "right"),
    [((1, 3), (3,)), ((3,), (3,)), ((3,), (3, 3)), ((2, 3, 3), (3, 1)), ((1, 3), (3, 3)), ((3, 3), (3,))],
)
def test_products_write_only_to_a_target_with_their_last_dimensions(
    name: str, left: tuple[int, ...], right: tuple[int, ...], out: tuple[int, ...]
) -> None:
    if not hasattr(np, name):  # NumPy before 2.2
        return
    if left == (1, 3) and len(out) < 2:  # NumPy drops dimensions of length 1
        return

    def written(np: Any, a: Any, b: Any, target: Any) -> Any:
        target = target.copy()
        getattr(np, name)(a, b, out=target)
        return target

    arrays = [np.arange(math.prod(shape), dtype=float).reshape(shape) for shape in (left, right)]
    _check_as_numpy(written, *arrays, np.zeros(out))


def test_a_mask_of_copyto_has_at_most_the_dimensions_of_the_target() -> None:
    mask = np.array([[False, True, False]])
    for target in (np.zeros(3), jt.constant(np.zeros(3))):
        with pytest.raises(ValueError, match="could not broadcast where mask from shape"):
            (np if isinstance(target, np.ndarray) else jnp).copyto(target, 2.5, where=mask)
