"""`compare_precision`: the lines where a function in float32 loses digits against float64."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any, NamedTuple

import numpy as np

from jittape.core import interpret as interpreter
from jittape.core.buffers import Buffer
from jittape.core.forms import runs_of
from jittape.core.program import GradientLine, SourceLine
from jittape.core.user_calls import as_function
from jittape.errors import FunctionWarning
from jittape.functions.concrete_function import Concrete
from jittape.functions.decorator import function
from jittape.functions.signature import flatten_call
from jittape.recording.nested import flatten
from jittape.recording.operators import Operators

__all__ = ["PrecisionLoss", "PrecisionReport", "compare_precision"]

_DIGITS = -log10(float(np.finfo(np.float32).eps))


class PrecisionLoss(NamedTuple):
    """An operation whose result in float32 has fewer digits than its operands.

    Attributes
    ----------
    operation : str
    line : SourceLine or None
    backward : bool
        Whether the op is a part of a gradient.
    lost : float
        Decimal digits of the result that differ from float64, of the 6.9 digits of a float32.
    lost_before : float
        The same for its worst operand.
    """

    operation: str
    line: SourceLine | None
    backward: bool
    lost: float
    lost_before: float

    def __str__(self) -> str:
        place = "an unknown line" if self.line is None else str(SourceLine(*self.line))
        where = f"in the gradient of {place}" if self.backward else f"at {place}"
        return (
            f"`{self.operation}` {where} loses {self.lost:.1f} digits (its operands {self.lost_before:.1f})"
        )


@dataclass(frozen=True)
class PrecisionReport:
    """Result of `compare_precision`; ``print`` shows it.

    Attributes
    ----------
    losses : tuple of PrecisionLoss
        The operations that lose more than `digits` digits more than their operands, the worst first.
    lost : float
        Digits that the results of the function lose.
    digits : float
        Limit of the comparison.
    compared : int
        Number of operations that were compared.
    """

    losses: tuple[PrecisionLoss, ...]
    lost: float
    digits: float
    compared: int

    def __str__(self) -> str:
        count = f"{self.compared} operation{'' if self.compared == 1 else 's'}"
        head = f"float32 loses {self.lost:.1f} of {_DIGITS:.1f} digits; {count} compared"
        if not self.losses:
            return f"{head}, none loses more than {self.digits:g} digits"
        return "\n".join([f"{head}:", *[f"  {loss}" for loss in self.losses]])

    __repr__ = __str__


def compare_precision(f: Callable[..., Any], *args: Any, digits: float = 3.0) -> PrecisionReport:
    """Run a function in float32 and in float64 op by op, and name the operations that lose many digits.

    Parameters
    ----------
    f : callable
        Function of arrays; it may return gradients, such as ``jt.grad(loss)``.
    *args
        Arguments. Arrays and tensors of floats are given in float32 and, with the same values, in float64.
    digits : float
        Smallest loss of an operation, in decimal digits, that is reported.

    Returns
    -------
    PrecisionReport

    Raises
    ------
    TypeError
        If `f` returns no tensor of floats.
    ValueError
        If `f` needs the values of its arguments while it is traced, or does other operations in float64.

    Notes
    -----
    The error of a result is its greatest difference from float64, relative to the greatest element; differences below
    one rounding error count as no loss. Loops and branches are compared as a whole.

    Examples
    --------
    >>> import numpy as np
    >>> import jittape as jt
    >>> def variance(x):
    ...     return jt.reduce_mean(x * x) - jt.square(jt.reduce_mean(x))
    >>> report = jt.debugging.compare_precision(variance, np.linspace(1000.0, 1000.1, 50))
    >>> report.losses[0].operation, report.lost > 3
    ('subtract', True)
    """
    as_function("f", f)
    singles = _cast(args, np.float32)
    low, high = _values(f, singles), _values(f, _cast(singles, np.float64))
    compared: dict[Any, tuple[float, float]] = {}
    losses = []
    for key, (value, operands, source) in low.items():
        other = high.get(key)
        if other is None or value.dtype.kind not in "fc" or other[0].shape != value.shape:
            continue
        lost = _digits_lost(value, other[0])
        before = max([compared[one][0] for one in operands if one in compared], default=0.0)
        compared[key] = lost, before
        if key[1] and lost - before > digits:
            backward = isinstance(source, GradientLine)
            losses.append(PrecisionLoss(key[1], source, backward, lost, before))
    final = [compared[key][0] for key in low if key[1] == "" and key in compared]
    if not final:
        raise TypeError("[compare_precision] f must return tensors of floats, whose digits can be compared")
    losses.sort(key=lambda loss: loss.lost_before - loss.lost)
    return PrecisionReport(tuple(losses), max(final, default=0.0), digits, len(compared) - len(final))


def _cast(args: Sequence[Any], dtype: Any) -> tuple[Any, ...]:
    """Return arguments with all floats of arrays in `dtype`."""
    leaves, rebuild = flatten(args)
    cast = []
    for leaf in leaves:
        array = leaf.numpy() if isinstance(leaf, Operators) else leaf
        is_array = isinstance(array, np.ndarray | np.generic)
        cast.append(np.asarray(array, dtype) if is_array and np.asarray(array).dtype.kind == "f" else leaf)
    found: tuple[Any, ...] = tuple(rebuild(cast))
    return found


_Known = dict[Any, tuple[np.ndarray[Any, Any], list[Any], SourceLine | None]]


def _values(f: Callable[..., Any], args: tuple[Any, ...]) -> _Known:
    """Run `f` with NumPy; return the result of each op, by its line, name and number, with the keys of its operands."""
    traced = function(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FunctionWarning)
        concrete = traced.get_concrete_function(*args)
    program = concrete.program
    trace = concrete._trace
    if program is None or not isinstance(trace, Concrete):
        why = traced.signatures()[-1].recorded
        raise ValueError(f"compare_precision needs a function that can be traced, and {why}")
    leaves = flatten_call(args, {}).leaves
    inputs = trace.inputs(leaves, trace.scalars.run(leaves))
    values: dict[int, Any] = {}
    keys: dict[int, Any] = {}
    for slot, value in zip(program.inputs, inputs, strict=True):
        array = value.array if isinstance(value, Buffer) else value
        values[slot] = np.asarray(array, program.avals[slot].dtype)
    numbers: Counter[Any] = Counter()
    known: _Known = {}
    runs = runs_of(program.ops)
    for op in program.ops:
        run = runs.get(op.out, (op,))
        if op is not run[0]:
            continue
        with np.errstate(all="ignore"):
            results = interpreter.run_ops(program, run, [values[slot] for slot in op.args])
        for one, result in zip(run, results, strict=True):
            values[one.out] = result
            if one.primitive.name == "cast":  # float64 needs other casts
                keys[one.out] = keys.get(one.args[0])
                continue
            place = one.source, one.primitive.name, isinstance(one.source, GradientLine)
            numbers[place] += 1
            key = keys[one.out] = (*place, numbers[place])
            known[key] = result, [keys[slot] for slot in one.args if slot in keys], one.source
    for i, slot in enumerate(program.outputs):
        known[None, "", False, i] = values[slot], [], None
    return known


def _digits_lost(value: np.ndarray[Any, Any], exact: np.ndarray[Any, Any]) -> float:
    """Return how many decimal digits of float32 are wrong in the worst element, relative to the greatest."""
    with np.errstate(all="ignore"):
        size = float(np.max(np.abs(exact), initial=0.0))
        error = float(np.max(np.abs(value.astype(exact.dtype) - exact), initial=0.0))
    if np.isfinite(size) and not np.isfinite(error):
        return _DIGITS
    if not size or not np.isfinite(error) or not error:
        return 0.0
    return min(_DIGITS, max(0.0, log10(error / size) + _DIGITS))
