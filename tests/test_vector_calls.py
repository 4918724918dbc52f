"""Functions of `jittape.numpy` whose calls machine code takes: they stay Python functions."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import pickle
import pydoc
import weakref
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp
from jittape.native import switch
from jittape.recording.trace import current_trace
from test_native_recording import calls_of_python

X, M = np.arange(3.0), np.arange(9.0).reshape(3, 3)
TAKEN = (jnp.exp, jnp.add, jnp.sum)


@pytest.fixture(autouse=True, params=[True, False], ids=["machine code", "python"])
def taken(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Whether machine code takes the calls."""
    before = switch.is_used()
    current_trace().flush()
    (switch.use if request.param else switch.use_python)()
    yield request.param
    (switch.use if before else switch.use_python)()


@pytest.mark.parametrize("function", TAKEN)
def test_it_is_a_function_like_any_other(function: Any):
    assert isinstance(function, FunctionType)
    assert inspect.isfunction(function)
    name = function.__name__
    assert (function.__module__, function.__qualname__) == ("jittape.numpy", name)
    assert function.__doc__.endswith(f"See `numpy.{name}` for the parameters.")
    assert repr(function).startswith(f"<function {name} at ")
    assert function.__code__.co_name == name
    assert next(iter(inspect.signature(function).parameters)) in ("x", "x1", "a")
    assert f"{name}(" in pydoc.plain(pydoc.render_doc(function))
    for same in (pickle.loads(pickle.dumps(function)), copy.copy(function), copy.deepcopy(function)):
        assert same is function
    assert weakref.ref(function)() is function
    assert gc.is_tracked(function)
    with pytest.raises(TypeError, match="missing"):
        function()
    with pytest.raises(TypeError, match="no_such"):
        function(jt.constant(X), jt.constant(X), no_such=1)


def test_all_ways_to_call():
    x = jt.constant(X)
    holder = type("Holder", (), {"exp": jnp.exp})

    def by_keywords() -> Any:
        return jnp.sum(a=x, axis=0)

    for _ in range(3):
        current_trace().step()
        results = [
            jnp.exp(x),
            jnp.exp(*[x]),
            functools.partial(jnp.exp, x)(),
            next(map(jnp.exp, [x])),
            functools.reduce(jnp.add, [x, x, x]),
            jt.vmap(jnp.exp)(x),
            jnp.sum(x, **{"axis": 0}),
            by_keywords(),
            holder.exp(x),
            jnp.add.reduce(x),
        ]
        exp = np.exp(X)
        for found, wanted in zip(results, [exp] * 4 + [3 * X, exp, 3.0, 3.0, exp, 3.0], strict=True):
            np.testing.assert_allclose(found.numpy(), wanted)
    assert float(jt.grad(jnp.sum)(x)[0]) == 1.0


def test_an_error_names_the_function_and_leaves_the_trace_usable(taken: bool):
    x, y = jt.constant(X), jt.constant(np.ones(2))
    for _ in range(2):
        kept = jnp.add(x, x)
        with pytest.raises(ValueError, match=r"^\[add\]"):
            jnp.add(x, y)
        with pytest.raises(ValueError, match="sum"):
            jnp.sum(x, axis=3)
        assert kept.numpy().tolist() == [0.0, 2.0, 4.0]


_WRITES: tuple[Callable[[Any], Any], ...] = (
    lambda target: jnp.add(X, jt.constant(X), out=target()),
    lambda target: jnp.add(X, jt.constant(X), target()),
    lambda target: jnp.add(X, jt.constant(X), out=(target(),)),
    lambda target: jnp.exp(jt.constant(X), out=target()),
    lambda target: jnp.sum(jt.constant(M), axis=0, out=target()),
    lambda target: jnp.dot(jt.constant(M), jt.constant(X), out=target()),
    lambda target: jnp.clip(jt.constant(X), 0.0, 1.0, out=target()),
)


@pytest.mark.parametrize("write", _WRITES)
def test_a_write_that_would_be_lost_is_refused(write: Callable[[Any], Any]):
    rows = jt.constant(np.zeros((2, 3)))
    row = rows[0]
    for _ in range(3):
        with pytest.raises(TypeError, match="the write would be lost"):
            write(lambda: rows[0])
        assert write(lambda: row) is row


def test_functions_that_are_made_later_are_taken(taken: bool):
    vars(jnp).pop("nanvar", None)
    x = jt.constant(X)

    def call(function: Any = jnp.nanvar) -> Any:
        return function(x)

    for _ in range(3):
        current_trace().step()
        assert float(call()) == np.nanvar(X)
    current_trace().step()
    assert ("nanvar" in calls_of_python(call)) == (not taken)
