"""`jittape.scipy.interpolate.interp1d`: SciPy's kinds, values, fill values and errors, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.interpolate

import jittape as jt
from jittape.scipy import interpolate

RNG = np.random.default_rng(2)
X = np.cumsum(RNG.uniform(0.3, 1.5, 7))
SHUFFLED = RNG.permutation(7)
Y = RNG.normal(size=(2, 7, 3))
POINTS = np.sort(RNG.uniform(X[0] - 1, X[-1] + 1, (4, 5)))
INSIDE = np.concatenate([X, (X[1:] + X[:-1]) / 2, RNG.uniform(X[0], X[-1], 9)])
STEPS = ["nearest", "nearest-up", "previous", "next", "zero", 0]
SMOOTH = ["linear", "slinear", "quadratic", "cubic", 1, 2, 3, 4, 5]


def both(x: Any, y: Any, points: Any, *more: Any, **options: Any) -> tuple[Any, Any]:
    found = interpolate.interp1d(x, y, *more, **options)(points).numpy()
    return found, scipy.interpolate.interp1d(x, y, *more, **options)(points)


@pytest.mark.parametrize("kind", STEPS + SMOOTH)
def test_values(kind: Any) -> None:
    close = {"rtol": 1e-10, "atol": 1e-12}
    np.testing.assert_allclose(*both(X, Y, INSIDE, kind, 1), **close)
    np.testing.assert_allclose(*both(np.arange(7), Y, np.arange(13) / 2, kind, 1), **close)  # ties
    np.testing.assert_allclose(
        *both(X[SHUFFLED], Y[:, SHUFFLED], POINTS, kind, 1, bounds_error=False), **close
    )
    fills = (RNG.normal(size=3), RNG.normal(size=(2, 1)))
    for fill in ("extrapolate", 2.0, fills, (fills[1], 3.0)):
        found, wanted = both(X, Y, POINTS, kind, 1, bounds_error=False, fill_value=fill)
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(*both(X, Y[0, :, 0] + 1j, np.array([X[2], np.nan]), kind), **close)


@pytest.mark.parametrize("kind", STEPS + SMOOTH)
def test_gradients(kind: Any) -> None:
    weights = np.cos(np.arange(27.0)).reshape(9, 3)

    def loss(x: Any, y: Any, points: Any) -> Any:
        return jt.reduce_sum(interpolate.interp1d(x, y, kind, axis=0)(points) * weights)

    operands = X[SHUFFLED], Y[0][SHUFFLED], INSIDE[-9:]
    if kind in STEPS:
        jt.check_gradient(lambda y: loss(operands[0], y, operands[2]), operands[1])
    else:
        jt.check_gradient(loss, *operands, rtol=1e-6)
    compiled = jt.function(loss)(*operands)
    np.testing.assert_allclose(compiled, loss(*operands), rtol=1e-10)


@pytest.mark.parametrize("kind", ["linear", "nearest", "quadratic"])
def test_points_outside_raise_an_error(kind: Any) -> None:
    line = interpolate.interp1d([0.0, 1.0, 2.0], [3.0, 4.0, 6.0], kind)
    compiled = jt.function(lambda at: line(at))
    assert float(compiled(np.array([1.0, 1.0])).numpy()[0]) == 4.0
    for wrong, text in (
        (-1.5, r"\(-1.5\) in x_new is below .* minimum value \(0.0\)"),
        (2.5, r"\(2.5\) .* above"),
    ):
        for call in (line, compiled, lambda at: line(jt.constant(at))):
            with pytest.raises(ValueError, match=r"\[interp1d\] a value " + text):
                call(np.array([1.0, wrong])).numpy()


def test_nan_among_values_and_points() -> None:
    y = Y[0].copy()
    y[3, 1] = np.nan
    for kind in ("linear", "previous", "zero", "quadratic", "cubic"):
        np.testing.assert_allclose(*both(X, y, INSIDE, kind, 0), rtol=1e-10)
    for kind in ("linear", "nearest", "previous", "next", "zero", "cubic"):
        np.testing.assert_allclose(*both(X, Y, np.array([np.nan, X[1]]), kind, 1), rtol=1e-10)


def test_refusals() -> None:
    for error, text, options in (
        (NotImplementedError, "kind must be linear, nearest", {"kind": "smooth"}),
        (ValueError, "kind must not be negative", {"kind": -1}),
        (ValueError, "x must be a vector of at least 8 numbers for kind=7", {"kind": 7}),
        (ValueError, "exclude each other", {"bounds_error": True, "fill_value": "extrapolate"}),
        (ValueError, "fill_value must be numbers or 'extrapolate'", {"fill_value": "nearest"}),
        (ValueError, r"fill_value must broadcast to shape \(2, 3\)", {"fill_value": np.zeros(4)}),
        (ValueError, "y must have 7 elements along axis 0", {"axis": 0}),
    ):
        with pytest.raises(error, match=r"\[interp1d\] .*" + text):
            interpolate.interp1d(X, Y, **{"axis": 1, **options})
    for kind in ("slinear", "quadratic", "cubic"):
        with pytest.raises(ValueError, match="x must be strictly increasing"):
            interpolate.interp1d([0.0, 1.0, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0], kind)
    single = interpolate.interp1d([2.0], [5.0], "nearest", fill_value=(1.0, 3.0), bounds_error=False)
    np.testing.assert_array_equal(single([1.0, 2.0, 3.0]).numpy(), [1.0, 5.0, 3.0])
