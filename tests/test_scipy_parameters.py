"""SciPy's parameters by position, and those that functions of `jittape.scipy` do not have."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.signal

import jittape as jt
from jittape.scipy import integrate, optimize, signal

MODULES = {"integrate": integrate, "optimize": optimize, "signal": signal}
NAMES = [
    "integrate.quad",
    "integrate.odeint",
    "optimize.least_squares",
    "optimize.curve_fit",
    "signal.fftconvolve",
]


def line(x: Any, a: Any, b: Any) -> Any:
    return a * x + b


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "integrate.quad": (lambda x: x**2, 0.0, 1.0),
    "integrate.odeint": (lambda y, t: -y, [1.0], [0.0, 1.0]),
    "optimize.least_squares": (lambda x: x - 3.0, [0.0]),
    "optimize.curve_fit": (line, np.arange(4.0), np.array([1.0, 3.0, 5.0, 7.5])),
    "signal.fftconvolve": (np.arange(3.0), np.ones(2)),
}


def first(result: Any) -> Any:
    result = result.x if hasattr(result, "x") else result
    return np.asarray(result[0] if isinstance(result, tuple) else result)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_by_position(name: str) -> None:
    """Each of SciPy's defaults may be given by position; another value counts, is ignored, or is refused by name."""
    module, function = name.split(".")
    ours, theirs = getattr(MODULES[module], function), getattr(getattr(scipy, module), function)
    parameters = list(inspect.signature(theirs).parameters.values())
    wanted = first(theirs(*ARGUMENTS[name]))
    given = list(ARGUMENTS[name])
    for parameter in [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD][len(given) :]:
        given.append(parameter.default)
        np.testing.assert_allclose(first(ours(*given)), wanted, atol=1e-6)
    with pytest.raises(TypeError, match="given twice|multiple values"):
        ours(*ARGUMENTS[name], **{parameters[0].name: 1.0})


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("integrate.quad", "epsabs", 1e-3),
        ("integrate.quad", "points", [0.5]),
        ("integrate.odeint", "full_output", 1),
        ("integrate.odeint", "Dfun", lambda y, t: -np.eye(1)),
        ("optimize.least_squares", "callback", print),
        ("optimize.curve_fit", "full_output", True),
    ],
)
def test_parameters_that_are_refused(name: str, option: str, value: Any) -> None:
    module, function = name.split(".")
    with pytest.raises(NotImplementedError, match=rf"\[{function}\] {option} is not supported; leave it out"):
        getattr(MODULES[module], function)(*ARGUMENTS[name], **{option: value})


@pytest.mark.parametrize("kind", [np.array, jt.constant, np.float32])
def test_infinite_limits_of_any_type(kind: Any) -> None:
    for a, b in ((0.0, np.inf), (-np.inf, 0.0), (-np.inf, np.inf), (np.inf, 0.0)):
        found = integrate.quad(lambda x: jt.exp(-x * x), kind(a), kind(b))[0]
        np.testing.assert_allclose(found, scipy.integrate.quad(lambda x: np.exp(-x * x), a, b)[0], rtol=1e-6)


def test_numbers_in_place_of_vectors() -> None:
    found = optimize.fixed_point(lambda x, a: a * jt.cos(x), 0.5, args=(1.0,))
    assert found.shape == ()
    np.testing.assert_allclose(found, scipy.optimize.fixed_point(np.cos, 0.5), rtol=1e-12)
    slope = jt.grad(lambda a: optimize.fixed_point(lambda x, a: a * jt.cos(x), 0.5, args=(a,)))(
        np.float64(1.0)
    )
    root = float(found)
    np.testing.assert_allclose(slope, np.cos(root) / (1 + np.sin(root)), rtol=1e-9)
    assert optimize.fixed_point(jt.cos, [0.5, 0.6]).shape == (2,)
    for name in ("convolve", "correlate", "fftconvolve"):
        assert float(getattr(signal, name)(2.0, 3.0)) == 6.0


def test_structured_arrays_name_the_op_and_the_field() -> None:
    record = np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])
    for op, call in {
        "sin": jt.sin,
        "np.add": lambda x: x + jt.ones(3),
        "where": lambda x: jt.where(True, x, 0),
    }.items():
        with pytest.raises(
            jt.DTypeError, match=rf"\[{op}\] .*Cannot convert .*; take a field, such as x\['a'\]"
        ):
            call(record)
