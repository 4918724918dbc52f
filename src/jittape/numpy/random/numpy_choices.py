"""`DiscreteLaws`: integers, choices and permutations of `numpy.random.Generator`, with its names and arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jittape.core.dtypes import as_dtype, float64, int64
from jittape.core.user_calls import as_flag, as_int, shown
from jittape.errors import ShapeError
from jittape.numpy.array_arguments import as_operand, as_tensor, fresh
from jittape.numpy.random.law_parameters import (
    CHANCE,
    COUNT,
    EXACT_COUNT,
    FINITE,
    MEAN,
    PROBABILITY,
    checked,
    extents,
    ordered,
    real,
    refuse_out,
)
from jittape.numpy.random.numpy_laws import ContinuousLaws
from jittape.primitives.broadcast import axis_key
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import greater, less_equal, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp, expm1, log, log1p
from jittape.primitives.elementwise.piecewise import ceil, floor, maximum, minimum
from jittape.primitives.indexing.gather import gather, take_along_axis
from jittape.primitives.indexing.sorting import argsort
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.creation import zeros
from jittape.primitives.shape.joining import stack
from jittape.primitives.shape.reshaping import broadcast_to, one_axis, reshape
from jittape.random.arguments import is_symbolic, operand_shape
from jittape.random.continuous import draw_uniform
from jittape.random.discrete import (
    draw_binomial,
    draw_categorical,
    draw_hypergeometric,
    draw_poisson,
    draw_shuffle,
    draw_zipf,
)
from jittape.random.location_scale import draw_gumbel
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor

__all__ = ["DiscreteLaws"]

LARGEST_POPULATION = 10**9
"""Limit that NumPy sets for the parameters of hypergeometric laws."""
_GREATEST_COUNT = float(np.nextafter(2.0**63, 0.0))
"""Greatest float64 that int64 holds."""


class DiscreteLaws(ContinuousLaws):
    """Laws of integers, choices and permutations over a source of random states. Integers are int64."""

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = int64, endpoint: bool = False
    ) -> Any:
        """Draw integers in ``[low, high)``, or ``[0, low)``; see `numpy.random.Generator.integers`."""
        low, high = (0, low) if high is None else (low, high)
        low, high = checked("integers", "low", low), checked("integers", "high", high)
        wanted = as_dtype(dtype)
        if wanted.kind not in "iub":
            raise TypeError(f"[random.integers] dtype must be an integer dtype, got {wanted.name}")
        shape, end = extents("integers", size, low, high), high + 1 if endpoint else high
        if wanted.kind == "b":
            ordered("integers", "high", end, "2", 2)
            return cast(draw_uniform("integers", self._take, shape, low, end, np.uint8), wanted)
        return draw_uniform("integers", self._take, shape, low, end, wanted)

    # ---- counts ----------------------------------------------------------------------------------------------------

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        """Draw Poisson numbers; see `numpy.random.Generator.poisson`."""
        lam = checked("poisson", "lam", lam, *MEAN)
        return draw_poisson("poisson", self._take, extents("poisson", size, lam), lam, int64)

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Draw numbers of successes among `n` trials; see `numpy.random.Generator.binomial`."""
        n, p = checked("binomial", "n", n, *COUNT), checked("binomial", "p", p, *PROBABILITY)
        return draw_binomial("binomial", self._take, extents("binomial", size, n, p), n, p, int64)

    def negative_binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Draw numbers of failures before `n` successes; see `numpy.random.Generator.negative_binomial`."""
        n, p = real("negative_binomial", "n", n, *FINITE), real("negative_binomial", "p", p, *CHANCE)
        shape = extents("negative_binomial", size, n, p)
        if not (is_symbolic(n) or is_symbolic(p)):
            checked("negative_binomial", "n * (1 - p) / p", np.asarray(n * (1.0 - p) / p), *MEAN)
        return self.poisson(self.gamma(n, divide(subtract(1.0, p), p), shape))

    def geometric(self, p: Any, size: Any = None) -> Any:
        """Draw numbers of trials until the first success; see `numpy.random.Generator.geometric`."""
        p = real("geometric", "p", p, *CHANCE)
        rate = log1p(multiply(p, -1.0))
        trials = ceil(divide(self.standard_exponential(extents("geometric", size, p)), rate * -1.0))
        return _as_counts(maximum(trials, 1.0))

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        """Draw how often each of several results occurs; see `numpy.random.Generator.multinomial`.

        Each count is binomial among the trials that the counts before it leave.
        """
        n = checked("multinomial", "n", checked("multinomial", "n", n, *COUNT), *EXACT_COUNT)
        chances = real("multinomial", "pvals", pvals, *PROBABILITY)
        rank = len(operand_shape(chances))
        if not rank or not chances.shape[-1]:
            raise ShapeError(
                "[random.multinomial] pvals must have a last dimension of at least 1, got shape "
                f"{operand_shape(chances)}"
            )
        if not is_symbolic(chances) and np.any(chances[..., :-1].sum(-1) > 1.0 + 1e-12):
            raise ValueError(f"[random.multinomial] pvals[:-1] must add up to at most 1, got {shown(pvals)}")
        parts = [gather(chances, i, axis=-1) for i in range(chances.shape[-1])]
        shape = extents("multinomial", size, n, parts[0])
        left, share, counts = broadcast_to(cast(n, float64), shape), as_tensor(1.0), []
        for part in parts[:-1]:
            chance = minimum(maximum(divide(part, maximum(share, 1e-300)), 0.0), 1.0)
            counts.append(draw_binomial("multinomial", self._take, shape, left, chance, float64))
            left, share = subtract(left, counts[-1]), subtract(share, part)
        return _as_counts(stack([*counts, left], axis=-1))

    def logseries(self, p: Any, size: Any = None) -> Any:
        """Draw numbers of the logarithmic series, by Kemp (1981); see `numpy.random.Generator.logseries`.

        A geometric number whose probability ``1 - q`` is random: ``log(1 - q)`` is uniform below ``log(1 - p)``.
        """
        p = real("logseries", "p", p, lambda x: (x >= 0) & (x < 1), "be at least 0 and less than 1")
        shape = extents("logseries", size, p)
        power = multiply(self.random(shape), log1p(multiply(p, -1.0)))
        near = greater(power, -math.log(2.0))
        of_near = log(multiply(expm1(where(near, power, -1.0)), -1.0))
        rate = where(near, of_near, log1p(multiply(exp(where(near, -1.0, power)), -1.0)))
        return _as_counts(floor(divide(self.standard_exponential(shape), multiply(rate, -1.0))) + 1.0)

    def zipf(self, a: Any, size: Any = None) -> Any:
        """Draw integers k with probabilities in proportion to ``k ** -a``; see `numpy.random.Generator.zipf`."""
        a = real("zipf", "a", a, lambda x: x > 1, "be greater than 1")
        return draw_zipf("zipf", self._take, extents("zipf", size, a), a, int64)

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> Any:
        """Draw how many good ones a sample without replacement has; see `numpy.random.Generator.hypergeometric`."""
        names = (("ngood", ngood), ("nbad", nbad), ("nsample", nsample))
        good, bad, drawn = given = [checked("hypergeometric", name, x, *COUNT) for name, x in names]
        shape = extents("hypergeometric", size, *given)
        for name, x in zip(("ngood", "nbad"), given, strict=False):
            if not is_symbolic(x) and np.any(np.asarray(x) >= LARGEST_POPULATION):
                raise ValueError(f"[random.hypergeometric] {name} must be less than 10**9, got {shown(x)}")
        if not any(is_symbolic(x) for x in given) and np.any(np.add(good, bad) < drawn):
            raise ValueError(
                f"[random.hypergeometric] nsample must not exceed ngood + nbad, got {shown(nsample)} of "
                f"{shown(ngood)} + {shown(nbad)}"
            )
        return draw_hypergeometric("hypergeometric", self._take, shape, good, bad, drawn, int64)

    def multivariate_hypergeometric(
        self, colors: Any, nsample: int, size: Any = None, method: str = "marginals"
    ) -> Any:
        """Draw how many of each color a sample without replacement has.

        See `numpy.random.Generator.multivariate_hypergeometric`. Both methods draw each count among the colors that the
        counts before it leave.
        """
        name = "multivariate_hypergeometric"
        if method not in ("count", "marginals"):
            raise ValueError(f"[random.{name}] method must be 'count' or 'marginals', got {shown(method)}")
        given = checked(name, "colors", colors, *COUNT)
        each = cast(as_tensor(given, argument="colors"), float64)
        if len(each.shape) != 1:
            raise ShapeError(f"[random.{name}] colors must be a vector, got shape {tuple(each.shape)}")
        number = as_int("nsample", nsample)
        if number < 0:
            raise ValueError(f"[random.{name}] nsample must not be negative, got {number}")
        if not is_symbolic(given):
            _check_population(name, given, number, method)
        shape = () if size is None else extents(name, size)
        rest, left, counts = reduce_sum(each), broadcast_to(as_tensor(float(number)), shape), []
        for i in range(each.shape[0] - 1):
            rest = subtract(rest, each[i])
            counts.append(draw_hypergeometric(name, self._take, shape, each[i], rest, left, float64))
            left = subtract(left, counts[-1])
        return _as_counts(stack([*counts, left], axis=-1)) if each.shape[0] else zeros((*shape, 0), int64)

    # ---- choices ---------------------------------------------------------------------------------------------------

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Any:
        """Draw elements of `a`, or integers below `a`; see `numpy.random.Generator.choice`.

        Without replacement, elements with probabilities `p` are those of the greatest sums of ``log(p)`` and Gumbel
        numbers (Vieira, 2014).
        """
        options = _parts_or_count("choice", "a", a)
        rank = len(options.shape)
        along = one_axis("random.choice", axis_key(axis), rank) if rank else 0
        count = options.shape[along] if rank else as_int("a", a)
        shape = extents("choice", size)
        number = int(np.prod(shape, dtype=np.int64))
        if not count and number:
            raise ValueError("[random.choice] a must not be empty")
        chosen = (
            zeros((0,), int64) if not number else self._chosen(count, number, as_flag("replace", replace), p)
        )
        indices = reshape(chosen, shape)
        return gather(options, indices, axis=along) if rank else indices

    def _chosen(self, count: int, number: int, replace: bool, p: Any) -> Any:
        """Return `number` indices below `count`."""
        if not replace and number > count:
            raise ValueError(f"[random.choice] cannot draw {number} of {count} without replacement")
        if p is None:
            return self.integers(count, size=number) if replace else self.permutation(count)[:number]
        logits = log(cast(_probabilities(p, count, number, replace), float64))
        if replace:
            return reshape(
                draw_categorical("choice", self._take, reshape(logits, (1, count)), number, int64), -1
            )
        noise = draw_gumbel("choice", self._take, (count,), 0.0, 1.0, float64)
        return cast(argsort(add(logits, noise), direction="DESCENDING")[:number], int64)

    # ---- permutations ----------------------------------------------------------------------------------------------

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """Return the parts of `x` along `axis`, or the integers below `x`, in random order.

        See `numpy.random.Generator.permutation`.
        """
        rows = _parts_or_count("permutation", "x", x)
        if not rows.shape:
            return draw_shuffle("permutation", self._take, fresh(np.arange(as_int("x", x))))
        along = one_axis("random.permutation", axis_key(axis), len(rows.shape))
        order = draw_shuffle("permutation", self._take, fresh(np.arange(rows.shape[along])))
        return gather(rows, order, axis=along)

    def permuted(self, x: Any, *, axis: Any = None, out: Any = None) -> Any:
        """Return `x` with each line along `axis` in another random order; see `numpy.random.Generator.permuted`."""
        refuse_out("permuted", out)
        rows = as_tensor(x, argument="x")
        if not rows.shape:
            raise TypeError(f"[random.permuted] x must have at least one dimension, got {shown(x)}")
        if axis is None:
            return reshape(self.permutation(reshape(rows, -1)), rows.shape)
        along = one_axis("random.permuted", axis_key(axis), len(rows.shape))
        return take_along_axis(rows, argsort(self.random(rows.shape), along), along)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Assign the parts of the tensor `x` along `axis` in random order; see `numpy.random.Generator.shuffle`.

        Raises
        ------
        TypeError
            If `x` is no tensor: use `permutation`.
        """
        if not isinstance(x, Operators):
            raise TypeError(f"[random.shuffle] x must be a tensor, got {shown(x)}; use permutation(x)")
        x._require_kept()
        order: Any = self.permutation(x, axis)
        if isinstance(x, Tensor):
            x[...] = order
        else:
            x.assign(order)  # type: ignore[attr-defined]

    def bytes(self, length: int) -> bytes:
        """Return random bytes; see `numpy.random.Generator.bytes`."""
        return bytes(self.integers(256, size=as_int("length", length), dtype=np.uint8).numpy().tobytes())


def _parts_or_count(op: str, argument: str, value: Any) -> Any:
    """Return an array whose parts are drawn, or the number of the integers that are."""
    if value is None:
        raise TypeError(f"[random.{op}] {argument} must be an int or an array, got None")
    return as_operand(value, argument, weak=False)


def _as_counts(draw: Any) -> Any:
    """Return whole numbers of float64 as int64; nan and those that int64 cannot hold become -1."""
    return cast(where(less_equal(draw, _GREATEST_COUNT), draw, -1.0), int64)


def _check_population(op: str, colors: Any, number: int, method: str) -> None:
    total = int(np.sum(colors))
    if number > total:
        raise ValueError(f"[random.{op}] nsample must not exceed the sum of colors, got {number} of {total}")
    if method == "marginals" and total >= LARGEST_POPULATION:
        raise ValueError(
            f"[random.{op}] with method 'marginals' the sum of colors must be less than 10**9, got {total}"
        )
    if total >= 2**53:
        raise ValueError(f"[random.{op}] colors must add up to less than 2**53, got {total}")


def _probabilities(p: Any, count: int, number: int, replace: bool) -> Any:
    """Return the probabilities of a choice after checks: those of tensors are not read."""
    given = checked("choice", "p", p, *PROBABILITY)
    if tuple(getattr(given, "shape", ())) != (count,):
        raise ShapeError(f"[random.choice] p must have shape ({count},), got {getattr(given, 'shape', ())}")
    if isinstance(given, np.ndarray):
        if abs(given.sum() - 1.0) > 1e-7:
            raise ValueError(f"[random.choice] p must add up to 1, got {given.sum()}")
        if not replace and np.count_nonzero(given) < number:
            raise ValueError(f"[random.choice] p has fewer than {number} entries that are not zero")
    return given
