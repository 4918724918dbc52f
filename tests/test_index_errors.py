"""Indices out of range in compiled code: the interpreter raises the error, and all state is restored."""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import jittape as jt
from jittape.compile.kernels.control.control_driver import ControlDriver, Release, Stop
from jittape.runtime.counters import counters
from jittape.runtime.executable import CompiledExecutable
from programs import program_of

Array = np.ndarray[Any, Any]

LARGE = (4000, 32)
"""So many numbers that a Variable of this shape is updated in place."""


def normal(*shape: int) -> Array:
    return np.random.default_rng(1).normal(size=shape)


def fails(call: Callable[[], Any], index: int, size: int, op: str = "gather") -> None:
    """Require that a call raises the interpreter's error, with the line where the op was recorded."""
    with pytest.raises(IndexError) as raised:
        call()
    assert str(raised.value) == f"[{op}] index {index} is out of bounds for axis 0 with size {size}"
    where = raised.value.__notes__[0]
    assert where.startswith("in op ")
    assert "test_index_errors.py:" in where


def step_of(table: jt.Variable, optimizer: Any) -> Callable[[Any, Any], Any]:
    def step(words: Any, scale: Any) -> Any:
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(jt.gather(table, words) * scale - 1.0))
        gradients = tape.gradient(loss, [table])
        if optimizer is None:
            table.assign_sub(0.1 * gradients[0])
        else:
            optimizer.apply_gradients(zip(gradients, [table], strict=True))
        return loss

    return step


@pytest.mark.parametrize("shape", [(20, 3), LARGE])
@pytest.mark.parametrize("adam", [False, True])
@pytest.mark.parametrize("function", [False, True])
def test_a_failed_step_changes_nothing(shape: Any, adam: bool, function: bool) -> None:
    table = jt.Variable(normal(*shape))
    optimizer = jt.optimizers.Adam(0.01) if adam else None
    step = step_of(table, optimizer)
    run: Callable[[Any, Any], Any] = jt.function(step) if function else step
    good = jt.constant(np.array([0, 3, -1, 3]))
    for _ in range(4):
        float(run(good, 1.5))
    variables = [table, *(optimizer.variables if optimizer else [])]
    before = [v.numpy().copy() for v in variables]
    for bad in (shape[0], -shape[0] - 1):
        fails(lambda bad=bad: float(run(jt.constant(np.array([0, bad, 1, 1])), 1.5)), bad, shape[0])
        for variable, value in zip(variables, before, strict=True):
            np.testing.assert_array_equal(variable.numpy(), value)
    float(run(good, 1.5))
    assert not np.array_equal(table.numpy(), before[0])


@pytest.mark.parametrize("function", [False, True])
def test_a_step_with_a_label_that_is_no_class_changes_nothing(function: bool) -> None:
    w, x = jt.Variable(normal(4, 3)), normal(5, 4)
    optimizer = jt.optimizers.Adam(0.01)

    def step(labels: Any) -> Any:
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.nn.sparse_softmax_cross_entropy_with_logits(labels, x @ w))
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss

    run: Callable[[Any], Any] = jt.function(step) if function else step
    good = jt.constant(np.array([0, 1, 2, 0, 1]))
    for _ in range(4):
        float(run(good))
    before = [v.numpy().copy() for v in (w, *optimizer.variables)]
    for bad in (-1, 3):
        with pytest.raises(
            IndexError, match=rf"label {bad} at index \(3,\) is not a class: .* 0 to 2"
        ) as raised:
            float(run(jt.constant(np.array([0, 1, 2, bad, 9]))))
        assert "test_index_errors.py:" in raised.value.__notes__[0]
        for variable, value in zip((w, *optimizer.variables), before, strict=True):
            np.testing.assert_array_equal(variable.numpy(), value)
    float(run(good))
    assert not np.array_equal(w.numpy(), before[0])


def test_large_variables_are_updated_in_place_after_the_check() -> None:
    table = jt.Variable(normal(*LARGE))
    step = jt.function(step_of(table, jt.optimizers.Adam(0.01)))
    step(np.array([0, 3, -1, 3]), 1.5)
    schedule = counters.last.compiled.schedule
    assert len(schedule.in_place) == 3
    last = max(i for i, s in enumerate(schedule.steps) if isinstance(s.kernel, Stop))
    owners = [result + len(schedule.program.inputs) for _, result, _ in schedule.in_place]
    assert all(not set(owners) & set(s.storages) for s in schedule.steps[: last + 1])


def test_what_does_not_depend_on_it_is_kept() -> None:
    x = jt.constant(normal(5))
    for i in (0, 1, 2, 7):
        doubled, picked = x * 2.0, jt.gather(x, jt.constant(np.array([i, 0])))
        if i < 5:
            assert picked.numpy()[0] == x.numpy()[i]
        else:
            fails(picked.numpy, 7, 5)
            fails(picked.numpy, 7, 5)
            np.testing.assert_array_equal(doubled.numpy(), x.numpy() * 2.0)


def test_an_index_that_is_computed_late() -> None:
    v = jt.Variable(normal(*LARGE))

    @jt.function
    def step(x: Any) -> Any:
        v.assign_add(jt.ones(LARGE, jt.float64))
        where = jt.cast(jt.reduce_sum(jt.sin(x)) * 1e6, jt.int64)
        return jt.gather(x, where * 0 + jt.cast(x[0], jt.int64))

    x = np.zeros(9)
    for _ in range(3):
        step(x)
    before = v.numpy().copy()
    step(x)  # nobody has seen the memory that the Variable has now
    x[0] = 9.0
    fails(lambda: step(x), 9, 9)
    np.testing.assert_array_equal(v.numpy(), before + 1.0)


@pytest.mark.parametrize(
    ("op", "call"),
    [
        ("scatter_nd", lambda x, i: jt.scatter_nd(i[:, None], x[:2], [5])),
        ("tensor_scatter_nd_update", lambda x, i: jt.tensor_scatter_nd_update(x, i[:, None], x[:2])),
        ("tensor_scatter_nd_max", lambda x, i: jt.tensor_scatter_nd_max(x, i[:, None], x[:2])),
        ("getitem", lambda x, i: x[i]),
        ("gather", lambda x, i: jt.gather(x, i[1])),
    ],
)
def test_every_op_with_indices(op: str, call: Callable[..., Any]) -> None:
    function = jt.function(call)
    x = normal(5)
    for _ in range(3):
        function(x, np.array([0, -5]))
    fails(lambda: function(x, np.array([0, 5])), 5, 5, op)
    fails(lambda: function(x, np.array([0, -6])), -6, 5, op)


def test_one_among_many() -> None:
    """The loop that checks indices is split into tasks, and their results are combined."""
    function = jt.function(lambda x, i: jt.reduce_sum(jt.gather(x, i)))
    x, i = normal(1000), np.zeros(3_000_000, np.int64)
    for _ in range(3):
        function(x, i)
    kernels = [step.kernel for step in counters.last.compiled.steps]
    assert counters.last.compiled.steps[0].tasks > 1
    assert sum(isinstance(kernel, Stop) for kernel in kernels) == 1
    for place in (0, 1_234_567, 2_999_999):
        i[place] = 1000
        fails(lambda: function(x, i), 1000, 1000)
        i[place] = -1
        function(x, i)


def test_no_element_to_pick_from() -> None:
    function = jt.function(lambda x, i: jt.gather(x, i))
    for _ in range(3):
        fails(lambda: function(np.zeros((0, 2)), np.array([0])), 0, 0)


def test_in_loops_and_branches() -> None:
    x = normal(10, 2)
    scan = jt.function(
        lambda x, i: jt.scan(lambda s, j: s + jt.gather(x, j) * s, i, initializer=jt.ones([2], jt.float64))
    )
    for _ in range(3):
        scan(x, np.array([1, 2, -1, 0]))
    assert isinstance(counters.last.compiled.steps[-1].kernel, ControlDriver)
    fails(lambda: scan(x, np.array([1, 2, 10, 0])), 10, 10)
    branch = jt.function(lambda p, x, i: jt.cond(p, lambda: jt.gather(x, i), lambda: x[0]))
    for _ in range(3):
        branch(np.array(True), x, np.array(1))
    branch(np.array(False), x, np.array(10))
    fails(lambda: branch(np.array(True), x, np.array(10)), 10, 10)


def test_a_loop_of_unknown_length_gives_its_stacks_back() -> None:
    def chase(following: Any, w: Any, enough: Any) -> Any:
        with jt.GradientTape() as tape:
            tape.watch(w)
            _, total = jt.while_loop(
                lambda i, s: jt.reduce_sum(s) < enough,
                lambda i, s: (jt.gather(following, i), s * jt.sin(s) + jt.gather(w, i)),
                (jt.constant(np.array(0)), jt.zeros(8192, jt.float64)),
            )
            loss = jt.reduce_sum(total)
        return tape.gradient(loss, w)

    function = jt.function(chase)
    following, w = np.arange(1, 301), np.full(300, 1e-9)
    for _ in range(3):
        function(following % 300, w, 1e-6)
    kernels = [type(step.kernel) for step in counters.last.compiled.steps]
    assert Release in kernels
    fails(lambda: function(following, w, 1e9), 300, 300)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(15):  # 20 MB each
        with pytest.raises(IndexError):
            function(following, w, 1e9)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000 * (
        1024 if before > 1e8 else 1
    )


def test_mapped_over_a_batch() -> None:
    function = jt.function(lambda x, i: jt.vectorized_map(lambda one: jt.gather(one[0], one[1]), (x, i)))
    x, i = normal(5, 4, 3), np.array([0, 1, 2, 3, -1])
    for _ in range(3):
        got = function(x, i)
    np.testing.assert_array_equal(got.numpy(), x[np.arange(5), i])
    with pytest.raises(
        IndexError, match=r"^\[vectorized_map\] index 4 is out of bounds for axis \d with size 4"
    ):
        function(x, np.array([0, 1, 4, 3, -1]))


def test_kernels_read_and_write_within_arrays_whatever_they_are_given() -> None:
    x, i = normal(4), np.array([2**63 - 1, -(2**63), 4, -5])
    executable = CompiledExecutable(program_of(lambda x, i: jt.gather(x, i), x, i), frozenset())
    texts = [kernel.listing for kernel in executable.kernels]
    assert sum("within" in text for text in texts) == 1
    with pytest.raises(IndexError, match="is out of bounds"):
        jt.function(lambda x, i: jt.gather(x, i))(x, i)


def test_within_the_compiled_code_of_numba() -> None:
    spec = jt.TensorSpec
    native = jt.njit_function(
        lambda x, i: jt.reduce_sum(jt.gather(x, i)), spec([6], jt.float64), spec([3], jt.int64)
    )
    scan = jt.njit_function(
        lambda x, i: jt.scan(lambda s, j: s + jt.gather(x, j), i, initializer=jt.zeros([], jt.float64))[-1],
        spec([6], jt.float64),
        spec([3], jt.int64),
    )

    @numba.njit
    def caught(function, x, i):  # type: ignore[no-untyped-def]
        try:
            return function(x, i)
        except Exception:
            return -1.0

    x = np.arange(6.0)
    for function in (native, scan):
        assert function(x, np.array([1, -1, 2])) == 8.0
        assert caught(function, x, np.array([1, -1, 2])) == 8.0
        for bad in (6, -7):
            assert caught(function, x, np.array([1, bad, 2])) == -1.0
            with pytest.raises(
                IndexError, match=r"<lambda>: an index is out of bounds in .*test_index_errors.py:\d+"
            ):
                function(x, np.array([1, bad, 2]))


def test_complex_numbers_within_the_compiled_code_of_numba() -> None:
    native = jt.njit_function(
        lambda x, i: jt.gather(x, i), jt.TensorSpec([4, 2], jt.complex128), jt.TensorSpec([3], jt.int64)
    )
    x, i = normal(4, 2) * (1 + 2j), np.array([3, -1, 0])
    np.testing.assert_array_equal(native(x, i), x[i])
    with pytest.raises(
        IndexError, match=r"<lambda>: an index is out of bounds in .*test_index_errors.py:\d+"
    ):
        native(x, np.array([0, 4, 0]))
