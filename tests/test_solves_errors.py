"""Errors of factorizations and systems of equations: the op, the matrix or the argument, and what was found."""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp


def with_one_bad(good, bad, at):
    stack = np.broadcast_to(good, (2, 3, *good.shape)).copy()
    stack[at] = bad
    return stack


INDEFINITE = with_one_bad(np.eye(2), [[1.0, 2.0], [2.0, 1.0]], (1, 2))
SINGULAR = with_one_bad(np.eye(2), np.ones((2, 2)), (0, 1))


@pytest.mark.parametrize(
    ("do", "message"),
    [
        (
            lambda: jt.linalg.cholesky(INDEFINITE),
            r"\[cholesky\].*Matrix \(1, 2\) of the batch is not positive",
        ),
        (lambda: jt.linalg.cholesky([[-1.0]]), r"\[cholesky\].*The matrix is not positive definite"),
        (lambda: jt.linalg.cholesky([[0.0]]), r"\[cholesky\].*The matrix is not positive definite"),
        (
            lambda: jt.linalg.solve(SINGULAR, np.ones((2, 3, 2, 1))),
            r"Input matrix is not invertible. Matrix \(0, 1\) of the batch is singular",
        ),
        (lambda: jt.linalg.solve(SINGULAR[0, 1:], np.ones((2, 0))), r"\[solve\].*Matrix 0 of the batch"),
        (lambda: jt.linalg.solve(np.zeros((2, 2)), np.ones((2, 1))), r"\[solve\].*The matrix is singular"),
        (lambda: jt.linalg.inv(SINGULAR), r"not invertible. Matrix \(0, 1\) of the batch is singular"),
        (lambda: jt.linalg.logdet(INDEFINITE), r"Matrix \(1, 2\) of the batch is not positive definite"),
    ],
)
def test_the_matrix_that_does_not_fit_is_named(do, message, mode):
    for _ in range(3):
        for kind in (jt.LinAlgError, ValueError, np.linalg.LinAlgError):
            with pytest.raises(kind, match=message):
                do().numpy()


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        (lambda: jt.linalg.cholesky(np.ones(3)), ValueError, r"\[cholesky\] input must have at least 2 dim"),
        (
            lambda: jt.linalg.trace([1.0]),
            ValueError,
            r"\[trace\] needs at least 2 dimensions.*expand_dims adds one",
        ),
        (
            lambda: jt.linalg.matrix_norm([1.0]),
            ValueError,
            r"\[matrix_norm\] x must .*vector_norm is for vectors",
        ),
        (lambda: jt.linalg.tensorinv([[1]], 1), TypeError, r"\[tensorinv\] a must have one of the dtypes"),
        (
            lambda: jt.linalg.tensorsolve([[1.0]], [1]),
            TypeError,
            r"\[tensorsolve\] b must have one of the dtypes",
        ),
        (lambda: jt.linalg.cholesky(3.0), ValueError, r"\[cholesky\] input must have at least 2 dimensions"),
        (lambda: jt.linalg.cholesky(np.ones((2, 3))), ValueError, r"\[cholesky\] input must be square"),
        (
            lambda: jt.linalg.cholesky([[4, 2], [2, 3]]),
            TypeError,
            r"\[cholesky\] input must have one of.*int32",
        ),
        (
            lambda: jt.linalg.cholesky(np.eye(2, dtype=np.float16)),
            TypeError,
            r"float16; cast it first",
        ),
        (
            lambda: jt.linalg.solve(np.eye(2), [1.0, 2.0]),
            ValueError,
            r"\[solve\] rhs must have at least 2 dim",
        ),
        (
            lambda: jt.linalg.solve(np.eye(2), np.ones((3, 1))),
            ValueError,
            r"\[solve\] rhs must have as many rows",
        ),
        (lambda: jt.linalg.solve(np.eye(2), np.ones((2, 1), int)), TypeError, r"\[solve\] rhs must have one"),
        (
            lambda: jt.linalg.solve(np.ones((2, 3)), np.ones((2, 1))),
            ValueError,
            r"\[solve\] matrix must be sq",
        ),
        (
            lambda: jt.linalg.solve(np.ones((2, 3, 3)), np.ones((4, 3, 1))),
            ValueError,
            r"\[solve\] the leading dimensions of matrix and rhs must broadcast",
        ),
        (lambda: jt.linalg.inv(np.ones((2, 3))), ValueError, r"\[inv\] input must be square.*\(2, 3\)"),
        (lambda: jt.linalg.det(np.eye(2, dtype=int)), TypeError, r"\[det\] input must have one.*int64"),
        (lambda: jt.linalg.slogdet(np.ones(2)), ValueError, r"\[slogdet\] input must have at least 2"),
        (lambda: jt.linalg.logdet(np.ones((1, 2))), ValueError, r"\[logdet\] matrix must be square"),
        (lambda: jt.linalg.lu(np.eye(2), "float32"), TypeError, r"\[lu\] output_idx_type must be int32 or"),
        (
            lambda: jt.linalg.lu_solve(np.eye(2), [0.0, 1.0], np.eye(2)),
            TypeError,
            r"\[lu_solve\] perm must be",
        ),
        (
            lambda: jt.linalg.lu_solve(np.eye(2), [0], np.eye(2)),
            ValueError,
            r"\[lu_solve\] perm must have the",
        ),
        (
            lambda: jt.linalg.cholesky_solve(np.eye(2), np.eye(3)),
            ValueError,
            r"\[cholesky_solve\] rhs must have as many rows as chol",
        ),
        (
            lambda: jt.linalg.triangular_solve(np.eye(2), np.ones(2)),
            ValueError,
            r"\[triangular_solve\] rhs must have at least 2",
        ),
    ],
)
def test_operands_that_do_not_fit(do, error, message):
    with pytest.raises(error, match=message):
        do()


# ---- banded and rectangular systems ----------------------------------------------------------------------------------


def with_zero(x, *index):
    x = x.copy()
    x[index] = 0
    return x


@pytest.mark.parametrize(
    ("do", "message"),
    [
        (
            lambda: jt.linalg.tridiagonal_solve(with_zero(np.ones((4, 3, 3)), 2), np.ones((4, 3))),
            r"\[tridiagonal_solve\] Input matrix is not invertible. Matrix 2 of the batch is singular",
        ),
        (
            lambda: jt.linalg.tridiagonal_solve(np.zeros((3, 1)), np.ones(1)),
            r"\[tridiagonal_solve\].*The matrix is singular",
        ),
        (
            lambda: jt.linalg.banded_triangular_solve(
                with_zero(np.ones((2, 2, 2, 3)), 1, 0, 0, 2), np.ones((2, 2, 3))
            ),
            r"\[banded_triangular_solve\] Input matrix is not invertible. Matrix \(1, 0\) of the batch",
        ),
        (
            lambda: jt.linalg.lstsq(np.stack([np.eye(2), np.zeros((2, 2))]), np.ones((2, 2, 1))),
            r"\[lstsq\] The normal equations have no solution. Matrix 1 of the batch does not have full rank",
        ),
        (
            lambda: jt.linalg.lstsq(
                np.array([[1, 2], [2, 4], [3, 6]], "float32"), np.ones((3, 1), "float32")
            ),
            r"\[lstsq\] The normal equations have no solution. The matrix does not have full rank",
        ),
        (
            lambda: jt.linalg.lstsq(np.stack([np.eye(2), np.ones((2, 2)) + 0.1]), np.ones((2, 2, 1))),
            r"Matrix 1 of the batch does not have full rank up to rounding; use fast=False",
        ),
        (
            lambda: jt.linalg.tensorsolve(np.zeros((2, 3, 6)), np.ones((2, 3))),
            r"\[tensorsolve\] Input matrix is not invertible",
        ),
        (lambda: jt.linalg.tensorinv(np.zeros((2, 3, 6))), r"\[tensorinv\] Input matrix is not invertible"),
    ],
)
def test_the_banded_or_rectangular_matrix_that_does_not_fit_is_named(do, message, mode):
    for _ in range(3):
        with pytest.raises(jt.LinAlgError, match=message):
            do().numpy()


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        (
            lambda: jt.linalg.tridiagonal_solve(np.ones((2, 4)), np.ones(4)),
            ValueError,
            r"compact diagonals must have",
        ),
        (
            lambda: jt.linalg.tridiagonal_solve(np.ones(3), np.ones(4)),
            ValueError,
            r"diagonals must have at least 2",
        ),
        (
            lambda: jt.linalg.tridiagonal_solve(np.ones((3, 4)), np.ones(5)),
            ValueError,
            r"rhs must have 4 rows.*got 5",
        ),
        (lambda: jt.linalg.tridiagonal_solve(np.ones((3, 4)), 1.0), ValueError, r"rhs must have the shape"),
        (
            lambda: jt.linalg.tridiagonal_solve(np.ones((2, 3, 4)), np.ones((3, 4))),
            ValueError,
            r"leading dimensions of diagonals and rhs must broadcast",
        ),
        (
            lambda: jt.linalg.tridiagonal_solve(np.ones((3, 4), int), np.ones(4)),
            TypeError,
            r"must have one of.*int64",
        ),
        (
            lambda: jt.linalg.tridiagonal_solve(np.ones((3, 4)), np.ones(4), "dense"),
            ValueError,
            r"got 'dense'",
        ),
        (
            lambda: jt.linalg.tridiagonal_solve([np.ones(4)] * 2, np.ones(4), "sequence"),
            ValueError,
            r"of three tensors",
        ),
        (
            lambda: jt.linalg.tridiagonal_solve([np.ones(4), np.ones(4), np.ones(2)], np.ones(4), "sequence"),
            ValueError,
            r"a sequence of diagonals must have the shapes.*\(4,\), \(4,\), \(2,\)",
        ),
        (
            lambda: jt.linalg.tridiagonal_solve([1.0, np.ones(4), np.ones(4)], np.ones(4), "sequence"),
            ValueError,
            r"a sequence of diagonals must have the shapes",
        ),
        (
            lambda: jt.linalg.tridiagonal_solve(np.ones((3, 4)), np.ones(4), "matrix"),
            ValueError,
            r"must be square",
        ),
        (
            lambda: jt.linalg.tridiagonal_solve(np.ones((3, 4)), np.ones(4), perturb_singular=True),
            NotImplementedError,
            r"perturb_singular=True is not supported",
        ),
        (
            lambda: jt.linalg.tridiagonal_matmul(np.ones((3, 4)), np.ones(4)),
            ValueError,
            r"rhs must have at least 2",
        ),
        (
            lambda: jt.linalg.tridiagonal_matmul(np.ones((3, 4)), np.ones((3, 4))),
            ValueError,
            r"rhs must have 4 rows",
        ),
        (
            lambda: jt.linalg.banded_triangular_solve(np.ones((0, 4)), np.ones((4, 1))),
            ValueError,
            r"main diagonal",
        ),
        (
            lambda: jt.linalg.banded_triangular_solve(np.ones((2, 4)), np.ones((3, 1))),
            ValueError,
            r"must have 4 rows",
        ),
        (
            lambda: jt.linalg.banded_triangular_solve(np.ones((2, 4)), 1.0),
            ValueError,
            r"rhs must have the shape",
        ),
        (lambda: jt.linalg.qr(np.ones(3)), ValueError, r"\[qr\] input must have at least 2"),
        (
            lambda: jt.linalg.qr(np.ones((3, 3), np.float16)),
            TypeError,
            r"\[qr\] input must have one of.*float16",
        ),
        (lambda: jt.linalg.lstsq(np.ones((3, 2)), np.ones((2, 1))), ValueError, r"as many rows as matrix"),
        (
            lambda: jt.linalg.lstsq(np.ones((3, 2)), np.ones(3)),
            ValueError,
            r"\[lstsq\] rhs must have at least 2",
        ),
        (
            lambda: jt.linalg.lstsq(np.ones((3, 2)), np.ones((3, 1)), l2_regularizer=np.ones(2)),
            ValueError,
            r"l2_regularizer must be a number, got shape \(2,\)",
        ),
        (
            lambda: jt.linalg.tensorsolve(np.ones((2, 3, 5)), np.ones((2, 3))),
            ValueError,
            r"\[tensorsolve\] a must have",
        ),
        (
            lambda: jt.linalg.tensorsolve(np.ones((2, 2)), np.ones(2), axes=5),
            ValueError,
            r"\[tensorsolve\].*axis 5",
        ),
        (
            lambda: jt.linalg.tensorinv(np.ones((2, 3, 5))),
            ValueError,
            r"\[tensorinv\] the first 2 dimensions",
        ),
        (
            lambda: jt.linalg.tensorinv(np.ones((2, 2)), 0),
            ValueError,
            r"\[tensorinv\] ind must be at least 1",
        ),
    ],
)
def test_operands_of_banded_and_rectangular_systems_that_do_not_fit(do, error, message):
    with pytest.raises(error, match=message):
        do()


def test_messages_name_the_function_that_was_called() -> None:
    """Not the op that it is made of, interpreted, compiled and in a function."""
    singular, indices = jt.constant(SINGULAR), jt.constant([0, 9])
    table = jt.constant(np.eye(3))
    calls = {
        "inv": lambda: jt.linalg.inv(singular),
        "logdet": lambda: jt.linalg.logdet(singular),
        "matrix_power": lambda: jt.linalg.matrix_power(singular, -2),
        "np.linalg.inv": lambda: np.linalg.inv(singular),
        "embedding_lookup": lambda: jt.nn.embedding_lookup(table, indices),
        "getitem": lambda: table[indices],
        "take": lambda: jt.numpy.take(table, indices, axis=0),
    }
    for name, call in calls.items():
        for run in (call, call, jt.function(call)):
            with pytest.raises((jt.errors.LinAlgError, IndexError), match=rf"^\[{name}\] "):
                run().numpy()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *[
            (name, (np.ones((2, 3)),))
            for name in ["inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh", "eig", "eigvals"]
        ],
        *[
            (name, (np.ones(3),))
            for name in [
                "inv",
                "det",
                "slogdet",
                "cholesky",
                "eigh",
                "eig",
                "svd",
                "svdvals",
                "qr",
                "pinv",
                "cond",
            ]
        ],
        ("solve", (np.ones((2, 3)), np.ones(3))),
        ("matrix_power", (np.ones((2, 3)), 2)),
        ("tensorinv", (np.eye(3),)),
        ("tensorsolve", (np.ones((2, 3)), np.ones(3))),
    ],
)
def test_what_is_no_square_matrix_raises_numpys_error(name, arguments):
    with pytest.raises(np.linalg.LinAlgError):
        getattr(np.linalg, name)(*arguments)
    tensor, *rest = arguments
    for call in (getattr(jnp.linalg, name), getattr(np.linalg, name)):
        with pytest.raises(np.linalg.LinAlgError, match=rf"{name}\] ") as raised:
            call(jt.constant(tensor), *rest)
        assert isinstance(raised.value, jt.ShapeError)
