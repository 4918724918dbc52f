"""Integers of a trace as sums of a constant and multiples of values that are not known.

The bounds of ``x[2 * i - 1 : 2 * i + 2]`` in the body of a loop have the same terms, so their difference is known while
the body is traced. Integer arithmetic that overflows wraps around, and so does the sum.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from jittape.core.primitive import active_recorder
from jittape.core.program import Aval, Op
from jittape.value_classes import NamedTuple

__all__ = ["AffineInteger", "AffineRecorder", "affine_integer", "traced_integer"]


class AffineInteger(NamedTuple):
    """``constant + sum(factor * value)``.

    Attributes
    ----------
    terms : frozenset of (hashable, int)
        Each value, described by the ops that compute it, and its factor, which is not 0.
    constant : int
    """

    terms: frozenset[tuple[Hashable, int]]
    constant: int


@runtime_checkable
class AffineRecorder(Protocol):
    """A recorder that has no values, and describes its integers."""

    def affine(self, value: Any, exact: bool = False) -> AffineInteger | None:
        """Return what is known of `value`, a tensor; None if it is no integer scalar, or has a value.

        If `exact`, the trace is specialized to the numbers that are arguments of a function.
        """
        ...


def traced_integer(value: Any, exact: bool = False) -> AffineInteger | None:
    """Return what the trace that is active in this thread knows of `value`; None without one, as for `affine`."""
    recorder = active_recorder()
    return recorder.affine(value, exact) if isinstance(recorder, AffineRecorder) else None


def affine_integer(
    slot: int, ops: Iterable[Op], avals: Mapping[int, Aval], constants: Mapping[int, int]
) -> AffineInteger:
    """Return a description of the integer in `slot`, which `ops` compute.

    `constants` are inputs with a known value. Other slots without an op are values that are not known.
    """
    known = {slot: AffineInteger(frozenset(), value) for slot, value in constants.items()}
    for op in ops:
        aval = avals[op.out]
        if not aval.shape and aval.dtype.kind in "iu":
            known[op.out] = _result(op, [known.get(s) or _unknown(("slot", s)) for s in op.args])
    return known.get(slot) or _unknown(("slot", slot))


def _unknown(value: Hashable) -> AffineInteger:
    return AffineInteger(frozenset(((value, 1),)), 0)


def _result(op: Op, operands: list[AffineInteger]) -> AffineInteger:
    primitive = op.primitive
    if primitive.weights and all([type(w) is int for w in primitive.weights]):
        return _weighted(zip(primitive.weights, operands, strict=True))
    if primitive.is_multiplication:
        first, second = operands
        if not first.terms:
            return _weighted([(first.constant, second)])
        if not second.terms:
            return _weighted([(second.constant, first)])
    return _unknown((primitive, tuple(operands), op.params))


def _weighted(parts: Iterable[tuple[Any, AffineInteger]]) -> AffineInteger:
    """Return the sum of `parts`, each a factor and an integer."""
    factors: dict[Hashable, Any] = {}
    constant = 0
    for weight, part in parts:
        constant += weight * part.constant
        for value, factor in part.terms:
            factors[value] = factors.get(value, 0) + weight * factor
    return AffineInteger(frozenset([item for item in factors.items() if item[1] != 0]), constant)
