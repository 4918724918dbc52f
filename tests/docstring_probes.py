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


def example_calls(function: Callable[..., Any]) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Yield the arguments of the calls of a function in the examples of its docstring.

    Calls with a function among the arguments are left out: most of their errors are those of that function.
    """
    names: dict[str, Any] = {"jt": jt, "np": np}
    parser = doctest.DocTestParser()
    for example in parser.get_examples(inspect.getdoc(function) or ""):
        for node in ast.walk(ast.parse(example.source)):
            if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
                with contextlib.suppress(Exception):
                    if eval(ast.unparse(node.func), names) is function:
                        arguments = [eval(ast.unparse(a), names) for a in node.args]
                        options = {str(k.arg): eval(ast.unparse(k.value), names) for k in node.keywords}
                        if not any(map(callable, (*arguments, *options.values()))):
                            yield arguments, options
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(example.source, "<example>", "single"), names)


def errors_of(function: Callable[..., Any]) -> dict[type[Exception], str]:
    """Return the errors of the wrong calls, with a message of each.

    A `TypeError` that is no `DTypeError` is left out: options of a wrong type raise it everywhere.
    """
    found: dict[type[Exception], str] = {}
    for arguments, options in example_calls(function):
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


def undocumented_errors(function: Callable[..., Any]) -> dict[str, str]:
    """Return the names of the errors of wrong calls that the docstring names neither itself nor by a base class."""
    documented = documented_errors(inspect.getdoc(function) or "")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = errors_of(function)
    return {
        error.__name__: message
        for error, message in found.items()
        if not documented
        & {base.__name__ for base in error.__mro__ if base not in (Exception, BaseException)}
    }
