"""Eigenvalues and singular values: complex matrices, equal values, batches, transforms and bad input.

Values and derivatives of real matrices are in `primitive_table_spectra.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.compile.ir.lapack import DECOMPOSITIONS
from matrix_checks import assert_derivatives, complex_normal, slope

Array = np.ndarray[Any, Any]


# ---- complex matrices ------------------------------------------------------------------------------------------------


def test_a_hermitian_matrix_is_the_sum_over_its_vectors():
    x = complex_normal(np.random.default_rng(1), 2, 3, 3)
    e, v = jt.linalg.eigh(x)
    assert (e.dtype, v.dtype) == (np.float64, np.complex128)
    lower = np.tril(x, -1)
    hermitian = (
        lower + np.conj(np.swapaxes(lower, -1, -2)) + np.real(x) * np.eye(3)
    )  # the diagonal's imaginary part is ignored
    np.testing.assert_allclose(
        (v * jt.cast(e, v.dtype)[:, None, :]) @ jt.linalg.adjoint(v), hermitian, atol=1e-14
    )
    np.testing.assert_allclose(jt.linalg.eigvalsh(x), np.linalg.eigvalsh(x), rtol=1e-14)


def test_derivatives_of_hermitian_eigenvectors():
    rng = np.random.default_rng(2)
    x, direction, w = complex_normal(rng, 3, 3), complex_normal(rng, 3, 3), complex_normal(rng, 3, 3)

    def f(a: Any) -> Any:
        e, v = jt.linalg.eigh(a)
        first = v[:, :1]
        projector = jt.matmul(first, first, adjoint_b=True)
        return jt.reduce_sum(jt.sin(e)) + jt.reduce_sum(jt.math.real(projector * w))

    assert_derivatives(f, x, direction)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("full", [False, True])
def test_complex_singular_vectors_and_their_derivatives(shape, full):
    rng = np.random.default_rng(3)
    x, direction, w = (complex_normal(rng, *shape) for _ in range(3))
    k = min(shape)
    s, u, v = jt.linalg.svd(x, full)
    assert (u.shape, v.shape) == ((shape[0], shape[0] if full else k), (shape[1], shape[1] if full else k))
    np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False), rtol=1e-14)
    np.testing.assert_allclose((u[:, :k] * jt.cast(s, u.dtype)) @ jt.linalg.adjoint(v[:, :k]), x, atol=1e-14)
    for vectors in (u, v):
        np.testing.assert_allclose(jt.linalg.adjoint(vectors) @ vectors, np.eye(vectors.shape[1]), atol=1e-14)

    def f(a: Any) -> Any:
        s, u, v = jt.linalg.svd(a, full)
        middle = jt.matmul(u[:, :k] * jt.cast(jt.exp(s), u.dtype), v[:, :k], adjoint_b=True)
        total = jt.reduce_sum(jt.math.real(middle * w))
        if full and shape[0] > k:
            rest = jt.matmul(u[:, k:], u[:, k:], adjoint_b=True)
            total = total + jt.reduce_sum(jt.math.real(rest @ w))
        return total

    assert_derivatives(f, x, direction)


def test_general_matrices_have_complex_results():
    x = np.random.default_rng(4).normal(size=(3, 3))
    for dtype, result in (("float32", np.complex64), ("float64", np.complex128), ("complex64", np.complex64)):
        e, v = jt.linalg.eig(x.astype(dtype))
        assert (e.dtype, v.dtype) == (result, result)
    e, v = jt.eig(np.diag([3.0, 1.0]))
    np.testing.assert_array_equal(e, [3.0, 1.0])
    assert jt.eigvals is jt.linalg.eigvals


@pytest.mark.parametrize("kind", ["real", "complex", "rotation"])
def test_derivatives_of_eigenvectors_of_general_matrices(kind):
    """The vectors are those of LAPACK: their greatest component is real. No product hides the phase."""
    rng = np.random.default_rng(12)
    x, direction = rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3, 3))
    if kind == "complex":
        x, direction = complex_normal(rng, 2, 3, 3), complex_normal(rng, 2, 3, 3)
    if kind == "rotation":
        x = x + np.array([[0.0, 5.0, 0.0], [-5.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    w = complex_normal(rng, 2, 3, 3)

    def f(a: Any) -> Any:
        e, v = jt.linalg.eig(a)
        return jt.reduce_sum(jt.math.real(jt.exp(e) * w[..., 0])) + jt.reduce_sum(jt.math.real(v * v * w))

    assert_derivatives(f, x, direction)


def test_the_gradient_of_the_trace_at_a_matrix_with_dependent_eigenvectors():
    x = np.array([[1.0, 1.0], [0.0, 1.0]])
    gradient = jt.grad(lambda a: jt.reduce_sum(jt.math.real(jt.linalg.eigvals(a))))(x)
    np.testing.assert_allclose(gradient, np.eye(2), atol=1e-14)


# ---- equal values ----------------------------------------------------------------------------------------------------


def rotated(values: list[float]) -> Array:
    """Return a symmetric matrix with these eigenvalues, equal up to rounding only."""
    q = np.linalg.qr(np.random.default_rng(4).normal(size=(len(values), len(values))))[0]
    return (q * np.array(values)) @ q.T


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0], [-1.0, 2.0, 2.0, 2.0]])
def test_a_sum_over_eigenvalues_has_its_gradient_at_equal_values(values):
    x = rotated(values)
    gradient = jt.grad(lambda a: jt.reduce_sum(jt.exp(jt.linalg.eigvalsh(a))))(x)
    exponential = rotated(list(np.exp(values)))
    np.testing.assert_allclose(gradient, np.tril(2 * exponential) - np.diag(np.diag(exponential)), atol=1e-13)


@pytest.mark.parametrize("triangle", "LU")
def test_a_loss_of_signs_of_eigenvectors_has_its_gradient(triangle):
    x, direction = np.random.default_rng(7).normal(size=(2, 5, 5))

    def f(a: Any) -> Any:
        return jt.reduce_sum(np.linalg.eigh(a, triangle)[1] * direction)

    value, gradient = jt.value_and_grad(f)(x)
    assert float(value) == pytest.approx(np.sum(np.linalg.eigh(x, triangle)[1] * direction), rel=1e-12)
    assert np.sum(gradient * direction) == pytest.approx(slope(f, x, direction), rel=1e-6)
    np.testing.assert_array_equal(gradient, np.tril(gradient) if triangle == "L" else np.triu(gradient))


def test_the_projector_on_equal_eigenvalues_has_its_gradient():
    w = np.random.default_rng(5).normal(size=(4, 4))
    direction = np.random.default_rng(6).normal(size=(4, 4))

    def f(a: Any) -> Any:
        vectors = jt.linalg.eigh(a)[1][:, :3]
        return jt.reduce_sum(jt.matmul(vectors, vectors, transpose_b=True) * w)

    x = rotated([1.0, 1.0, 1.0, 2.0])
    assert np.sum(jt.grad(f)(x) * direction) == pytest.approx(slope(f, x, direction), rel=1e-6)


def test_no_gradient_of_a_vector_is_nan_at_equal_values():
    for f in (
        lambda a: jt.reduce_sum(jt.linalg.eigh(a)[1]),
        lambda a: jt.reduce_sum(jt.linalg.svd(a)[1]),
        lambda a: jt.reduce_sum(jt.linalg.svd(a, full_matrices=True)[2]),
    ):
        for x in (np.eye(3), np.zeros((3, 3)), np.ones((3, 3))):
            assert np.isfinite(jt.grad(f)(x)).all()
            assert np.isfinite(jt.grad(lambda a, f=f: jt.reduce_sum(jt.grad(f)(a)))(x)).all()


def test_the_gradient_of_the_nuclear_norm_is_finite_at_rank_one():
    x = np.outer([1.0, 2.0, 2.0], [3.0, 4.0])
    gradient = jt.grad(lambda a: jt.reduce_sum(jt.linalg.svdvals(a)))(x)
    assert np.sum(gradient * x) == pytest.approx(15.0)


# ---- pseudoinverse and rank ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_derivatives_of_a_complex_pseudoinverse(shape):
    rng = np.random.default_rng(10)
    x, direction = complex_normal(rng, *shape), complex_normal(rng, *shape)
    w = complex_normal(rng, *shape[::-1])
    np.testing.assert_allclose(jt.linalg.pinv(x), np.linalg.pinv(x), rtol=1e-12)
    assert_derivatives(lambda a: jt.reduce_sum(jt.math.real(jt.linalg.pinv(a) * w)), x, direction)


def test_a_pseudoinverse_has_its_gradient_where_singular_values_are_equal_or_zero():
    rng = np.random.default_rng(11)
    columns, w = rng.normal(size=(4, 2)), rng.normal(size=(3, 4))

    def f(a: Any) -> Any:
        of_rank_two = jt.matmul(a, np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]]))
        return jt.reduce_sum(jt.linalg.pinv(of_rank_two) * w)

    assert_derivatives(f, columns, rng.normal(size=(4, 2)))
    equal = np.linalg.qr(columns)[0]
    v = w[:2]
    assert_derivatives(lambda a: jt.reduce_sum(jt.linalg.pinv(a) * v), equal, rng.normal(size=(4, 2)))


def test_singular_values_at_rcond_are_zero():
    x = np.diag([4.0, 2.0, 1.0])
    np.testing.assert_allclose(jt.linalg.pinv(x, 0.5), np.diag([0.25, 0.0, 0.0]))
    np.testing.assert_allclose(jt.linalg.pinv(np.stack([x, x]), [0.5, 0.4])[1], np.diag([0.25, 0.5, 0.0]))
    assert jt.linalg.matrix_rank(x, 2.0).numpy() == 1
    with pytest.raises(jt.errors.ShapeError, match=r"rcond must broadcast to the leading dimensions \(2,\)"):
        jt.linalg.pinv(np.stack([x, x]), [0.5, 0.5, 0.5])
    with pytest.raises(jt.errors.ShapeError, match=r"tol must broadcast to the leading dimensions \(\)"):
        jt.linalg.matrix_rank(x, [0.5])


def test_a_chain_is_multiplied_in_the_cheapest_order():
    shapes = [(10, 100), (100, 5), (5, 50), (50, 1), (1, 30)]
    arrays = [jt.constant(np.ones(shape)) for shape in shapes]
    product = jt.linalg.multi_dot(arrays).numpy()
    program = jt.explain().program
    multiplications = 0
    for op in program.ops:
        if op.primitive.is_matmul:
            (rows, inner), (_, columns) = (program.avals[slot].shape for slot in op.args)
            multiplications += rows * inner * columns
    # (a (b (c d))) e: 5*50*1 + 100*5*1 + 10*100*1 + 10*1*30
    assert (multiplications, product.shape) == (2050, (10, 30))


# ---- transforms ------------------------------------------------------------------------------------------------------

FUNCTIONS = {
    "eigvalsh": jt.linalg.eigvalsh,
    "eigh": lambda a: jt.math.abs(jt.linalg.eigh(a)[1]),
    "svdvals": jt.linalg.svdvals,
    "svd": lambda a: jt.math.abs(jt.linalg.svd(a)[1]),
    "eigvals": lambda a: jt.math.abs(jt.linalg.eigvals(a)),
    "pinv": jt.linalg.pinv,
    "cond": lambda a: jt.linalg.cond(a, 1),
    "expm": jt.linalg.expm,
    "sqrtm": jt.linalg.sqrtm,
    "logm": jt.linalg.logm,
}


def spread(*shape: int) -> Array:
    rng = np.random.default_rng(7)
    return 0.4 * rng.normal(size=shape) + np.diag(np.arange(1.0, shape[-1] + 1))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_forward_mode_batches_and_functions(name, mode):
    f = FUNCTIONS[name]
    x, direction = spread(2, 3, 3), np.random.default_rng(8).normal(size=(2, 3, 3))
    value, tangent = jt.jvp(f, (x,), (direction,))
    weight = np.random.default_rng(9).normal(size=value.shape)
    _, pullback = jt.vjp(f, x)
    assert np.sum(weight * tangent) == pytest.approx(np.sum(pullback(weight)[0] * direction), rel=1e-10)
    np.testing.assert_allclose(jt.vectorized_map(f, jt.constant(x)), value, rtol=1e-14)
    jacobian = jt.jacobian(f)(x[0])
    np.testing.assert_allclose(
        np.tensordot(jacobian, direction[0], 2), jt.jvp(f, (x[0],), (direction[0],))[1], rtol=1e-10
    )
    traced = jt.function(jt.value_and_grad(lambda a: jt.reduce_sum(f(a) * weight)))
    for _ in range(3):
        total, gradient = traced(jt.constant(x))
        assert float(total) == pytest.approx(np.sum(weight * value))
        np.testing.assert_allclose(gradient, pullback(weight)[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("values", "complete"),
    [(jt.linalg.eigvalsh, "eigh"), (jt.linalg.svdvals, "svd")],
    ids=["eigvalsh", "svdvals"],
)
def test_values_share_the_decomposition_of_their_gradient(values, complete):
    """Without a gradient, there are no vectors."""
    x = jt.Variable(spread(2, 3, 3))
    expected = jt.grad(lambda a: jt.reduce_sum(jt.exp(values(a))))(x.numpy())

    def decompositions() -> list[str]:
        listed = [step.listing.splitlines()[1].strip() for step in jt.explain().steps]
        return [routine for routine in (line.split(",")[0] for line in listed) if routine in DECOMPOSITIONS]

    for _ in range(3):
        total = float(jt.reduce_sum(jt.exp(values(x))))
    assert decompositions() == [values.__name__]
    for _ in range(3):
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(jt.exp(values(x)))
        gradient = tape.gradient(loss, x).numpy()
    assert decompositions() == [complete]
    np.testing.assert_allclose(float(loss), total, rtol=1e-13)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)


# ---- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [jt.linalg.eigh, jt.linalg.eigvalsh, jt.linalg.eig, jt.linalg.eigvals])
def test_refused_matrices_of_eigh(function):
    with pytest.raises(
        jt.errors.ShapeError, match=r"tensor must have at least 2 dimensions, .* got shape \(3,\)"
    ):
        function(np.ones(3))
    with pytest.raises(jt.errors.ShapeError, match=r"tensor must be square .* got shape \(2, 3\)"):
        function(np.ones((2, 3)))
    with pytest.raises(jt.errors.DTypeError, match="tensor must have one of the dtypes .* got float16; cast"):
        function(np.ones((2, 2), np.float16))


@pytest.mark.parametrize("function", [jt.linalg.svd, jt.linalg.svdvals])
def test_refused_matrices_of_svd(function):
    for x in (np.ones(3), 1.0):
        with pytest.raises(jt.errors.ShapeError, match="must have at least 2 dimensions"):
            function(x)
    with pytest.raises(jt.errors.DTypeError, match="tensor must have one of the dtypes .* got float16; cast"):
        function(np.ones((2, 2), np.float16))


def test_one_matrix_with_nan_does_not_change_the_others(mode):
    x = spread(3, 3, 3)
    x[1, 0, 2] = np.inf
    good = [0, 2]
    for name, f in FUNCTIONS.items():
        value, gradient = jt.value_and_grad(lambda a, f=f: jt.reduce_sum(f(a)[::2]))(x)
        assert np.isfinite(float(value)), name
        assert np.isnan(f(x)[1].numpy()).all(), name
        np.testing.assert_array_equal(f(x).numpy()[good], f(x[good]))
        np.testing.assert_allclose(
            np.asarray(gradient)[good], jt.grad(lambda a, f=f: jt.reduce_sum(f(a)))(x[good]), rtol=1e-12
        )


def test_an_error_of_lapack_names_the_matrix(monkeypatch):
    def eigh(x: Array, _: str) -> Any:
        if np.any(x == 7):
            raise np.linalg.LinAlgError("Eigenvalues did not converge")
        return np.linalg._umath_linalg.eigh_lo(x)

    monkeypatch.setattr(np.linalg, "eigh", eigh)
    x = spread(2, 3, 3, 3)
    x[1, 2] = 7
    with pytest.raises(jt.errors.LinAlgError, match=r"Matrix \(1, 2\) of the batch does not converge"):
        jt.linalg.eigh(x)[0].numpy()
    with pytest.raises(jt.errors.LinAlgError, match=r"The matrix does not converge"):
        jt.linalg.eigh(x[1, 2])[0].numpy()


@pytest.mark.parametrize("shape", [(0, 0), (0, 2, 2), (2, 0, 3), (0, 3), (3, 0)])
def test_empty_matrices(shape):
    s, u, v = jt.linalg.svd(np.zeros(shape), full_matrices=True)
    *lead, rows, columns = shape
    assert (s.shape, u.shape, v.shape) == (
        (*lead, min(rows, columns)),
        (*lead, rows, rows),
        (*lead, columns, columns),
    )
    np.testing.assert_array_equal(u, np.broadcast_to(np.eye(rows), u.shape))
    assert jt.grad(lambda a: jt.reduce_sum(jt.linalg.svdvals(a)))(np.zeros(shape)).shape == shape
    if rows == columns:
        e, v = jt.linalg.eigh(np.zeros(shape))
        assert (e.shape, v.shape) == (shape[:-1], shape)
        assert jt.grad(lambda a: jt.reduce_sum(jt.linalg.eigvalsh(a)))(np.zeros(shape)).shape == shape


@pytest.mark.parametrize("name", ["eigh", "eig", "svd", "qr"])
def test_tangents_of_empty_matrices_are_zero(name):
    for shape in ((2, 0, 0), (0, 3, 3)):
        parts = jt.jvp(getattr(jt.linalg, name), (np.ones(shape),), (np.ones(shape),))
        for value, tangent in zip(*parts, strict=True):
            assert (tangent.shape, tangent.dtype) == (value.shape, value.dtype)
