"""Functions on their way to workers: pickled once, with a clear error for what cannot be sent."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from jittape.interop.optional_library import imported
from jittape.recording.variable import Variable

__all__ = ["packed_function"]


def packed_function(function: Callable[..., Any], caller: str) -> bytes:
    """Return a pickled function.

    Raises
    ------
    TypeError
        If the function holds something that cannot be pickled; the message names it.
    ValueError
        If the function reads a Variable, which would keep its value at the workers.
    """
    cloudpickle = imported("cloudpickle", "dask", "dask[distributed]")
    names = {id(value): name for name, value in _held(function) if isinstance(value, Variable)}
    found: list[Variable] = []

    class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc, name-defined]
        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, Variable):
                found.append(value)
            if isinstance(value, CodeType):
                return self._with_file(value)
            return super().reducer_override(value)

        def _with_file(self, code: CodeType) -> Any:
            """Keep the name of the file, which warnings and tracebacks of workers show; cloudpickle 3.1.3 drops it."""
            make, parts = self.dispatch_table[CodeType](code)
            return make, tuple([code.co_filename if part == "<dynamic-code>" else part for part in parts])

    file = io.BytesIO()
    try:
        Pickler(file).dump(function)
    except Exception as error:
        raise TypeError(
            f"[{caller}] {_name_of(function)} cannot be sent to workers: {_reason(function, error)}"
        ) from error
    if found or names:
        name = next(iter(names.values()), None) or found[0].name
        raise ValueError(
            f"[{caller}] {_name_of(function)} reads the Variable {name!r}, which would keep its value at the workers: "
            "pass Variables in the weights, or as a further argument"
        )
    return file.getvalue()


def _name_of(function: Any) -> str:
    return getattr(function, "__qualname__", None) or type(function).__name__


def _held(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a function refers to: variables of outer functions, globals, attributes of its instance, defaults."""
    instance = getattr(function, "__self__", None)
    if instance is None and not hasattr(function, "__code__"):
        instance = function
    yield from getattr(instance, "__dict__", {}).items()
    python = inspect.unwrap(getattr(function, "__func__", function))
    if inspect.isfunction(python):
        try:
            variables = inspect.getclosurevars(python)
        except ValueError:  # a variable of an outer function has no value yet
            return
        yield from variables.nonlocals.items()
        yield from variables.globals.items()
        yield from (python.__kwdefaults__ or {}).items()


def _reason(function: Any, error: Exception) -> str:
    """Return which held object cannot be pickled, or what the pickler said."""
    cloudpickle = imported("cloudpickle", "dask", "dask[distributed]")
    for name, value in _held(function):
        try:
            cloudpickle.dumps(value)
        except Exception as reason:
            return (
                f"it holds {name!r}, of type {type(value).__name__} ({reason}); create it inside the function"
            )
    return str(error)
