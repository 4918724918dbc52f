"""Factorizations and systems of equations: properties that the primitive table does not cover."""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt

RNG = np.random.default_rng(5)
A = RNG.normal(size=(3, 4, 4)) + 3 * np.roll(np.eye(4), 1, axis=0)
B = RNG.normal(size=(3, 4, 2))
SPD = A @ np.swapaxes(A, -1, -2) + np.eye(4)


def complex_normal(*shape):
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


CA = complex_normal(2, 3, 3) + 3 * np.roll(np.eye(3), 1, axis=0)
CB = complex_normal(2, 3, 2)
HPD = CA @ np.conj(np.swapaxes(CA, -1, -2)) + np.eye(3)


def hermitian(x):
    return np.conj(np.swapaxes(x, -1, -2))


def gram(x):
    return jt.matmul(x, x, adjoint_b=True) + jt.eye(x.shape[-1], dtype=x.dtype)


def cholesky_of_gram(x):
    return jt.linalg.cholesky(gram(x))


FUNCTIONS = {
    "cholesky": (cholesky_of_gram, (A,), (CA,)),
    "triangular_solve": (jt.linalg.triangular_solve, (A + 3 * np.eye(4), B), (CA + 3 * np.eye(3), CB)),
    "triangular_solve adjoint": (
        lambda a, b: jt.linalg.triangular_solve(a, b, lower=False, adjoint=True),
        (A + 3 * np.eye(4), B),
        (CA + 3 * np.eye(3), CB),
    ),
    "solve": (jt.linalg.solve, (A, B), (CA, CB)),
    "solve adjoint": (lambda a, b: jt.linalg.solve(a, b, adjoint=True), (A, B), (CA, CB)),
    "cholesky_solve": (
        lambda a, b: jt.linalg.cholesky_solve(cholesky_of_gram(a), b),
        (A, B),
        (CA, CB),
    ),
    "inv": (jt.linalg.inv, (A,), (CA,)),
    "inv adjoint": (lambda a: jt.linalg.inv(a, adjoint=True), (A,), (CA,)),
    "det": (lambda a: jt.linalg.det(a)[..., None], (A,), (CA,)),
    "sign": (lambda a: jt.linalg.slogdet(a).sign[..., None], (A,), (CA,)),
    "log_abs_determinant": (lambda a: jt.linalg.slogdet(a)[1][..., None], (A,), (CA,)),
    "logdet": (lambda a: jt.linalg.logdet(gram(a))[..., None], (A,), (CA,)),
    "lu": (lambda a: jt.linalg.lu(a).lu, (A,), (CA,)),
    "lu_solve": (lambda a, b: jt.linalg.lu_solve(*jt.linalg.lu(a), b), (A, B), (CA, CB)),
    "lu_matrix_inverse": (lambda a: jt.linalg.lu_matrix_inverse(*jt.linalg.lu(a)), (A,), (CA,)),
    "lu_reconstruct": (lambda a: jt.linalg.lu_reconstruct(*jt.linalg.lu(a)), (A,), (CA,)),
}
each_function = pytest.mark.parametrize("name", FUNCTIONS)


# ---- derivatives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "sign"])
def test_forward_mode_against_reverse_mode(name):
    f, operands, _ = FUNCTIONS[name]
    tangents = [RNG.normal(size=x.shape) for x in operands]
    value, tangent = jt.jvp(f, operands, tangents)
    weight = RNG.normal(size=value.shape)
    _, pullback = jt.vjp(f, *operands)
    gradients = pullback(jt.constant(weight))
    expected = sum(np.sum(np.asarray(g) * t) for g, t in zip(gradients, tangents, strict=True))
    assert np.sum(weight * np.asarray(tangent)) == pytest.approx(expected, rel=1e-10)


@each_function
def test_complex_values_and_gradients_against_differences(name):
    f, _, operands = FUNCTIONS[name]
    weight = complex_normal(*f(*operands).shape)

    def loss(*operands):
        return jt.math.real(jt.reduce_sum(jt.math.conj(weight) * f(*operands)))

    gradients = jt.grad(loss, argnums=tuple(range(len(operands))))(*operands)
    directions = [complex_normal(*x.shape) for x in operands]
    along = sum(np.sum(np.conj(g) * d).real for g, d in zip(gradients, directions, strict=True))
    step = 1e-6
    near, far = (
        float(loss(*[x + s * step * d for x, d in zip(operands, directions, strict=True)])) for s in (1, -1)
    )
    assert along == pytest.approx((near - far) / (2 * step), rel=1e-6)


@each_function
def test_jacobian_of_a_stack_against_single_gradients(name, mode):
    f, operands, _ = FUNCTIONS[name]
    sources = [jt.Variable(x[0]) for x in operands]
    for _ in range(2):
        with jt.GradientTape(persistent=True) as tape:
            out = f(*sources)
            parts = [out[i, 0] if len(out.shape) > 1 else out[i] for i in range(out.shape[0])]
        for source in sources:
            jacobian = tape.jacobian(out, source).numpy()
            for i, part in enumerate(parts):
                row = jacobian[i, 0] if len(out.shape) > 1 else jacobian[i]
                np.testing.assert_allclose(row, tape.gradient(part, source), rtol=1e-9, atol=1e-12)


def test_one_factorization_serves_a_solution_and_its_derivatives():
    a, b = jt.Variable(A), jt.Variable(B)
    with jt.GradientTape() as outer:
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(jt.linalg.solve(a, b) ** 2)
        gradient = tape.gradient(loss, a)
        slope = jt.reduce_sum(gradient**2)
    outer.gradient(slope, a).numpy()
    names = [op.primitive.name for op in jt.explain().program.ops]
    assert names.count("lu_factor") == 1
    assert names.count("lu_solve") > 2


def test_the_gradient_of_cholesky_is_hermitian_and_ignores_the_upper_triangle_of_its_result():
    g = jt.grad(lambda x: jt.reduce_sum(jt.linalg.cholesky(x)))(SPD)
    np.testing.assert_allclose(g, np.swapaxes(g, -1, -2), rtol=1e-12)
    _, pullback = jt.vjp(jt.linalg.cholesky, SPD[0])
    noise = np.triu(RNG.normal(size=(4, 4)), 1)
    np.testing.assert_allclose(pullback(np.eye(4) + noise)[0], pullback(np.eye(4))[0], rtol=1e-12)


def test_triangles_that_are_not_read():
    lower = np.tril(SPD) + np.triu(np.full((4, 4), np.nan), 1)
    np.testing.assert_array_equal(jt.linalg.cholesky(lower), np.linalg.cholesky(SPD))
    np.testing.assert_array_equal(
        jt.linalg.triangular_solve(lower, B), jt.linalg.triangular_solve(np.tril(SPD), B)
    )
    g = jt.grad(lambda a: jt.reduce_sum(jt.linalg.triangular_solve(a, B)))(lower)
    assert np.all(np.asarray(g)[:, np.triu_indices(4, 1)[0], np.triu_indices(4, 1)[1]] == 0)


@pytest.mark.parametrize(("a", "b"), [((4, 4), (5, 3, 4, 2)), ((3, 4, 4), (4, 2)), ((3, 1, 4, 4), (5, 4, 2))])
def test_leading_dimensions_broadcast(a, b):
    a = RNG.normal(size=a) + 4 * np.eye(4)
    b = RNG.normal(size=b)
    np.testing.assert_allclose(jt.linalg.solve(a, b), np.linalg.solve(a, b), rtol=1e-10)
    np.testing.assert_allclose(
        jt.linalg.triangular_solve(a, b), np.linalg.solve(np.tril(a), b), rtol=1e-10, atol=1e-12
    )
    total = jt.grad(lambda a, b: jt.reduce_sum(jt.linalg.solve(a, b)), argnums=(0, 1))
    assert [g.shape for g in total(a, b)] == [a.shape, b.shape]


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (9, 3, 3)])
def test_complex_factors_and_determinants_are_numpys(shape):
    a = complex_normal(*shape)
    np.testing.assert_allclose(jt.linalg.det(a), np.linalg.det(a), rtol=1e-12)
    for got, expected in zip(jt.linalg.slogdet(a), np.linalg.slogdet(a), strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    np.testing.assert_allclose(jt.linalg.inv(a), np.linalg.inv(a), rtol=1e-11)
    factors, p = jt.linalg.lu(a)
    lower, upper = np.tril(factors, -1) + np.eye(3), np.triu(factors)
    np.testing.assert_allclose(lower @ upper, np.take_along_axis(a, p.numpy()[..., None], -2), rtol=1e-12)
    np.testing.assert_allclose(jt.linalg.lu_reconstruct(factors, p), a, rtol=1e-12)
    assert np.max(np.abs(lower)) <= 2**0.5 + 1e-12


def test_determinants_of_singular_matrices(mode):
    a = np.stack([np.eye(3), np.outer([1.0, 2.0, 3.0], [1.0, 1.0, 1.0]), np.diag([1.0, 0.0, 2.0])])
    for _ in range(3):
        sign, logarithm = jt.linalg.slogdet(a)
        np.testing.assert_array_equal(sign, [1, 0, 0])
        np.testing.assert_array_equal(logarithm, [0, -np.inf, -np.inf])
        np.testing.assert_array_equal(jt.linalg.det(a), [1, 0, 0])
        gradient = np.asarray(jt.grad(lambda a: jt.reduce_sum(jt.linalg.det(a)))(a))
        np.testing.assert_allclose(
            gradient, [np.eye(3), np.zeros((3, 3)), np.diag([0.0, 2.0, 0.0])], atol=1e-14
        )
        with pytest.raises(jt.LinAlgError, match=r"not invertible. Matrix 1 of the batch is singular"):
            np.asarray(jt.grad(lambda a: jt.reduce_sum(jt.linalg.slogdet(a)[1]))(a))
        with pytest.raises(jt.LinAlgError, match=r"not invertible. The matrix is singular"):
            np.asarray(jt.hessian(jt.linalg.det)(np.diag([1.0, 0.0, 2.0, 3.0])))
    np.testing.assert_allclose(jt.hessian(jt.linalg.det)(np.zeros((2, 2)))[0, 0], [[0, 0], [0, 1]])


@pytest.mark.parametrize("n", [2, 3, 5])
def test_gradient_of_the_determinant_of_a_singular_complex_matrix(n):
    wild = complex_normal(n, n)
    wild[-1] = wild[0] if n == 2 else wild[0] + 1j * wild[1]
    step = 1e-6 * complex_normal(n, n)
    gradient = np.asarray(jt.grad(lambda a: jt.math.real(jt.linalg.det(a)))(wild))
    slope = (np.linalg.det(wild + step) - np.linalg.det(wild - step)).real / 2
    assert np.sum(np.conj(gradient) * step).real == pytest.approx(slope, rel=1e-6)


def test_determinants_that_overflow_have_logarithms():
    a = 1e200 * np.stack([np.eye(3), -np.eye(3)])
    sign, logarithm = jt.linalg.slogdet(a)
    np.testing.assert_array_equal(sign, [1, -1])
    np.testing.assert_allclose(logarithm, 600 * np.log(10), rtol=1e-14)
    np.testing.assert_array_equal(jt.linalg.det(a), [np.inf, -np.inf])


# ---- functions and loops ---------------------------------------------------------------------------------------------


@each_function
def test_inside_a_function(name, mode):
    f, operands, _ = FUNCTIONS[name]
    expected = f(*operands).numpy()
    gradient = jt.grad(lambda *x: jt.reduce_sum(jt.sin(f(*x))))
    slope = np.asarray(gradient(*operands))
    compiled = jt.function(f)
    compiled_gradient = jt.function(gradient)
    for _ in range(3):
        np.testing.assert_allclose(compiled(*operands), expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(compiled_gradient(*operands), slope, rtol=1e-9, atol=1e-12)


@each_function
def test_a_vectorized_map_over_the_matrices(name, mode):
    f, operands, _ = FUNCTIONS[name]
    expected = f(*operands).numpy()
    for _ in range(2):
        found = jt.vectorized_map(lambda x: f(*x), tuple(jt.constant(x) for x in operands))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_cholesky_and_solve_in_a_scan(mode):
    def step(p, row):
        p = p + row[:, None] * row[None, :]
        whitened = jt.linalg.triangular_solve(jt.linalg.cholesky(p), row[:, None])
        return p - 0.1 * jt.matmul(whitened, whitened, transpose_b=True)

    def total(rows):
        return jt.reduce_sum(jt.scan(step, rows, initializer=jt.eye(3, dtype="float64"))[-1])

    def reference(rows):
        p = np.eye(3)
        for row in rows:
            p = p + np.outer(row, row)
            whitened = np.linalg.solve(np.linalg.cholesky(p), row)
            p = p - 0.1 * np.outer(whitened, whitened)
        return p.sum()

    rows = RNG.normal(size=(6, 3))
    compiled, gradient = jt.function(total), jt.function(jt.grad(total))
    direction = RNG.normal(size=rows.shape)
    slope = (reference(rows + 1e-6 * direction) - reference(rows - 1e-6 * direction)) / 2e-6
    for _ in range(3):
        assert float(compiled(rows)) == pytest.approx(reference(rows), rel=1e-12)
        assert np.sum(np.asarray(gradient(rows)) * direction) == pytest.approx(slope, rel=1e-6)


# ---- nan and empty matrices ------------------------------------------------------------------------------------------


def test_nan_gives_nan_and_a_zero_on_a_diagonal_divides_by_zero(mode):
    nan = np.array([[np.nan, 1.0], [1.0, 2.0]])
    stack = np.stack([np.eye(2), nan, np.eye(2)])
    for _ in range(3):
        factor = jt.linalg.cholesky(stack).numpy()
        assert np.isnan(factor[1, 0, 0])
        np.testing.assert_array_equal(factor[[0, 2]], stack[[0, 2]])
        solution = jt.linalg.solve(stack, np.ones((3, 2, 1))).numpy()
        assert np.isnan(solution[1]).any()
        np.testing.assert_array_equal(solution[[0, 2]], np.ones((2, 2, 1)))
        zero = jt.linalg.triangular_solve([[2.0, 0.0], [1.0, 0.0]], [[2.0, 0.0], [3.0, 0.0]]).numpy()
        np.testing.assert_array_equal(zero, [[1.0, 0.0], [np.inf, np.nan]])


@pytest.mark.parametrize("lead", [(), (0,), (2, 0), (3,)])
@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("columns", [0, 2])
def test_empty_matrices(lead, n, columns, mode):
    a, b = np.broadcast_to(np.eye(n), (*lead, n, n)), np.ones((*lead, n, columns))
    for _ in range(2):
        for f in (jt.linalg.solve, jt.linalg.triangular_solve):
            np.testing.assert_array_equal(f(a, b), b)
            gradients = jt.grad(lambda a, b, f=f: jt.reduce_sum(f(a, b)), argnums=(0, 1))(a, b)
            assert [g.shape for g in gradients] == [a.shape, b.shape]
        np.testing.assert_array_equal(jt.linalg.cholesky(a), a)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
def test_determinants_and_inverses_of_empty_matrices(shape, mode):
    a = np.zeros(shape)
    for _ in range(2):
        np.testing.assert_array_equal(jt.linalg.det(a), np.ones(shape[:-2]))
        np.testing.assert_array_equal(jt.stack(jt.linalg.slogdet(a)), np.stack(np.linalg.slogdet(a)))
        np.testing.assert_array_equal(jt.linalg.inv(a), a)
        np.testing.assert_array_equal(jt.linalg.logdet(a), np.zeros(shape[:-2]))
        assert [x.shape for x in jt.linalg.lu(a)] == [shape, shape[:-1]]
        assert jt.grad(lambda a: jt.reduce_sum(jt.linalg.det(a)))(a).shape == shape


def test_an_index_out_of_range_in_a_permutation():
    with pytest.raises(ValueError, match=r"perm must be from 0 to 1, got perm\[1\] = 2"):
        jt.linalg.lu_solve(np.eye(2), [0, 2], np.eye(2)).numpy()


def test_a_singular_matrix_loses_no_assignment(mode):
    v = jt.Variable(np.eye(2))
    for _ in range(3):
        v.assign(np.eye(2))
        with pytest.raises(ValueError, match="not invertible"):
            jt.linalg.solve(np.zeros((2, 2)), v).numpy()
        np.testing.assert_array_equal(v.numpy(), np.eye(2))


def test_the_reason_of_a_missing_gradient_of_a_permutation():
    a = jt.Variable(A)
    with jt.GradientTape() as tape:
        order = jt.cast(jt.linalg.lu(a).p, jt.float64)
    with pytest.warns(jt.UnconnectedGradientWarning, match="a permutation is integers"):
        assert tape.gradient(order, a) is None


def test_an_op_of_unknown_derivative_before_a_solution_is_an_error():
    a = jt.Variable(A)
    with jt.GradientTape() as tape:
        rounded = jt.numpy_function(np.round, [a], jt.float64)
        out = jt.linalg.solve(a + rounded, B)
    with pytest.raises(jt.NoGradientError, match="one of several paths"):
        tape.gradient(out, a)


def test_the_reason_of_a_missing_gradient_names_no_factors():
    a, b = jt.Variable(A), jt.constant(B)
    with jt.GradientTape(persistent=True) as tape:
        out = jt.linalg.solve(a, b)
    assert tape.gradient(out, a) is not None
    assert "lu_factor" not in str(tape.explain(out, a))
