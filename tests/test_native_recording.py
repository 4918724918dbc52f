"""Recording by machine code: it must do what the Python code does, hold no memory, and know when to leave it alone."""

from __future__ import annotations

import gc
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from operator import add, getitem, mul, neg, sub, truediv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jittape as jt
from jittape.autodiff import native_tapes
from jittape.compile.cache import cache_folder
from jittape.core.buffers import LARGE
from jittape.core.program import Aval
from jittape.errors import CompileError
from jittape.native import switch
from jittape.recording import native_methods
from jittape.recording.flushing import LOOP, live_among
from jittape.recording.machine_code import method_module
from jittape.recording.machine_code.known_paths import UFUNC_BODIES
from jittape.recording.trace import Trace, current_trace
from jittape.recording.trie import UNPLACED, Node
from jittape.runtime.counters import counters
from jittape.transform.templates import shared_parameters, types_of
from processes import run_python
from python_frames import called_code

MODULES = native_methods.METHODS, native_tapes.METHODS


@pytest.fixture(autouse=True)
def machine_code() -> Iterator[None]:
    """Recorded by machine code; afterwards as before."""
    before, pending = switch.is_used(), jt.config.max_pending_ops
    current_trace().flush()
    switch.use()
    assert switch.is_used()
    yield
    jt.config.max_pending_ops = pending
    (switch.use if before else switch.use_python)()


def calls_of_python(run: Callable[[], Any]) -> set[str]:
    """The functions of `jittape.recording`, `.autodiff` and `.numpy` that run as Python code meanwhile."""
    # At each multiple, a flush asks whether a profiler traces, and then Python records.
    counters.paths_found += -counters.paths_found % LOOP + 1
    folders = [f"jittape/{name}/" for name in ("recording", "autodiff", "numpy")]
    return {
        code.co_name for code in called_code(run) if any([folder in code.co_filename for folder in folders])
    }


def data() -> tuple[Any, ...]:
    x, y = jt.constant(np.arange(5.0)), jt.constant(np.linspace(1, 2, 5))
    return x, y, jt.Variable(np.ones(5)), jt.Variable(np.float64(0.5))


# ---- the same as in Python -------------------------------------------------------------------------------------------


class State:
    """All that recording has changed in a trace, in words that two runs have in common."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        trace = current_trace()
        numbers = {id(value): i for i, value in enumerate(values)}
        self.node = trace.node
        self.inputs = [x if isinstance(x, float | int) else id(x) for x in trace.inputs]
        self.pending = [(t._slot, t._aval, t._trace is trace, t._buffer, t._origin) for t in trace.pending]
        self.imported = {
            numbers[i]: (slot, id(b)) for i, (slot, _, b) in trace.imported.items() if i in numbers
        }
        self.variables = {numbers[i]: slots for i, (_, slots) in trace.variables.items()}
        self.assigned = {numbers[i]: _versions(last) for i, last in trace.assigned.items()}
        self.limit, self.large = trace.limit, trace.large
        self.slots = [(v._slot, v._trace is trace) for v in values]
        self.pending_assignment = [v._assigned_in is trace for v in values if isinstance(v, jt.Variable)]


def _versions(assignment: Any) -> list[tuple[int, Any]]:
    """The slots that a Variable was assigned, the last one first, each with where in the trie that was."""
    found = []
    while assignment is not None:
        _, slot, node, assignment = assignment
        found.append((slot, node))
    return found


OPERATORS: list[Callable[..., Any]] = [add, sub, mul, truediv]

steps = st.lists(
    st.one_of(
        st.tuples(st.just("binary"), st.sampled_from(OPERATORS), st.integers(0, 9), st.integers(0, 9)),
        st.tuples(
            st.just("reflected"),
            st.sampled_from(OPERATORS),
            st.sampled_from([2.5, 3, True]),
            st.integers(0, 9),
        ),
        st.tuples(
            st.just("scalar"), st.sampled_from(OPERATORS), st.integers(0, 9), st.sampled_from([0.5, 2, -1])
        ),
        st.tuples(st.just("unary"), st.sampled_from([neg, jt.square, jt.sin]), st.integers(0, 9)),
        st.tuples(st.just("sum"), st.integers(0, 9)),
        st.tuples(
            st.just("update"),
            st.sampled_from(["assign_add", "assign_sub"]),
            st.integers(2, 3),
            st.integers(0, 9),
        ),
        st.tuples(st.just("update"), st.just("assign"), st.integers(2, 3), st.integers(0, 9)),
        st.tuples(st.just("look"), st.integers(0, 9)),
    ),
    min_size=1,
    max_size=12,
)


def followed(program: list[tuple[Any, ...]], values: tuple[Any, ...]) -> list[Any]:
    """The values of a program, the last of them first where one is named by a number."""
    made = list(values)

    def named(i: int) -> Any:
        return made[i if i < len(values) else -1 - i % len(made)]

    for kind, *what in program:
        if kind == "binary":
            made.append(what[0](named(what[1]), named(what[2])))
        elif kind == "reflected":
            made.append(what[0](what[1], named(what[2])))
        elif kind == "scalar":
            made.append(what[0](named(what[1]), what[2]))
        elif kind == "unary":
            made.append(what[0](named(what[1])))
        elif kind == "sum":
            made.append(jt.reduce_sum(named(what[0])))
        elif kind == "look":
            named(what[0]).numpy()
        else:
            delta = named(what[2])
            if what[1] == 3 and delta.shape:
                delta = jt.reduce_sum(delta)
            elif what[0] == "assign" and what[1] == 2 and not delta.shape:
                delta = delta + made[0]
            getattr(values[what[1]], what[0])(delta)
    return made


@settings(max_examples=150)
@given(steps, st.booleans())
def test_the_same_path_and_the_same_values(program: list[tuple[Any, ...]], taped: bool):
    values = data()
    before = [v.numpy().copy() for v in values]
    found = []
    for use in (switch.use_python, switch.use_python, switch.use, switch.use):
        use()
        for v, array in zip(values[2:], before[2:], strict=True):
            v.assign(array)
        current_trace().flush()
        current_trace().step()
        if taped:
            with jt.GradientTape() as tape:
                made = followed(program, values)
            state = State(values)
            wanted = tape.gradient(made[-1], list(values[2:]), unconnected_gradients="zero")
        else:
            made, wanted = followed(program, values), []
            state = State(values)
        found.append((vars(state), [x.numpy().tolist() for x in (*made, *wanted)]))
    for state, numbers in found[2:]:
        assert state["node"] is found[1][0]["node"]
        assert [k for k, v in state.items() if repr(v) != repr(found[1][0][k]) and k != "inputs"] == []
        np.testing.assert_equal(numbers, found[1][1])
    switch.use()


def test_a_training_loop():
    def trained() -> list[Any]:
        x, y, w, b = data()
        losses = []
        for _ in range(20):
            with jt.GradientTape() as tape:
                loss = jt.reduce_mean(jt.square(w * x + b - y))
            dw, db = tape.gradient(loss, [w, b])
            w.assign_sub(0.05 * dw)
            b.assign_sub(0.05 * db)
            losses.append(float(loss))
        return [*losses, w.numpy().tolist(), b.numpy().tolist()]

    by_machine = trained()
    switch.use_python()
    assert trained() == by_machine


def test_known_paths_are_recorded_without_python():
    x, y, w, b = data()
    recording = {
        "apply",
        "_any_operands",
        "_import",
        "assign",
        "assign_sub",
        "__mul__",
        "__add__",
        "__sub__",
        "__rmul__",
        "__neg__",
    }

    def step() -> Any:
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(w * x + b - y))
        w.assign_sub(2 * -tape.gradient(loss, w))
        return loss

    assert recording & calls_of_python(step)
    for _ in range(3):
        step()
    assert not recording & calls_of_python(step)
    switch.use_python()
    assert recording - {"_any_operands"} <= calls_of_python(step)


def test_variables_whose_aval_is_an_equal_one_are_assigned_without_python():
    """Avals that were made before and after a table of them was cleared are two objects."""
    x, _, w, _ = data()

    def step() -> None:
        for assign, value in ((w.assign, 0.5 * w + x), (w.assign_sub, x)):
            w._aval = Aval(*w._aval)
            assign(value)

    for _ in range(4):
        current_trace().step()
        calls_of_python(step)
    current_trace().step()
    assert not calls_of_python(step)
    current_trace().step()
    w._aval = Aval((1,), w.dtype)
    with pytest.raises(ValueError, match="shape"):
        w.assign(0.5 * x)


def test_variables_are_assigned_and_read_again_without_python():
    x, y, w, b = data()
    recording = {"apply", "assign", "_read_version", "_recordable"}

    def step() -> None:
        w.assign(0.5 * w + x)
        b.assign(b * jt.reduce_sum(w * w))  # two operands that are read anew at once
        w.assign(w - b * y)
        w.assign_sub(w * w)

    assert recording <= calls_of_python(step)
    for _ in range(3):
        current_trace().step()
        step()
    current_trace().step()
    assert not {*recording, "_fitted"} & calls_of_python(step)


def test_assigned_values_that_python_handles():
    x, _, w, _ = data()
    declared = jt.Variable(np.ones(5), shape=[None])
    for _ in range(3):
        for value in (
            np.full(5, 2.0),
            [2.0] * 5,
            jt.constant(np.full(5, 2.0)),
            jt.cast(x, "float32") * 0 + 2,
        ):
            w.assign(value)
            assert (w * 2).numpy().tolist() == [4.0] * 5
        declared.assign(x + 1.0)
        assert declared.numpy().tolist() == [1, 2, 3, 4, 5]
        declared.assign(jt.reduce_sum(x, keepdims=True))
        assert (declared + 1.0).numpy().tolist() == [11]
        w.assign(value=w + x, read_value=False)
        with pytest.raises(ValueError, match="shape"):
            w.assign(x[1:] * 2.0)
        with jt.GradientTape() as tape:
            held = w * 3.0
        _ = held.numpy()
        w.assign(held)
        assert (w + 0.0).numpy().tolist() == held.numpy().tolist()
        assert tape.gradient(held, w).numpy().tolist() == [3.0] * 5


def test_looks_run_no_python():
    x, y, w, _ = data()
    product = x * y
    for value in (x, product, w, jt.constant(2.5), jt.constant(np.zeros((2, 0))), jt.cast(x, "bfloat16")):
        wanted = switch_to_python(value.numpy)
        seen: list[np.ndarray] = []
        value.numpy()
        assert not {"numpy", "view"} & calls_of_python(
            lambda value=value, seen=seen: seen.append(value.numpy())
        )
        (found,) = seen
        assert (found.shape, found.dtype, found.strides) == (wanted.shape, wanted.dtype, wanted.strides)
        np.testing.assert_array_equal(found, wanted)
        assert np.may_share_memory(found, wanted) or not found.size
        for view in (found, found[...], found.reshape(-1)):
            assert not view.flags.writeable
            with pytest.raises(ValueError, match="WRITEABLE"):
                view.flags.writeable = True


def switch_to_python(call: Callable[[], Any]) -> Any:
    """The result of a call without machine code."""
    switch.use_python()
    try:
        return call()
    finally:
        switch.use()


def test_memory_that_is_looked_at_is_not_written():
    w = jt.Variable(np.zeros(LARGE))
    small = jt.Variable(np.zeros(3))
    looks = []
    for step in range(6):
        w.assign_add(np.ones(LARGE))
        small.assign_add(np.ones(3))
        looks += [(step + 1, w.numpy()), (step + 1, small.numpy())]
        looks.append((step + 1, (w * 1.0).numpy()))
    assert [np.unique(view).tolist() for _, view in looks] == [[number] for number, _ in looks]


def test_looks_in_tapes_and_at_failed_values():
    x, *_ = data()
    for _ in range(3):
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum(x * x)
            copied = jt.constant(y.numpy())
        with pytest.warns(jt.errors.UnconnectedGradientWarning, match=r"numpy\(\)"):
            assert tape.gradient(copied, x) is None
        failed = jt.gather(x, jt.cast(x, "int64") + 3)
        for _ in range(2):
            with pytest.raises(IndexError, match="gather"):
                failed.numpy()


def test_a_value_that_occurs_twice_in_the_call_that_imports_it():
    """The second operand is the slot to come, also after 300 slots, whose numbers are no shared objects."""
    x, y = jt.constant([1.0, 2.0]), jt.constant([3.0, 4.0])

    def step() -> list[Any]:
        first = x * x
        total = first
        for _ in range(300):
            total = total + 1.0
        return [first, total, jt.concat([y, total, y], 0)]

    for _ in range(3):
        made = step()
        current_trace().step()
    for found, wanted in zip(made, ([1, 4], [301, 304], [3, 4, 301, 304, 3, 4]), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert not {"apply", "_any_operands", "__mul__", "__add__"} & calls_of_python(step)


CALLS_OF_NUMPY: list[Callable[[Any, Any], Any]] = [
    lambda x, m: np.sum(x),
    lambda x, m: np.sum(x, 0),
    lambda x, m: np.sum(m, axis=(0, 1), keepdims=True),
    lambda x, m: np.mean(m, axis=-1),
    lambda x, m: np.reshape(m, (1, 2, -1)),
    lambda x, m: np.dot(m, x),
    lambda x, m: np.linalg.norm(m, axis=1),
    lambda x, m: np.where(m > 0, m, x),
    lambda x, m: np.transpose(m, (1, 0)),
    lambda x, m: np.linalg.norm(m, "fro"),
    lambda x, m: np.sort(m, axis=None),
    lambda x, m: np.concatenate([m, m], axis=1),
    lambda x, m: np.concatenate((m, m), axis=None),
    lambda x, m: np.stack([x, x * 2.0, x], -1),
    lambda x, m: np.stack((x,)),
    lambda x, m: np.hstack([x, x]),
    lambda x, m: np.vstack((m, x)),
    lambda x, m: np.dstack([m, m]),
    lambda x, m: np.column_stack([x, m.T]),
]


def recorded(call: Callable[[], Any]) -> Any:
    """Return the node and the inputs to which a call leads from the same place in the trie."""
    current_trace().step()
    call()
    trace = current_trace()
    assert trace.node is not UNPLACED
    return trace.node, [x if isinstance(x, float | int) else id(x) for x in trace.inputs]


@pytest.mark.parametrize("dtype", ["float64", "bool"])
def test_ufuncs_lead_to_the_node_of_python(dtype: str):
    x, y = jt.constant(np.array([1, 0, 1], dtype)), jt.constant(np.array([1, 1, 0], dtype))
    cases = [(x,), (x, y), (x, 2), (x, 0.5), (2, y), (True, y), (x, [1, 2, 3])]
    for ufunc, operands in product(UFUNC_BODIES, cases):
        if len(operands) != ufunc.nin:
            continue
        try:
            switch.use_python()
            wanted = [recorded(partial(ufunc, *operands)) for _ in range(2)][1]
        except (TypeError, ValueError) as error:
            switch.use()
            with pytest.raises(type(error)):
                ufunc(*operands)
            continue
        switch.use()
        found = recorded(partial(ufunc, *operands))
        assert found[0] is wanted[0]
        if not isinstance(operands[-1], list):  # each call converts a list to a new array
            assert found[1] == wanted[1]


@pytest.mark.parametrize("call", CALLS_OF_NUMPY)
def test_functions_of_numpy_lead_to_the_node_of_python(call: Callable[[Any, Any], Any]):
    x, m = jt.constant(np.arange(3.0)), jt.constant(np.arange(6.0).reshape(2, 3))
    switch.use_python()
    wanted = [recorded(lambda: call(x, m)) for _ in range(2)][1]
    switch.use()
    found = recorded(lambda: call(x, m))
    assert found == wanted
    wanted = call(x.numpy(), m.numpy())
    np.testing.assert_array_equal(call(x, m), wanted)
    assert call(x, m).dtype == np.asarray(wanted).dtype
    assert "array_function" not in calls_of_python(lambda: call(x, m))


def test_calls_of_numpy_that_python_records():
    x, m = jt.constant(np.arange(3.0)), jt.constant(np.arange(6.0).reshape(2, 3))
    v = jt.Variable(np.zeros(3))
    for _ in range(3):
        assert np.sum(m, axis=1).shape == (2,)
        assert np.reshape(m, 6).shape == (6,)
        with pytest.raises(TypeError, match="axis"):
            np.sum(m, axis=True)  # equal to 1 as a key
        with pytest.raises(TypeError, match="axis"):
            np.sum(m, axis=1.0)
        with pytest.raises(TypeError, match=r"out="):
            np.add(x, x, out=np.zeros(3))
        assert np.add(x, 1.0, out=v) is v
        assert np.add.reduce(x).numpy() == 3
        assert np.concatenate([x, np.ones(3)]).shape == np.hstack([x, [1.0, 2.0, 3.0]]).shape == (6,)
        assert np.concatenate([x, x], dtype=np.float32).dtype == jt.float32
        assert np.stack([v, x]).shape == np.concatenate([m]).shape == (2, 3)
        with pytest.raises(TypeError, match="axis"):
            np.concatenate([x, x], axis=False)
        with pytest.raises(ValueError, match=r"\[np.stack\]"):
            np.stack([x, m])
        assert np.dot(2.0, x).numpy().tolist() == [0, 2, 4]
        assert np.add(x, np.ones(3), dtype=np.float32).dtype == jt.float32
        assert np.less(jt.constant(np.arange(3)), 10**400).numpy().all()
        with pytest.raises(ValueError, match=r"\[np.add\] shapes"):
            np.add(x, jt.constant(np.ones(4)))
        with pytest.raises(TypeError):
            type(x).__array_ufunc__(x)
        with pytest.raises(TypeError):
            type(x).__array_function__(x, np.sum, ())
        assert type(x).__array_ufunc__(x, np.exp, "reduce".replace("reduce", "__call__"), x).shape == (3,)


INT32 = np.array([1], np.int32)  # Python checks the range of such an index
KEYS: list[Any] = [
    *(0, -1, 2, (1, -2), (0, 1, 2), (slice(None), 1), (..., -1), None, (None, 1), ...),
    *(slice(1, 3), slice(-2, None), slice(None, 1), slice(None), slice(2, 2), slice(5), slice(-9, 1)),
    *(slice(None, None, -1), slice(0, 3, 2), (slice(1, 2), slice(None, None, 2)), (1, slice(1, None), None)),
    *(np.array([0, -1, 2]), np.array([[0], [1]]), INT32, jt.constant([2, 0])),
    *((jt.constant([0, 1]), 1), (slice(1, 3), jt.constant([1, 0])), (jt.constant(1), None, jt.constant([0]))),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_keys_lead_to_the_node_of_python(key: Any):
    array = np.arange(24.0).reshape(3, 2, 4)
    x, v = jt.constant(array), jt.Variable(array)
    plain = jt.nest.map_structure(lambda k: k.numpy() if jt.is_tensor(k) else k, key)
    for value in (x, v):
        pick = partial(getitem, value, key)
        switch.use_python()
        wanted = [recorded(pick) for _ in range(2)][1]
        switch.use()
        found = recorded(pick)
        assert found[0] is wanted[0]
        if not isinstance(key, np.ndarray):  # each call copies an array
            assert found[1] == wanted[1]
        np.testing.assert_array_equal(value[key].numpy(), array[plain])
        if key is not INT32:
            assert "__getitem__" not in calls_of_python(partial(recorded, pick))
    v[key].assign(v[key] + 1.0)
    array[plain] += 1.0
    np.testing.assert_array_equal(v.numpy(), array)


def test_keys_that_python_refuses_or_records():
    x = jt.constant(np.arange(5.0))
    _ = x[0], x[np.array([0, 1])]
    for key in (5, -6, np.array([0, 5]), np.array([-6, 1]), (0, 0), np.array([0.5]), "a", slice(0.5), 10**40):
        for _ in range(3):
            with pytest.raises((IndexError, TypeError)):
                x[key]
    for _ in range(3):
        assert x[True].shape == (1, 5)  # equal to 1 as a key
        assert x[10**40 :].shape == x[jt.constant(5) : 5].shape == (0,)
        assert (
            x[np.arange(5) > 2].numpy().tolist()
            == x[jt.constant(np.arange(5) > 2)].numpy().tolist()
            == [3, 4]
        )
        assert x[np.int64(1) : np.int64(3)].numpy().tolist() == [1, 2]
        with pytest.raises(IndexError):
            jt.constant(1.0)[0]
    many = jt.constant(np.zeros((1,) * 10))
    for _ in range(3):
        assert many[(0,) * 10].shape == ()


def test_arrays_and_numbers_of_numpy_lead_to_the_node_of_python():
    x = jt.constant(np.arange(3.0))
    writeable, frozen = np.ones(3), np.ones(3)
    frozen.flags.writeable = False
    others = [
        writeable,
        frozen,
        np.ones((2, 3), np.float32),
        np.arange(6)[::2],
        np.float64(2.5),
        np.float32(2),
    ]
    for other, call in product(others, (add, lambda a, b: b * a, np.maximum, lambda a, b: np.minimum(b, a))):
        switch.use_python()
        wanted = [recorded(partial(call, x, other)) for _ in range(2)][1]
        switch.use()
        found = recorded(partial(call, x, other))
        assert found[0] is wanted[0]
        assert [type(a) for a in found[1]] == [type(a) for a in wanted[1]]
        np.testing.assert_array_equal(call(x, other).numpy(), call(x.numpy(), other))
    for _ in range(3):
        kept = x + writeable
        writeable += 1.0  # the op has copied the values
        assert kept.numpy().tolist() == (x + writeable - 1.0).numpy().tolist()
    for array in (writeable, frozen):
        assert "apply" not in calls_of_python(partial(recorded, partial(add, x, array)))


def test_constants_from_arrays_are_made_without_python():
    values = np.arange(3.0)
    frozen = values.view()
    frozen.flags.writeable = False
    switch.use_python()
    wanted = jt.constant(values)
    switch.use()
    for array in (values, frozen):
        made = jt.constant(array)
        values[0] = 5.0
        np.testing.assert_array_equal(made, [0.0, 1.0, 2.0])
        values[0] = 0.0
        assert made.aval == wanted.aval
        assert "tensor_of_array" not in calls_of_python(lambda array=array: jt.constant(array))
    large = np.zeros(1 << 13)
    large.flags.writeable = False
    assert np.shares_memory(jt.constant(large), large)
    assert jt.constant(np.array([1, 2], ">i4")).dtype == np.int32
    with pytest.raises(TypeError, match=r"\[constant\] value: Cannot convert an array of dtype"):
        jt.constant(np.array(["a"]))


def test_calls_with_several_results():
    call = partial(np.modf, jt.constant(np.array([1.5, -2.25])))
    for _ in range(3):
        part, whole = call()
        assert [part.numpy().tolist(), whole.numpy().tolist()] == [[0.5, -0.25], [1.0, -2.0]]
    assert recorded(call)[0].results is not None
    assert not {"apply", "_advance", "tensors_at"} & calls_of_python(partial(recorded, call))


# ---- what is left to Python ------------------------------------------------------------------------------------------


def test_calls_by_name_and_wrong_calls():
    x, _, w, _ = data()
    for _ in range(3):
        assert w.assign_sub(delta=np.ones(5), name="update") is w
        assert w.assign_add(np.ones(5), read_value=False) is w
    assert w.numpy().tolist() == [1.0] * 5
    with pytest.raises(TypeError, match=r"assign_sub\(\) missing 1 required positional argument: 'delta'"):
        w.assign_sub()
    with pytest.raises(TypeError, match="unexpected keyword argument 'step'"):
        w.assign_sub(1.0, step=2)
    trace = current_trace()
    (pending,) = [trace.apply(arrays=(x, 1.0), body=native_methods._OPS["add"])]
    assert pending.numpy().tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(TypeError, match="missing"):
        trace.apply()


@pytest.mark.parametrize("seen", [False, True], ids=["new", "known"])
def test_errors_name_what_the_user_has_called(seen: bool):
    x, _, w, b = data()
    for _ in range(3 if seen else 1):
        with pytest.raises(ValueError, match=r"\[multiply\] shapes \(5,\) and \(3,\)"):
            x * jt.constant(np.ones(3))
        with pytest.raises(TypeError, match=r"\[subtract\]"):
            jt.constant([True]) - jt.constant([False])
        with pytest.raises(ValueError, match="Cannot assign value to variable 'Variable:0': Shape mismatch"):
            b.assign_add(x)
    before = current_trace().node
    with pytest.raises(TypeError, match="no parameter can be of type"):
        current_trace().apply(native_methods._OPS["add"], (x, 1.0), ([1],))
    assert current_trace().node is before
    assert (w + x).numpy().tolist() == [1, 2, 3, 4, 5]


def test_objects_that_were_never_made():
    for half in (jt.Variable.__new__(jt.Variable), jt.Tensor.__new__(jt.Tensor)):
        for _ in range(2):
            with pytest.raises(AttributeError):
                half + 1.0
            with pytest.raises(AttributeError):
                data()[2].assign_add(half)


def test_operands_of_all_kinds():
    x, *_ = data()
    for other in (np.ones(5), [1.0] * 5, np.float64(1), True, 1, 1.0, jt.constant(np.ones(5))):
        for _ in range(3):
            assert (x + other).numpy().tolist() == (other + x).numpy().tolist() == [1, 2, 3, 4, 5]
    for _ in range(3):
        assert (x * x).numpy().tolist() == [0, 1, 4, 9, 16]
        assert jt.add_n([x] * 12).numpy().tolist() == [0, 12, 24, 36, 48]
        with pytest.raises(TypeError):
            x + None
        with pytest.raises(TypeError):
            x + object()


def test_a_number_that_does_not_fit():
    for _ in range(3):
        small = jt.constant(np.ones(3, np.int8))
        assert (small + 1).numpy().tolist() == [2, 2, 2]
        with pytest.raises(OverflowError, match="1000 does not fit int8"):
            small + 1000


def test_an_interrupted_limit(monkeypatch: pytest.MonkeyPatch):
    """The run that many pending ops bring about fails: the error comes out, and recording goes on."""
    x, y, *_ = data()

    def add(y: jt.Tensor) -> jt.Tensor:  # one line of the source is one path
        for _ in range(5):
            y = y + x
        return y

    for _ in range(3):
        y = add(y)
    current_trace().step()
    jt.config.max_pending_ops = 3

    def failing(self: Trace) -> None:
        raise RuntimeError("relieved")

    monkeypatch.setitem(native_methods.METHODS.known, "Trace._flush_over_limit", failing)
    number = list(native_methods.METHODS.known).index("Trace._flush_over_limit")
    before = native_methods.METHODS.objects[number]
    native_methods.METHODS.objects[number] = id(failing)
    try:
        with pytest.raises(RuntimeError, match="relieved"):
            add(y)
    finally:
        native_methods.METHODS.objects[number] = before
    assert (x + 1).numpy().tolist() == [1, 2, 3, 4, 5]


def test_many_pending_ops_run():
    jt.config.max_pending_ops = 10
    x, *_ = data()
    y = x
    before = counters.flushes
    for _ in range(100):
        y = y + x
    assert 8 <= counters.flushes - before <= 12
    assert y.numpy().tolist() == [0, 101, 202, 303, 404]


def test_limits_without_measure(monkeypatch: pytest.MonkeyPatch):
    """They need not fit a register."""
    monkeypatch.setattr(jt.config, "_max_pending_bytes", 10**30)
    jt.config.max_pending_ops = 10**30
    x, y, *_ = data()
    for _ in range(4):
        current_trace().step()
        assert (x + y + 1.0 - x).numpy().tolist() == (1 + y.numpy()).tolist()


def test_many_pending_bytes_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jt.config, "_max_pending_bytes", 1000)
    for _ in range(4):
        current_trace().step()
        y = jt.constant(np.zeros(50))
        before = counters.flushes
        for _ in range(4):
            y = y + jt.constant(np.ones(50))
        assert counters.flushes > before
        assert y.numpy()[0] == 4


def test_a_large_variable_is_updated_in_place():
    big = jt.Variable(np.zeros(LARGE // 8))
    one = jt.constant(np.ones(LARGE // 8))
    places = []
    for _ in range(6):
        with jt.GradientTape():
            pass
        big.assign_add(one)
        big._computed()
        places.append(big._buffer.address)
    assert len(set(places[2:])) == 1
    assert big.numpy()[0] == 6


def test_keys_that_record():
    """Comparing keys runs code of the user's, here one that records: nothing is lost or taken twice."""
    x, *_ = data()

    class Key:
        record = False

        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            if Key.record:
                Key.record = False
                x + 10.0
            return True

    def body(a: Any, key: Any) -> Any:
        return jt.negative(a)

    for record in (False, False, True, True):
        Key.record = record
        with jt.GradientTape():
            y = current_trace().apply(body, (x,), (Key(),))
        assert y.numpy().tolist() == [0, -1, -2, -3, -4]


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_ten_thousand_steps_hold_nothing():
    x, y, w, b = data()
    rate, few, rows = float("0.05"), np.ones(5), np.array([0, 2, -1])
    path: list[Node] = []

    def step() -> Any:
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(w * x + b - y / 2.0))
        dw, db = tape.gradient(loss, [w, b])
        w.assign_sub(rate * -dw)
        b.assign_add(rate * db)
        w.assign(w * 0.5 + b)
        parts = x[1:3], x[-1], x[rows], w[::2], jt.split(y + few * np.float64(2), 5)
        assert len(parts) == 5
        with pytest.raises(ValueError, match="broadcast"):
            w + np.ones(3)
        return loss

    def counts() -> list[int]:
        gc.collect()
        trace = current_trace()
        held = (
            x,
            y,
            w,
            b,
            rate,
            few,
            rows,
            x._buffer,
            x._marker,
            w._marker,
            x._aval,
            trace,
            trace.node,
            *native_methods._OPS.values(),
        )
        held += tuple(path)
        kinds = (jt.Tensor, jt.Variable, Trace, tuple)
        return [*map(sys.getrefcount, held), *map(sys.getrefcount, kinds), len(gc.get_objects())]

    for _ in range(200):
        step()
    node: Node | None = current_trace().node
    while node is not None:
        path.append(node)
        node = node.parent
    current_trace().step()
    before = counts()
    for _ in range(10_000):
        step()
    current_trace().step()
    after = counts()
    assert len(path) > 10
    assert [b - a for a, b in zip(before[:-1], after[:-1], strict=True) if b - a > 20] == []
    assert after[-1] - before[-1] < 200


def test_refused_calls_hold_nothing():
    x, y, w, _ = data()
    trace = current_trace()
    op, few = native_methods._OPS["add"], np.zeros(5)
    _ = w + x + few

    def refused() -> None:
        for arrays in ((x, y, object()), (x, x), (w, 1.5, None), (y, jt.Tensor), (few, np.float64(1), None)):
            with pytest.raises((TypeError, ValueError)):
                trace.apply(op, arrays, ([],))
        for key in (9, (0, "a"), slice(0.5), (few, few), np.array([9])):
            with pytest.raises((TypeError, IndexError)):
                x[key]

    def counts() -> list[int]:
        gc.collect()
        return [*[sys.getrefcount(o) for o in (x, y, w, op, trace, few)], sys.getallocatedblocks()]

    for _ in range(500):
        refused()
    before = counts()
    for _ in range(1000):
        refused()
    *after, blocks = counts()
    assert after == before[:-1]
    assert blocks - before[-1] < 700


def test_values_that_nobody_wants_are_not_computed():
    x, *_ = data()
    for _ in range(3):
        current_trace().step()
        dropped = x + 1.0
        kept = x * 2.0
        pending = current_trace().pending
        assert len(pending) == 2
        del dropped
        assert [t is kept for t in live_among(pending)] == [True]
        del pending
        assert kept.numpy().tolist() == [0, 2, 4, 6, 8]


# ---- threads and processes -------------------------------------------------------------------------------------------


def test_threads_share_constants():
    x, y, *_ = data()
    results: dict[int, float] = {}

    def train(number: int) -> None:
        w = jt.Variable(np.zeros(5))
        for _ in range(300):
            with jt.GradientTape() as tape:
                loss = jt.reduce_mean(jt.square(w * x - y))
            w.assign_sub(0.1 * tape.gradient(loss, w))
        results[number] = float(loss)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=train, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    train(4)
    assert len(results) == 5
    assert len(set(results.values())) == 1


PROGRAM = f"""
import numpy as np, jittape as jt
from jittape.compile.cache.kernel_cache import registry
from jittape.native import switch
from jittape.recording.machine_code.known_paths import UFUNC_BODIES
x, w = jt.constant(np.ones(3)), jt.Variable(np.zeros(3))
used = []
for i in range({LOOP + 5}):
    with jt.GradientTape() as tape:
        y = jt.reduce_sum(w * x)
    w.assign_sub(0.1 * tape.gradient(y, w))
    used.append(switch.is_used())
print(used.index(True), w.numpy()[0].round(6), any("method" in name for name in registry._announced))
"""


def test_a_loop_turns_it_on(tmp_path: Path):
    written = []
    for _ in range(2):  # compiled, then from the disk
        run = run_python("-c", PROGRAM, JITTAPE_CACHE_DIR=str(tmp_path))
        assert run.returncode == 0, run.stderr
        at, value, own = run.stdout.split()
        assert LOOP <= int(at) <= LOOP + 2
        assert float(value) == pytest.approx(-0.1 * (LOOP + 5))
        assert own == "False"
        written.append(sorted(file.name for file in tmp_path.rglob("method_*")))
    assert len(written[0]) == sum(len(made.methods) + len(made.emitters) for made in MODULES)
    assert written[1] == written[0]
    cache_folder.clear(tmp_path)
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


# ---- without it ------------------------------------------------------------------------------------------------------


@pytest.fixture
def nothing_made() -> Iterator[None]:
    switch.use_python()
    for made in (native_methods, native_tapes):
        made.machine_code.cache_clear()
    yield
    for made in (native_methods, native_tapes):
        made.machine_code.cache_clear()


@pytest.mark.usefixtures("nothing_made")
@pytest.mark.parametrize("reason", ["layout", "place", "compiler", "memory"])
def test_python_records_where_there_is_no_machine_code(monkeypatch: pytest.MonkeyPatch, reason: str):
    def fail(*_: Any) -> Any:
        raise {"place": ValueError, "compiler": CompileError, "memory": OSError}[reason]("no")

    if reason == "layout":
        monkeypatch.setattr(method_module, "object_layout", lambda: None)
    elif reason == "place":
        monkeypatch.setattr(method_module, "slot_places", fail)
    else:
        monkeypatch.setattr(method_module.registry, "addresses_of_module", fail)
    switch.use()
    assert not switch.is_used()
    x, _, w, _ = data()
    for _ in range(3):
        assert w.assign_add(x) is w
        assert (w + x).numpy().shape == (5,)


def test_what_a_user_has_put_there_stays(monkeypatch: pytest.MonkeyPatch):
    """Before machine code is loaded, and after."""
    _, _, _, b = data()

    def twice(self: Any, delta: Any) -> Any:
        return self.assign(self + 2 * delta)

    monkeypatch.setattr(jt.Variable, "assign_add", twice)
    switch.use_python()
    switch.use()
    assert vars(jt.Variable)["assign_add"] is twice
    for _ in range(3):
        b.assign_add(jt.constant(np.float64(1)))
    assert float(b) == 6.5


def test_methods_describe_themselves():
    for name in ("assign_add", "assign_sub"):
        machine, python = getattr(jt.Variable, name), native_methods.METHODS.python[f"Variable.{name}"]
        assert machine is not python
        assert [*inspect.signature(machine).parameters] == [*inspect.signature(python).parameters]
        assert machine.__doc__ == inspect.getdoc(python)
        assert machine.__name__ == name
        assert machine.__qualname__ == f"Variable.{name}"


def test_back_to_python():
    assert vars(Trace)["apply"] is not native_methods.METHODS.python["Trace.apply"]
    switch.use_python()
    assert not switch.is_used()
    for made in MODULES:
        for method in made.methods:
            found = vars(method.owner)[method.name]
            assert getattr(found, "fget", found) is made.python[method.label]


def test_a_step_begins_on_an_unused_trace_and_a_trace_ends_with_its_last_tape():
    x = jt.constant(np.arange(3.0))
    trace = current_trace().step()
    assert trace.step() is trace
    kept = x * 2.0
    assert trace.step() is not trace
    assert kept.numpy().tolist() == [0.0, 2.0, 4.0]
    with jt.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with jt.GradientTape() as inner:
            inner.watch(x)
            y = x * x
        trace = current_trace()
        assert trace.holders == 2
        slope = inner.gradient(y, x)
        assert trace.holders == 1
    current_trace().step()
    assert outer.gradient(slope, x).numpy().tolist() == [2.0, 2.0, 2.0]
    node = trace.node
    del outer, inner
    float(jt.reduce_sum(x))
    assert trace.holders == 0
    assert trace.node is not node


def test_equal_parameters_of_calls_are_one_tuple():
    def shared(static: tuple[Any, ...]) -> tuple[Any, ...]:
        return shared_parameters(static, types_of(static))

    first = shared((1, "same", (0.5, None)))
    assert shared((1, "same", (0.5, None))) is first
    others = [(True, "same", (0.5, None)), (1.0, "same", (0.5, None)), (1, "same", (-0.0, None))]
    kept = [shared(other) for other in others]
    assert [repr(one) for one in kept] == [repr(other) for other in others]
    assert repr(shared((1, "same", (0.0, None)))) == "(1, 'same', (0.0, None))"
    m = jt.constant(np.ones((4, 6)))
    keys = []
    for _ in range(2):
        total = m.sum(axis=0) + jt.reduce_sum(m, axis=0)
        node = current_trace().node
        while node.parent is not None:
            keys += [key for key, child in node.parent.children.items() if child is node and key[1]]
            node = node.parent
        total.numpy()
    assert len(keys) > 2
    assert all(shared(key[1]) is key[1] for key in keys)
