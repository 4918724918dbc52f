"""Distributions of one variable with SciPy's methods, over the formulas of `formulas`."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import numpy as np

from jittape.core.dtypes import float64
from jittape.core.primitive import Primitive, apply
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
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp, log, sqrt
from jittape.primitives.elementwise.piecewise import floor
from jittape.primitives.record_parts import same_real_float
from jittape.scipy.scipy_operands import as_operand, floating_operand, real_operands
from jittape.scipy.stats.continuous_formulas import CONTINUOUS
from jittape.scipy.stats.discrete_formulas import DISCRETE
from jittape.scipy.stats.formulas import OTHER_METHODS, Formulas, missing_method
from jittape.typing import Tensor, TensorLike

__all__ = ["Distribution", "FrozenDistribution"]

FORMULAS = {**CONTINUOUS, **DISCRETE}
INF, NAN = float("inf"), float("nan")


# ---- bodies ----------------------------------------------------------------------------------------------------------


def _valid(formulas: Formulas, shapes: tuple[Any, ...], scale: Any) -> Any:
    return reduce(logical_and, formulas.conditions(*shapes), greater(scale, 0))


def _value_body(*operands_and_names: Any) -> Any:
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


def _inverse_body(*operands_and_names: Any) -> Any:
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


def _moment_body(*operands_and_names: Any) -> Any:
    *operands, name, method = operands_and_names
    formulas = FORMULAS[name]
    *shapes, loc, scale = real_operands(f"{name}.{method}", tuple(operands))
    formula = getattr(formulas, "var" if method == "std" else method)
    value = formula(*shapes)
    if method == "mean":
        value = add(loc, multiply(scale, value))
    elif method == "entropy":
        value = value if formulas.discrete else add(value, log(scale))
        value = add(value, multiply(0.0, loc))
    else:
        value = add(multiply(square(scale), value), multiply(0.0, loc))
        value = sqrt(value) if method == "std" else value
    return where(_valid(formulas, tuple(shapes), scale), value, NAN)


def _support_body(*operands_and_name: Any) -> tuple[Any, Any]:
    """Return the ends of the support."""
    *operands, name = operands_and_name
    formulas = FORMULAS[name]
    *shapes, loc, scale = real_operands(f"{name}.support", tuple(operands))
    valid = _valid(formulas, tuple(shapes), scale)
    low, high = [add(loc, multiply(scale, end)) for end in formulas.support(*shapes)]
    return where(valid, low, NAN), where(valid, high, NAN)


def _scipy_inverse(name: str, method: str, *operands: Any) -> Any:
    import scipy.stats

    with np.errstate(all="ignore"):
        return np.asarray(getattr(getattr(scipy.stats, name), method)(*operands)).astype(operands[0].dtype)


DISCRETE_INVERSES = {
    (name, method): Primitive(
        f"{name}_{method}",
        abstract_eval=same_real_float(f"{name}.{method}"),
        impl=partial(_scipy_inverse, name, method),
        batch=alike(),
        gradient_stops="the inverse of a step function is piecewise constant",
    )
    for name in DISCRETE
    for method in ("ppf", "isf")
}
"""Inverses of discrete distribution functions, which SciPy computes between kernels."""


# ---- objects ---------------------------------------------------------------------------------------------------------


def _operand(x: Any) -> Any:
    """Return an argument; arrays of integers and bools are float64, as in SciPy's distributions."""
    x = as_operand(x)
    dtype = getattr(getattr(x, "aval", x), "dtype", None)
    return cast(x, float64) if dtype is not None and np.dtype(dtype).kind in "biu" else x


class Distribution:
    """A distribution with SciPy's methods, differentiable in the value and in all parameters.

    Calling it fixes the parameters, as in ``norm(loc=1.0).logpdf(x)``.

    Parameters
    ----------
    name : str
        SciPy's name.

    Raises
    ------
    DTypeError
        From the methods, for complex numbers.

    Examples
    --------
    >>> from jittape.scipy import stats
    >>> round(float(stats.gamma.logpdf(2.0, 3.0, scale=0.5)), 4)
    -1.2274
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._formulas = FORMULAS[name]
        self.shapes = self._formulas.shapes
        arguments = ", ".join((*self.shapes, "loc=0" if self._formulas.discrete else "loc=0, scale=1"))
        self.__doc__ = (
            f"The {self._formulas.summary}: parameters ``{arguments}``; see `Distribution` for the methods."
        )

    def __repr__(self) -> str:
        return f"<jittape.scipy.stats.{self.name}>"

    def __call__(self, *args: TensorLike, **kwargs: TensorLike) -> FrozenDistribution:
        """Return the distribution with these parameters."""
        self._parameters("__call__", args, kwargs)
        return FrozenDistribution(self, args, kwargs)

    def _parameters(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return shape parameters, location and scale; raise for missing and unknown ones."""
        names = [*self.shapes, "loc", *([] if self._formulas.discrete else ["scale"])]
        where_ = f"[{self.name}.{method}]"
        if len(args) > len(names):
            raise TypeError(f"{where_} takes the parameters {', '.join(names)}, got {len(args)} values")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"{where_} has no parameter {name!r}, only {', '.join(names)}")
            if name in given:
                raise TypeError(f"{where_} got {name} twice, by position and by name")
            given[name] = value
        missing = [name for name in self.shapes if name not in given]
        if missing:
            raise TypeError(f"{where_} needs the shape parameter {missing[0]}")
        given = {"loc": 0.0, "scale": 1.0, **given}
        return [_operand(given[name]) for name in (*self.shapes, "loc", "scale")]

    def _of_value(self, method: str, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._require(method, getattr(self._formulas, _NEEDED.get(method, "log_density")))
        parameters = self._parameters(method, args, kwargs)
        static = (self.name, {"pmf": "pdf", "logpmf": "logpdf"}.get(method, method))
        return apply(_value_body, (_operand(x), *parameters), static)

    def _density(self, method: str, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._formulas.discrete != ("pmf" in method):
            other = method.replace("pdf", "pmf") if self._formulas.discrete else method.replace("pmf", "pdf")
            raise AttributeError(f"[{self.name}.{method}] {self.name} has {other}")
        return self._of_value(method, x, args, kwargs)

    def pdf(self, x: TensorLike, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return the density."""
        found: Tensor = self._density("pdf", x, args, kwargs)
        return found

    def logpdf(self, x: TensorLike, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return the logarithm of the density; -inf outside the support, nan for invalid parameters."""
        found: Tensor = self._density("logpdf", x, args, kwargs)
        return found

    def pmf(self, k: TensorLike, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return the probability of an integer."""
        found: Tensor = self._density("pmf", k, args, kwargs)
        return found

    def logpmf(self, k: TensorLike, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return the logarithm of the probability of an integer; -inf for other numbers."""
        found: Tensor = self._density("logpmf", k, args, kwargs)
        return found

    def cdf(self, x: TensorLike, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return the distribution function."""
        found: Tensor = self._of_value("cdf", x, args, kwargs)
        return found

    def logcdf(self, x: TensorLike, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return the logarithm of the distribution function."""
        found: Tensor = self._of_value("logcdf", x, args, kwargs)
        return found

    def sf(self, x: TensorLike, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return 1 minus the distribution function, accurate also where it is small."""
        found: Tensor = self._of_value("sf", x, args, kwargs)
        return found

    def logsf(self, x: TensorLike, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return the logarithm of `sf`."""
        found: Tensor = self._of_value("logsf", x, args, kwargs)
        return found

    def _require(self, method: str, formula: Any) -> None:
        if formula is None:
            raise NotImplementedError(
                f"[{self.name}.{method}] has no formula here; call scipy.stats.{self.name}.{method} on arrays"
            )

    def _inverse(self, method: str, q: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._require(method, self._formulas.discrete or self._formulas.ppf)
        parameters = self._parameters(method, args, kwargs)
        return apply(_inverse_body, (_operand(q), *parameters), (self.name, method))

    def ppf(self, q: TensorLike, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return the inverse of `cdf`.

        Where there is no closed form, SciPy computes the value; derivatives follow from the implicit function theorem.
        The inverse of a discrete distribution is a step function: its gradient is None.
        """
        found: Tensor = self._inverse("ppf", q, args, kwargs)
        return found

    def isf(self, q: TensorLike, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return the inverse of `sf`."""
        found: Tensor = self._inverse("isf", q, args, kwargs)
        return found

    def median(self, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return the median: ``ppf(0.5)``."""
        return self.ppf(0.5, *args, **kwargs)

    def interval(
        self, confidence: TensorLike, *args: TensorLike, **kwargs: TensorLike
    ) -> tuple[Tensor, Tensor]:
        """Return the ends of the interval that has the probability `confidence`, with equal tails."""
        tail: Any = multiply(subtract(1.0, floating_operand(confidence)), 0.5)
        return self.ppf(tail, *args, **kwargs), self.ppf(subtract(1.0, tail), *args, **kwargs)

    def support(self, *args: TensorLike, **kwargs: TensorLike) -> tuple[Tensor, Tensor]:
        """Return the ends of the interval outside of which the density is 0."""
        found = apply(_support_body, tuple(self._parameters("support", args, kwargs)), (self.name,))
        return found[0], found[1]

    def __getattr__(self, name: str) -> Any:
        if name in OTHER_METHODS:
            raise missing_method(self.name, name)
        raise AttributeError(
            f"a distribution has no attribute {name!r}"
        )  # also before `__init__`: no names here

    def _moment(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._require(method, getattr(self._formulas, "var" if method == "std" else method))
        return apply(_moment_body, tuple(self._parameters(method, args, kwargs)), (self.name, method))

    def mean(self, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return the mean."""
        found: Tensor = self._moment("mean", args, kwargs)
        return found

    def var(self, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return the variance."""
        found: Tensor = self._moment("var", args, kwargs)
        return found

    def std(self, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return the standard deviation."""
        found: Tensor = self._moment("std", args, kwargs)
        return found

    def entropy(self, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return the differential entropy, or the entropy in nats."""
        found: Tensor = self._moment("entropy", args, kwargs)
        return found

    def stats(self, *args: TensorLike, moments: str = "mv", **kwargs: TensorLike) -> Any:
        """Return the mean (``"m"``) and the variance (``"v"``), in this order, of those that `moments` names."""
        if set(moments) - set("mv"):
            raise NotImplementedError(
                f"[{self.name}.stats] moments={moments!r} has formulas for 'm' and 'v' only; call "
                f"scipy.stats.{self.name}.stats on arrays"
            )
        found = [f(*args, **kwargs) for letter, f in (("m", self.mean), ("v", self.var)) if letter in moments]
        return found[0] if len(found) == 1 else tuple(found)

    def moment(self, order: int, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return the mean of the power `order`, which is 1 or 2."""
        if order not in (1, 2):
            raise NotImplementedError(
                f"[{self.name}.moment] has formulas for the orders 1 and 2, got {order!r}; call "
                f"scipy.stats.{self.name}.moment on arrays"
            )
        mean = self.mean(*args, **kwargs)
        found: Tensor = mean if order == 1 else add(self.var(*args, **kwargs), square(mean))
        return found


_NEEDED = {"cdf": "cdf", "logcdf": "cdf", "sf": "sf", "logsf": "sf"}
"""The formula that a function of a value needs, if it is not the density."""

METHODS = {
    "pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "mean", "var", "std", "entropy",
    "median", "interval", "support", "stats", "moment",
}  # fmt: skip


class FrozenDistribution:
    """A distribution with fixed parameters; it has the methods of the distribution without the parameters."""

    def __init__(self, dist: Distribution, args: tuple[Any, ...], kwds: dict[str, Any]) -> None:
        self.dist, self.args, self.kwds = dist, args, kwds

    def __getattr__(self, name: str) -> Any:
        if name in OTHER_METHODS and name not in METHODS:
            raise missing_method(self.dist.name, name)
        if name not in METHODS:
            raise AttributeError(f"a frozen {self.dist.name} has no attribute {name!r}")
        method = getattr(self.dist, name)
        parameters = dict(zip((*self.dist.shapes, "loc", "scale"), self.args, strict=False)) | self.kwds
        return lambda *values, **named: method(*values, **parameters, **named)

    def __repr__(self) -> str:
        return f"<frozen {self.dist.name}>"
