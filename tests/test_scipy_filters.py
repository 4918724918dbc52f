"""Linear filters of `jittape.scipy.signal`: SciPy's values, and derivatives of both orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal

import jittape as jt
from jittape.scipy import signal

RNG = np.random.default_rng(2)
X = RNG.normal(size=(2, 12))
B, LONG, A = RNG.normal(size=3), RNG.normal(size=6), np.array([2.0, 0.3, -0.4, 0.2])
SECTIONS = scipy.signal.butter(4, 0.3, output="sos")
SMOOTH = scipy.signal.butter(2, 0.3)

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "lfilter": (lambda m, *a: m.lfilter(*a), (B, A, X)),
    "lfilter, axis": (lambda m, *a: m.lfilter(*a, axis=0), (LONG, A, X.T)),
    "lfilter, no poles": (lambda m, *a: m.lfilter(*a), (LONG, A[:1], X)),
    "lfilter, one number": (lambda m, *a: m.lfilter(*a), (B[:1], A[:1], X[0])),
    "lfilter, zi": (lambda m, b, a, x, z: m.lfilter(b, a, x, zi=z), (B, A, X, RNG.normal(size=(2, 3)))),
    "lfilter, zi of another axis": (
        lambda m, b, a, x, z: m.lfilter(b, a, x, 0, z),
        (LONG, A, X.T, RNG.normal(size=(5, 2))),
    ),
    "lfilter, zi longer than x": (
        lambda m, b, a, x, z: m.lfilter(b, a, x, zi=z),
        (LONG, A, X[0, :3], RNG.normal(size=5)),
    ),
    "lfilter, zi without poles": (
        lambda m, b, a, x, z: m.lfilter(b, a, x, zi=z),
        (LONG, A[:1], X[0], RNG.normal(size=5)),
    ),
    "lfilter_zi": (lambda m, *a: m.lfilter_zi(*a), (B, A)),
    "lfilter_zi, long b": (lambda m, *a: m.lfilter_zi(*a), (LONG, A)),
    "sosfilt": (lambda m, x: m.sosfilt(SECTIONS, x), (X,)),
    "sosfilt, zi": (lambda m, x, z: m.sosfilt(SECTIONS, x, zi=z), (X, RNG.normal(size=(2, 2, 2)))),
    "filtfilt": (lambda m, *a: m.filtfilt(*a), (*SMOOTH, X)),
    "filtfilt, even": (lambda m, *a: m.filtfilt(*a, axis=0, padtype="even", padlen=4), (*SMOOTH, X.T)),
    "filtfilt, constant": (lambda m, *a: m.filtfilt(*a, padtype="constant", padlen=4), (*SMOOTH, X)),
    "filtfilt, none": (lambda m, *a: m.filtfilt(*a, padtype=None), (*SMOOTH, X[0])),
}


def parts(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    """A recorded call, a compiled one, and gradients in all arguments, twice."""
    function, operands = CASES[name]
    compiled = jt.function(lambda *a: function(signal, *a))
    wanted = parts(function(scipy.signal, *operands))
    for call in (lambda *a: function(signal, *a), compiled, compiled):
        for one, other in zip(parts(call(*operands)), wanted, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)

    def total(*a: Any) -> Any:
        return jt.add_n([jt.reduce_sum(jt.sin(r)) for r in parts(function(signal, *a))])

    jt.check_gradient(total, *operands)
    jt.check_gradient(
        lambda x: jt.reduce_sum(jt.sin(jt.grad(lambda v: total(*operands[:-1], v))(x))), operands[-1]
    )


def test_complex_signals_and_stacks_of_filters() -> None:
    b, a, x = B + 1j, A * (1 + 0.1j), X * (1 - 1j)
    np.testing.assert_allclose(signal.lfilter(b, a, x), scipy.signal.lfilter(b, a, x), rtol=1e-9)
    jt.check_gradient(lambda *v: jt.reduce_sum(jt.abs(signal.lfilter(*v)) ** 2), b, a, x)
    poles = np.stack([A, 1.1 * A + [0, 0.1, 0, 0]])
    found = jt.vmap(lambda p: signal.lfilter(B, p, X[0]))(poles)
    np.testing.assert_allclose(found, [scipy.signal.lfilter(B, p, X[0]) for p in poles], rtol=1e-9)
    found = jt.jacobian(lambda p: signal.lfilter(B, p, X[0]))(A)
    step = 1e-6 * np.eye(4)
    slopes = [scipy.signal.lfilter(B, A + s, X[0]) - scipy.signal.lfilter(B, A - s, X[0]) for s in step]
    np.testing.assert_allclose(found, np.transpose(slopes) / 2e-6, rtol=1e-5, atol=1e-7)


def test_dtypes_and_refusals() -> None:
    single = [v.astype("float32") for v in (B, A, X)]
    assert signal.lfilter(*single).dtype == "float32" == scipy.signal.lfilter(*single).dtype
    assert signal.lfilter([1], [1], [1, 2]).dtype == "float64"
    with pytest.raises(jt.ShapeError, match=r"\[lfilter\] b must be a vector"):
        signal.lfilter([[1.0]], [1.0], X)
    with pytest.raises(
        jt.ShapeError, match=r"\[lfilter\] zi must have 2 dimensions and 3 elements along axis 1"
    ):
        signal.lfilter(B, A, X, zi=[0.0, 0.0, 0.0])
    with pytest.raises(jt.ShapeError, match=r"\[lfilter\] axis=2 is out of range"):
        signal.lfilter(B, A, X, axis=2)
    with pytest.raises(jt.ShapeError, match=r"\[sosfilt\] sos must have the shape \(sections, 6\)"):
        signal.sosfilt([[1.0, 1.0]], X)
    with pytest.raises(ValueError, match=r"\[filtfilt\] x must have more than padlen=12 elements"):
        signal.filtfilt(B, A, X)
    with pytest.raises(ValueError, match=r"\[filtfilt\] padtype must be"):
        signal.filtfilt(B, A, X, padtype="wrap")
