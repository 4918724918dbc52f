"""Wrong calls of public functions: the calls of their docstrings, with one argument changed."""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import io
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import jittape as jt

RAISES = re.compile(r"^Raises\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
UNRELATED = (NameError, AttributeError, MemoryError, AssertionError)
"""Errors of the functions in the examples, and of calls that a changed argument makes meaningless."""


NUMERIC = (jt.Tensor, jt.Variable, np.ndarray, complex, float, int, list)


def documented_errors(docstring: str) -> set[str]:
    """Return the names of the classes in the section Raises."""
    found = RAISES.search(docstring)
    heads = re.findall(r"^\S.*$", found[1], re.MULTILINE) if found else []
    return {
        name.strip().rpartition(".")[2] for head in heads for name in head.replace(" or ", ",").split(",")
    }


def changed(value: Any) -> Iterator[Any]:
    """Yield wrong values for an argument: other dtypes, shapes, signs; none for an argument that is no number."""
    if isinstance(value, bool) or not isinstance(
        value, (jt.Tensor, jt.Variable, np.ndarray, complex, float, int, list)
    ):
        return
    try:
        array = np.asarray(value)
    except ValueError:
        return
    if array.dtype.kind not in "biufc":
        return
    if array.dtype.itemsize == 8 and not isinstance(value, np.ndarray):
        array = array.astype({"i": np.int32, "f": np.float32}.get(array.dtype.kind, array.dtype))
    yield from (array.astype(np.complex64), array.astype(bool))
    yield from (
        np.nan_to_num(array.real, posinf=9, neginf=-9).astype(dtype) for dtype in (np.int32, np.float32)
    )
    if isinstance(value, int):
        yield from (99, -99)
    if array.ndim:
        yield from (
            np.stack([array, array]),
            array.ravel()[:1].reshape(()) if array.size else array,
            array[:0],
        )
        yield np.concatenate([array, array[:1], array[:1], array[:1]])
        yield np.concatenate([array, array[..., :1], array[..., :1], array[..., :1]], -1)
    else:
        yield np.stack([array] * 7)
    if array.dtype.kind in "if":
        yield from (-np.abs(array) - 1, array * 0)


def is_large_shape(value: Any) -> bool:
    """Return whether a value would make a result of more than 100,000 elements if it is a shape."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype.kind == "i"
        and np.prod(np.abs(value), dtype=float) > 1e5
    )


def calls(docstring: str) -> Iterator[tuple[Any, list[Any], dict[str, Any]]]:
    """Yield what the examples of a docstring call, with its arguments, before each example runs.

    Calls with a function among the arguments are left out: most of their errors are those of that function.
    """
    names: dict[str, Any] = {"jt": jt, "np": np}
    for example in doctest.DocTestParser().get_examples(docstring):
        for node in ast.walk(ast.parse(example.source)):
            if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
                with contextlib.suppress(Exception):
                    called = eval(ast.unparse(node.func), names)
                    arguments = [eval(ast.unparse(a), names) for a in node.args]
                    options = {str(k.arg): eval(ast.unparse(k.value), names) for k in node.keywords}
                    if not any(map(callable, (*arguments, *options.values()))):
                        yield called, arguments, options
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(example.source, "<example>", "single"), names)


def errors_of(
    function: Callable[..., Any], arguments: list[Any], options: dict[str, Any]
) -> dict[type[Exception], str]:
    """Return the errors of the wrong calls, with a message of each.

    A `TypeError` that is no `DTypeError` is left out: options of a wrong type raise it everywhere.
    """
    found: dict[type[Exception], str] = {}
    for key in (*range(len(arguments)), *options):
        given = options[key] if isinstance(key, str) else arguments[key]
        for value in changed(given):
            if is_large_shape(value):
                continue
            args, kwargs = list(arguments), dict(options)
            if isinstance(key, str):
                kwargs[key] = value
            else:
                args[key] = value
            try:
                result = function(*args, **kwargs)
                for leaf in jt.nest.flatten(result):
                    if isinstance(leaf, jt.Tensor):
                        leaf.numpy()
            except UNRELATED:
                continue
            except Exception as error:
                if type(error) is not TypeError:
                    found[type(error)] = str(error)
    return found


def without(documented: set[str], found: dict[type[Exception], str]) -> dict[str, str]:
    """Return the errors that are not documented, neither by name nor by a base class."""
    return {
        error.__name__: message
        for error, message in found.items()
        if not documented
        & {base.__name__ for base in error.__mro__ if base not in (Exception, BaseException)}
    }


def undocumented_errors(function: Callable[..., Any]) -> dict[str, str]:
    """Return the names of the errors of wrong calls that the docstring of the function does not document."""
    docstring = inspect.getdoc(function) or ""
    found: dict[type[Exception], str] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for called, arguments, options in calls(docstring):
            if called is function:
                found |= errors_of(function, arguments, options)
    return without(documented_errors(docstring), found)


def docstrings_of(cls: type) -> list[str]:
    """Return the docstrings of a class and of its public methods, which may have examples."""
    methods = [
        value for name, value in vars(cls).items() if not name.startswith("_") and inspect.isroutine(value)
    ]
    return [inspect.getdoc(value) or "" for value in (cls, *methods)]


def undocumented_errors_of_class(cls: type) -> dict[str, str]:
    """Return the errors of wrong constructor and method calls that no docstring documents.

    An error counts as documented if the section Raises of the method, the class or a base class names it.
    `Model.fit` is left out, because a call trains for many epochs.
    """
    of_class = {
        name
        for base in cls.__mro__
        for name in documented_errors((base.__doc__ and inspect.getdoc(base)) or "")
    }
    found: dict[str, str] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for docstring in docstrings_of(cls):
            for called, arguments, options in calls(docstring):
                method = called.__call__ if isinstance(called, cls) else called
                if called is not cls and not isinstance(getattr(method, "__self__", None), cls):
                    continue
                if method.__name__ == "fit":
                    continue
                documented = of_class
                if called is not cls:
                    documented = of_class | documented_errors(inspect.getdoc(method) or "")
                with contextlib.redirect_stdout(io.StringIO()):
                    errors = errors_of(called, arguments, options)
                for name, message in without(documented, errors).items():
                    found[f"{method.__name__}: {name}"] = message
    return found
