"""Linear algebra of `jittape.scipy.linalg`: SciPy's conventions and values, and gradients."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import jittape as jt
from jittape.runtime.counters import counters
from jittape.scipy import linalg

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 4)) + 3 * np.eye(4)
POSITIVE = A @ A.T / 4 + np.eye(4)
MIXED = np.triu(POSITIVE) + np.tril(RNG.normal(size=(4, 4)), -1)
"""The upper triangle is that of a positive definite matrix, the lower one is not."""
B = RNG.normal(size=(4, 3))
BANDS = np.array([[4.0, 5.0, 6.0, 7.0], [1.0, 0.5, -1.0, 0.0]])
TALL = RNG.normal(size=(5, 3))
INDEFINITE = np.array([[1.0, 2.0], [0.5, -4.0]])
STACK = np.random.default_rng(5).normal(size=(2, 5, 3))


def flat(result: Any) -> list[Any]:
    results = result if isinstance(result, (tuple, list)) else (result,)
    return [r for r in results if not isinstance(r, bool)]


def values(result: Any) -> list[Any]:
    return [r.numpy() if hasattr(r, "numpy") else np.asarray(r) for r in flat(result)]


CASES: dict[str, Callable[[Any], Any]] = {
    "block_diag": lambda m: m.block_diag(A, [1.0, 2.0], 3, TALL),
    "cho_solve lower": lambda m: m.cho_solve(m.cho_factor(MIXED.T, lower=True), B),
    "cho_solve": lambda m: m.cho_solve(m.cho_factor(MIXED), B[:, 0]),
    "cholesky complex": lambda m: m.cholesky(POSITIVE + 0.2j * (np.triu(B @ B.T) - np.tril(B @ B.T))),
    "cholesky lower": lambda m: m.cholesky(MIXED.T, lower=True),
    "cholesky": lambda m: m.cholesky(MIXED, check_finite=False),
    "circulant": lambda m: m.circulant(B[:, 0]),
    "det": lambda m: m.det(A),
    "eigvalsh generalized": lambda m: m.eigvalsh(MIXED, POSITIVE, lower=False),
    "eigh subset": lambda m: m.eigh(POSITIVE, eigvals_only=True, subset_by_index=(1, 2)),
    "expm": lambda m: m.expm(A),
    "hankel": lambda m: (m.hankel([1.0, 2.0, 3.0]), m.hankel([1.0, 2.0, 3.0], [7.0, 8.0])),
    "inv": lambda m: m.inv(A),
    "logm": lambda m: m.logm(POSITIVE),
    "lstsq": lambda m: m.lstsq(TALL, np.ones(5)),
    "lstsq columns": lambda m: m.lstsq(TALL, np.stack([np.ones(5), TALL[:, 0] ** 2], 1)),
    "lstsq wide": lambda m: m.lstsq(TALL.T, np.ones(3)),
    "lu": lambda m: m.lu(A),
    "lu indices": lambda m: m.lu(A, p_indices=True),
    "lu permuted": lambda m: m.lu(A, permute_l=True),
    "lu tall": lambda m: (*m.lu(TALL), *m.lu(TALL, True), m.lu(TALL.astype("f4"), p_indices=True)[0]),
    "lu tall of rank 1": lambda m: m.lu(np.outer([1.0, -2.0, 3.0, 2.0, 1.0], [1.0, 2.0, 4.0])),
    "lu tall zero": lambda m: m.lu(np.zeros((4, 2))),
    "lu wide": lambda m: (*m.lu(TALL.T), *m.lu(TALL.T * (1 + 2j), permute_l=True)),
    "lu stack": lambda m: (*m.lu(STACK), *m.lu(np.swapaxes(STACK, 1, 2)), *m.lu_factor(STACK)),
    "lu_factor": lambda m: (*m.lu_factor(A[::-1]), *m.lu_factor(TALL), *m.lu_factor(TALL.T)),
    "lu_solve": lambda m: m.lu_solve(m.lu_factor(A), B),
    "lu_solve SciPy's": lambda m: m.lu_solve(scipy.linalg.lu_factor(A[::-1]), B),
    "lu_solve SciPy's transpose": lambda m: m.lu_solve(scipy.linalg.lu_factor(A[::-1]), B, 1),
    "lu_solve transpose": lambda m: m.lu_solve(m.lu_factor(A), B, trans=1),
    "lu_solve adjoint": lambda m: m.lu_solve(m.lu_factor(A + 1j * A.T), B[:, 0], 2),
    "pinv": lambda m: m.pinv(TALL),
    "polar": lambda m: m.polar(A),
    "polar left": lambda m: m.polar(A, side="left"),
    "qr r": lambda m: [np.abs(x) for x in values(m.qr(TALL, mode="r"))],
    "positions of cholesky_banded": lambda m: m.cholesky_banded(BANDS, False, True),
    "positions of solveh_banded": lambda m: m.solveh_banded(BANDS, B, False, False, True),
    "positions of qr": lambda m: [np.abs(x) for x in values(m.qr(TALL, False, None, "r"))],
    "positions of solve": lambda m: m.solve(MIXED, B, False, False, False, False, "pos"),
    "positions of svdvals": lambda m: m.svdvals(A, True, False),
    "positions of pinvh": lambda m: m.pinvh(POSITIVE, None, 1e-9, False),
    "solve": lambda m: m.solve(A, B),
    "solve transposed": lambda m: m.solve(A, B[:, 0], transposed=True),
    "solve sym": lambda m: m.solve(MIXED, B, assume_a="sym"),
    "solve her lower": lambda m: m.solve(MIXED.T + 0j, B, assume_a="her", lower=True),
    "solve pos": lambda m: m.solve(MIXED, B, assume_a="pos"),
    "solve upper": lambda m: m.solve(MIXED, B, assume_a="upper triangular"),
    "solve lower": lambda m: m.solve(MIXED.T, B, assume_a="lower triangular"),
    "solve_triangular": lambda m: [m.solve_triangular(MIXED, B, trans=t) for t in (0, "T", 2)],
    "solve_triangular lower": lambda m: m.solve_triangular(A, B, lower=True, unit_diagonal=True),
    "solve_triangular complex": lambda m: [m.solve_triangular(A + 1j * POSITIVE, B, trans=t) for t in (1, 2)],
    "sqrtm": lambda m: m.sqrtm(POSITIVE),
    "sqrtm complex": lambda m: (m.sqrtm([[1, 1], [0, -4]]), m.sqrtm(np.float32([[-4]])), m.sqrtm(-POSITIVE)),
    "logm complex": lambda m: m.logm(np.array([[1.0, 1.0], [0.0, -4.0]])),
    "svd values": lambda m: m.svd(TALL, compute_uv=False),
    "svdvals": lambda m: m.svdvals(TALL),
    "toeplitz": lambda m: (m.toeplitz(B[:, 0]), m.toeplitz([1.0, 2.0, 3.0], [9.0, 7.0])),
    "toeplitz complex": lambda m: m.toeplitz([1.0 + 0j, 2.0 + 1j]),
}


@pytest.mark.filterwarnings("ignore:.*lwork.*:DeprecationWarning")
@pytest.mark.parametrize("name", CASES)
def test_values_are_scipys(name: str) -> None:
    call = CASES[name]
    found, wanted = values(call(linalg)), values(call(scipy.linalg))
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def test_factors_multiply_to_the_matrix() -> None:
    """Where signs are the routine's choice."""
    for mode in ("full", "economic"):
        q, r = linalg.qr(TALL, mode=mode)
        assert q.shape == ((5, 5) if mode == "full" else (5, 3))
        np.testing.assert_allclose((q @ r).numpy(), TALL, atol=1e-12)
    for full in (True, False):
        u, s, vh = linalg.svd(TALL, full_matrices=full)
        assert u.shape == ((5, 5) if full else (5, 3))
        np.testing.assert_allclose((u[:, :3] * s @ vh).numpy(), TALL, atol=1e-12)
    w, v = linalg.eigh(MIXED, POSITIVE, lower=False)
    np.testing.assert_allclose((POSITIVE @ v).numpy(), (POSITIVE @ v * w).numpy(), atol=1e-10)
    w, v = linalg.eig(A)
    np.testing.assert_allclose((A @ v).numpy(), (v * w).numpy(), atol=1e-10)
    assert linalg.eigvals([[1, 2], [0, 3]]).dtype == "complex128"
    assert linalg.det([[1, 2], [3, 4]]).dtype == "float64"
    assert linalg.inv(np.float32(A)).dtype == "float32"


def test_dtypes_that_depend_on_values_are_scipys() -> None:
    real, rotation, singular = np.array([[2, 1], [0.3, 3]]), np.array([[0.0, 1], [-1, 0]]), np.zeros((2, 2))
    for a in (real, rotation, -np.eye(2), singular, real + 0j, rotation + 0j):
        for name in ("eig", "eigvals", "sqrtm", "logm"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # SciPy's, of singular matrices
                wanted = values(getattr(scipy.linalg, name)(a))
            found = values(getattr(linalg, name)(a))
            assert [x.dtype for x in found] == [x.dtype for x in wanted], (name, a)
    jt.check_gradient(lambda a: total(linalg.eig(a)[1]), jt.constant(real))


def total(x: Any) -> Any:
    weights = np.cos(np.arange(np.prod(x.shape, dtype=int))).reshape(tuple(x.shape))
    return jt.reduce_sum(x * weights)


GRADIENTS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "block_diag": (lambda a, b: total(linalg.block_diag(a, b)), (A, TALL)),
    "cholesky": (lambda a: total(linalg.cholesky((a + jt.transpose(a)) / 2)), (POSITIVE,)),
    "eigh": (
        lambda a, b: total(linalg.eigvalsh(a @ jt.transpose(a), b @ jt.transpose(b))),
        (A, A + np.eye(4)),
    ),
    "expm": (lambda a: total(linalg.expm(a / 4)), (A,)),
    "lstsq": (lambda a, b: total(linalg.lstsq(a, b)[0]), (TALL, TALL[:, 0] ** 2)),
    "lu": (lambda a: total(linalg.lu(a)[1]) + total(linalg.lu(a)[2]), (A,)),
    "lu tall": (lambda a: total(linalg.lu(a)[1]) + total(linalg.lu(a)[2]), (TALL,)),
    "lu wide": (lambda a: total(linalg.lu(a)[1]) + total(linalg.lu_factor(a)[0]), (TALL.T,)),
    "lu_solve": (lambda a, b: total(linalg.lu_solve(linalg.lu_factor(a), b)), (A, B)),
    "lu_solve transpose": (lambda a, b: total(linalg.lu_solve(linalg.lu_factor(a), b, 1)), (A, B)),
    "pinv": (lambda a: total(linalg.pinv(a)), (TALL,)),
    "polar": (lambda a: total(linalg.polar(a)[0]) + total(linalg.polar(a)[1]), (A,)),
    "solve pos": (lambda a, b: total(linalg.solve(a @ jt.transpose(a), b, assume_a="pos")), (A, B)),
    "solve sym": (lambda a, b: total(linalg.solve(a, b, assume_a="sym")), (A, B)),
    "solve_triangular": (lambda a, b: total(linalg.solve_triangular(a, b, trans="T")), (A, B)),
    "sqrtm": (lambda a: total(linalg.sqrtm(a)), (POSITIVE,)),
    "sqrtm complex": (lambda a: total(jt.math.imag(linalg.sqrtm(jt.cast(a, "complex128")))), (INDEFINITE,)),
    "logm complex": (lambda a: total(jt.math.imag(linalg.logm(jt.cast(a, "complex128")))), (INDEFINITE,)),
    "toeplitz": (lambda c, r: total(linalg.toeplitz(c, r)), (B[:, 0], B[:3, 1])),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    function, operands = GRADIENTS[name]
    jt.check_gradient(function, *operands)
    argnums = tuple(range(len(operands)))
    compiled = jt.grad(jt.function(function), argnums=argnums)(*operands)
    for one, other in zip(compiled, jt.grad(function, argnums=argnums)(*operands), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


WRONG_SHAPES = {
    "[cholesky] a must be square in its last two dimensions, got shape (1, 2)": lambda: linalg.cholesky(
        [[1.0, 2.0]]
    ),
    "[cho_factor] a must be square in its last two dimensions, got shape (1,)": lambda: linalg.cho_factor(
        [1.0]
    ),
    "[qr] a must have at least 2 dimensions": lambda: linalg.qr(1.0, mode="r"),
    "[svdvals] a must have at least 2 dimensions": lambda: linalg.svdvals(1.0),
    "[eigh] a must be square in its last two dimensions, got shape ()": lambda: linalg.eigh(1.0),
    "[eigh] b must be square in its last two dimensions, got shape (2,)": lambda: linalg.eigh(
        np.eye(2), [1.0, 2.0]
    ),
    "[eigvalsh] a must be square in its last two dimensions, got shape ()": lambda: linalg.eigvalsh(1.0),
    "[eigvalsh] b must have as many rows as a, got shapes (2, 2) and (4, 4)": lambda: linalg.eigvalsh(
        A, np.eye(2)
    ),
    "[lu_factor] a must have at least 2 dimensions": lambda: linalg.lu_factor(1.0),
    "[lu] a must have at least 2 dimensions": lambda: linalg.lu(np.ones(3)),
    "[lu_solve] the factors must be square, and have a pivot for each row, got shapes (5, 3) and (3,)": (
        lambda: linalg.lu_solve(linalg.lu_factor(TALL), np.ones(5))
    ),
    "[svd] a must have at least 2 dimensions": lambda: linalg.svd(np.ones(3)),
    "[polar] a must have at least 2 dimensions": lambda: linalg.polar([1.0, 2.0]),
    "[eigvals] a must be square": lambda: linalg.eigvals(TALL),
    "[pinvh] a must be square": lambda: linalg.pinvh(TALL),
    "[expm_frechet] A must be square in its last two dimensions, got shape ()": lambda: linalg.expm_frechet(
        1.0, 1.0
    ),
    "[expm_frechet] E must have the shape of A, (4, 4), got (4, 3)": lambda: linalg.expm_frechet(A, B),
    "[cholesky_banded] the bands must have two dimensions and a row for each diagonal, got shape (0, 2)": (
        lambda: linalg.cholesky_banded(np.zeros((0, 2)))
    ),
    "[solveh_banded] the bands must have two dimensions and a row for each diagonal, got shape (0, 2)": (
        lambda: linalg.solveh_banded(np.zeros((0, 2)), [1.0, 2.0])
    ),
    "[cho_solve_banded] the bands must have two dimensions and a row for each diagonal, got shape (0, 2)": (
        lambda: linalg.cho_solve_banded((np.zeros((0, 2)), True), [1.0, 2.0])
    ),
    "[solve_banded] the bands must have 3 rows, one for each diagonal, got shape (2, 4)": (
        lambda: linalg.solve_banded((1, 1), BANDS, np.ones(4))
    ),
}


@pytest.mark.parametrize(("message", "call"), WRONG_SHAPES.items(), ids=range(len(WRONG_SHAPES)))
def test_wrong_shapes(message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(jt.ShapeError, match=re.escape(message)):
        call()


@pytest.mark.parametrize("kind", [np.float64, np.complex128])
def test_wide_bands_are_solved_in_linear_time(kind: Any) -> None:
    rng = np.random.default_rng(3)
    bands, b = rng.normal(size=(4, 120)).astype(kind), rng.normal(size=120)
    bands[1] += 6
    if kind is np.complex128:
        bands += 1j * rng.normal(size=bands.shape)
    np.testing.assert_allclose(
        linalg.solve_banded((2, 1), bands, b), scipy.linalg.solve_banded((2, 1), bands, b), rtol=1e-13
    )

    def loss(shift: Any) -> Any:
        return jt.reduce_sum(jt.abs(linalg.solve_banded((2, 1), bands * shift, b)) ** 2)

    weights = np.ones((4, 120))
    step = rng.normal(size=weights.shape) * 1e-6
    slope = float(np.sum(jt.grad(loss)(jt.constant(weights)).numpy() * step))
    values = [float(loss(jt.constant(weights + sign * step))) for sign in (1, -1)]
    assert 2 * slope == pytest.approx(values[0] - values[1], rel=1e-5)
    with pytest.raises(jt.LinAlgError, match=r"\[solve_banded\] Input matrix is not invertible"):
        linalg.solve_banded((2, 1), np.zeros((4, 120)), b).numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(("below", "above", "n"), [(2, 1, 6), (1, 3, 9), (4, 3, 40)])
def test_bands_in_loops_are_machine_code(below: int, above: int, n: int, dtype: str) -> None:
    rng = np.random.default_rng(4)
    bands, b = rng.normal(size=(below + above + 1, n)), rng.normal(size=(n, 2))
    if dtype.startswith("c"):
        bands, b = bands + 1j * rng.normal(size=bands.shape), b + 1j * rng.normal(size=b.shape)
    bands[above] += 3.0
    bands, b = bands.astype(dtype), b.astype(dtype)

    def repeated(bands: Any, x: Any) -> Any:
        return jt.fori_loop(0, 3, lambda i, x: linalg.solve_banded((below, above), bands, x), x)

    def loss(bands: Any, x: Any) -> Any:
        return jt.reduce_sum(jt.abs(repeated(bands, x)) ** 2)

    expected = b
    for _ in range(3):
        expected = scipy.linalg.solve_banded((below, above), bands, expected)
    tolerance = {"f": 2e-3, "d": 1e-10, "F": 2e-3, "D": 1e-10}[np.dtype(dtype).char]
    found = jt.function(repeated)(bands, b)
    assert all(step.kernel is not None for step in counters.last.compiled.steps)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
    operands = jt.constant(bands), jt.constant(b)
    gradients = jt.function(jt.grad(loss, argnums=(0, 1)))(*operands)
    with jt.GradientTape() as tape:
        tape.watch(operands)
        x = operands[1]
        for _ in range(3):
            x = linalg.solve_banded((below, above), operands[0], x)
        total = jt.reduce_sum(jt.abs(x) ** 2)
    for one, other in zip(gradients, tape.gradient(total, operands), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * np.abs(other).max())


def test_exchanges_of_rows_in_bands() -> None:
    bands = np.array(
        [
            [0.0, 0.0, 1.0, 2.0, 1.5],
            [0.0, 3.0, 1.0, 2.0, 4.0],
            [1e-20, 0.0, 1.0, 3.0, 2.0],
            [5.0, 1.0, 2.0, 1.0, 0.0],
        ]
    )
    b = np.arange(1.0, 6.0)
    found = jt.function(lambda ab: linalg.solve_banded((1, 2), ab, b))(bands)
    np.testing.assert_allclose(found, scipy.linalg.solve_banded((1, 2), bands, b), rtol=1e-13)


def test_a_singular_matrix_in_a_batch_of_bands_is_named() -> None:
    bands = np.random.default_rng(5).normal(size=(3, 4, 9)) + 2.0
    bands[1] = 0.0
    b = np.ones(9)

    def solved(ab: Any) -> Any:
        return jt.vectorized_map(lambda one: linalg.solve_banded((1, 2), one, b), ab)

    for f in (solved, jt.function(solved)):
        with pytest.raises(
            jt.LinAlgError, match="Matrix 1 of the batch is singular: a pivot is zero; adding a small"
        ):
            f(jt.constant(bands)).numpy()


def test_refusals() -> None:
    with pytest.raises(jt.DTypeError, match=r"\[cosm\] A must have one of the dtypes .* got float16"):
        linalg.cosm(np.eye(2, dtype=np.float16))
    with pytest.raises(ValueError, match=r"\[solve\] assume_a must be one of"):
        linalg.solve(A, B, assume_a="spd")
    with pytest.raises(jt.ShapeError, match=r"\[solve\] b must have 4 rows"):
        linalg.solve(A, np.ones(3))
    for solver in (linalg.solve, linalg.solve_triangular, linalg.lstsq):
        with pytest.raises(jt.ShapeError, match="a must have at least 2 dimensions"):
            solver(2.0, [1.0])
    with pytest.raises(jt.ShapeError, match=r"\[pinv\] a must have at least 2 dimensions"):
        linalg.pinv(2.0)
    with pytest.raises(ValueError, match=r"\[solve_banded\] l_and_u must not be negative"):
        linalg.solve_banded((-1, 0), np.zeros((0, 2)), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"\[qr\] mode must be"):
        linalg.qr(A, mode="raw")
    with pytest.raises(ValueError, match=r"\[eigh\] type must be 1"):
        linalg.eigh(A, POSITIVE, type=2)
    with pytest.raises(jt.ShapeError, match=r"\[toeplitz\] needs a vector"):
        linalg.toeplitz(A)
    with pytest.raises(ValueError, match=r"\[solve_triangular\] trans must be"):
        linalg.solve_triangular(A, B, trans="X")
    with pytest.raises(ValueError, match=r"\[lstsq\] cond= is not recorded"):
        linalg.lstsq(A, B, cond=1e-3)
    with pytest.raises(TypeError, match="unexpected keyword"):
        linalg.inv(A, assume_a="pos")
    with pytest.raises(jt.LinAlgError):
        linalg.cholesky(-POSITIVE).numpy()


def test_roots_of_a_type_that_depends_on_values() -> None:
    """Where values are unknown a real matrix keeps its dtype; else the gradient passes through the complex root."""
    matrix = np.array([[1.0, 1.0], [0.0, -4.0]])
    slope = jt.grad(lambda a: jt.math.imag(linalg.sqrtm(a))[1, 1])(jt.constant(matrix))
    assert float(slope[1, 1]) == pytest.approx(-0.25)
    assert np.isnan(jt.function(linalg.sqrtm)(matrix).numpy()).all()
    with pytest.raises(ValueError, match=r"\[lu_solve\] pivots must be from 0 to 1, got pivots\[1\] = 2"):
        linalg.lu_solve((np.eye(2), [1, 2]), [1.0, 2.0]).numpy()
