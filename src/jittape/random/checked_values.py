"""Checks of parameters whose values are known only at run time, for results that have no nan."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive
from jittape.primitives.batched_params import alike
from jittape.primitives.elementwise.assertions import end_run_where
from jittape.primitives.elementwise.comparison import logical_not
from jittape.primitives.identity import identity_op
from jittape.primitives.indexing.checked_integers import placed_at

__all__ = ["checked_value_op"]


def _impl(values: Any, valid: Any, *, op: str, argument: str, rule: str) -> Any:
    if not np.all(valid):
        wrong = ~valid
        found = f"{argument}{placed_at(wrong)} = {values[wrong][0]}"
        raise ValueError(f"[random.{op}] {argument} must {rule}, got {found}")
    return values


def _decomposed(values: Any, valid: Any, *, op: str, argument: str, rule: str) -> Any:
    end_run_where(logical_not(valid), "ValueError", f"[random.{op}] {argument} must {rule}")
    return identity_op.bind(values)


checked_value_op = Primitive(
    "checked_value",
    abstract_eval=lambda values, valid, *, op, argument, rule: values,
    impl=_impl,
    lowering=Decomposition(_decomposed),
    gradient_stops="results without nan are integers or truth values",
    batch=alike(),
)
"""The first operand; an element where the second is false raises an error, which says that `argument` must `rule`."""
