"""Methods of distributions of one variable as functions of handles, over the formulas of `formulas`."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

from jittape.core.primitive import Primitive
from jittape.primitives.batched_params import alike
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.bits import is_finite, is_nan
from jittape.primitives.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    where,
)
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp, log, sqrt
from jittape.primitives.elementwise.piecewise import floor
from jittape.primitives.record_parts import same_real_float
from jittape.primitives.shape.reshaping import expand_dims
from jittape.scipy.scipy_operands import real_operands
from jittape.scipy.stats.continuous_formulas import CONTINUOUS
from jittape.scipy.stats.discrete_formulas import DISCRETE
from jittape.scipy.stats.formulas import INF, NAN, Formulas
from jittape.scipy.stats.moment_quadrature import nodes, raw_moment, standard_moment
from jittape.scipy.stats.scipy_laws import scipy_method

__all__ = [
    "FORMULAS",
    "inverse_body",
    "moment_body",
    "nodes_body",
    "raw_moment_body",
    "support_body",
    "value_body",
]

FORMULAS = {**CONTINUOUS, **DISCRETE}


def _valid(formulas: Formulas, shapes: tuple[Any, ...], scale: Any) -> Any:
    return reduce(logical_and, formulas.conditions(*shapes), greater(scale, 0))


def value_body(*operands_and_names: Any) -> Any:
    """Evaluate a function of a value: a density or a distribution function."""
    *operands, name, method = operands_and_names
    formulas = FORMULAS[name]
    x, *shapes, loc, scale = real_operands(f"{name}.{method}", tuple(operands))
    y = subtract(x, loc) if formulas.discrete else divide(subtract(x, loc), scale)
    valid = logical_and(_valid(formulas, tuple(shapes), scale), logical_not(is_nan(y)))
    value = (_log_density if method in ("logpdf", "pdf") else _distribution)(
        formulas, method, y, shapes, scale
    )
    return where(valid, value, NAN)


def _log_density(formulas: Formulas, method: str, y: Any, shapes: list[Any], scale: Any) -> Any:
    low, high = formulas.support(*shapes)
    inside = logical_and(greater(y, low) if formulas.open else greater_equal(y, low), less_equal(y, high))
    if formulas.discrete:
        inside = logical_and(inside, equal(y, floor(y)))
    inside = logical_and(inside, is_finite(y))
    value = formulas.log_density(y, *shapes)
    if not formulas.discrete:
        value = subtract(value, log(scale))
    return where(inside, exp(value) if method == "pdf" else value, 0.0 if method == "pdf" else -INF)


def _distribution(formulas: Formulas, method: str, y: Any, shapes: list[Any], scale: Any) -> Any:
    low, high = formulas.support(*shapes)
    if formulas.discrete:
        y = floor(y)
    function: Any = {
        "cdf": formulas.cdf,
        "logcdf": formulas.log_of_cdf,
        "logsf": formulas.log_of_sf,
        "sf": formulas.sf,
    }[method]
    below, above = {"cdf": (0.0, 1.0), "logcdf": (-INF, 0.0), "sf": (1.0, 0.0), "logsf": (0.0, -INF)}[method]
    under = less(y, low) if formulas.discrete else less_equal(y, low)
    return where(under, below, where(greater_equal(y, high), above, function(y, *shapes)))


def inverse_body(*operands_and_names: Any) -> Any:
    """Evaluate an inverse of a distribution function."""
    *operands, name, method = operands_and_names
    formulas = FORMULAS[name]
    q, *shapes, loc, scale = real_operands(f"{name}.{method}", tuple(operands))
    if formulas.discrete:
        return DISCRETE_INVERSES[name, method].bind(q, *shapes, loc)
    low, high = formulas.support(*shapes)
    if method == "isf":
        low, high = high, low
    valid = logical_and(
        _valid(formulas, tuple(shapes), scale), logical_and(greater_equal(q, 0), less_equal(q, 1))
    )
    inverse = formulas.ppf if method == "ppf" else formulas.inverse_sf
    assert inverse is not None
    inner = where(equal(q, 0), low, where(equal(q, 1), high, inverse(q, *shapes)))
    return where(valid, add(loc, multiply(scale, inner)), NAN)


def moment_body(*operands_and_names: Any) -> Any:
    """Evaluate a moment or the entropy."""
    *operands, name, method = operands_and_names
    formulas = FORMULAS[name]
    *shapes, loc, scale = real_operands(f"{name}.{method}", tuple(operands))
    value = standard_moment(formulas, "var" if method == "std" else method, tuple(shapes), loc)
    if method == "mean":
        value = add(loc, multiply(scale, value))
    elif method == "entropy":
        value = value if formulas.discrete else add(value, log(scale))
        value = add(value, multiply(0.0, loc))
    elif method in ("skewness", "kurtosis"):
        value = add(value, multiply(0.0, loc))
    else:
        value = add(multiply(square(scale), value), multiply(0.0, loc))
        value = sqrt(value) if method == "std" else value
    return where(_valid(formulas, tuple(shapes), scale), value, NAN)


def raw_moment_body(*operands_and_names: Any) -> Any:
    """Evaluate the mean of a power."""
    *operands, name, order = operands_and_names
    formulas = FORMULAS[name]
    *shapes, loc, scale = real_operands(f"{name}.moment", tuple(operands))
    value = raw_moment(formulas, order, tuple(shapes), loc, scale)
    return where(_valid(formulas, tuple(shapes), scale), value, NAN)


def nodes_body(*operands_and_names: Any) -> Any:
    """Return points and weights whose weighted sum of a function is its mean between two bounds."""
    *operands, name = operands_and_names
    formulas = FORMULAS[name]
    *shapes, loc, scale, lower, upper = real_operands(f"{name}.expect", tuple(operands))
    bounds = [divide(subtract(bound, loc), scale) for bound in (lower, upper)]
    points, weights = nodes(formulas, tuple(shapes), loc, bounds)
    valid = expand_dims(_valid(formulas, tuple(shapes), scale), -1)
    points = add(expand_dims(loc, -1), multiply(expand_dims(scale, -1), points))
    return points, where(valid, weights, NAN)


def support_body(*operands_and_name: Any) -> tuple[Any, Any]:
    """Return the ends of the support."""
    *operands, name = operands_and_name
    formulas = FORMULAS[name]
    *shapes, loc, scale = real_operands(f"{name}.support", tuple(operands))
    valid = _valid(formulas, tuple(shapes), scale)
    low, high = [add(loc, multiply(scale, end)) for end in formulas.support(*shapes)]
    return where(valid, low, NAN), where(valid, high, NAN)


DISCRETE_INVERSES = {
    (name, method): Primitive(
        f"{name}_{method}",
        abstract_eval=same_real_float(f"{name}.{method}"),
        impl=partial(scipy_method, name, method),
        batch=alike(),
        gradient_stops="the inverse of a step function is piecewise constant",
    )
    for name in DISCRETE
    for method in ("ppf", "isf")
}
"""Inverses of discrete distribution functions, which SciPy computes between kernels."""
