"""Functions of `jittape` whose calls machine code records: the same as in Python, without Python on known paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.native import switch
from jittape.recording.machine_code.path_tables import METHOD_PLANS
from jittape.recording.machine_code.planned_functions import FUNCTIONS, take_loaded_functions
from jittape.recording.trace import current_trace
from test_native_recording import calls_of_python

M, S, V = np.arange(12.0).reshape(3, 4) + 1, np.eye(3) * 4 + np.ones((3, 3)), np.array([0.25, 0.5, 0.75])
N = np.array([[1, 2, 3], [4, 5, 6]])


@pytest.fixture(autouse=True)
def machine_code() -> Iterator[None]:
    before = switch.is_used()
    current_trace().flush()
    switch.use()
    for module in FUNCTIONS:
        import_module(f"jittape.primitives.{module}")
    take_loaded_functions()
    yield
    if not before:
        switch.use_python()


def function_of(module: str, name: str) -> Any:
    return getattr(import_module(f"jittape.primitives.{module}"), name)


ALL = [
    (module, name)
    for module, kinds in FUNCTIONS.items()
    for names in kinds.values()
    for name in names.split()
]
UNUSUAL: dict[str, Callable[[Any, Any, Any, Any], tuple[Any, ...]]] = {
    "add_n": lambda f, v, s, n: f([v, v, v]),
    "argsort": lambda f, v, s, n: f(s, 0, direction="DESCENDING"),
    "band_part": lambda f, v, s, n: f(s, 0, -1),
    "bias_add": lambda f, v, s, n: f(s, v),
    "bitwise_and": lambda f, v, s, n: f(n, 3),
    "bitwise_or": lambda f, v, s, n: f(n, n),
    "bitwise_xor": lambda f, v, s, n: f(n, N),
    "broadcast_to": lambda f, v, s, n: f(v, [2, 3]),
    "cast": lambda f, v, s, n: f(v, "int32"),
    "cholesky": lambda f, v, s, n: f(s),
    "cholesky_solve": lambda f, v, s, n: f(s, s),
    "clip_by_value": lambda f, v, s, n: f(v, 0.3, 0.6),
    "concat": lambda f, v, s, n: f([s, s], axis=1),
    "cross": lambda f, v, s, n: f(v, v),
    "det": lambda f, v, s, n: f(s),
    "diag_part": lambda f, v, s, n: f(s),
    "einsum": lambda f, v, s, n: f("ij,j->i", s, v),
    "expand_dims": lambda f, v, s, n: f(v, 0),
    "fill": lambda f, v, s, n: f((2, 3), v[0]),
    "gather": lambda f, v, s, n: f(s, n[0] // 2, axis=1),
    "gather_nd": lambda f, v, s, n: f(s, n[:1, :2]),
    "inv": lambda f, v, s, n: f(s),
    "invert": lambda f, v, s, n: f(n),
    "left_shift": lambda f, v, s, n: f(n, 2),
    "logdet": lambda f, v, s, n: f(s),
    "logical_and": lambda f, v, s, n: f(v > 0.3, v < 0.6),
    "logical_not": lambda f, v, s, n: f(v > 0.3),
    "logical_or": lambda f, v, s, n: f(v > 0.3, v < 0.6),
    "logical_xor": lambda f, v, s, n: f(v > 0.3, v < 0.6),
    "matmul": lambda f, v, s, n: f(s, s, transpose_a=True),
    "matrix_transpose": lambda f, v, s, n: f(s),
    "matvec": lambda f, v, s, n: f(s, v),
    "pad": lambda f, v, s, n: f(s, [[1, 0], (0, 2)]),
    "pow": lambda f, v, s, n: f(v, 2),
    "reduce_all": lambda f, v, s, n: f(s > 4.5, axis=(0, 1)),
    "reduce_any": lambda f, v, s, n: f(s > 4.5, 0, True),
    "repeat": lambda f, v, s, n: f(v, 2),
    "reshape": lambda f, v, s, n: f(s, [-1]),
    "reverse": lambda f, v, s, n: f(s, axis=[0, 1]),
    "right_shift": lambda f, v, s, n: f(n, 1),
    "roll": lambda f, v, s, n: f(s, (1, 2), (0, 1)),
    "set_diag": lambda f, v, s, n: f(s, v),
    "sigmoid_cross_entropy_with_logits": lambda f, v, s, n: f(labels=v, logits=v),
    "slice_": lambda f, v, s, n: f(s, [0, 1], [2, 1]),
    "softmax_cross_entropy_with_logits": lambda f, v, s, n: f(v, v),
    "solve": lambda f, v, s, n: f(s, s),
    "sparse_softmax_cross_entropy_with_logits": lambda f, v, s, n: f(labels=n[0] // 3, logits=s),
    "split": lambda f, v, s, n: f(v, [1, 2]),
    "stack": lambda f, v, s, n: f((v, v), axis=-1),
    "tensordot": lambda f, v, s, n: f(s, s, [[0], [1]]),
    "tile": lambda f, v, s, n: f(s, [1, 2]),
    "top_k": lambda f, v, s, n: f(v, 2),
    "trace": lambda f, v, s, n: f(s),
    "triangular_solve": lambda f, v, s, n: f(s, s, lower=False),
    "where": lambda f, v, s, n: f(v > 0.3, v, 0),
}
"""Calls of functions that take another number of operands, or other ones, than a vector or two."""
OF_TWO = frozenset(
    [
        "add",
        "atan2",
        "complex",
        "divide",
        "divide_no_nan",
        "equal",
        "floor_divide",
        "greater",
        "greater_equal",
        "less",
        "less_equal",
        "maximum",
        "minimum",
        "mod",
        "multiply",
        "multiply_no_nan",
        "not_equal",
        "squared_difference",
        "subtract",
        "xdivy",
        "xlog1py",
        "xlogy",
    ]
)


def call_of(module: str, name: str) -> Callable[..., Any]:
    function = function_of(module, name)
    if name in UNUSUAL:
        return lambda v, s, n: UNUSUAL[name](function, v, s, n)
    return (lambda v, s, n: function(v, v)) if name in OF_TWO else (lambda v, s, n: function(v))


@pytest.mark.parametrize(("module", "name"), ALL, ids=[name for _, name in ALL])
def test_known_paths_are_those_of_python_and_run_no_python(module: str, name: str):
    call = call_of(module, name)
    operands = [jt.constant(a) for a in (V, S, N)]
    nodes, kinds = [], []

    def step() -> None:
        with jt.GradientTape():
            kinds.append(type(call(*operands)))
            nodes.append(current_trace().node)

    switch.use_python()
    step()
    switch.use()
    for _ in range(2):
        step()
    before = len(METHOD_PLANS)
    seen = calls_of_python(step)
    assert len(METHOD_PLANS) == before
    assert name == "top_k" or not seen & {"_record", "apply"}  # the results of top_k are a named tuple
    assert all(node is nodes[0] for node in nodes)
    assert len(set(kinds)) == 1


def record(function: Callable[..., Any], *args: Any) -> Any:
    with jt.GradientTape():
        return function(*args)


def test_lists_and_arrays_are_read_at_each_call():
    m, v = jt.constant(M), jt.constant(V)
    shape, values, axes = [4, 3], V.copy(), [0]
    for i in range(12):
        shape[:] = [(4, 3), (2, 6), (12,)][i % 3]
        values += 1
        axes[:] = [i % 2]
        assert record(jt.reshape, m, shape).shape == tuple(shape)
        np.testing.assert_array_equal(record(jt.add, v, values), V + values)
        np.testing.assert_array_equal(record(jt.reduce_sum, m, axes), M.sum(axes[0]))
        kept = record(jt.multiply, values, v)
        before = values.copy()
        values[:] = -1  # the call has copied them
        np.testing.assert_array_equal(kept, before * V)
        values[:] = before


def test_arrays_are_converted_at_each_call():
    values = V.copy()
    for i in range(12):
        values[:] = V * i
        tensor = record(jt.convert_to_tensor, values)
        values[:] = -1
        np.testing.assert_array_equal(tensor, V * i)
    with pytest.raises(TypeError, match="dtype object"):
        jt.convert_to_tensor(np.array([None]))


def test_constants_like_a_tensor_have_no_gradient():
    x = jt.constant(V)
    for _ in range(4):
        with jt.GradientTape(persistent=True) as tape:
            tape.watch(x)
            ones = jt.ones_like(x)
            total = jt.reduce_sum(ones * x + jt.zeros_like(x, dtype="float32"))
        assert tape.gradient(total, x).numpy().tolist() == [1.0] * 3
        with pytest.warns(jt.errors.UnconnectedGradientWarning):
            assert tape.gradient(ones, x) is None


def test_rows_of_lists_and_arrays_are_checked_and_not_kept():
    m, v = jt.constant(M), jt.Variable(M)
    places, array = [0, 0], np.zeros(2, np.int64)

    def gather(x: Any, indices: Any) -> Any:
        return record(jt.gather, x, indices)

    for i in range(12):
        places[:] = array[:] = i % 3, -1 - i % 2
        wanted = M[places]
        found = [gather(x, indices) for x in (m, v) for indices in (places, array)]
        places[:] = array[:] = 0, 0  # the calls have copied them
        for rows in found:
            np.testing.assert_array_equal(rows, wanted)
        for bad in ([0, 3], [-4, 0], np.array([0, 3]), [0, 2**70]):
            with pytest.raises((IndexError, OverflowError)):
                gather(m, bad)
        for wrong in ([0, 1.0], np.array([0.0, 1.0])):
            with pytest.raises(TypeError):
                gather(m, wrong)
        np.testing.assert_array_equal(gather(m, [False, True]), M[:2])
        np.testing.assert_array_equal(record(jt.gather, m, [3, 0], None, 1), M[:, [3, 0]])
    assert "shape" not in calls_of_python(lambda: gather(m, [0, 1]))  # which the function asks for


def test_other_operands_and_parameters_take_their_own_paths():
    for i in range(4):
        for dtype in ("float64", "float32", "int64"):
            for shape in ((3, 4), (2, 6)):
                a = M.reshape(shape).astype(dtype)
                x = jt.constant(a)
                np.testing.assert_array_equal(record(jt.reduce_sum, x, 1, True), a.sum(1, keepdims=True))
                np.testing.assert_array_equal(record(jt.reduce_sum, x, i % 2), a.sum(i % 2))
                found = record(jt.multiply, x, i)
                assert found.dtype == a.dtype
                np.testing.assert_array_equal(found, a * i)


def test_a_bool_is_no_axis():
    m = jt.constant(M)
    for _ in range(3):
        assert record(jt.reduce_sum, m, 0, True).shape == (1, 4)
        assert record(jt.reduce_sum, m, 0, False).shape == (4,)
        assert record(jt.argmax, m, 1).shape == (3,)
        with pytest.raises(TypeError):
            record(jt.argmax, m, True)


def test_errors_are_those_of_python():
    m = jt.constant(M)
    for bad, message in (
        (lambda: jt.reduce_sum(m, 7), r"\[reduce_sum\].*axis"),
        (lambda: jt.reshape(m, [5, 5]), r"\[reshape\]"),
        (lambda: jt.reduce_sum(m, no_such=1), "no_such"),
        (lambda: jt.reduce_sum(), "missing"),
        (lambda: jt.gather(m, [0, 9]), r"\[gather\]"),
        (lambda: jt.gather(m, np.array([0, 9])), r"\[gather\]"),
        (lambda: jt.stack([m, jt.constant(V)]), r"\[stack\]"),
    ):
        for _ in range(3):
            with pytest.raises((TypeError, ValueError, IndexError), match=message):
                record(bad)  # type: ignore[arg-type]


def test_indices_that_change_make_no_plans():
    m = jt.constant(M)
    for _ in range(3):  # Python records the first calls, the next one makes the plan of all lists
        record(jt.gather, m, [0, 1])
    before = len(METHOD_PLANS)
    for i in range(50):
        np.testing.assert_array_equal(record(jt.gather, m, [i % 3, i % 2]), M[[i % 3, i % 2]])
        np.testing.assert_array_equal(record(jt.multiply, m, i), M * i)
    assert len(METHOD_PLANS) <= before + 1


def test_subclasses_are_left_to_python():
    class Own(np.ndarray):
        """An ndarray of the user's."""

    x = jt.constant(V)
    own = V.view(Own)
    for _ in range(3):
        np.testing.assert_array_equal(record(jt.add, x, own), V + V)


def test_gradients_are_those_of_python():
    x = jt.constant(S)
    found = []
    for machine in (False, True, True, True):
        (switch.use if machine else switch.use_python)()
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum(jt.matmul(jt.stack([x, x * 2.0])[1], jt.reshape(x, [3, 3]), transpose_b=True))
            first, second = jt.split(jt.exp(y * 1e-3) * jt.reduce_mean(x, axis=0), [1, 2])
            z = jt.reduce_sum(first) + jt.reduce_max(second)
        found.append(tape.gradient(z, x).numpy())
    for gradient in found[1:]:
        np.testing.assert_array_equal(gradient, found[0])


def test_python_takes_over_again():
    m = jt.constant(M)
    switch.use_python()
    seen = calls_of_python(lambda: record(jt.reduce_sum, m))
    assert "apply" in seen
