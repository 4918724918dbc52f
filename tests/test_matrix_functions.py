"""Functions of matrices: identities, complex matrices, matrices without a result, and bad input.

Values and derivatives of real matrices are in `primitive_table_spectra.py`.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import jittape as jt
from matrix_checks import assert_derivatives, complex_normal, slope

FUNCTIONS = {"expm": jt.linalg.expm, "sqrtm": jt.linalg.sqrtm, "logm": jt.linalg.logm}
PRECISE = {"expm": mpmath.expm, "sqrtm": mpmath.sqrtm, "logm": mpmath.logm}


def precise(name: str, x: Any) -> Any:
    """Return a function of a matrix, computed with 50 digits."""
    with mpmath.workdps(50):
        return np.array(PRECISE[name](mpmath.matrix(x.tolist())).tolist(), complex)


# ---- values ----------------------------------------------------------------------------------------------------------


def exponentials(x: Any) -> tuple[Any, Any]:
    """Return the exponential of the interpreter and that of compiled code."""
    run = jt.function(jt.linalg.expm)
    return run(x).numpy(), run(x).numpy()


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 0.3, 3.0, 40.0])
def test_exponentials_of_all_sizes_in_one_batch_and_alone(scale):
    x = np.random.default_rng(1).normal(size=(4, 4)) * scale
    expected = precise("expm", x).real
    batch = np.stack([np.zeros((4, 4)), x, 30 * np.eye(4)])
    for found in (*exponentials(x), *[both[1] for both in exponentials(batch)]):
        np.testing.assert_allclose(
            found, expected, rtol=0, atol=2e-15 * (1 + 10 * scale) * np.abs(expected).max()
        )


def test_exponentials_of_matrices_far_from_normal_are_not_scaled_too_much():
    x = np.array([[1.0, 1e6, 0.0], [0.0, -1.0, 1e6], [0.0, 0.0, 0.5]])
    for found in exponentials(x):
        np.testing.assert_allclose(found, precise("expm", x).real, rtol=1e-12)
    x = np.array([[0.5, 1e8], [0.0, 0.25]], np.float32)
    for found in exponentials(x):
        np.testing.assert_allclose(found, precise("expm", x).real, rtol=1e-6)


def test_exponentials_of_matrices_with_small_powers_are_scaled_enough():
    """The powers of the matrix are small, but rounding errors grow with the powers of its absolute values."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        x = q @ np.triu(rng.normal(size=(4, 4)), 1) @ q.T * 30
        expected = precise("expm", x).real
        for found in exponentials(x):
            np.testing.assert_allclose(found, expected, rtol=0, atol=2e-12 * np.abs(expected).max())


def test_exponentials_that_overflow_are_infinite():
    for found in exponentials(np.diag([1000.0, -1000.0])):
        np.testing.assert_array_equal(found, [[np.inf, 0.0], [0.0, 0.0]])
    for found in exponentials(np.full((2, 2), 1e300)):
        assert not np.isfinite(found).any()


def test_exponentials_of_matrices_whose_powers_leave_the_range():
    """Halving a matrix until its powers are normal numbers would round its eigenvalues away."""
    e = np.e
    for x, expected in (
        ([[0.0, 1e300], [0.0, 0.0]], [[1.0, 1e300], [0.0, 1.0]]),
        ([[1.0, 1e200], [0.0, -1.0]], [[e, np.sinh(1.0) * 1e200], [0.0, 1 / e]]),
        ([[0.0, 1e-310], [0.0, 0.0]], [[1.0, 1e-310], [0.0, 1.0]]),
    ):
        for found in exponentials(np.array(x)):
            np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-200)


def test_a_loop_with_an_exponential_is_compiled_with_its_derivatives():
    times = np.array([0.3, 0.5, 0.2])

    def total(a):
        last = jt.scan(lambda x, t: jt.linalg.expm(t * a) @ x, times, initializer=jt.eye(3, dtype=jt.float64))
        return jt.reduce_sum(jt.square(last[-1]))

    a = np.random.default_rng(5).normal(size=(3, 3))
    run = jt.function(jt.value_and_grad(total))
    for _ in range(2):
        value, gradient = run(a)
        float(value)
    assert not any("NumPy" in step.title for step in jt.explain().steps)
    direct = jt.value_and_grad(lambda a: jt.reduce_sum(jt.square(jt.linalg.expm(a))))(a)
    np.testing.assert_allclose(value, direct[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, direct[1], rtol=1e-11)
    native = jt.njit_value_and_grad(total, jt.TensorSpec((3, 3), jt.float64))
    assert native.python_ops == ()
    np.testing.assert_allclose(native(a)[1], gradient, rtol=1e-12)


def test_a_loop_with_roots_and_logarithms_is_compiled_with_its_derivatives():
    def total(a):
        def body(x, y):
            return jt.linalg.sqrtm(x @ x + y) + jt.linalg.logm(x + y)

        return jt.reduce_sum(jt.square(jt.scan(body, jt.stack([a, 2 * a, a @ a]))))

    a = np.eye(3) + 0.3 * np.random.default_rng(5).normal(size=(3, 3))
    run = jt.function(jt.value_and_grad(total))
    for _ in range(2):
        value, gradient = run(a)
        float(value)
    assert not any("NumPy" in step.title for step in jt.explain().steps)
    direct = jt.value_and_grad(total)(a)
    np.testing.assert_allclose(value, direct[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, direct[1], rtol=1e-10)
    native = jt.njit_value_and_grad(total, jt.TensorSpec((3, 3), jt.float64))
    assert native.python_ops == ()
    np.testing.assert_allclose(native(a)[1], gradient, rtol=1e-12)


ROTATION = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
EDGES = {
    "zeros": np.zeros((3, 3)),
    "a zero": np.diag([0.0, 4.0, 9.0]),
    "a negative eigenvalue": ROTATION @ np.diag([-1.0, 1.0, 2.0]) @ ROTATION.T,
    "a negative eigenvalue by rounding": ROTATION @ np.diag([-1e-17, 1.0, 2.0]) @ ROTATION.T,
    "rank 1": np.outer(ROTATION[0], ROTATION[0]),
    "nilpotent": np.diag([1.0, 1.0], 1),
    "one vector": 2 * np.eye(3) + np.diag([1.0, 1.0], 1),
    "a quarter turn": np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    "a quarter turn and a reflection": np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]),
    "near the identity": np.eye(3) + 1e-12 * ROTATION,
    "large": ROTATION @ np.diag([1e200, 1e150, 1e100]) @ ROTATION.T,
    "small": 1e-250 * (np.eye(3) + np.diag([1.0, 1.0], 1)),
    "infinite": np.diag([np.inf, 1.0, 1.0]),
}


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_compiled_roots_and_logarithms_have_the_edges_of_the_interpreter(name, dtype):
    for edge, x in EDGES.items():
        x = x.astype(dtype)
        value = jt.function(FUNCTIONS[name])
        gradient = jt.function(jt.grad(lambda x: jt.reduce_sum(jt.real(FUNCTIONS[name](x)))))
        for run in (value, gradient):
            expected = run(x).numpy()  # the first run is interpreted
            for _ in range(2):
                found = run(x).numpy()
            size = np.nanmax(np.abs(expected), initial=1e-300)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12 * size, err_msg=edge)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32", "complex64"])
def test_roots_and_logarithms_are_inverse_functions(n, dtype):
    rng = np.random.default_rng(2)
    x = complex_normal(rng, 2, n, n) if dtype.startswith("c") else rng.normal(size=(2, n, n))
    x = (0.3 * x + 2 * np.eye(n)).astype(dtype)
    atol = 1e3 * np.finfo(dtype).eps
    root, logarithm = jt.linalg.sqrtm(x), jt.linalg.logm(x)
    assert (root.dtype, logarithm.dtype) == (dtype, dtype)
    np.testing.assert_allclose(root @ root, x, atol=atol)
    np.testing.assert_allclose(jt.linalg.expm(logarithm), x, atol=atol)


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_ill_conditioned_matrices(name):
    for x in (
        np.array([[1.0, 1e6, 0.0], [0.0, 1.0001, 1e5], [0.0, 0.0, 3.0]]),
        np.array([[1e-8, 1.0], [0.0, 1e8]]),
    ):
        expected = precise(name, x).real
        np.testing.assert_allclose(
            FUNCTIONS[name](x), expected, rtol=1e-10, atol=1e-14 * np.abs(expected).max()
        )


# ---- matrices without a result ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_a_negative_eigenvalue_beside_complex_ones_gives_nan(name):
    """A complex Schur decomposition rounds the eigenvalue to one with an imaginary part."""
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(40, 4, 4))
    blocks = np.array([[1.0, 2.0, 0, 0], [-2.0, 1.0, 0, 0], [0, 0, -3.0, 0], [0, 0, 0, 5.0]])
    x = vectors @ blocks @ np.linalg.inv(vectors)
    assert np.isnan(FUNCTIONS[name](x).numpy()).all()
    blocks[2, 2] = 3.0
    x = vectors @ blocks @ np.linalg.inv(vectors)
    found = FUNCTIONS[name](x).numpy()
    back = found @ found if name == "sqrtm" else jt.linalg.expm(found).numpy()
    np.testing.assert_allclose(back, x, rtol=1e-9, atol=1e-9 * np.abs(x).max())


def test_a_real_matrix_with_a_negative_eigenvalue_gives_nan_and_a_complex_one_does_not():
    x = np.stack([np.eye(2), [[-1.0, 1.0], [0.0, 4.0]], 2 * np.eye(2)])
    for f in (jt.linalg.sqrtm, jt.linalg.logm):
        found = f(x).numpy()
        assert np.isnan(found[1]).all()
        assert np.isfinite(found[::2]).all()
    root = jt.linalg.sqrtm(x.astype(complex)).numpy()
    np.testing.assert_allclose(root @ root, x, atol=1e-14)
    np.testing.assert_allclose(root[1, 0, 0], 1j, atol=1e-15)
    np.testing.assert_allclose(jt.linalg.expm(jt.linalg.logm(x.astype(complex))), x, atol=1e-14)


def test_singular_matrices():
    projector = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) / 14
    for x in (np.zeros((2, 2)), np.diag([4.0, 0.0, 0.0]), projector, projector + 0j):
        root = jt.linalg.sqrtm(x).numpy()
        np.testing.assert_allclose(root @ root, x, atol=1e-14)
    assert np.isnan(jt.linalg.logm(np.diag([4.0, 0.0])).numpy()).all()
    nilpotent = np.array([[0.0, 1.0], [0.0, 0.0]])
    assert np.isnan(jt.linalg.sqrtm(nilpotent).numpy()).all()
    assert np.isnan(jt.grad(lambda a: jt.reduce_sum(jt.linalg.sqrtm(a)))(np.zeros((2, 2)))).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_matrices_with_nan_and_without_elements(name, mode):
    f = FUNCTIONS[name]
    x = np.stack([2 * np.eye(2), [[np.nan, 0.0], [0.0, 1.0]], [[1.0, 0.0], [np.inf, 1.0]]])
    found = f(x).numpy()
    assert np.isnan(found[1:]).all()
    np.testing.assert_array_equal(found[0], f(x[0]))
    for shape in ((0, 0), (0, 3, 3), (2, 0, 0)):
        assert f(np.zeros(shape)).shape == shape
        assert jt.grad(lambda a: jt.reduce_sum(f(a)))(np.zeros(shape)).shape == shape


# ---- derivatives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_at_complex_matrices(name):
    rng = np.random.default_rng(3)
    x, direction = 0.5 * complex_normal(rng, 3, 3) + 2 * np.eye(3), complex_normal(rng, 3, 3)
    w = complex_normal(rng, 3, 3)
    assert_derivatives(lambda a: jt.reduce_sum(jt.math.real(FUNCTIONS[name](a) * w)), x, direction)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_to_third_order_at_equal_eigenvalues(name):
    """Where derivatives of eigenvectors do not exist."""
    w, direction = np.random.default_rng(4).normal(size=(2, 3, 3))

    def f(a: Any) -> Any:
        return jt.reduce_sum(FUNCTIONS[name](a) * w)

    def curvature(a: Any) -> Any:
        return jt.reduce_sum(jt.sin(jt.grad(lambda b: jt.reduce_sum(jt.sin(jt.grad(f)(b))))(a)))

    for x in (np.eye(3), 2 * np.eye(3) + np.diag([1.0, 1.0], 1)):
        assert_derivatives(f, x, direction)
        along = np.sum(jt.grad(curvature)(x) * direction)
        assert along == pytest.approx(slope(curvature, x, direction), rel=1e-6, abs=1e-6)


def test_a_long_fit_of_a_rate_matrix_comes_to_the_true_rates(mode):
    true = np.array([[-0.3, 0.2, 0.1], [0.4, -0.9, 0.5], [0.0, 0.3, -0.3]])
    after = np.stack([np.asarray(jt.linalg.expm(t * true)) for t in (0.5, 1.0, 2.0)])
    off_diagonal = 1 - np.eye(3)
    rates = jt.Variable(0.2 * off_diagonal)
    times = np.array([0.5, 1.0, 2.0])[:, None, None]
    optimizer = jt.optimizers.Adam(0.02)
    for _ in range(400):
        with jt.GradientTape() as tape:
            q = rates * off_diagonal
            q = q - jt.linalg.diag(jt.reduce_sum(q, axis=1))
            loss = jt.reduce_sum(jt.square(jt.linalg.expm(times * q) - after))
        optimizer.apply_gradients([(tape.gradient(loss, rates), rates)])
    np.testing.assert_allclose(rates.numpy() * off_diagonal, true * off_diagonal, atol=5e-3)


# ---- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FUNCTIONS)
def test_refused_matrices(name):
    f = FUNCTIONS[name]
    with pytest.raises(jt.errors.ShapeError, match=rf"\[{name}\] input must have at least 2 dimensions"):
        f(np.ones(3))
    with pytest.raises(jt.errors.ShapeError, match=rf"\[{name}\] input must be square .* got shape \(2, 3\)"):
        f(np.ones((2, 3)))
    for dtype in ("float16", "int32", "bool"):
        with pytest.raises(
            jt.errors.DTypeError, match=rf"\[{name}\] input must have .* got {dtype}; cast it first"
        ):
            f(np.ones((2, 2), dtype))
