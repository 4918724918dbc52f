"""Functions of `jittape` whose calls machine code records: the same as in Python, without Python on known paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.native import switch
from jittape.recording.machine_code.method_plans import _planned
from jittape.recording.machine_code.path_tables import FLOAT_OPERAND, METHOD_PLANS, TENSOR_OPERAND
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
    "adjoint": lambda f, v, s, n: f(s),
    "argsort": lambda f, v, s, n: f(s, 0, direction="DESCENDING"),
    "avg_pool1d": lambda f, v, s, n: f(s[None], 2, 1, "VALID"),
    "avg_pool2d": lambda f, v, s, n: f(s[None, ..., None], 2, 1, "VALID"),
    "avg_pool3d": lambda f, v, s, n: f(s[None, None, ..., None], 1, 1, "VALID"),
    "band_part": lambda f, v, s, n: f(s, 0, -1),
    "banded_triangular_solve": lambda f, v, s, n: f(s, v),
    "batch_normalization": lambda f, v, s, n: f(s, v, v, v, None, 1e-3),
    "betainc": lambda f, v, s, n: f(v, v, v),
    "bias_add": lambda f, v, s, n: f(s, v),
    "bitcast": lambda f, v, s, n: f(v, "int64"),
    "bitwise_and": lambda f, v, s, n: f(n, 3),
    "bitwise_or": lambda f, v, s, n: f(n, n),
    "bitwise_xor": lambda f, v, s, n: f(n, N),
    "broadcast_to": lambda f, v, s, n: f(v, [2, 3]),
    "cast": lambda f, v, s, n: f(v, "int32"),
    "cholesky": lambda f, v, s, n: f(s),
    "cholesky_solve": lambda f, v, s, n: f(s, s),
    "clip_by_value": lambda f, v, s, n: f(v, 0.3, 0.6),
    "concat": lambda f, v, s, n: f([s, s], axis=1),
    "cond": lambda f, v, s, n: f(s),
    "conv1d": lambda f, v, s, n: f(s[None], s[None], 1, "SAME"),
    "conv2d": lambda f, v, s, n: f(s[None, ..., None], s[..., None, None], 1, padding="SAME"),
    "conv3d": lambda f, v, s, n: f(s[None, None, ..., None], s[None, ..., None, None], 1, "SAME"),
    "cross": lambda f, v, s, n: f(v, v),
    "dct": lambda f, v, s, n: f(v, type=2, norm="ortho"),
    "depth_to_space": lambda f, v, s, n: f(
        n[None, None, :1, :1] + s[:1, :1][..., None, None] * np.ones(4), 2
    ),
    "depthwise_conv2d": lambda f, v, s, n: f(s[None, ..., None], s[..., None, None], [1, 1, 1, 1], "SAME"),
    "det": lambda f, v, s, n: f(s),
    "diag_part": lambda f, v, s, n: f(s),
    "eig": lambda f, v, s, n: f(s),
    "eigh": lambda f, v, s, n: f(s),
    "eigvals": lambda f, v, s, n: f(s),
    "eigvalsh": lambda f, v, s, n: f(s),
    "einsum": lambda f, v, s, n: f("ij,j->i", s, v),
    "embedding_lookup": lambda f, v, s, n: f(s, n[0] // 2),
    "ensure_shape": lambda f, v, s, n: f(v, (3,)),
    "expand_dims": lambda f, v, s, n: f(v, 0),
    "expm": lambda f, v, s, n: f(s),
    "fft2d": lambda f, v, s, n: f(s),
    "fft3d": lambda f, v, s, n: f(s[None]),
    "eye": lambda f, v, s, n: f(3),
    "fill": lambda f, v, s, n: f((2, 3), v[0]),
    "gather": lambda f, v, s, n: f(s, n[0] // 2, axis=1),
    "gather_nd": lambda f, v, s, n: f(s, n[:1, :2]),
    "global_norm": lambda f, v, s, n: f([v, s, None]),
    "ifft2d": lambda f, v, s, n: f(s),
    "ifft3d": lambda f, v, s, n: f(s[None]),
    "in_top_k": lambda f, v, s, n: f(n[0] // 3, s, 2),
    "inner": lambda f, v, s, n: f(v, v),
    "inv": lambda f, v, s, n: f(s),
    "invert": lambda f, v, s, n: f(n),
    "invert_permutation": lambda f, v, s, n: f(n[0] - 1),
    "irfft2d": lambda f, v, s, n: f(s),
    "irfft3d": lambda f, v, s, n: f(s[None]),
    "kron": lambda f, v, s, n: f(s, v),
    "left_shift": lambda f, v, s, n: f(n, 2),
    "linspace": lambda f, v, s, n: f(v, v, 3),
    "logdet": lambda f, v, s, n: f(s),
    "logical_and": lambda f, v, s, n: f(v > 0.3, v < 0.6),
    "logical_not": lambda f, v, s, n: f(v > 0.3),
    "logical_or": lambda f, v, s, n: f(v > 0.3, v < 0.6),
    "logical_xor": lambda f, v, s, n: f(v > 0.3, v < 0.6),
    "logm": lambda f, v, s, n: f(s),
    "lstsq": lambda f, v, s, n: f(s, s),
    "lu": lambda f, v, s, n: f(s),
    "lu_matrix_inverse": lambda f, v, s, n: f(s, n[0] - 1),
    "lu_reconstruct": lambda f, v, s, n: f(s, n[0] - 1),
    "lu_solve": lambda f, v, s, n: f(s, n[0] - 1, s),
    "matmul": lambda f, v, s, n: f(s, s, transpose_a=True),
    "matrix_norm": lambda f, v, s, n: f(s, ord="fro"),
    "matrix_power": lambda f, v, s, n: f(s, 3),
    "matrix_rank": lambda f, v, s, n: f(s),
    "matrix_transpose": lambda f, v, s, n: f(s),
    "matvec": lambda f, v, s, n: f(s, v),
    "max_pool1d": lambda f, v, s, n: f(s[None], 2, 1, "SAME"),
    "max_pool2d": lambda f, v, s, n: f(s[None, ..., None], [2, 2], 1, "SAME"),
    "max_pool3d": lambda f, v, s, n: f(s[None, None, ..., None], 1, 1, "SAME"),
    "meshgrid": lambda f, v, s, n: f(v, v),
    "moments": lambda f, v, s, n: f(s, [0]),
    "multi_dot": lambda f, v, s, n: f([s, s, s]),
    "multigammaln": lambda f, v, s, n: f(v + 2, 2),
    "one_hot": lambda f, v, s, n: f(n, 4),
    "ones": lambda f, v, s, n: f([2, 3]),
    "outer": lambda f, v, s, n: f(v, v),
    "overlap_and_add": lambda f, v, s, n: f(s, 1),
    "pad": lambda f, v, s, n: f(s, [[1, 0], (0, 2)]),
    "pinv": lambda f, v, s, n: f(s, 1e-9),
    "polyval": lambda f, v, s, n: f([v, v, 2], v),
    "pow": lambda f, v, s, n: f(v, 2),
    "qr": lambda f, v, s, n: f(s),
    "range": lambda f, v, s, n: f(1.0, 4, 0.5),
    "reduce_all": lambda f, v, s, n: f(s > 4.5, axis=(0, 1)),
    "reduce_any": lambda f, v, s, n: f(s > 4.5, 0, True),
    "repeat": lambda f, v, s, n: f(v, 2),
    "reshape": lambda f, v, s, n: f(s, [-1]),
    "reverse": lambda f, v, s, n: f(s, axis=[0, 1]),
    "rfft2d": lambda f, v, s, n: f(s),
    "rfft3d": lambda f, v, s, n: f(s[None]),
    "right_shift": lambda f, v, s, n: f(n, 1),
    "roll": lambda f, v, s, n: f(s, (1, 2), (0, 1)),
    "saturate_cast": lambda f, v, s, n: f(v, "int8"),
    "scatter_nd": lambda f, v, s, n: f(n[:, :1] - 1, v[:2], [8]),
    "searchsorted": lambda f, v, s, n: f(v, v, side="right"),
    "sequence_mask": lambda f, v, s, n: f(n, 4),
    "set_diag": lambda f, v, s, n: f(s, v),
    "sigmoid_cross_entropy_with_logits": lambda f, v, s, n: f(labels=v, logits=v),
    "slice_": lambda f, v, s, n: f(s, [0, 1], [2, 1]),
    "slogdet": lambda f, v, s, n: f(s),
    "softmax_cross_entropy_with_logits": lambda f, v, s, n: f(v, v),
    "solve": lambda f, v, s, n: f(s, s),
    "space_to_depth": lambda f, v, s, n: f(s[None, :2, :2, None], 2),
    "sparse_softmax_cross_entropy_with_logits": lambda f, v, s, n: f(labels=n[0] // 3, logits=s),
    "split": lambda f, v, s, n: f(v, [1, 2]),
    "sqrtm": lambda f, v, s, n: f(s),
    "stack": lambda f, v, s, n: f((v, v), axis=-1),
    "svd": lambda f, v, s, n: f(s),
    "svdvals": lambda f, v, s, n: f(s),
    "tensor_diag_part": lambda f, v, s, n: f(s),
    "tensor_scatter_nd_add": lambda f, v, s, n: f(v, n[:1, :1] - 1, v[:1]),
    "tensor_scatter_nd_max": lambda f, v, s, n: f(v, n[:1, :1] - 1, v[:1]),
    "tensor_scatter_nd_min": lambda f, v, s, n: f(v, n[:1, :1] - 1, v[:1]),
    "tensor_scatter_nd_sub": lambda f, v, s, n: f(v, n[:1, :1] - 1, v[:1]),
    "tensor_scatter_nd_update": lambda f, v, s, n: f(v, n[:1, :1] - 1, v[:1]),
    "tensordot": lambda f, v, s, n: f(s, s, [[0], [1]]),
    "tensorinv": lambda f, v, s, n: f(s, 1),
    "tensorsolve": lambda f, v, s, n: f(s, v),
    "tile": lambda f, v, s, n: f(s, [1, 2]),
    "top_k": lambda f, v, s, n: f(v, 2),
    "trace": lambda f, v, s, n: f(s),
    "triangular_solve": lambda f, v, s, n: f(s, s, lower=False),
    "unsorted_segment_max": lambda f, v, s, n: f(v, n[0] // 2, 2),
    "unsorted_segment_mean": lambda f, v, s, n: f(v, n[0] // 2, 2),
    "unsorted_segment_min": lambda f, v, s, n: f(v, n[0] // 2, 2),
    "unsorted_segment_prod": lambda f, v, s, n: f(v, n[0] // 2, 2),
    "unsorted_segment_sqrt_n": lambda f, v, s, n: f(v, n[0] // 2, 2),
    "unsorted_segment_sum": lambda f, v, s, n: f(v, n[0] // 2, 2),
    "vander": lambda f, v, s, n: f(v, 3),
    "vecdot": lambda f, v, s, n: f(s, s, axis=0),
    "vector_norm": lambda f, v, s, n: f(s, axis=0, keepdims=True),
    "weighted_cross_entropy_with_logits": lambda f, v, s, n: f(v, v, 2.0),
    "where": lambda f, v, s, n: f(v > 0.3, v, 0),
    "zeros": lambda f, v, s, n: f([2, 3]),
}
"""Calls of functions that take another number of operands, or other ones, than a vector or two."""
OF_TWO = frozenset(
    [
        "add",
        "atan2",
        "betaln",
        "complex",
        "divide",
        "divide_no_nan",
        "equal",
        "floor_divide",
        "greater",
        "greater_equal",
        "igamma",
        "igammac",
        "less",
        "less_equal",
        "maximum",
        "minimum",
        "mod",
        "multiply",
        "multiply_no_nan",
        "nextafter",
        "not_equal",
        "random_gamma_grad",
        "squared_difference",
        "subtract",
        "log_poisson_loss",
        "truncatediv",
        "truncatemod",
        "xdivy",
        "xlog1py",
        "xlogy",
        "zeta",
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
    assert not seen & {"_record", "apply"}
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


def test_arguments_of_one_step_make_no_plans():
    x = jt.constant(np.arange(1001.0))

    def step(length: int) -> None:
        with jt.GradientTape():
            for start in range(4):
                jt.reshape(x[start : start + 2 * length], [2, length])

    step(3)
    before = len(METHOD_PLANS)
    for length in range(100, 140):
        step(length)
    assert len(METHOD_PLANS) == before
    step(139)
    assert len(METHOD_PLANS) == before + 1


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


def test_arrays_beside_tensors_are_read_at_each_call():
    v, s, a = jt.constant(V), jt.constant(S), V.copy()
    labels, ids = np.array([0, 2, 1]), np.array([0, 1, 0])
    calls: tuple[tuple[Callable[[], Any], Callable[[], Any]], ...] = (
        (lambda: jt.stack([v, a]), lambda: np.stack([V, a])),
        (lambda: jt.concat([a, v], axis=0), lambda: np.concatenate([a, V])),
        (lambda: jt.linalg.matvec(s, a), lambda: S @ a),
        (lambda: jt.einsum("ij,j->i", s, a), lambda: S @ a),
        (lambda: jt.tensordot(s, a, 1), lambda: S @ a),
        (lambda: jt.nn.bias_add(s, a), lambda: S + a),
        (lambda: jt.searchsorted(v, a), lambda: np.searchsorted(V, a)),
        (lambda: jt.one_hot(labels, 3) * v, lambda: np.eye(3)[labels] * V),
        (
            lambda: jt.nn.softmax_cross_entropy_with_logits(labels=a, logits=v),
            lambda: -np.sum(a * (V - np.log(np.sum(np.exp(V))))),
        ),
        (lambda: jt.gather(s, ids, axis=1), lambda: S[:, ids]),
        (lambda: jt.gather(s, ids.tolist(), axis=-1), lambda: S[:, ids]),
    )
    for shift in range(5):
        a[:] = V[[0, 2, 1]] * (shift + 1)
        labels[:], ids[:] = np.roll([0, 2, 1], shift), np.roll([0, 1, 2], shift)
        for call, wanted in calls:
            found: list[Any] = []
            seen = calls_of_python(lambda: found.append(record(call)))  # noqa: B023
            np.testing.assert_allclose(found[0], wanted(), rtol=1e-6)
        assert shift < 2 or not seen & {"_record", "apply"}


def test_an_int_selects_rows_and_is_checked():
    s = jt.constant(S + np.arange(3.0))
    for i in (0, 1, 2, -1, -3):
        found: list[Any] = []
        seen = calls_of_python(lambda: found.append(record(jt.gather, s, i)))  # noqa: B023
        np.testing.assert_array_equal(found[0], np.asarray(s)[i])
        np.testing.assert_array_equal(jt.gather(s, i, axis=1), np.asarray(s)[:, i])
    assert not seen & {"_record", "apply"}
    for i, axis in product((3, -4), (0, 1)):
        with pytest.raises(IndexError):
            jt.gather(s, i, axis=axis)
        with pytest.raises(IndexError):
            jt.gather(s, [0, i], axis=axis)


def test_numbers_that_a_function_adds_are_not_those_of_the_plan():
    v = jt.constant(V)
    for slope in (0.5, 0.25, 2.0):
        np.testing.assert_allclose(record(jt.nn.leaky_relu, -v, slope), -V * slope)
        np.testing.assert_allclose(record(jt.nn.leaky_relu, -v), -V * 0.2)
        np.testing.assert_allclose(record(jt.nn.silu, v, slope), V / (1 + np.exp(-V * slope)))
        np.testing.assert_allclose(
            record(lambda n=slope: jt.linalg.diag(v, padding_value=n))[0], np.r_[V[0], slope, slope]
        )
        np.testing.assert_allclose(record(jt.math.polyval, [v, 1, slope], v), (V + 1 / V) * V**2 + slope)


def test_named_results_keep_their_type():
    s = jt.constant(S)
    functions = (jt.linalg.slogdet, jt.linalg.qr, jt.linalg.lu, lambda x: jt.math.top_k(x, 2))
    wanted = [type(function(s)) for function in functions]
    for _ in range(3):
        assert [type(record(function, s)) for function in functions] == wanted
    assert all(hasattr(kind, "_fields") for kind in wanted)
    assert [type(record(function, s)) for function in (jt.linalg.svd, jt.linalg.eigh)] == [tuple] * 2
    assert type(record(jt.meshgrid, s[0], s[0])) is list


def test_plans_follow_a_change_of_the_settings():
    n = jt.constant([0, 1])
    before = jt.config.default_float

    def dtype_of(**given: Any) -> Any:
        current_trace().step()
        return record(lambda: jt.one_hot(n, 3, **given)).dtype

    try:
        for _ in range(3):
            for name in ("float64", "float32"):
                jt.config.default_float = name
                for _ in range(3):
                    for given in ("float64", "float32"):  # paths of either dtype are known
                        assert dtype_of(dtype=given) == given
                    assert dtype_of() == name
    finally:
        jt.config.default_float = before


def test_a_function_of_numbers_has_no_plan():
    operands = TENSOR_OPERAND, FLOAT_OPERAND
    assert not _planned((lambda x, n: jt.multiply(x, 1 - n), None, *operands), [])
    assert not _planned((lambda x, n: jt.clip_by_value(x, n, n + 1), None, *operands), [])
    assert _planned((lambda x, n: jt.clip_by_value(x, 0.5, n), None, *operands), [])
