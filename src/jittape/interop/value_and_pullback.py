"""A compiled function and its pullback on arrays, for libraries that differentiate by calling back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.functions.function import Function
from jittape.transforms.gradients import vjp

__all__ = ["value_and_pullback"]

_Array = np.ndarray[Any, Any]


def value_and_pullback(
    f: Callable[..., Any],
) -> tuple[Function, Callable[..., _Array], Callable[..., list[_Array | None]]]:
    """Return `f` compiled, the function of its value, and that of its gradients.

    ``value(*arrays)`` returns an array. ``pullback(cotangent, *arrays)`` returns one array for each argument, None for
    an argument that the value does not depend on. All arrays are new.
    """
    compiled = Function(f)
    backward = Function(lambda g, *args: vjp(f, *args)[1](g))

    def value(*arrays: Any) -> _Array:
        return np.array(compiled(*arrays).numpy())

    def pullback(cotangent: Any, *arrays: Any) -> list[_Array | None]:
        found = backward(cotangent, *arrays)
        each = found if isinstance(found, (tuple, list)) else (found,)
        return [None if x is None else np.array(x.numpy()) for x in each]

    return compiled, value, pullback
