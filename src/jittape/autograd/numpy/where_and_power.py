"""`where` and `power` of autograd, which differ from NumPy's function and from jittape's gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.numpy_api.numpy_functions import FUNCTIONS
from jittape.recording.operators import Operators
from jittape.recording.tensor import holds_tensors, stacked

__all__ = ["power_of", "where_of"]


def _is_array(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(_is_array(item) for item in x)
    return isinstance(x, (Operators, np.ndarray, np.generic))


def where_of(choose: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``np.where`` with parameters by name; Python's numbers and lists give numbers and lists.

    Parameters
    ----------
    choose : callable
        ``np.where``, which records if an argument is a tensor.
    """

    def where(condition: Any, *args: Any, **kwargs: Any) -> Any:
        if not args and not kwargs:
            return choose(condition)
        unknown = sorted(set(kwargs) - {"x", "y"})
        if unknown:
            raise TypeError(f"where() got an unexpected keyword argument {unknown[0]!r}")
        if len(args) + len(kwargs) != 2:
            raise ValueError("either both or neither of x and y should be given")
        x = args[0] if args else kwargs["x"]
        y = args[1] if len(args) > 1 else kwargs["y"]
        result = choose(condition, x, y)
        if _is_array(condition) or _is_array(x) or _is_array(y) or not isinstance(result, np.ndarray):
            return result
        return result.tolist()

    where.__doc__ = np.where.__doc__
    return where


def power_of(record: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``np.power`` with autograd's gradient for the exponent 0: zero, at the base 0 too.

    Parameters
    ----------
    record : callable
        ``np.power``, which records.
    """

    def power(x1: Any, x2: Any, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs or isinstance(x2, (Operators, type(None))) or holds_tensors(x2):
            return record(x1, x2, *args, **kwargs)
        zero = np.equal(x2, 0)
        if not zero.any():
            return record(x1, x2)
        x1 = stacked(x1) if x1.__class__ in (list, tuple) else x1
        raised = record(x1, np.where(zero, 1, x2))
        return FUNCTIONS[np.where](zero, np.ones((), raised.aval.dtype), raised)

    return power
