"""Distributions of one variable with SciPy's methods, over the formulas of `formulas`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import float64
from jittape.core.primitive import apply
from jittape.core.user_calls import as_int
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.comparison import greater_equal, less_equal, logical_and, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.scipy_operands import as_operand, floating_operand
from jittape.scipy.stats.distribution_bodies import (
    FORMULAS,
    inverse_body,
    moment_body,
    nodes_body,
    raw_moment_body,
    support_body,
    value_body,
)
from jittape.scipy.stats.formulas import INF, OTHER_METHODS, missing_method
from jittape.scipy.stats.lattice_sums import as_column, lattice, lattice_moment
from jittape.typing import Tensor, TensorLike

__all__ = ["Distribution", "FrozenDistribution"]


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
        return apply(value_body, (_operand(x), *parameters), static)

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
        return apply(inverse_body, (_operand(q), *parameters), (self.name, method))

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
        found = apply(support_body, tuple(self._parameters("support", args, kwargs)), (self.name,))
        return found[0], found[1]

    def __getattr__(self, name: str) -> Any:
        if name in OTHER_METHODS:
            raise missing_method(self.name, name)
        raise AttributeError(
            f"a distribution has no attribute {name!r}"
        )  # also before `__init__`: no names here

    def _moment(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        parameters = self._parameters(method, args, kwargs)
        formula = getattr(self._formulas, "var" if method == "std" else method)
        summed = method == "entropy" or self._formulas.raw_moment is None
        if formula is None and self._formulas.discrete and summed:
            if method != "entropy":
                self._require_light_tail(method)
            return lattice_moment(self.name, method, self.pmf, parameters)
        if formula is None and not self._formulas.discrete:
            self._require(method, self._formulas.ppf)
        return apply(moment_body, tuple(parameters), (self.name, method))

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
        """Return the mean, variance, skewness and kurtosis that `moments`, letters of ``"mvsk"``, names, in this order.

        Skewness and kurtosis are nan where the moments are not finite.
        """
        unknown = set(moments) - set(_LETTERS)
        if unknown:
            raise ValueError(f"[{self.name}.stats] moments has the letters m, v, s and k, got {moments!r}")
        found = [self._moment(m, args, kwargs) for letter, m in _LETTERS.items() if letter in moments]
        return found[0] if len(found) == 1 else tuple(found)

    def moment(self, order: int, *args: TensorLike, **kwargs: TensorLike) -> Tensor:
        """Return the mean of the power `order`, at least 1; nan where a moment from the third on is infinite."""
        order = as_int("order", order)
        if order < 1:
            raise ValueError(f"[{self.name}.moment] order must be at least 1, got {order}")
        if order == 1:
            return self.mean(*args, **kwargs)
        if order == 2:
            second: Tensor = add(self.var(*args, **kwargs), square(self.mean(*args, **kwargs)))
            return second
        parameters = self._parameters("moment", args, kwargs)
        if self._formulas.discrete and self._formulas.raw_moment is None:
            points, weights = self._points(parameters, -INF, INF)
            return reduce_sum(multiply(pow(points, float(order)), weights), -1)
        self._require("moment", self._formulas.raw_moment or self._formulas.ppf)
        found: Tensor = apply(raw_moment_body, tuple(parameters), (self.name, order))
        return found

    def _require_light_tail(self, method: str) -> None:
        if self._formulas.tail is not None:
            raise NotImplementedError(
                f"[{self.name}.{method}] is a sum that converges slowly; call "
                f"scipy.stats.{self.name}.{method} on arrays"
            )

    def expect(
        self,
        func: Callable[..., Any] | None = None,
        args: tuple[TensorLike, ...] = (),
        loc: TensorLike = 0.0,
        scale: TensorLike = 1.0,
        lb: TensorLike | None = None,
        ub: TensorLike | None = None,
        conditional: bool = False,
        **shapes: TensorLike,
    ) -> Tensor:
        """Return the mean of a function between two bounds.

        SciPy integrates adaptively. Here one call of `func` gets all points: those of double exponential rules on both
        sides of the median, or, for a distribution of integers, all that carry the probability. The result is
        differentiable in the parameters, in the bounds of an integral, and in all tensors that `func` reads.

        Parameters
        ----------
        func : callable, optional
            Function of an array of points, elementwise, by jittape's operations; the identity by default. A jump or a
            kink of the function costs accuracy: put it at a bound. So does a product with the density that decreases
            almost as slowly as ``1 / x``.
        args : tuple
            The shape parameters, which may also be given by name.
        loc, scale : tensor-like
            Location and scale; a distribution of integers has no scale.
        lb, ub : tensor-like, optional
            Bounds of the integral or, included, of the sum; those of the support by default.
        conditional : bool
            Whether to divide by the probability between the bounds.
        """
        given = {"loc": loc} if self._formulas.discrete else {"loc": loc, "scale": scale}
        parameters = self._parameters("expect", args, {**given, **shapes})
        points, weights = self._points(parameters, -INF if lb is None else lb, INF if ub is None else ub)
        value = points if func is None else func(points)
        total = reduce_sum(multiply(value, weights), -1)
        found: Tensor = divide(total, reduce_sum(weights, -1)) if conditional else total
        return found

    def _points(self, parameters: list[Any], lower: Any, upper: Any) -> tuple[Any, Any]:
        """Return points in a last dimension and their weights."""
        if self._formulas.discrete:
            self._require_light_tail("expect")
            points = lattice(self.name, "expect", parameters[:-1])
            weights: Any = self.pmf(points, *map(as_column, parameters[:-1]))
            inside = logical_and(greater_equal(points, lower), less_equal(points, upper))
            return convert_to_tensor(points), where(inside, weights, 0.0)
        self._require("expect", self._formulas.ppf)
        found = apply(nodes_body, (*parameters, _operand(lower), _operand(upper)), (self.name,))
        return found[0], found[1]


_LETTERS = {"m": "mean", "v": "var", "s": "skewness", "k": "kurtosis"}
_NEEDED = {"cdf": "cdf", "logcdf": "cdf", "sf": "sf", "logsf": "sf"}
"""The formula that a function of a value needs, if it is not the density."""

METHODS = {
    "pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "mean", "var", "std", "entropy",
    "median", "interval", "support", "stats", "moment", "expect",
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
