"""Banded systems, matrix equations, subspaces and functions of matrices: SciPy's values, and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import jittape as jt
from jittape.scipy import linalg

RNG = np.random.default_rng(3)
A = RNG.normal(size=(4, 4)) / 2
B = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
Q = RNG.normal(size=(4, 3))
S = A @ A.T + np.eye(4)
Z = A + 1j * RNG.normal(size=(4, 4)) / 3
TALL = RNG.normal(size=(5, 2))
BANDS = RNG.normal(size=(4, 6)) + 5 * (np.arange(4) == 1)[:, None]
HALF = np.stack([np.full(6, 4.0), RNG.normal(size=6) / 2, RNG.normal(size=6) / 2])
RHS = RNG.normal(size=(6, 2))
LARGE = RNG.normal(size=(12, 12)) / 6

CASES: dict[str, Callable[[Any], Any]] = {
    "cho_solve_banded": lambda m: [
        m.cho_solve_banded((m.cholesky_banded(HALF, lower=True), True), RHS),
        m.cho_solve_banded((m.cholesky_banded(HALF[::-1]), False), RHS[:, 0]),
    ],
    "cholesky_banded": lambda m: [np.tril(m.cholesky_banded(HALF, lower=True)[::-1])[::-1] for _ in range(1)],
    "cholesky_banded upper": lambda m: [np.triu(np.asarray(m.cholesky_banded(HALF[::-1])), -6)[2]],
    "coshm": lambda m: [f(A) for f in (m.coshm, m.sinhm, m.tanhm)],
    "cosm": lambda m: [f(A) for f in (m.cosm, m.sinm, m.tanm)],
    "cosm complex": lambda m: [f(Z) for f in (m.cosm, m.sinm, m.tanm, m.coshm)],
    "expm_frechet": lambda m: [*m.expm_frechet(A, S), m.expm_frechet(A, S, compute_expm=False)],
    "norm": lambda m: [
        m.norm(A),
        m.norm(A, 1),
        m.norm(A, -np.inf),
        m.norm(A, 2),
        m.norm(A, "nuc"),
        m.norm([3, 4]),
    ],
    "norm axis": lambda m: [m.norm(A, axis=1), m.norm(A, 1, axis=0, keepdims=True)],
    "null_space": lambda m: [projector(m.null_space(TALL.T)), projector(m.null_space(A[:, :1] @ A[:1]))],
    "orth": lambda m: [projector(m.orth(TALL)), projector(m.orth(TALL @ TALL.T))],
    "pinvh": lambda m: [
        m.pinvh(S),
        m.pinvh(np.triu(S) + 1j * np.triu(A, 1), lower=False),
        m.pinvh(TALL @ TALL.T),
    ],
    "schur": lambda m: [*m.schur(A), *m.schur(Z), *m.schur(A, "complex"), *m.schur(S, check_finite=False)],
    "solve_banded": lambda m: [
        m.solve_banded((2, 1), BANDS, RHS),
        m.solve_banded((1, 1), BANDS[:3], RHS[:, 0]),
        m.solve_banded((0, 1), BANDS[:2], RHS),
        m.solve_banded((2, 0), BANDS[1:], RHS, check_finite=False),
        m.solve_banded((0, 0), BANDS[1:2], RHS),
    ],
    "solve_banded complex": lambda m: m.solve_banded((2, 1), BANDS + 0.3j, RHS[:, 1]),
    "solve_continuous_lyapunov": lambda m: [m.solve_continuous_lyapunov(Z, Z), m.solve_lyapunov(B, B)],
    "solve_discrete_lyapunov": lambda m: [
        m.solve_discrete_lyapunov(A, S),
        m.solve_discrete_lyapunov(Z, S),
        m.solve_discrete_lyapunov(LARGE, LARGE),
        m.solve_discrete_lyapunov(Z, S, method="bilinear"),
    ],
    "solve_sylvester": lambda m: [m.solve_sylvester(A, B, Q), m.solve_sylvester(Z, B + 0j, Q + 0j)],
    "solveh_banded": lambda m: [
        m.solveh_banded(HALF, RHS, lower=True),
        m.solveh_banded(HALF[::-1], RHS[:, 0]),
    ],
    "subspace_angles": lambda m: [
        m.subspace_angles(TALL, A[:, :1].repeat(2, 0)[:5]),
        m.subspace_angles(A, A[:, :2]),
    ],
}


def projector(basis: Any) -> Any:
    return basis @ np.conj(basis).T


@pytest.mark.parametrize("name", CASES)
def test_values_are_scipys(name: str) -> None:
    found, wanted = (CASES[name](m) for m in (linalg, scipy.linalg))
    pairs = zip(found, wanted, strict=True) if isinstance(found, list) else [(found, wanted)]
    for one, other in pairs:
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-9, atol=1e-10)


GRADIENTS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "cho_solve_banded": (
        lambda ab, b: linalg.cho_solve_banded((linalg.cholesky_banded(ab, lower=True), True), b),
        (HALF, RHS),
    ),
    "cosm": (lambda a: linalg.cosm(a) + linalg.sinm(a) @ linalg.tanhm(a), (A,)),
    "expm_frechet": (lambda a, e: linalg.expm_frechet(a, e, compute_expm=False), (A, S)),
    "null_space": (lambda a: projector_of(linalg.null_space(a)), (TALL.T,)),
    "orth": (lambda a: projector_of(linalg.orth(a)), (TALL,)),
    "pinvh": (lambda a: linalg.pinvh(a), (S,)),
    "schur": (
        lambda a: jt.concat(linalg.schur(a), 0),
        (np.triu(A) + 0.1 * A + np.diag([1.0, 5.0, -3.0, 9.0]),),
    ),
    "schur complex": (lambda a: jt.abs(jt.concat(linalg.schur(a, "complex"), 0)), (A,)),
    "solve_banded": (lambda ab, b: linalg.solve_banded((2, 1), ab, b), (BANDS, RHS)),
    "solve_banded tridiagonal": (lambda ab, b: linalg.solve_banded((1, 1), ab, b), (BANDS[:3], RHS)),
    "solve_discrete_lyapunov": (linalg.solve_discrete_lyapunov, (A, S)),
    "solve_discrete_lyapunov large": (linalg.solve_discrete_lyapunov, (LARGE, LARGE)),
    "solve_lyapunov": (linalg.solve_continuous_lyapunov, (B, B.T)),
    "solve_sylvester": (linalg.solve_sylvester, (A, B, Q)),
    "solveh_banded": (lambda ab, b: linalg.solveh_banded(ab, b), (HALF[::-1], RHS)),
    "subspace_angles": (linalg.subspace_angles, (TALL, RNG.normal(size=(5, 1)))),
}


def projector_of(basis: Any) -> Any:
    return jt.matmul(basis, basis, transpose_b=True)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_slopes(name: str) -> None:
    function, operands = GRADIENTS[name]
    moves = [np.random.default_rng(i).normal(size=x.shape) for i, x in enumerate(operands)]

    def value(step: float) -> Any:
        y = function(*[jt.constant(x + step * d) for x, d in zip(operands, moves, strict=True)])
        return jt.reduce_sum(y * np.cos(np.arange(np.prod(y.shape))).reshape(tuple(y.shape)))

    tensors = [jt.constant(x) for x in operands]
    for _ in range(3):
        with jt.GradientTape() as tape:
            tape.watch(tensors)
            y = function(*tensors)
            total = jt.reduce_sum(y * np.cos(np.arange(np.prod(y.shape))).reshape(tuple(y.shape)))
        gradients = tape.gradient(total, tensors)
        found = sum(float(np.sum(g.numpy() * d)) for g, d in zip(gradients, moves, strict=True))
        np.testing.assert_allclose(
            found, (float(value(1e-5)) - float(value(-1e-5))) / 2e-5, rtol=1e-5, atol=1e-7
        )


def test_operands_of_two_dtypes() -> None:
    """SciPy gives a wrong solution if only one matrix is complex."""
    x = linalg.solve_sylvester(Z, B, Q).numpy()
    np.testing.assert_allclose(Z @ x + x @ B, Q, atol=1e-12)


def test_the_second_derivative_of_a_sylvester_equation() -> None:
    def norm(a: Any) -> Any:
        return jt.reduce_sum(linalg.solve_sylvester(a, B, Q) ** 2)

    hessian = np.asarray(jt.hessian(norm)(A))
    step = 1e-5 * np.ones_like(A)
    slope = (np.asarray(jt.grad(norm)(A + step)) - np.asarray(jt.grad(norm)(A - step))) / 2e-5
    np.testing.assert_allclose(hessian.reshape(4, 4, -1).sum(-1), slope, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: linalg.solve_sylvester(np.eye(2), -np.eye(2), np.ones((2, 2))), "common eigenvalue"),
        (
            lambda: linalg.solve_sylvester(np.eye(2), np.eye(3), np.ones((2, 2))),
            r"\[solve_sylvester\] q of shape",
        ),
        (lambda: linalg.solve_sylvester(np.ones(2), np.eye(3), np.ones((2, 2))), "must be matrices"),
        (lambda: linalg.solve_banded((1, 1), np.ones((2, 3)), np.ones(3)), "3 rows, one for each diagonal"),
        (lambda: linalg.solve_banded((1, 1), np.ones((3, 3)), np.ones(4)), "b must have 3 rows"),
        (lambda: linalg.solveh_banded(-np.ones((2, 3)), np.ones(3)), "not positive definite"),
        (
            lambda: linalg.solve_discrete_lyapunov(np.eye(2), np.ones((2, 2)), method="fast"),
            "'direct' or 'bilinear'",
        ),
        (lambda: linalg.solve_discrete_lyapunov(np.eye(2), np.ones((2, 3))), "square matrices of one shape"),
    ],
)
def test_errors(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        np.asarray(call())


def test_structured_matrices_keep_integers_and_infinity() -> None:
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("toeplitz", ([1, 2, 3],)), ("toeplitz", ([1, 2], [1.5, 2.0])), ("hankel", ([np.inf, np.inf],)),
        ("hankel", ([1, 2],)), ("circulant", ([True, False],)), ("block_diag", ([[1, 2]], [3])),
    ]  # fmt: skip
    for name, arguments in calls:
        wanted, found = getattr(scipy.linalg, name)(*arguments), getattr(linalg, name)(*arguments)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found.numpy(), wanted)
    with pytest.raises(AttributeError, match="no 'companion': it is not recorded; use SciPy's own"):
        _ = linalg.companion


def test_schur_factors_with_blocks_or_of_unknown_eigenvalues_have_no_derivative() -> None:
    """Complex factors have one in a `jt.function` too."""
    compiled = jt.function(lambda a: jt.reduce_sum(jt.abs(linalg.schur(a, output="complex")[0])))
    recorded = jt.grad(lambda a: jt.reduce_sum(jt.abs(linalg.schur(a, output="complex")[0])))(A)
    for _ in range(3):
        np.testing.assert_allclose(jt.grad(compiled)(A), recorded, rtol=1e-9)
    assert np.diagonal(scipy.linalg.schur(A)[0], -1).any()
    for given in (A, S):
        x = jt.constant(given)
        call = jt.function(linalg.schur) if given is S else linalg.schur
        np.testing.assert_allclose(call(x)[0], scipy.linalg.schur(given)[0], atol=1e-12)
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum(call(x)[0])
        with pytest.warns(jt.UnconnectedGradientWarning):
            assert tape.gradient(y, x) is None
    with pytest.raises(ValueError, match=r"\[schur\] output must be 'real' or 'complex'"):
        linalg.schur(A, "both")
    with pytest.raises(jt.ShapeError, match=r"\[schur\] a must be one matrix"):
        linalg.schur(np.zeros((2, 3, 3)))
    with pytest.raises(NotImplementedError, match=r"\[schur\] sort is not supported"):
        linalg.schur(A, sort="lhp")
