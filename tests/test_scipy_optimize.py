"""SciPy's optimizers take derivatives as they come: three real data sets, three methods, the optimum checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, least_squares, minimize, root, rosen
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import jittape as jt

METHODS = ["L-BFGS-B", "trust-ncg", "Newton-CG"]
WAYS: dict[str, Callable[..., Any]] = {"recorded": lambda f: f, "function": jt.function}


def standardized(x: Any) -> Any:
    return (x - x.mean(0)) / x.std(0)


def fitted(f: Callable[..., Any], x0: Any, method: str, way: str, args: tuple[Any, ...]) -> Any:
    """The result of SciPy's optimizer, which is given nothing but jittape's functions."""
    f = WAYS[way](f)
    more: dict[str, Any] = {} if method == "L-BFGS-B" else {"hessp": jt.hvp(f)}
    tight = {
        "L-BFGS-B": {"gtol": 1e-9, "ftol": 1e-15},
        "trust-ncg": {"gtol": 1e-9},
        "Newton-CG": {"xtol": 1e-10},
    }
    with np.errstate(all="raise", under="ignore"):
        return minimize(
            jt.value_and_grad(f), x0, args=args, method=method, jac=True, options=tight[method], **more
        )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", METHODS)
def test_ridge_regression_on_diabetes(method: str, way: str) -> None:
    """The optimum is the solution of the normal equations."""
    data = load_diabetes()
    x, y = np.column_stack([standardized(data.data), np.ones(len(data.data))]), data.target

    def loss(w: Any, strength: Any) -> Any:
        return jt.reduce_mean((jt.linalg.matvec(x, w) - y) ** 2) / 2 + strength / 2 * jt.reduce_sum(w * w)

    found = fitted(loss, np.zeros(11), method, way, (0.1,))
    exact = np.linalg.solve(x.T @ x / len(y) + 0.1 * np.eye(11), x.T @ y / len(y))
    np.testing.assert_allclose(found.x, exact, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", METHODS)
def test_logistic_regression_on_breast_cancer(method: str, way: str) -> None:
    """The optimum is where the gradient vanishes, written out in NumPy; it is the one, as the loss is convex."""
    data = load_breast_cancer()
    x, sign = standardized(data.data), 2.0 * data.target - 1.0

    def loss(w: Any, strength: Any) -> Any:
        margin = sign * jt.linalg.matvec(x, w)
        return jt.reduce_mean(jt.math.softplus(-margin)) + strength / 2 * jt.reduce_sum(w * w)

    found = fitted(loss, np.zeros(30), method, way, (0.01,))
    w = found.x
    gradient = -x.T @ (sign / (1 + np.exp(sign * (x @ w)))) / len(sign) + 0.01 * w
    assert np.abs(gradient).max() < 1e-6
    assert np.mean((x @ w > 0) == (sign > 0)) > 0.98
    np.testing.assert_allclose(w, _newton(x, sign, 0.01), atol=1e-4)


def _newton(x: Any, sign: Any, strength: float) -> Any:
    """Newton's method by hand."""
    w = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(sign * (x @ w)))
        gradient = -x.T @ (sign * p) / len(sign) + strength * w
        hessian = (x.T * (p * (1 - p))) @ x / len(sign) + strength * np.eye(len(w))
        w = w - np.linalg.solve(hessian, gradient)
    return w


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", METHODS)
def test_softmax_regression_on_wine(method: str, way: str) -> None:
    data = load_wine()
    x, labels = standardized(data.data), data.target

    def loss(w: Any, strength: Any) -> Any:
        w = jt.reshape(w, (13, 3))
        losses = jt.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x @ w)
        return jt.reduce_mean(losses) + strength / 2 * jt.reduce_sum(w * w)

    found = fitted(loss, np.zeros(39), method, way, (0.01,))
    w = found.x.reshape(13, 3)
    p = np.exp(x @ w)
    p /= p.sum(1, keepdims=True)
    gradient = x.T @ (p - np.eye(3)[labels]) / len(x) + 0.01 * w
    assert np.abs(gradient).max() < 1e-6
    assert np.mean(np.argmax(p, 1) == labels) > 0.99


# ---- further methods -------------------------------------------------------------------------------------------------


def rosenbrock(x: Any) -> Any:
    return jt.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "method", ["BFGS", "CG", "TNC", "SLSQP", "trust-krylov", "trust-exact", "trust-constr"]
)
def test_every_method_that_takes_derivatives(method: str, way: str) -> None:
    f = WAYS[way](rosenbrock)
    more: dict[str, Any] = {}
    if method == "trust-exact":
        more["hess"] = jt.hessian(f)
    elif method in ("trust-krylov", "trust-constr"):
        more["hessp"] = jt.hvp(f)
    start = np.full(4, 0.8)
    found = minimize(jt.value_and_grad(f), start, method=method, jac=True, **more)
    assert found.fun < 1e-6 < rosen(start)


def test_value_and_gradient_one_by_one_bounds_and_constraints() -> None:
    bounds = Bounds(np.full(3, -2.0), np.full(3, 0.5))
    f = lambda x: rosenbrock(x).numpy()[()]  # noqa: E731
    found = minimize(f, np.zeros(3), jac=jt.grad(rosenbrock), method="L-BFGS-B", bounds=bounds)
    assert (found.x <= 0.5).all()
    line = LinearConstraint(np.ones((1, 3)), 1.0, 1.0)
    found = minimize(jt.value_and_grad(rosenbrock), np.zeros(3), jac=True, method="SLSQP", constraints=[line])
    assert found.x.sum() == pytest.approx(1.0)


def test_least_squares_and_root_take_a_jacobian() -> None:
    t = np.linspace(0, 2, 30)
    y = 2.0 * np.exp(-1.5 * t) + 0.3

    def residual(p: Any) -> Any:
        return p[0] * jt.exp(-p[1] * t) + p[2] - y

    found = least_squares(lambda p: residual(p).numpy(), [1.0, 1.0, 0.0], jac=jt.jacobian(residual))
    np.testing.assert_allclose(found.x, [2.0, 1.5, 0.3], rtol=1e-7)

    def equations(x: Any) -> Any:
        return jt.stack([x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1.0, 0.5 * (x[1] - x[0]) ** 3 + x[1]])

    found = root(lambda x: equations(x).numpy(), np.zeros(2), jac=jt.jacobian(equations))
    np.testing.assert_allclose(found.x, [0.8411639, 0.1588361], rtol=1e-6)
