"""Functions on their way to workers: pickled once, with a clear error for what cannot be sent."""

from __future__ import annotations

import functools
import inspect
import io
import pickle
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any

from jittape.interop.optional_library import imported
from jittape.recording.variable import Variable

__all__ = ["check_sendable", "packed_function", "packed_result", "sendable_error"]

_DEPTH = 6
"""Number of levels of objects inside objects that are searched for one that cannot be pickled."""


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
    if isinstance(function, functools.partial):
        yield from _parts(function)
        return
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
        defaults = python.__defaults__ or ()
        names = python.__code__.co_varnames[: python.__code__.co_argcount]
        yield from zip(names[len(names) - len(defaults) :], defaults, strict=True)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object consists of, each with what to write after the name of the object."""
    if isinstance(value, Mapping):
        yield from [(f"[{key!r}]", part) for key, part in value.items()]
    elif isinstance(value, list | tuple):
        yield from [(f"[{i}]", part) for i, part in enumerate(value)]
    elif isinstance(value, functools.partial):
        yield from [
            ("func", value.func),
            *[(f"args[{i}]", part) for i, part in enumerate(value.args)],
            *[(f"keywords[{key!r}]", part) for key, part in value.keywords.items()],
        ]
    elif inspect.isfunction(value) or inspect.ismethod(value):
        yield from [(f": {name}", part) for name, part in _held(value)]
    else:
        yield from [(f".{name}", part) for name, part in getattr(value, "__dict__", {}).items()]


def _reason(function: Any, error: Exception) -> str:
    """Return which held object cannot be pickled, or what the pickler said."""
    found = _unsendable("", _held(function), _DEPTH)
    if found is None:
        return str(error)
    name, value, reason = found
    return f"it holds {name!r}, of type {type(value).__name__} ({reason}); create it inside the function"


def _unsendable(
    prefix: str, parts: Iterator[tuple[str, Any]], depth: int
) -> tuple[str, Any, Exception] | None:
    """Return the innermost of some objects that cannot be pickled: its path, itself, and the error; None if all can."""
    cloudpickle = imported("cloudpickle", "dask", "dask[distributed]")
    for name, value in parts:
        try:
            cloudpickle.dumps(value)
        except Exception as error:
            inner = _unsendable(prefix + name, _parts(value), depth - 1) if depth else None
            return inner or (prefix + name, value, error)
    return None


def check_sendable(what: str, value: Any, caller: str) -> None:
    """Raise `TypeError` if a value cannot be pickled; the message names what it holds."""
    found = _unsendable("", iter([(what, value)]), _DEPTH)
    if found is not None:
        name, held, reason = found
        raise TypeError(
            f"[{caller}] {what} cannot be sent to workers: {name} is of type {type(held).__name__} ({reason})"
        )


# ---- results ---------------------------------------------------------------------------------------------------------


def packed_result(found: Any) -> bytes:
    """Return a pickled result of a worker. Dask would try for ever to send one that cannot be pickled.

    Raises
    ------
    TypeError
        If it cannot be pickled; the message names what it holds.
    """
    cloudpickle = imported("cloudpickle", "dask", "dask[distributed]")
    try:
        packed: bytes = cloudpickle.dumps(found)
    except Exception as error:
        name, value, reason = _unsendable("result", _parts(found), _DEPTH) or ("result", found, error)
        raise TypeError(
            f"[dask.map] a result cannot be sent back: {name} is of type {type(value).__name__} ({reason})"
        ) from None
    return packed


def sendable_error(error: Exception) -> Exception:
    """Return an exception of the user's function, or its text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
