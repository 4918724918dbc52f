"""Banded matrices, QR decompositions and least squares: properties that the primitive table does not cover."""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.core.interpret import interpret
from jittape.core.simplify import simplify
from programs import compiled, program_of

RNG = np.random.default_rng(6)


def normal(*shape, dtype=float):
    return RNG.normal(size=shape) + (1j * RNG.normal(size=shape) if dtype is complex else 0)


def diagonals(*shape, dtype=float):
    x = normal(*shape, dtype=dtype)
    x[..., 1, :] += 5
    return x


def bands(*shape, dtype=float):
    x = normal(*shape, dtype=dtype)
    x[..., 0, :] += 5
    return x


FUNCTIONS = {
    "tridiagonal_solve": lambda dtype: (
        jt.linalg.tridiagonal_solve,
        diagonals(2, 3, 4, dtype=dtype),
        (2, 4, 2),
    ),
    "tridiagonal_solve without pivoting": lambda dtype: (
        lambda x, b: jt.linalg.tridiagonal_solve(x, b, partial_pivoting=False),
        diagonals(3, 4, dtype=dtype),
        (4, 2),
    ),
    "tridiagonal_matmul": lambda dtype: (jt.linalg.tridiagonal_matmul, normal(3, 4, dtype=dtype), (4, 2)),
    "banded_triangular_solve": lambda dtype: (
        jt.linalg.banded_triangular_solve,
        bands(2, 3, 4, dtype=dtype),
        (2, 4, 2),
    ),
    "banded_triangular_solve adjoint": lambda dtype: (
        lambda x, b: jt.linalg.banded_triangular_solve(x[:, ::-1], b, lower=False, adjoint=True),
        bands(2, 3, 4, dtype=dtype),
        (2, 4, 2),
    ),
    "q": lambda dtype: (
        lambda x, b: jt.matmul(jt.linalg.qr(x).q, b),
        normal(2, 4, 3, dtype=dtype),
        (2, 3, 2),
    ),
    "r": lambda dtype: (lambda x, b: jt.matmul(jt.linalg.qr(x).r, b), normal(4, 3, dtype=dtype), (3, 2)),
    "q of wide matrices": lambda dtype: (
        lambda x, b: jt.matmul(jt.linalg.qr(x).q, b),
        normal(2, 3, 5, dtype=dtype),
        (2, 3, 2),
    ),
    "r of wide matrices": lambda dtype: (
        lambda x, b: jt.matmul(jt.linalg.qr(x).r, b),
        normal(3, 5, dtype=dtype),
        (5, 2),
    ),
    "lstsq": lambda dtype: (jt.linalg.lstsq, normal(2, 4, 3, dtype=dtype), (2, 4, 2)),
    "lstsq of wide matrices": lambda dtype: (jt.linalg.lstsq, normal(3, 5, dtype=dtype), (3, 2)),
    "lstsq by singular values": lambda dtype: (
        lambda a, b: jt.linalg.lstsq(a, b, fast=False),
        normal(4, 3, dtype=dtype),
        (4, 2),
    ),
}
each_function = pytest.mark.parametrize("name", FUNCTIONS)


# ---- derivatives -----------------------------------------------------------------------------------------------------


@each_function
def test_forward_mode_against_reverse_mode(name):
    f, x, shape = FUNCTIONS[name](float)
    operands = (x, normal(*shape))
    tangents = [normal(*x.shape) for x in operands]
    value, tangent = jt.jvp(f, operands, tangents)
    weight = normal(*value.shape)
    gradients = jt.vjp(f, *operands)[1](jt.constant(weight))
    expected = sum(np.sum(np.asarray(g) * t) for g, t in zip(gradients, tangents, strict=True))
    assert np.sum(weight * np.asarray(tangent)) == pytest.approx(expected, rel=1e-9)


@each_function
def test_complex_gradients_against_differences(name):
    f, x, shape = FUNCTIONS[name](complex)
    operands = (x, normal(*shape, dtype=complex))
    weight = normal(*f(*operands).shape, dtype=complex)

    def loss(*operands):
        return jt.math.real(jt.reduce_sum(jt.math.conj(weight) * f(*operands)))

    gradients = jt.grad(loss, argnums=(0, 1))(*operands)
    directions = [normal(*x.shape, dtype=complex) for x in operands]
    along = sum(np.sum(np.conj(g) * d).real for g, d in zip(gradients, directions, strict=True))
    near, far = (
        float(loss(*[x + step * d for x, d in zip(operands, directions, strict=True)]))
        for step in (1e-6, -1e-6)
    )
    assert along == pytest.approx((near - far) / 2e-6, rel=1e-6)


@each_function
def test_inside_a_function_and_in_a_jacobian(name, mode):
    f, x, shape = FUNCTIONS[name](float)
    operands = (x, normal(*shape))
    expected = f(*operands).numpy()
    gradient = jt.grad(lambda *x: jt.reduce_sum(jt.sin(f(*x))))
    slope = np.asarray(gradient(*operands))
    jacobian = np.asarray(jt.jacobian(f)(*operands))
    compiled, compiled_gradient = jt.function(f), jt.function(gradient)
    for _ in range(3):
        np.testing.assert_allclose(compiled(*operands), expected, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(compiled_gradient(*operands), slope, rtol=1e-9, atol=1e-11)
    pulled = np.tensordot(np.cos(expected), jacobian, expected.ndim)
    np.testing.assert_allclose(pulled, slope, rtol=1e-9, atol=1e-11)


def test_the_elements_outside_of_the_matrix_are_not_used(mode):
    x, b = diagonals(3, 4), normal(4, 2)
    marked = x.copy()
    marked[0, -1] = marked[2, 0] = np.nan
    lower = bands(3, 4)
    marked_lower = lower.copy()
    marked_lower[1, 0] = marked_lower[2, :2] = np.nan
    for _ in range(3):
        for f in (
            jt.linalg.tridiagonal_solve,
            jt.linalg.tridiagonal_matmul,
            lambda x, b: jt.linalg.tridiagonal_solve(x, b, partial_pivoting=False),
        ):
            np.testing.assert_allclose(f(marked, b), f(x, b), rtol=1e-14)
            g = np.asarray(jt.grad(lambda x, f=f: jt.reduce_sum(f(x, b)))(marked))
            assert (g[0, -1], g[2, 0]) == (0, 0)
            assert np.isfinite(g).all()
        solve = jt.linalg.banded_triangular_solve
        for count in (2, 3):
            for adjoint in (False, True):
                found = solve(marked_lower[:count], b, adjoint=adjoint)
                np.testing.assert_allclose(found, solve(lower[:count], b, adjoint=adjoint), rtol=1e-14)
        marked_upper, upper = marked_lower[1::-1, ::-1], lower[1::-1, ::-1]
        np.testing.assert_allclose(solve(marked_upper, b, False), solve(upper, b, False), rtol=1e-14)


@pytest.mark.parametrize("form", ["compact", "sequence", "short", "matrix"])
def test_formats_of_tridiagonal_matrices(form, mode):
    x, b = diagonals(2, 3, 5), normal(2, 5, 3)
    above, diagonal, below = x[:, 0], x[:, 1], x[:, 2]
    full = np.stack(
        [
            np.diag(d) + np.diag(a[:-1], 1) + np.diag(c[1:], -1)
            for a, d, c in zip(above, diagonal, below, strict=True)
        ]
    )
    given = {
        "compact": x,
        "sequence": [above, diagonal, below],
        "short": (above[:, :-1], diagonal, below[:, 1:]),
        "matrix": full + 7 * np.triu(np.ones((5, 5)), 2),
    }[form]
    name = "sequence" if form == "short" else form
    expected = np.linalg.solve(full, b)
    solve = jt.linalg.tridiagonal_solve
    for _ in range(2):
        np.testing.assert_allclose(solve(given, b, name), expected, rtol=1e-10)
        np.testing.assert_allclose(solve(given, b[..., 0], name), expected[..., 0], rtol=1e-10)
        np.testing.assert_allclose(
            solve(given, np.swapaxes(b, 1, 2), name, transpose_rhs=True), expected, rtol=1e-10
        )
        np.testing.assert_allclose(solve(given, 1j * b, name, conjugate_rhs=True), -1j * expected, rtol=1e-10)
        np.testing.assert_allclose(
            jt.linalg.tridiagonal_matmul(given, expected, name), b, rtol=1e-9, atol=1e-12
        )


def test_pivoting_solves_systems_with_zeros_on_the_diagonal(mode):
    x = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0], [0.0, 1.0, 1.0]])
    full = np.diag(x[1]) + np.diag(x[0, :-1], 1) + np.diag(x[2, 1:], -1)
    b = np.array([1.0, 2.0, 3.0])
    for _ in range(3):
        np.testing.assert_allclose(jt.linalg.tridiagonal_solve(x, b), np.linalg.solve(full, b), rtol=1e-14)
        assert not np.all(np.isfinite(jt.linalg.tridiagonal_solve(x, b, partial_pivoting=False)))


def test_a_long_tridiagonal_system_without_pivoting_runs_in_compiled_loops():
    x, b = diagonals(3, 1000), normal(1000)
    expected = jt.linalg.tridiagonal_solve(x, b).numpy()
    for _ in range(3):
        solution = jt.linalg.tridiagonal_solve(x, b, partial_pivoting=False)
        np.testing.assert_allclose(solution, expected, rtol=1e-11, atol=1e-13)
    assert all(step.loops for step in jt.explain().steps)


def of_three_diagonals(x, b, lower, adjoint):
    return jt.linalg.tridiagonal_solve(x, b, conjugate_rhs=adjoint, partial_pivoting=lower)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("count", [1, 2, 3, 5, "tridiagonal"])
@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("lower", [False, True])
def test_compiled_systems_with_few_diagonals_are_those_of_the_interpreter(dtype, count, adjoint, lower):
    solve, main = jt.linalg.banded_triangular_solve, 0 if lower else -1
    if count == "tridiagonal":
        solve, count, main = of_three_diagonals, 3, 1
    kind = complex if dtype.startswith("complex") else float
    x, b = normal(2, count, 4, dtype=kind), normal(2, 4, 3, dtype=kind)
    x[:, main] += 3
    weight = normal(2, 4, 3)

    def total(x, b):
        return jt.reduce_sum(weight * jt.abs(solve(x, b, lower=lower, adjoint=adjoint)) ** 2)

    run = jt.function(jt.value_and_grad(total, argnums=(0, 1)))
    operands = x.astype(dtype), b.astype(dtype)
    expected = run(*operands)  # the first run is interpreted
    for _ in range(2):
        found = run(*operands)
    assert not any("NumPy" in step.title for step in jt.explain().steps)
    tolerance = 1e-3 if dtype in ("float32", "complex64") else 1e-11
    for one, other in zip(jt.nest.flatten(found), jt.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def test_solutions_of_least_norm_for_matrices_without_full_rank(mode):
    a = np.outer([1.0, 2.0, 3.0], [1.0, 1.0])
    b = normal(3, 2)
    for _ in range(3):
        np.testing.assert_allclose(jt.linalg.lstsq(a, b, fast=False), np.linalg.pinv(a) @ b, rtol=1e-12)
    stack = np.stack([a, np.zeros((3, 2)), *normal(10, 3, 2)])
    for dtype in ("float32", "float64", "complex128"):
        operands = stack.astype(dtype), np.broadcast_to(b, (12, 3, 2)).astype(dtype)
        each = [np.linalg.lstsq(*pair, rcond=None)[0] for pair in zip(*operands, strict=True)]
        found = jt.linalg.lstsq(*operands, fast=False)
        np.testing.assert_allclose(found, np.stack(each), rtol=1e-4 if dtype == "float32" else 1e-12)
    zero = np.zeros((2, 3))
    np.testing.assert_array_equal(jt.linalg.lstsq(zero, np.ones((2, 1)), fast=False), np.zeros((3, 1)))
    g = jt.grad(lambda a: jt.reduce_sum(jt.linalg.lstsq(a, np.ones((2, 1)), fast=False)))(zero)
    np.testing.assert_array_equal(g, zero)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_compiled_solutions_of_least_norm_are_those_of_the_interpreter(dtype):
    a, b = normal(6, 4, 3).astype(dtype), normal(6, 4, 2).astype(dtype)
    a[1, 2, 0], a[2, 0, 0], a[3] = np.nan, np.inf, np.outer([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0])
    b[4, 1, 0], b[5, 0, 1] = np.inf, np.nan
    solve = jt.function(lambda a, b: jt.linalg.lstsq(a, b, fast=False))
    expected = solve(a, b).numpy()
    assert np.isnan(expected).sum() == 2 * 6 + 2 * 3
    in_loop = jt.function(
        lambda a, b: jt.map_fn(lambda ab: jt.linalg.lstsq(*ab, fast=False), (a, b), a.dtype)
    )
    for run in (solve, in_loop):
        for _ in range(2):
            found = run(a, b).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype == "float32" else 1e-12)
        assert not any("NumPy" in step.title for step in jt.explain().steps)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (3, 3)])
def test_no_matrix_without_full_rank_has_a_solution_of_normal_equations(dtype, shape, mode):
    for _ in range(10):
        x = normal(*shape, dtype=dtype)
        if shape[0] < shape[1]:
            x[-1] = x[0] + x[1]
        else:
            x[:, -1] = x[:, 0] + x[:, 1]
        b = normal(shape[0], 2, dtype=dtype)
        with pytest.raises(jt.LinAlgError, match=r"\[lstsq\]"):
            jt.linalg.lstsq(x, b).numpy()
        assert np.isfinite(jt.linalg.lstsq(x, b, l2_regularizer=0.1).numpy()).all()


def test_normal_equations_accept_condition_numbers_that_leave_digits(mode):
    scales = 10.0 ** np.array([0.0, 9.0, -9.0, 3.0, 0.0])  # the scales of columns do not matter
    x = normal(40, 5)
    x[:, 4] = x[:, 0] + 1e-5 * x[:, 4]
    x, solution = x * scales, 1 / scales[:, None]
    np.testing.assert_allclose(jt.linalg.lstsq(x, x @ solution), solution, rtol=1e-3)


def test_a_nan_is_no_singular_matrix(mode):
    for _ in range(2):
        solution = jt.linalg.solve([[np.nan, 1.0], [1.0, 1.0]], [[1.0], [1.0]]).numpy()
        assert np.isnan(solution).any()


def test_the_gradient_of_the_regularizer():
    a, b = normal(5, 3), normal(5, 2)

    def total(weight):
        return jt.reduce_sum(jt.linalg.lstsq(a, b, l2_regularizer=weight) ** 2)

    slope = (float(total(0.5 + 1e-6)) - float(total(0.5 - 1e-6))) / 2e-6
    assert float(jt.grad(total)(0.5)) == pytest.approx(slope, rel=1e-5)


# ---- nan and empty matrices ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_matrices_and_right_hand_sides_that_are_not_finite(value, mode):
    a, b = np.stack([2 * np.eye(3), np.eye(3), np.eye(3)]), np.ones((3, 3, 2))
    a[1, 0, 0] = b[2, 1, 1] = value
    for _ in range(2):
        solutions = {
            "lstsq": jt.linalg.lstsq(a, b, fast=False),
            "fast": jt.linalg.lstsq(a, b),
            "tridiagonal": jt.linalg.tridiagonal_solve(a, b, "matrix"),
            "without pivoting": jt.linalg.tridiagonal_solve(a, b, "matrix", partial_pivoting=False),
        }
        for name, solution in solutions.items():
            np.testing.assert_allclose(solution[0], np.full((3, 2), 0.5), rtol=1e-14, err_msg=name)
            np.testing.assert_allclose(solution[2, :, 0], np.ones(3), rtol=1e-14, err_msg=name)
            assert not np.isfinite(solution[2, 1, 1].numpy()), name
        many = jt.linalg.lstsq(np.concatenate([a] * 4), np.concatenate([b] * 4), fast=False).numpy()
        np.testing.assert_allclose(many[-3:], solutions["lstsq"], rtol=1e-14)
        assert np.isnan(solutions["lstsq"].numpy()[1]).all()
        assert np.isnan(solutions["lstsq"].numpy()[2, :, 1]).all()
        assert not np.isfinite(jt.linalg.qr(a).r[1].numpy()).all()


def test_the_gradient_of_a_full_decomposition_of_tall_matrices(mode):
    x = normal(2, 4, 3)
    for _ in range(3):
        q, r = jt.linalg.qr(x, full_matrices=True)
        np.testing.assert_allclose(jt.matmul(q, r), x, rtol=1e-12, atol=1e-14)
        identity = np.broadcast_to(np.eye(4), (2, 4, 4))
        np.testing.assert_allclose(jt.matmul(q, q, transpose_a=True), identity, atol=1e-14)
    with pytest.raises(
        jt.NoGradientError, match="additional columns of q are arbitrary; use full_matrices=False"
    ):
        jt.grad(lambda x: jt.reduce_sum(jt.linalg.qr(x, full_matrices=True).r))(normal(4, 3))


@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (2, 0), (0, 3, 2), (2, 0, 3)])
def test_empty_matrices(shape, mode):
    x = np.zeros(shape)
    for _ in range(2):
        for got, expected in zip(jt.linalg.qr(x), np.linalg.qr(x), strict=True):
            assert got.shape == expected.shape
        assert jt.grad(lambda x: jt.reduce_sum(jt.linalg.qr(x).r))(x).shape == shape
        for fast in (True, False):
            solution = jt.linalg.lstsq(x, np.zeros((*shape[:-1], 2)), fast=fast)
            np.testing.assert_array_equal(solution, np.zeros((*shape[:-2], shape[-1], 2)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_pivoting_is_compiled(dtype, override_tuning):
    """Against dense systems, with random pivots, one row to many, and several tasks; no step runs in NumPy."""
    override_tuning(parallel_work_ns=1, max_decomposition_tasks=3)
    for lead in ((), (5,), (2, 4)):
        for rows, columns in ((1, 2), (2, 1), (3, 5), (40, 1)):
            x = normal(*lead, 3, rows).astype(dtype)
            b = normal(*lead, rows, columns).astype(dtype)
            program = simplify(program_of(lambda x, b: jt.linalg.tridiagonal_solve(x, b), x, b))
            made = schedule(program)
            assert all(step.kernel is not None for step in made.steps)
            expected = interpret(program, (x, b))[0]
            dense = np.zeros((*lead, rows, rows))
            for k, row in ((1, 0), (0, 1), (-1, 2)):
                i = np.arange(max(0, -k), rows - max(0, k))
                dense[..., i, i + k] = x[..., row, i]
            scale = np.abs(dense).max() * np.abs(expected).max()
            for got in (compiled(program, (x, b), fill=7.0)[0], expected):
                assert np.abs(dense @ got - b).max() < 100 * np.finfo(dtype).eps * scale
