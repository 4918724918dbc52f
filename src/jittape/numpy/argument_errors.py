"""Errors of NumPy and Python about an argument of another kind, with the names of the function and of the argument."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jittape.core.user_calls import shown, way_to_numbers

__all__ = ["UNNAMED", "explaining", "name_argument", "signature_of"]

UNNAMED = (AttributeError, TypeError, ValueError, IndexError, KeyError, BufferError)
"""Errors that Python and NumPy raise for an argument of another kind."""
_ARRAY = "a tensor, an array or nested lists of numbers"
_EXPECTED = {
    **dict.fromkeys(("shape", "newshape", "new_shape", "dims"), "an int or a tuple of ints"),
    **dict.fromkeys(("N", "M", "n", "k", "num", "axis1", "axis2", "repeats", "decimals", "start"), "an int"),
    **dict.fromkeys(("arrays", "tup", "choicelist", "condlist"), "a list or tuple of tensors or arrays"),
    **dict.fromkeys(("axis", "axes"), "an int or a tuple of ints"),
    **dict.fromkeys(("kth", "obj", "ind", "indices", "multi_index"), "an int, or a tensor or array of ints"),
    **dict.fromkeys(("function", "func", "func1d"), "a function"),
}
"""Values of parameters that are no arrays, for messages."""
_OPTIONS = frozenset(
    (
        "casting",
        "copy",
        "device",
        "dtype",
        "keepdims",
        "kind",
        "like",
        "method",
        "mode",
        "order",
        "out",
        "overwrite_input",
        "subok",
    )
)
"""Parameters whose errors keep their text."""


def name_argument(error: Exception, name: str, signature: Any, args: Sequence[Any], kwargs: Any) -> None:
    """Raise an error that names the argument which is no number; return if there is none, or if `error` is named.

    Parameters
    ----------
    error : Exception
    name : str
        Name of the function.
    signature : inspect.Signature or None
    args, kwargs : sequence and mapping
        Arguments of the call.
    """
    text = str(error)
    if text.startswith("[") or re.search(rf"\b{re.escape(name)}\b", text):
        return
    for argument, value, default in _given(signature, args, kwargs):
        found = _found(value, default)
        if found:
            kind = type(error) if type(error) in (TypeError, ValueError, IndexError) else TypeError
            if argument in _OPTIONS:
                raise kind(f"[{name}] {argument}: {text}; got {found}") from None
            raise kind(
                f"[{name}] {argument} must be {_EXPECTED.get(argument, _ARRAY)}, got {found}"
            ) from None


def _given(signature: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, value and default of each argument."""
    parameters = [] if signature is None else list(signature.parameters.values())
    names = {p.name: p.default for p in parameters}
    for i, value in enumerate(args):
        p = parameters[min(i, len(parameters) - 1)] if parameters else None
        yield ("a", value, inspect.Parameter.empty) if p is None else (p.name, value, p.default)
    for key, value in kwargs.items():
        yield key, value, names.get(key)


def _found(value: Any, default: Any) -> str:
    """Return a description of a value that is no number, tensor or array of numbers; empty if it may be one."""
    if value is None:
        return "" if default is None or default is np._NoValue else "None"
    if isinstance(value, (str, bytes)):
        return "" if isinstance(default, str) else shown(value)
    if isinstance(value, (dict, set, frozenset)):
        return shown(value)
    if isinstance(value, (np.ndarray, np.generic)):
        odd = value.dtype.kind not in "biufc"
        return f"an array of dtype {value.dtype}; {way_to_numbers(value.dtype)}" if odd else ""
    if isinstance(value, (list, tuple)):
        parts = [_found(part, inspect.Parameter.empty) for part in value[:100]]
        return next((f"{part} in it" for part in parts if part), "")
    return ""


@functools.cache
def signature_of(function: Any) -> inspect.Signature | None:
    """Return the signature of a function of NumPy; None if it has none."""
    try:
        return inspect.signature(function)
    except ValueError:
        return None


def explaining(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` with errors that name the argument of another kind."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except UNNAMED as error:
            name_argument(error, call.__name__, signature, args, kwargs)
            raise

    return call
