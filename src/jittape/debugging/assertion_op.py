"""The op that checks a condition while a compiled function or loop runs, and its error messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jittape.core.dtypes import bool_
from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive, active_recorder, apply
from jittape.core.program import Aval
from jittape.core.traced_scalar import TracedScalar
from jittape.errors import InvalidArgumentError
from jittape.execution import init_scope
from jittape.primitives.broadcast import as_symbol
from jittape.primitives.elementwise.assertions import any_failed_op, assert_op
from jittape.primitives.elementwise.comparison import logical_not
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators
from jittape.transform.batching import Shared

__all__ = ["CONDITIONS", "Condition", "check", "first_elements"]

SHOWN = 3
"""Number of elements that messages show."""


class Condition(NamedTuple):
    """A condition on tensors.

    Attributes
    ----------
    holds : callable
        ``holds(*tensors)`` returns a tensor of bools.
    text : callable
        ``text(holds, *arrays, labels, count)`` returns the text of an error; `count` is the number of elements to show.
    """

    holds: Callable[..., Any]
    text: Callable[..., str]


_OPERANDS = (Operators, TracedScalar, int, float, complex, np.ndarray, np.generic)

CONDITIONS: dict[str, Condition] = {}
"""Conditions by name. An op has the name as its parameter, so its key is plain data."""


def _message(condition: str, message: str, labels: Any, summarize: int | None, arrays: Sequence[Any]) -> str:
    count = SHOWN if summarize is None else summarize
    with np.printoptions(threshold=1000):
        text = CONDITIONS[condition].text(*map(np.asarray, arrays), labels=labels, count=count)
    return f"{message}\n{text}" if message else text


def first_elements(array: Any, count: int) -> np.ndarray[Any, Any]:
    """Return the first `count` elements in one dimension, or all if `count` is negative."""
    flat = np.ravel(array)
    return flat if count < 0 else flat[:count]


def _impl(*arrays: Any, **params: Any) -> Any:
    if not np.all(arrays[0]):
        raise InvalidArgumentError(_message(**params, arrays=arrays))
    return np.True_


def _end_run(holds: Any, *values: Any, message: str, **params: Any) -> Any:
    """Return the decomposition for compiled code: the run ends, and the interpreter raises the error."""
    bad, axes = logical_not(holds), tuple(range(len(holds.shape)))
    bad = any_failed_op.bind(bad, axes=axes) if axes else bad
    return assert_op.bind(bad, error="ValueError", message=message or "an assertion does not hold")


def _batched(n: int, stacked: Sequence[bool], *operands: Any, **params: Any) -> Any:
    """Apply the batch rule: one check of all rows."""
    rank = max([len(x.shape) - one for x, one in zip(operands, stacked, strict=True)])
    aligned = [
        reshape(x, (n, *(1,) * (rank + 1 - len(x.shape)), *x.shape[1:])) if one else x
        for x, one in zip(operands, stacked, strict=True)
    ]
    return Shared(assertion_op.bind(*aligned, **params))


assertion_op: Primitive = Primitive(
    "assertion",
    abstract_eval=lambda *operands, **params: Aval((), bool_),
    impl=_impl,
    lowering=Decomposition(_end_run),
    gradient_stops="a check has no gradient",
    effectful=True,
    batch=_batched,
)


def check(
    condition: str,
    values: Sequence[Any],
    message: str | None,
    summarize: int | None = None,
    labels: tuple[str | None, ...] = (),
) -> None:
    """Raise an error unless all elements of a condition on `values` are true.

    While a function or the body of a loop is traced, an op is recorded that checks at each run. Otherwise the check is
    immediate.

    Parameters
    ----------
    condition : str
        Key of `CONDITIONS`.
    values : sequence of tensor-like
    message : str, optional
        Start of the error message.
    summarize : int, optional
        Number of elements to show; 3 by default, -1 for all.
    labels : tuple, optional
        Texts for the error message.
    """
    static = (condition, "" if message is None else str(message), labels, summarize)
    symbolic = any(isinstance(value, (Operators, TracedScalar)) for value in values)
    # Numbers stay numbers, which take the dtype of the other operand.
    operands = tuple([v if isinstance(v, _OPERANDS) else convert_to_tensor(v) for v in values])
    if symbolic and active_recorder().traced_in is not None:
        apply(_recorded, operands, static)
        return
    with init_scope():
        holds = CONDITIONS[condition].holds(*operands)
        arrays = [convert_to_tensor(value)._computed().array for value in (holds, *operands)]
    if not arrays[0].all():
        raise InvalidArgumentError(_message(*static, arrays))


def _recorded(*operands: Any) -> Any:
    *values, condition, message, labels, summarize = operands
    holds = CONDITIONS[condition].holds(*values)
    return assertion_op.bind(
        holds,
        *map(as_symbol, values),
        condition=condition,
        message=message,
        labels=labels,
        summarize=summarize,
    )
