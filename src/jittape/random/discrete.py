"""Counts, classes and permutations, whichever source the state comes from. See `continuous`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jittape.core.dtypes import as_dtype, bool_, float64, info_of, int64, is_floating, kind_of, uint64
from jittape.core.primitive import Primitive, apply
from jittape.core.user_calls import as_int, shown
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.broadcast import as_symbol, broadcast, cast_to, iota, to_shape
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    where,
)
from jittape.primitives.elementwise.exponential import exp, log
from jittape.primitives.elementwise.piecewise import minimum
from jittape.primitives.elementwise.random_numbers import (
    binomial_op,
    exponential_op,
    hypergeometric_op,
    multiply_high,
    poisson_op,
    zipf_op,
)
from jittape.primitives.indexing.binary_search import searchsorted
from jittape.primitives.indexing.gather import gather
from jittape.primitives.indexing.row_order import exchanged
from jittape.primitives.record_parts import filled
from jittape.primitives.reduce.cumulative import cumsum
from jittape.primitives.reduce.extremum_indices import argmax
from jittape.primitives.reduce.reductions import reduce_max, reduce_sum
from jittape.primitives.shape.views import sliced
from jittape.random.arguments import count_dtype, extents_of, is_symbolic, parameter, shape_with
from jittape.random.checked_values import checked_value_op
from jittape.random.continuous import Take
from jittape.random.coordinates import bits, coordinates, unit_of_bits
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor

__all__ = [
    "draw_bernoulli",
    "draw_binomial",
    "draw_categorical",
    "draw_hypergeometric",
    "draw_poisson",
    "draw_shuffle",
    "draw_zipf",
]

NOT_NEGATIVE = (lambda x: (x >= 0) & (x < math.inf), "be at least 0 and finite")
COUNT = (
    lambda x: (x >= 0) & (x < 2**53) & (np.floor(x) == x),
    "be integers of at least 0 and less than 2**53",
)
MANY_DRAWS, MANY_NUMBERS = 8, 1024
"""Minimum draws for each row of logits, and minimum Gumbel numbers for it, for which inversion is faster."""
FEW_CLASSES = 64
"""Maximum classes for which all cumulative probabilities are compared; more are searched."""
PROBABILITY = (lambda x: (x >= 0) & (x <= 1), "be between 0 and 1")


# ---- counts ----------------------------------------------------------------------------------------------------------


def _counts(state: Any, *rest: Any) -> Any:
    """Return the numbers of an op on float64; those that an integer dtype cannot hold, nan among them, become -1."""
    *parameters, op, shape, dtype = rest
    given = [broadcast(cast_to(x, float64), shape) for x in parameters]
    draw = op.bind(*coordinates(state, shape), *given, dtype=float64)
    if is_floating(dtype):
        return cast_to(draw, dtype)
    return cast_to(where(less_equal(draw, _greatest_float(dtype)), draw, -1.0), dtype)


def _greatest_float(dtype: np.dtype[Any]) -> float:
    """Return the greatest number in float64 that an integer dtype holds."""
    greatest = int(np.iinfo(dtype).max)
    return float(greatest) if greatest < 2**53 else np.nextafter(float(greatest), 0.0).item()


def _draw_counts(op: Primitive, take: Take, shape: tuple[int, ...], parameters: Any, dtype: Any) -> Tensor:
    return apply(_counts, (take(math.prod(shape)), *parameters), (op, shape, dtype))


def _require_counts_that_fit(op: str, argument: str, value: Any, dtype: np.dtype[Any]) -> None:
    """Raise `ValueError` if a number or an array of mean or largest counts exceeds an integer dtype."""
    if kind_of(dtype) in "iu":
        limit = np.iinfo(dtype).max
        rule = f"be at most {limit} for counts of dtype {dtype.name} (a wider dtype holds more)"
        parameter(op, argument, value, None, lambda x: x <= limit, rule)


def draw_poisson(op: str, take: Take, shape: Any, lam: Any, dtype: Any, outer: bool = False) -> Tensor:
    """Draw Poisson numbers with mean `lam`; if `outer`, `shape` numbers for each."""
    wanted, extents = count_dtype(op, dtype), extents_of(op, shape)
    lam = parameter(op, "lam", lam, None if outer else extents, *NOT_NEGATIVE)
    _require_counts_that_fit(op, "lam", lam, wanted)
    whole = shape_with(op, extents, lam=lam) if outer else extents
    return _draw_counts(poisson_op, take, whole, (lam,), wanted)


def draw_binomial(op: str, take: Take, shape: Any, counts: Any, probs: Any, dtype: Any) -> Tensor:
    """Draw numbers of successes."""
    wanted, extents = count_dtype(op, dtype), extents_of(op, shape)
    counts = parameter(op, "counts", counts, extents, *COUNT)
    probs = parameter(op, "probs", probs, extents, *PROBABILITY)
    _require_counts_that_fit(op, "counts", counts, wanted)
    return _draw_counts(binomial_op, take, extents, (counts, probs), wanted)


def draw_hypergeometric(
    op: str, take: Take, shape: Any, good: Any, bad: Any, drawn: Any, dtype: Any
) -> Tensor:
    """Draw how many of `drawn` elements, without replacement, are among the `good`."""
    wanted, extents = count_dtype(op, dtype), extents_of(op, shape)
    given = [parameter(op, name, x, extents) for name, x in (("good", good), ("bad", bad), ("drawn", drawn))]
    return _draw_counts(hypergeometric_op, take, extents, given, wanted)


def draw_zipf(op: str, take: Take, shape: Any, exponent: Any, dtype: Any) -> Tensor:
    """Draw integers k with probabilities proportional to ``k ** -exponent``."""
    wanted, extents = count_dtype(op, dtype), extents_of(op, shape)
    exponent = parameter(op, "exponent", exponent, extents)
    return _draw_counts(zipf_op, take, extents, (exponent,), wanted)


def _bernoulli(state: Any, probs: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    unit = unit_of_bits(bits(state, shape), float64)  # 53 bits, also for small probabilities
    probs = cast_to(probs, float64)
    draw = less(unit, broadcast(probs, shape))
    valid = logical_and(greater_equal(probs, 0.0), less_equal(probs, 1.0))
    if dtype == bool_:
        probs = checked_value_op.bind(probs, valid, op="bernoulli", argument="probs", rule=PROBABILITY[1])
        return less(unit, broadcast(probs, shape))
    if is_floating(dtype):
        invalid: float = math.nan
    else:
        invalid = -1 if dtype.kind == "i" else int(np.iinfo(dtype).max)
    return where(broadcast(valid, shape), cast_to(draw, dtype), invalid)


def draw_bernoulli(op: str, take: Take, shape: Any, probs: Any, dtype: Any) -> Tensor:
    """Draw 1 with probability `probs` and 0 otherwise."""
    wanted = bool_ if as_dtype(dtype) == bool_ else count_dtype(op, dtype)
    extents = extents_of(op, shape)
    probs = parameter(op, "probs", probs, extents, *PROBABILITY)
    return apply(_bernoulli, (take(math.prod(extents)), probs), (extents, wanted))


# ---- classes and permutations ----------------------------------------------------------------------------------------


def _categorical(state: Any, logits: Any, count: int, dtype: np.dtype[Any]) -> Any:
    """Return the places of the greatest sums of logits and Gumbel numbers."""
    logits = as_symbol(logits)
    rows, classes = logits.shape
    work = info_of(logits.dtype).work
    shape = (rows, count, classes)
    noise = log(exponential_op.bind(*coordinates(state, shape), dtype=work))
    logits, defined = _below_greatest(cast_to(logits, work))
    each = broadcast(to_shape(logits, (rows, 1, classes)), shape)
    found = argmax(subtract(each, noise), axis=-1, output_type=int64)
    return cast_to(where(broadcast(defined, found.shape), found, -1), dtype)


def _below_greatest(logits: Any) -> tuple[Any, Any]:
    """Return the logits minus the greatest of their row, and whether a row has probabilities, of shape (rows, 1).

    Infinite logits become 0, so that their classes share the probability. A row with nan, and a row of -inf, has none.
    """
    greatest = reduce_max(logits, axis=1, keepdims=True)
    wide = broadcast(greatest, logits.shape)
    return where(equal(logits, wide), 0.0, subtract(logits, wide)), greater(greatest, -math.inf)


def _by_inversion(classes: int, count: int) -> bool:
    """Return whether one uniform number for each draw, and a search, are faster than a Gumbel number for each class."""
    return count >= MANY_DRAWS and count * classes >= MANY_NUMBERS


def _categorical_by_inversion(state: Any, logits: Any, count: int, dtype: np.dtype[Any]) -> Any:
    """Return the first places at which the cumulative probabilities exceed uniform numbers.

    The cumulative sums are float64, because rare classes of many lose their digits in float32.
    """
    logits = as_symbol(logits)
    rows, classes = logits.shape
    given = cast_to(logits, info_of(logits.dtype).work)
    given, defined = _below_greatest(given)
    weights = exp(given)
    sums = cumsum(cast_to(weights, float64), axis=1)
    unit = unit_of_bits(bits(state, (rows, count)), float64)
    sought = multiply(unit, broadcast(sliced(sums, 1, classes - 1, 1), unit.shape))
    if classes > FEW_CLASSES:
        found = searchsorted(sums, sought, "right", int64)
    else:
        shape = (rows, count, classes)
        each = broadcast(to_shape(sought, (rows, count, 1)), shape)
        passed = greater_equal(each, broadcast(to_shape(sums, (rows, 1, classes)), shape))
        found = reduce_sum(cast_to(passed, int64), axis=2)
    found = minimum(found, filled(found, classes - 1))
    return cast_to(where(broadcast(defined, found.shape), found, -1), dtype)


def _check_logits(op: str, logits: np.ndarray[Any, Any]) -> None:
    wrong = ~(logits.max(axis=1, initial=-np.inf) > -np.inf)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"[random.{op}] each row of logits must have a logit above -inf and no nan, got logits[{row}] = "
            f"{shown(logits[row])}"
        )


def draw_categorical(op: str, take: Take, logits: Any, num_samples: Any, dtype: Any) -> Tensor:
    """Draw classes with probabilities proportional to ``exp(logits)``."""
    wanted = count_dtype(op, int64 if dtype is None else dtype)
    given = logits if isinstance(logits, Operators) else convert_to_tensor(logits)
    count = as_int("num_samples", num_samples)
    if not is_floating(given.aval.dtype):
        raise DTypeError(f"[random.{op}] logits must have a floating dtype, got {given.dtype.name}")
    if len(given.shape) != 2 or not given.shape[1]:
        raise ShapeError(f"[random.{op}] logits must have shape (batch, classes), got {tuple(given.shape)}")
    if count < 0:
        raise ValueError(f"[random.{op}] num_samples must not be negative, got {num_samples!r}")
    rows, classes = given.shape
    if not np.array(classes - 1).astype(wanted) == classes - 1:
        raise DTypeError(f"[random.{op}] dtype {wanted.name} cannot hold the number of all {classes} classes")
    if not is_symbolic(logits):
        _check_logits(op, given.numpy())
    if _by_inversion(classes, count):
        return apply(_categorical_by_inversion, (take(rows * count), given), (count, wanted))
    return apply(_categorical, (take(rows * classes * count), given), (count, wanted))


def _shuffled(state: Any, rows: Any) -> Any:
    """Return the rows in the order after the exchanges of Fisher and Yates: row k with one of rows k, k + 1, ..."""
    rows = as_symbol(rows)
    number = iota(rows.shape[:1], 0, uint64)
    left = subtract(filled(number, rows.shape[0]), number)
    targets = add(number, multiply_high(bits(state, rows.shape[:1]), left))
    return gather(rows, exchanged(cast_to(targets, int64)), axis=0)


def draw_shuffle(op: str, take: Take, value: Any) -> Tensor:
    """Return the rows of `value` in random order."""
    rows = convert_to_tensor(value)
    if not rows.ndim:
        raise ShapeError(f"[random.{op}] a 0-d value has no rows")
    return apply(_shuffled, (take(rows.shape[0]), rows))
