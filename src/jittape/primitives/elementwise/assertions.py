"""Checks of values in compiled code: a failed check ends the run, and the interpreter then raises the error."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from jittape.core.dtypes import bool_
from jittape.core.forms import Assert, Reduce
from jittape.core.primitive import Primitive
from jittape.core.program import Aval
from jittape.primitives.broadcast import without_axes

__all__ = ["MADE", "any_failed_op", "assert_op", "end_run_where"]

MADE = "it is made by the compiler"

any_failed_op = Primitive(
    "any_failed",
    abstract_eval=lambda x, *, axes: Aval(without_axes(x.shape, axes), bool_),
    impl=lambda x, *, axes: np.any(x, axis=axes),
    lowering=Reduce(combine=lambda m, a, b: m.logical_or(a, b), identity=lambda dtype: False),
    gradient_stops=MADE,
)


def _assert_impl(bad: Any, *, error: str, message: str) -> Any:
    if np.any(bad):
        raise getattr(builtins, error)(message)
    return bad


assert_op = Primitive(
    "assert",
    abstract_eval=lambda bad, *, error, message: bad,
    impl=_assert_impl,
    lowering=Assert(),
    gradient_stops=MADE,
    effectful=True,
)
"""A check that ends the run if its operand is true.

It raises the built-in exception named `error` with the text `message`. If the program as recorded has the checked op,
the interpreter raises the error of that op, which says more."""


def end_run_where(bad: Any, error: str, message: str) -> None:
    """Record that the run ends if an element of `bad` is true; see `assert_op` for `error` and `message`."""
    axes = tuple(range(len(bad.shape)))
    assert_op.bind(any_failed_op.bind(bad, axes=axes) if axes else bad, error=error, message=message)
