"""`jittape.scipy.signal`: methods, integers, infinities, axes and boundaries, against SciPy and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal

import jittape as jt
from jittape.scipy import signal

DTYPES = ["bool", "uint8", "int32", "uint64", "float32", "float64", "complex64"]
SHAPES = [((), ()), ((7,), (3,)), ((2,), (5,)), ((3, 4), (2, 5)), ((3, 4), (2, 2)), ((3, 2, 4), (2, 2, 3))]
MODES = ["full", "same", "valid"]


def array(rng: np.random.Generator, shape: Any, dtype: str) -> Any:
    x = rng.normal(size=shape) * 3
    x = x + 1j * rng.normal(size=shape) if dtype.startswith("c") else x
    x = abs(x) if dtype.startswith("u") else x
    return np.asarray(x > 0 if dtype == "bool" else x).astype(dtype)


def compare(name: str, *args: Any, **kwargs: Any) -> None:
    try:
        wanted = np.asarray(getattr(scipy.signal, name)(*args, **kwargs))
    except ValueError:
        with pytest.raises(ValueError, match=rf"\[{name}\]"):
            getattr(signal, name)(*args, **kwargs)
        return
    found = getattr(signal, name)(*args, **kwargs)
    assert (found.dtype, tuple(found.shape)) == (wanted.dtype, wanted.shape)
    single = any(getattr(a, "dtype", None) in ("float32", "complex64") for a in args)
    tolerance = 1e-4 if single else 1e-9
    np.testing.assert_allclose(found.numpy(), wanted, rtol=tolerance, atol=10 * tolerance)


@pytest.mark.filterwarnings("ignore:Use of fft convolution")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["auto", "direct", "fft"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_dtypes_and_methods(name: str, method: str, mode: str) -> None:
    rng = np.random.default_rng(3)
    for first, second in SHAPES:
        for dtype in DTYPES:
            other = str(rng.choice(DTYPES))
            compare(name, array(rng, first, dtype), array(rng, second, other), mode=mode, method=method)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["fftconvolve", "oaconvolve"])
def test_axes(name: str, mode: str) -> None:
    rng = np.random.default_rng(4)
    for first, second, axes in [
        ((5, 3), (2, 3), 0), ((5, 3), (2, 1), [0]), ((1, 4), (3, 2), [-1]), ((1, 4), (1, 2), [0]),
        ((2, 1), (2, 4), [1]), ((2, 5, 3), (2, 2, 2), [2, 1]), ((), (), None), ((6,), (2,), None),
    ]:  # fmt: skip
        for dtype in ("int16", "float32", "complex128"):
            compare(name, array(rng, first, dtype), array(rng, second, "float64"), mode=mode, axes=axes)
    with pytest.raises(ValueError, match="axes must be dimensions"):
        getattr(signal, name)(np.ones(3), np.ones(3), axes=[1])
    with pytest.raises(jt.ShapeError, match="do not broadcast outside"):
        getattr(signal, name)(np.ones((3, 2)), np.ones((3, 4)), axes=[0])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
def test_matrices_and_boundaries(name: str, boundary: str, mode: str) -> None:
    rng = np.random.default_rng(5)
    for first, second in [
        ((4, 5), (2, 3)),
        ((4, 5), (3, 2)),
        ((2, 1), (3, 4)),
        ((3, 3), (3, 3)),
        ((2, 5), (4, 2)),
    ]:
        for dtype in ("uint8", "float64", "complex64"):
            a, b = array(rng, first, dtype), array(rng, second, "int32")
            compare(name, a, b, mode=mode, boundary=boundary, fillvalue=2)

    def loss(a: Any, b: Any) -> Any:
        return jt.reduce_sum(getattr(signal, name)(a, b, mode, boundary, 0.5) ** 2)

    jt.check_gradient(loss, rng.normal(size=(3, 4)), rng.normal(size=(2, 2)))


def test_direct_convolution_keeps_infinities_apart() -> None:
    x, kernel = np.array([1.0, np.inf, 2.0, 3.0, np.nan, 1.0, 1.0]), np.array([1.0, 2.0])
    found = signal.convolve(x, kernel)
    np.testing.assert_array_equal(found.numpy(), np.convolve(x, kernel))
    assert np.isfinite(found.numpy()).sum() == 4
    large = np.array([2**60, 1, 3])
    np.testing.assert_array_equal(
        signal.convolve(large, [1, 1]).numpy(), scipy.signal.convolve(large, [1, 1])
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["direct", "fft"])
def test_gradients_in_both_operands_and_of_second_order(method: str, mode: str) -> None:
    rng = np.random.default_rng(6)
    for first, second in [((6,), (3,)), ((2,), (4,)), ((3, 4), (2, 3)), ((2, 3, 2), (2, 2, 2))]:
        a, b = rng.normal(size=first), rng.normal(size=second)
        for name in ("convolve", "correlate"):

            def loss(a: Any, b: Any, name: str = name) -> Any:
                return jt.reduce_sum(jt.sin(getattr(signal, name)(a, b, mode, method)))

            jt.check_gradient(loss, a, b)
            jt.check_gradient(lambda a, b: jt.reduce_sum(jt.grad(loss)(a, b) ** 2), a, b)
    z = rng.normal(size=4) + 1j * rng.normal(size=4)
    jt.check_gradient(
        lambda z, b: jt.reduce_sum(jt.abs(signal.correlate(z, b, mode, method)) ** 2), z, b[0, 0]
    )


def test_functions_rows_and_forward_mode() -> None:
    rng = np.random.default_rng(7)
    rows, kernels = rng.normal(size=(3, 6)), rng.normal(size=(3, 2))
    wanted = [np.convolve(r, k) for r, k in zip(rows, kernels, strict=True)]
    np.testing.assert_allclose(jt.vectorized_map(lambda p: signal.convolve(*p), (rows, kernels)), wanted)
    shared = jt.vectorized_map(lambda r: signal.convolve(r, kernels[0], "valid"), rows)
    np.testing.assert_allclose(shared, [np.convolve(r, kernels[0], "valid") for r in rows])
    compiled = jt.function(lambda a, b: signal.convolve(a, b, "same"))
    np.testing.assert_allclose(compiled(rows[0], kernels[0]), np.convolve(rows[0], kernels[0], "same"))
    matrix = jt.jacobian(lambda a: signal.convolve(a, kernels[0]))(rows[0])
    np.testing.assert_allclose(matrix @ rows[0], wanted[0])
    _, slope = jt.jvp(lambda b: signal.convolve(rows[0], b), (kernels[0],), (kernels[1],))
    np.testing.assert_allclose(slope, np.convolve(rows[0], kernels[1]))


def test_choice_of_the_method_is_that_of_scipy() -> None:
    for first, second in [((9,), (4,)), ((5000,), (4000,)), ((90, 90), (40, 40)), ((64, 64), (3, 3))]:
        a, b = np.ones(first), np.ones(second)
        for mode in MODES:
            assert signal.choose_conv_method(a, b, mode) == scipy.signal.choose_conv_method(a, b, mode)
    assert signal.choose_conv_method(np.ones(5000, int), np.ones(4000, int)) == "direct"


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="boundary must be one of fill, wrap, symm"):
        signal.convolve2d(np.ones((2, 2)), np.ones((2, 2)), boundary="edge")
    with pytest.raises(jt.ShapeError, match="must be matrices"):
        signal.correlate2d([1.0], [1.0])
    with pytest.raises(ValueError, match=r"\[convolve2d\] for mode 'valid'"):
        signal.convolve2d(np.ones((1, 3)), np.ones((3, 1)), "valid")
