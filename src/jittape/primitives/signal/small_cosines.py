"""Cosine transforms of few elements, which compiled code computes in its loops.

The first stage of a fast transform, by W.-H. Chen, C. Smith and S. Fralick (IEEE Trans. Commun. 25, 1977): sums of the
elements with their mirror images give the even frequencies, a transform of the same type and half the length. The
differences give the odd frequencies, a transform of type 4, or of type 3 if the type is 1. Type 3 is the transpose of
type 2. A transform of type 4 is a complex Fourier transform of half the length between two rotations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from jittape.primitives.elementwise.arithmetic import add, multiply, negative, subtract
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.views import sliced

__all__ = ["small_dct"]

LONGEST = 16
"""Largest length that is computed in loops.

100,000 transforms of type 2 of 8 and 16 float64 elements take 0.8 and 1.7 ms, calls of SciPy 2.6 and 4.3; of 32
elements they would take 14 ms instead of 10.
"""
DIRECT = 7
"""Largest length of a transform that is summed term by term; longer ones must be even."""

Parts = list[Any]
Pair = tuple[Any, Any]


def small_dct(x: Any, *, kind: int, axis: int, norm: str) -> Any:
    """Return the cosine transform for compiled code; None if a library computes it."""
    n = x.shape[axis]
    order = n - 1 if kind == 1 else n
    if order > LONGEST or not _splits(order):
        return None
    parts = [sliced(x, axis, k, 1) for k in range(n)]
    if norm == "ortho" and kind == 3:
        parts = _scaled(parts, math.sqrt(1 / n))
    result = TRANSFORMS[kind](parts)
    if norm == "ortho" and kind != 3:
        result = _scaled(result, math.sqrt(0.25 / n) if kind == 2 else math.sqrt(0.5 / n))
    return concat(result, axis)


def _scaled(parts: Parts, first: float) -> Parts:
    """Return the products of the first element with `first` and of the others with the factor of ``"ortho"``."""
    factor = math.sqrt(0.5 / len(parts))
    return [multiply(part, factor if k else first) for k, part in enumerate(parts)]


def _splits(n: int) -> bool:
    """Return whether halves of `n` end at a length that is summed term by term."""
    while n > DIRECT and n % 2 == 0:
        n //= 2
    return n <= DIRECT


def _times(x: Any, factor: float) -> Any:
    return x if factor == 1 else multiply(x, factor)


def _weighted_sum(parts: Sequence[Any], weights: Sequence[float]) -> Any:
    return reduce(add, [_times(part, weight) for part, weight in zip(parts, weights, strict=True) if weight])


def _cosine(numerator: int, denominator: int) -> float:
    """Return the cosine of a multiple of pi, exact where it is 0, 1 or -1."""
    n = numerator % (2 * denominator)
    n = min(n, 2 * denominator - n)
    if 2 * n > denominator:
        return -_cosine(denominator - n, denominator)
    return 0.0 if 2 * n == denominator else math.cos(math.pi * n / denominator)


def _halves(parts: Parts, middle: int) -> tuple[Parts, Parts]:
    """Return the sums and the differences of the first `middle` elements with their mirror images."""
    pairs = list(zip(parts[:middle], reversed(parts), strict=False))
    return [add(a, b) for a, b in pairs], [subtract(a, b) for a, b in pairs]


def _alternating(even: Parts, odd: Parts) -> Parts:
    result: Parts = [None] * (len(even) + len(odd))
    result[::2], result[1::2] = even, odd
    return result


def _type_1(x: Parts) -> Parts:
    n = len(x) - 1
    if n % 2:
        ends = [1.0] + [2.0] * (n - 1) + [1.0]
        return [_weighted_sum(x, [w * _cosine(j * k, n) for j, w in enumerate(ends)]) for k in range(n + 1)]
    sums, differences = _halves(x, n // 2)
    return _alternating(_type_1([*sums, multiply(x[n // 2], 2.0)]), _type_3(differences))


def _type_2(x: Parts) -> Parts:
    n = len(x)
    if n % 2:
        return [_weighted_sum(x, [2 * _cosine(k * (2 * j + 1), 2 * n) for j in range(n)]) for k in range(n)]
    sums, differences = _halves(x, n // 2)
    return _alternating(_type_2(sums), _type_4(differences))


def _type_3(x: Parts) -> Parts:
    n = len(x)
    if n % 2:
        weights = [1.0] + [2.0] * (n - 1)
        return [
            _weighted_sum(x, [w * _cosine(j * (2 * k + 1), 2 * n) for j, w in enumerate(weights)])
            for k in range(n)
        ]
    pairs = list(zip(_type_3(x[::2]), _type_4(x[1::2]), strict=True))
    return [add(a, b) for a, b in pairs] + [subtract(a, b) for a, b in reversed(pairs)]


def _type_4(x: Parts) -> Parts:
    n = len(x)
    if n % 2 or n == 2:
        return [
            _weighted_sum(x, [2 * _cosine((2 * j + 1) * (2 * k + 1), 4 * n) for j in range(n)])
            for k in range(n)
        ]
    pairs = [_rotated((x[2 * j], x[n - 1 - 2 * j]), 4 * j + 1, 4 * n) for j in range(n // 2)]
    pairs = [_rotated(pair, 4 * k, 4 * n) for k, pair in enumerate(_fourier(pairs))]
    result: Parts = [None] * n
    for k, (re, im) in enumerate(pairs):
        result[2 * k], result[n - 1 - 2 * k] = multiply(re, 2.0), multiply(im, -2.0)
    return result


def _rotated(x: Pair, numerator: int, denominator: int) -> Pair:
    """Return ``exp(-1j * pi * numerator / denominator) * x``."""
    c, s = _cosine(numerator, denominator), _cosine(2 * numerator - denominator, 2 * denominator)
    re, im = x
    if c == 1:
        return x
    if c == 0:
        return (im, negative(re)) if s == 1 else (negative(im), re)
    return add(multiply(re, c), multiply(im, s)), subtract(multiply(im, c), multiply(re, s))


def _fourier(x: list[Pair]) -> list[Pair]:
    n = len(x)
    if n == 1:
        return x
    if n % 2:
        turned = [[_rotated(pair, 2 * j * k % (2 * n), n) for j, pair in enumerate(x)] for k in range(n)]
        return [
            (reduce(add, [re for re, _ in terms]), reduce(add, [im for _, im in terms])) for terms in turned
        ]
    even, odd = _fourier(x[::2]), _fourier(x[1::2])
    odd = [_rotated(pair, 2 * k, n) for k, pair in enumerate(odd)]
    both = list(zip(even, odd, strict=True))
    return [(add(a[0], b[0]), add(a[1], b[1])) for a, b in both] + [
        (subtract(a[0], b[0]), subtract(a[1], b[1])) for a, b in both
    ]


TRANSFORMS: dict[int, Callable[[Parts], Parts]] = {1: _type_1, 2: _type_2, 3: _type_3, 4: _type_4}
