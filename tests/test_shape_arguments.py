"""Shapes and lists as arguments of calls that machine code records: those of the call, never of an earlier one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp
from jittape.recording.machine_code import method_plans
from jittape.recording.machine_code.path_tables import LAST_ARRAYS
from jittape.recording.trace import current_trace
from jittape.recording.trie_insertion import ARRAY_AVALS
from python_frames import called_code
from test_native_recording import calls_of_python, machine_code

__all__ = ["machine_code"]

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    name: eval(f"lambda x, shape: {name}")
    for name in (
        "x.reshape(shape)", "np.reshape(x, shape)", "jnp.reshape(x, shape)", "np.reshape(x, shape=shape)",
        "jt.reshape(x, shape)", "jt.reshape(tensor=x, shape=shape)", "np.broadcast_to(x[:1], shape)",
        "jt.broadcast_to(x[0], shape)", "jnp.broadcast_to(x[0], shape)",
    )
}  # fmt: skip
CREATIONS: dict[str, Callable[[Any], Any]] = {
    name: eval(f"lambda shape: {name}")
    for name in (
        "jt.zeros(shape)", "jt.ones(shape, jt.float64)", "jt.fill(shape, 2.5)", "jt.zeros(shape=shape)",
        "jt.fill(shape, 3)", "jt.eye(shape[0])", "jt.linspace(0.0, 1.0, shape[1])",
    )
}  # fmt: skip
SHAPES = ((3, 4), (4, 3), (12, 1), (3, 4), (2, 6))
PACKAGE = str(Path(jt.__file__).parent)
ALLOWED = {
    "__getitem__",
    "shape",
    "__new__",
    "__eq__",
    "_tell_numba",
    "_extents",
    "<listcomp>",
    "index_of",
    "<genexpr>",
}
"""Functions that make and compare shapes."""


def python_of(call: Callable[[], Any]) -> set[str]:
    """The functions of the package that run as Python code when the call is made on its known path."""
    for _ in range(5):
        current_trace().step()
        calls_of_python(call)
    current_trace().step()
    called = {code.co_name for code in called_code(call) if code.co_filename.startswith(PACKAGE)}
    return called - ALLOWED


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", [jt.TensorShape, tuple, list, "slice"])
def test_the_shape_is_that_of_the_call(name: str, kind: Any):
    call, a = CALLS[name], np.arange(12.0)
    x, others = jt.constant(a), {shape: jt.constant(np.zeros(shape)) for shape in SHAPES}
    for _ in range(3):
        for shape in SHAPES:
            current_trace().step()
            given = others[shape].shape[:] if kind == "slice" else kind(others[shape].shape)
            found = call(x, given)
            assert found.shape == shape
            assert type(found._aval.shape) is tuple
            wanted = np.broadcast_to(a[0], shape) if "broadcast" in name else a.reshape(shape)
            np.testing.assert_array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("name", CALLS)
def test_known_paths_of_shapes_run_no_python(name: str):
    call, x = CALLS[name], jt.constant(np.arange(12.0))
    shapes = [jt.zeros(shape).shape for shape in SHAPES]
    assert not python_of(lambda: [call(x, shape) for shape in shapes])


def test_lists_are_read_at_each_call():
    x, target, order = jt.constant(np.arange(12.0).reshape(3, 4)), [4, 3], [1, 0]
    assert not python_of(lambda: (x.reshape(target), x.transpose(order)))
    for shape in SHAPES:
        current_trace().step()
        target[:] = shape
        order.reverse()
        assert x.reshape(target).shape == shape
        np.testing.assert_array_equal(x.transpose(order).numpy(), x.numpy().transpose(order))
    for bad in ([4, True], [4, 4], [4, "3"], [4.0, 3]):
        with pytest.raises((TypeError, ValueError)):
            x.reshape(bad)


@pytest.mark.parametrize("name", CREATIONS)
def test_creations_run_no_python(name: str):
    call = CREATIONS[name]
    for kind in (jt.TensorShape, tuple, list):
        assert not python_of(lambda: call(kind((3, 4))))  # noqa: B023
        for shape in SHAPES:
            current_trace().step()
            found = call(kind(shape))
            wanted = {"eye": (shape[0],) * 2, "linspace": (shape[1],)}.get(name[3 : name.index("(")], shape)
            assert found.shape == wanted
    assert "apply" in python_of(lambda: call((3, jt.constant(4)))) or name.startswith(
        "jt.eye"
    )  # no structure


def test_creations_follow_the_numbers_and_the_settings():
    for number in (1.5, 2.5, 1, 2, True):
        for _ in range(3):
            current_trace().step()
            found = jt.fill([2], number)
            assert found.tolist() == [number] * 2
            assert found.dtype == jt.constant(number).dtype
            assert jt.linspace(0.5, number + 2.0, 3).tolist()[-1] == number + 2.0
    before = jt.config.default_float
    try:
        for dtype in (jt.float64, jt.float32, jt.float64):
            jt.config.default_float = dtype
            for _ in range(3):
                current_trace().step()
                assert jt.zeros([2]).dtype == jt.ones((2,)).dtype == jt.fill([2], 1.0).dtype == dtype
    finally:
        jt.config.default_float = before
    for bad in ([-1], [2, "a"], -3):
        for _ in range(3):
            with pytest.raises((TypeError, ValueError)):
                jt.zeros(bad)


def test_gradients_through_known_shapes():
    for shape in SHAPES * 2:
        other, x = jt.constant(np.arange(12.0).reshape(shape)), jt.constant(np.arange(12.0))
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum(x.reshape(other.shape) ** 2 * other + jt.ones(other.shape, jt.float64) * 3.0)
        np.testing.assert_allclose(tape.gradient(y, x).numpy(), 2 * np.arange(12.0) ** 2)


def test_a_shape_of_unknown_rank_is_no_shape():
    x, unknown, partial = jt.constant([2.0]), jt.TensorShape(None), jt.TensorShape([None, 1])
    for call in CALLS.values():
        if "[0]" in call.__name__:
            continue
        for _ in range(3):
            call(x, jt.TensorShape([1]))
            for bad in (unknown, partial):
                with pytest.raises((TypeError, ValueError)):
                    call(x, bad)
    with pytest.raises((TypeError, ValueError)):
        jt.zeros(unknown)


def test_more_shapes_than_are_kept():
    x = jt.constant(np.zeros(0))
    for n in range(4100):
        assert x.reshape([0, n]).shape == x.reshape(jt.TensorShape([n, 0])).shape[::-1]
    with jt.GradientTape():
        assert jnp.reshape(x, jt.TensorShape([5, 0, 3])).shape == (5, 0, 3)


@pytest.mark.parametrize(
    "call", [jt.shape, jt.size, lambda x: x * [1.0] * len(x.shape), lambda x: x + np.ones(x.shape)]
)
def test_arrays_of_more_kinds_than_are_kept(call: Callable[[Any], Any]):
    tensors = [jt.constant(np.zeros(shape)) for shape in SHAPES]
    assert not python_of(lambda: [call(x) for x in tensors])
    ARRAY_AVALS.clear()
    LAST_ARRAYS[:] = [None] * len(LAST_ARRAYS)
    assert not python_of(lambda: [call(x) for x in tensors]) - {"new_entry"}
    assert ARRAY_AVALS


def test_shapes_ranks_and_sizes_as_tensors():
    tensors = [jt.constant(np.zeros(shape)) for shape in (*SHAPES, (), (0, 5), (7,))]
    for function, of in ((jt.shape, np.shape), (jt.rank, np.ndim), (jt.size, np.size)):
        assert not python_of(lambda: [function(x) for x in tensors])  # noqa: B023
        for x in tensors * 2:
            current_trace().step()
            found, a = function(x), x.numpy()
            assert type(found) is type(jt.shape_n([x])[0])
            assert found.dtype == jt.int32
            np.testing.assert_array_equal(found.numpy(), of(a))
            assert (found * 2).numpy().tolist() == (np.asarray(of(a)) * 2).tolist()
            assert function(x, out_type=jt.int64).dtype == jt.int64 if of is not np.ndim else True
    kept = [jt.shape(x) for x in tensors * 20]
    assert [k.numpy().tolist() for k in kept] == [list(x.shape) for x in tensors * 20]
    view, first = jt.shape(tensors[0]).numpy(), jt.shape(tensors[0])[0]
    for _ in range(100):
        jt.shape(tensors[4])
    assert view.tolist() == [3, 4]
    assert int(first) == 3
    assert jt.shape([[1.0, 2.0]]).tolist() == [1, 2]
    assert jt.shape(jt.Variable([1.0, 2.0])).tolist() == [2]


def test_shapes_that_a_function_asks_for_stay_general():
    @jt.function(input_signature=[jt.TensorSpec([None], jt.float64)])
    def f(x: Any) -> Any:
        return jt.reshape(x, jt.shape(x)) * jt.cast(jt.size(x), jt.float64)

    for n in (2, 3, 5, 2):
        jt.shape(jt.zeros([n]))
        assert f(jt.ones([n], jt.float64)).tolist() == [float(n)] * n
    for n in (2, 3, 5, 2):
        with jt.GradientTape() as tape:
            x = jt.constant(np.ones(n))
            tape.watch(x)
            y = jt.reduce_sum(x * jt.cast(jt.shape(x)[0], jt.float64))
        assert tape.gradient(y, x).tolist() == [float(n)] * n


@pytest.mark.parametrize("name", CREATIONS)
def test_a_new_shape_of_a_creation_is_planned_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Any] = []
    planned = method_plans._planned
    monkeypatch.setattr(method_plans, "_planned", lambda *call: runs.append(call) or planned(*call))
    found = CREATIONS[name]((6, 7))
    current_trace().step()
    np.testing.assert_array_equal(CREATIONS[name]((6, 7)), found)
    assert len(runs) <= 1
    method_plans.drop_plans()
    CREATIONS[name]((6, 7))
    assert len(runs) <= 2
