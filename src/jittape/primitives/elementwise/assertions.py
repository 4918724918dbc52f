"""Checks of values in compiled code: a failed check ends the run, and the interpreter then raises the error."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import bool_
from jittape.core.forms import Assert, Reduce
from jittape.core.primitive import Primitive
from jittape.core.program import Aval
from jittape.primitives.broadcast import without_axes

__all__ = ["MADE", "assert_op", "end_run_where", "some_op"]

MADE = "it is made by the compiler"

some_op = Primitive(
    "some",
    abstract_eval=lambda x, *, axes: Aval(without_axes(x.shape, axes), bool_),
    impl=lambda x, *, axes: np.any(x, axis=axes),
    lowering=Reduce(combine=lambda m, a, b: m.logical_or(a, b), identity=lambda dtype: False),
    gradient_stops=MADE,
)

assert_op = Primitive(
    "assert",
    abstract_eval=lambda bad: bad,
    impl=lambda bad: bad,
    lowering=Assert(),
    gradient_stops=MADE,
    effectful=True,
)


def end_run_where(bad: Any) -> None:
    """Record a check that ends the run if any element of `bad` is true."""
    axes = tuple(range(len(bad.shape)))
    assert_op.bind(some_op.bind(bad, axes=axes) if axes else bad)
