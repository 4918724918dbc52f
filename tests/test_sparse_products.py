"""Products of SciPy's sparse matrices and tensors are recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import jittape as jt

DENSE = np.random.default_rng(0).normal(size=(5, 4)) * (np.arange(20).reshape(5, 4) % 3 == 0)
X = np.random.default_rng(1).normal(size=4)
COLUMNS = np.random.default_rng(2).normal(size=(4, 3))
FORMATS = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("format", FORMATS)
def test_product_is_recorded(format: str, kind: Any) -> None:
    matrix = kind(DENSE).asformat(format)
    x, columns = jt.constant(X), jt.constant(COLUMNS)
    products = [
        (matrix @ x, DENSE @ X),
        (matrix.dot(x), DENSE @ X),
        (matrix @ columns, DENSE @ COLUMNS),
        (x @ matrix.T, X @ DENSE.T),
        (jt.transpose(columns) @ matrix.T, COLUMNS.T @ DENSE.T),
        (jt.sparse_matmul(matrix, X), DENSE @ X),
        (jt.sparse_matmul(COLUMNS.T, matrix.T), COLUMNS.T @ DENSE.T),
    ]
    for found, expected in products:
        assert isinstance(found, jt.Tensor)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


def squared(x: Any) -> Any:
    return jt.reduce_sum((scipy.sparse.csr_array(DENSE) @ x) ** 2)


def test_gradients_flow_to_the_tensor() -> None:
    expected = 2 * DENSE.T @ (DENSE @ X)
    x = jt.Variable(X)
    for f in (squared, jt.function(squared)):
        for _ in range(3):
            with jt.GradientTape() as tape:
                y = f(x)
            np.testing.assert_allclose(tape.gradient(y, x).numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(jt.hessian(squared)(X), 2 * DENSE.T @ DENSE, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(jt.sparse_hessian(squared)(X).toarray(), 2 * DENSE.T @ DENSE, atol=1e-14)


def test_later_writes_to_the_matrix_change_nothing() -> None:
    matrix = scipy.sparse.csr_array(DENSE)
    product = matrix @ jt.constant(X)
    matrix.data[:] = 7.0
    np.testing.assert_allclose(product.numpy(), DENSE @ X, rtol=1e-12)


def test_empty_rows_and_matrices() -> None:
    for shape in ((3, 4), (0, 4), (3, 0)):
        matrix = scipy.sparse.csr_array(shape)
        found = matrix @ jt.ones([shape[1]], "float64")
        np.testing.assert_array_equal(found.numpy(), np.zeros(shape[0]))


def test_numpy_conversion_elsewhere_is_as_before() -> None:
    x = jt.constant(X)
    np.testing.assert_array_equal(np.asarray(x), X)
    np.testing.assert_array_equal(
        scipy.sparse.csr_array(COLUMNS).T @ np.asarray(jt.ones([4])), COLUMNS.sum(0)
    )


def test_errors() -> None:
    matrix = scipy.sparse.csr_array(DENSE)
    with pytest.raises(jt.ShapeError, match=r"\[sparse_matmul\] shapes \(5, 4\) and \(3,\) do not fit"):
        matrix @ jt.ones([3])
    with pytest.raises(jt.ShapeError, match=r"\[sparse_matmul\] shapes \(3,\) and \(5, 4\) do not fit"):
        jt.ones([3]) @ matrix
    with pytest.raises(TypeError, match="exactly one operand must be a sparse matrix of SciPy"):
        jt.sparse_matmul(X, COLUMNS)
    with pytest.raises(TypeError, match="exactly one operand must be a sparse matrix of SciPy"):
        jt.sparse_matmul(matrix, matrix.T)
    x = jt.ones([4])
    for call in (
        lambda: matrix + x,
        lambda: jt.matmul(matrix, x[:, None]),
        lambda: scipy.sparse.csr_matrix(DENSE) * x,
    ):
        with pytest.raises(
            TypeError, match=r"it is a sparse matrix; write matrix @ x for a product, or give matrix.to"
        ):
            call()
