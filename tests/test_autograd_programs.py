"""Programs of autograd under `jittape.autograd`: NumPy's functions, primitives, optimizers and whole programs."""

import json
import warnings
from pathlib import Path

import numpy as onp
import pytest

import jittape.autograd.numpy as np
import jittape.autograd.numpy.random as npr
from jittape.autograd import grad, hessian, jacobian, make_jvp, make_vjp, value_and_grad
from jittape.autograd.extend import (
    VSpace,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
    subval,
    subvals,
    vspace,
)
from jittape.autograd.misc import flatten
from jittape.autograd.misc.fixed_points import fixed_point
from jittape.autograd.misc.flatten import flatten_func
from jittape.autograd.misc.optimizers import adam, rmsprop, sgd
from jittape.autograd.test_util import check_grads

X = onp.array([0.3, -0.2, 1.1])
A = onp.array([[1.0, -2.0, 0.5], [0.3, 4.0, -1.0]])


# ---- NumPy's namespace -----------------------------------------------------------------------------------------------


def test_functions_of_plain_arrays_are_those_of_numpy():
    for name, arguments in (
        ("sin", (X,)), ("dot", (A, X)), ("array", ([1, 2],)), ("arange", (3,)), ("where", (X > 0, X, 0.0)),
        ("concatenate", ([X, X],)), ("sort", (X,)), ("linspace", (0, 1, 4)), ("full", ((2, 2), 3)),
        ("maximum", (X, 0.0)), ("clip", (X, 0.0, 1.0)), ("append", (X, 1.0)), ("select", ([X > 0], [X])),
    ):  # fmt: skip
        found, wanted = getattr(np, name)(*arguments), getattr(onp, name)(*arguments)
        assert type(found) is type(wanted), name
        assert found.dtype == wanted.dtype
        onp.testing.assert_array_equal(found, wanted)
    assert np.pi == onp.pi
    assert np.float64 is onp.float64
    assert np.ndarray is onp.ndarray
    assert np.newaxis is None
    assert np.linalg.LinAlgError is onp.linalg.LinAlgError
    onp.testing.assert_array_equal(np.r_[0:3, 5.0], onp.r_[0:3, 5.0])
    assert npr.RandomState is onp.random.RandomState
    assert np.random.default_rng(0).random() == onp.random.default_rng(0).random()


def test_names_that_numpy_does_not_have():
    for module in (np, np.linalg, np.fft, np.random):
        with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
            module.no_such_name  # noqa: B018
    assert set(onp.__all__) <= set(dir(np))
    assert all(hasattr(np, name) for name in np.__all__)  # as "from jittape.autograd.numpy import *" needs


LISTS = [
    lambda x: np.array([x[0], 2.0, x[1] * x[2]]),
    lambda x: np.array([[x[0], 1.0], [x[1], x[2]]]),
    lambda x: np.array(x),
    lambda x: np.asarray([x, 2 * x]),
    lambda x: np.array([x, [1.0, 2.0, 3.0]], ndmin=3),
    lambda x: np.concatenate([x, [1.0], x**2]),
    lambda x: np.concatenate((x, X)),
    lambda x: np.stack([x, X, x * X], axis=1),
    lambda x: np.vstack([x, X]),
    lambda x: np.hstack([x[0], 1.0, x]),
    lambda x: np.column_stack([x, X]),
    lambda x: np.append(x, x[0]),
    lambda x: np.append(A, [x], axis=0),
    lambda x: np.r_[x, 1.0, x[:2]],
    lambda x: np.c_[x, X],
    lambda x: np.select([X > 1.0, X > 0.0], [x, x**2], 3.0),
    lambda x: np.where(X > 0.0, x, [1.0, 2.0, 3.0]),
    lambda x: np.full((2, 3), x[1]) * A,
    lambda x: np.sum([x[0], x[1] ** 2]),
    lambda x: np.mean([x, x**2], axis=0),
    lambda x: np.dot(A, [x[0], x[1], x[2]]),
    lambda x: np.dot([[x[0], x[1]]], [x[1], x[2]]),
    lambda x: np.exp([x[0], x[1]]),
    lambda x: np.maximum([x[0], x[1]], 0.0),
    lambda x: np.outer(x, x),
    lambda x: np.einsum("i,ji->j", x, A),
    lambda x: np.add(x, 1.0, dtype=float),
    lambda x: np.make_diagonal(x, axis1=-1, axis2=-2),
    lambda x: np.logaddexp(x, 0.0),
    lambda x: np.tensordot(A, x, 1),
    lambda x: np.linalg.norm(x),
    lambda x: x @ A.T,
    lambda x: x[::-1].reshape((3, 1)).T,
    lambda x: np.split(x, [1])[1],
]


@pytest.mark.parametrize("number", range(len(LISTS)))
def test_values_and_jacobians(number):
    function = LISTS[number]
    wanted = function(X)
    _, value = make_vjp(function)(X)
    assert isinstance(value, (onp.ndarray, onp.float64))
    onp.testing.assert_allclose(value, wanted, rtol=1e-14)
    found = jacobian(function)(X)
    step = 1e-6
    columns = [(function(X + step * e) - function(X - step * e)) / (2 * step) for e in onp.eye(3)]
    onp.testing.assert_allclose(found, onp.stack(columns, -1), atol=1e-8)


def test_bools_count_as_numbers():
    mask = X > 0
    onp.testing.assert_array_equal(
        grad(lambda x: np.sum(x * mask + (1 - mask) * 2.0 * x))(X), [1.0, 2.0, 1.0]
    )
    onp.testing.assert_array_equal(grad(lambda x: np.sum(x[mask] ** 2))(X), 2 * X * mask)


def test_what_is_not_recorded_is_refused_by_name():
    with pytest.raises(TypeError, match="copyto"):
        grad(lambda x: np.copyto(x, 1.0))(X)
    with pytest.raises(ValueError, match=r"\[dot\] shapes \(3,\) and \(4,\)"):
        grad(lambda x: np.dot(x, onp.ones(4)))(X)
    with pytest.raises(NotImplementedError, match="offset"):
        np.make_diagonal(X)


# ---- primitives ------------------------------------------------------------------------------------------------------


def logsumexp(x):
    """Compute with NumPy only; a tensor must not come here."""
    assert type(x) is onp.ndarray
    return onp.log(onp.sum(onp.exp(x)))


@pytest.fixture
def smooth_max():
    function = primitive(logsumexp)
    defvjp(function, lambda ans, x: lambda g: np.full(x.shape, g) * np.exp(x - np.full(x.shape, ans)))
    return function


def test_a_primitive(smooth_max):
    softmax = onp.exp(X) / onp.sum(onp.exp(X))
    assert smooth_max(X) == pytest.approx(onp.log(onp.sum(onp.exp(X))))
    assert smooth_max.__name__ == "logsumexp"
    for _ in range(4):  # interpreted, compiled and on a known path
        onp.testing.assert_allclose(grad(smooth_max)(X), softmax)
        value, gradient = value_and_grad(lambda x: smooth_max(2.0 * x) ** 2)(X)
        onp.testing.assert_allclose(value, smooth_max(2 * X) ** 2)
        onp.testing.assert_allclose(
            gradient, 4 * smooth_max(2 * X) * onp.exp(2 * X) / onp.sum(onp.exp(2 * X))
        )
    onp.testing.assert_allclose(hessian(smooth_max)(X), onp.diag(softmax) - onp.outer(softmax, softmax))
    check_grads(smooth_max)(X)


def test_a_primitive_runs_anew_at_each_call(smooth_max):
    derivative = value_and_grad(smooth_max)
    for shift in range(5):
        value, gradient = derivative(X + shift)
        assert value == pytest.approx(smooth_max(X) + shift)
        onp.testing.assert_allclose(gradient, derivative(X)[1])


def test_rules_by_number():
    product = primitive(lambda *xs: onp.prod(onp.stack(xs), axis=0))
    others = lambda argnum, args: np.prod(np.stack([a for i, a in enumerate(args) if i != argnum]), axis=0)  # noqa: E731
    defvjp_argnum(product, lambda argnum, ans, args, kwargs: lambda g: g * others(argnum, args))
    assert grad(product, (0, 2))(2.0, 3.0, 5.0) == (15.0, 6.0)
    defvjp_argnums(
        product, lambda argnums, ans, args, kwargs: lambda g: [g * others(i, args) for i in argnums]
    )
    assert grad(product, (0, 2))(2.0, 3.0, 5.0) == (15.0, 6.0)
    assert grad(grad(product, 1), 0)(2.0, 3.0, 5.0) == 5.0


def test_rules_for_some_arguments():
    power = primitive(lambda x, n, scale=1.0: scale * x**n)
    defvjp(power, lambda ans, x, n, scale=1.0: lambda g: g * scale * n * x ** (n - 1), None)
    assert grad(power)(2.0, 3.0, scale=10.0) == 120.0
    assert grad(power, 1)(2.0, 3.0) == 0.0
    defvjp(power, lambda ans, x, n: lambda g: g * ans * np.log(x), argnums=[1])
    assert grad(power, 1)(2.0, 3.0) == pytest.approx(8 * onp.log(2))
    with pytest.raises(NotImplementedError, match="argnum 0 not defined"):
        grad(power)(2.0, 3.0)
    with pytest.raises(TypeError, match="Bad VJP"):
        defvjp(power, "same")
    with pytest.raises(TypeError, match="Bad JVP"):
        defjvp(power, "other")


def test_a_primitive_without_a_rule():
    unknown = primitive(lambda x: x**2)
    assert unknown(3.0) == 9.0
    with pytest.raises(NotImplementedError, match="VJP of"):
        grad(unknown)(3.0)


@pytest.mark.parametrize("kind", ["defjvp", "defjvp_argnum", "defjvp_argnums"])
def test_forward_rules(kind):
    wave = primitive(lambda a, x: onp.sin(a * x))
    if kind == "defjvp":
        defjvp(wave, lambda g, ans, a, x: g * x * np.cos(a * x), lambda g, ans, a, x: g * a * np.cos(a * x))
    elif kind == "defjvp_argnum":
        defjvp_argnum(wave, lambda i, g, ans, args, kwargs: g * args[1 - i] * np.cos(args[0] * args[1]))
    else:
        defjvp_argnums(
            wave,
            lambda argnums, gs, ans, args, kwargs: (
                np.cos(args[0] * args[1]) * sum(g * args[1 - i] for i, g in zip(argnums, gs, strict=True))
            ),
        )
    value, tangent = make_jvp(wave, (0, 1))(2.0, X)((0.5, onp.ones(3)))
    onp.testing.assert_allclose(value, onp.sin(2 * X))
    onp.testing.assert_allclose(tangent, onp.cos(2 * X) * (0.5 * X + 2.0))
    onp.testing.assert_allclose(grad(lambda x: np.sum(wave(2.0, x)))(X), 2 * onp.cos(2 * X))
    check_grads(wave, (0, 1), modes=["fwd"])(2.0, X)


def test_linear_primitives():
    mixed = primitive(lambda x, y: np.dot(A, x) * y)
    def_linear(mixed)
    onp.testing.assert_allclose(make_jvp(mixed, (0, 1))(X, 2.0)((X, 1.0))[1], 3 * A @ X)
    onp.testing.assert_allclose(grad(lambda x: np.sum(mixed(x, 2.0)))(X), 2 * A.sum(0))
    scaled = primitive(lambda x, n: x * n)
    defjvp(scaled, "same", None)
    assert make_jvp(scaled, (0, 1))(2.0, 3.0)((1.0, 1.0)) == (6.0, 3.0)
    by_values = primitive(lambda x: onp.float64(2.0 * getattr(x, "numpy", lambda: x)()))
    def_linear(by_values)
    with pytest.raises(NotImplementedError, match="not recorded"):
        make_jvp(by_values)(1.0)(1.0)


def test_primitives_of_containers():
    def both(p, x):
        return p["a"] * x, [x**2]

    pair = primitive(both)
    defvjp(
        pair,
        lambda ans, p, x: lambda g: {"a": np.sum(g[0] * x)},
        lambda ans, p, x: lambda g: g[0] * p["a"] + 2 * x * g[1][0],
    )

    def loss(p, x):
        first, (second,) = pair(p, x)
        return np.sum(first) + np.sum(second)

    parameters, at_x = grad(loss, (0, 1))({"a": 3.0}, X)
    assert parameters == {"a": pytest.approx(X.sum())}
    onp.testing.assert_allclose(at_x, 3 + 2 * X)


def test_complex_primitives():
    cube = primitive(lambda z: z**3)
    defvjp(cube, lambda ans, z: lambda g: g * 3 * z**2)
    z, g = onp.array([1.0 + 2.0j, -0.3j]), onp.array([1.0 - 1.0j, 2.0])
    onp.testing.assert_allclose(make_vjp(cube)(z)[0](g), make_vjp(lambda z: z**3)(z)[0](g))
    modulus = primitive(lambda z: onp.abs(z) ** 2)
    defvjp(modulus, lambda ans, z: lambda g: 2 * g * np.conj(z))
    onp.testing.assert_allclose(grad(lambda z: np.sum(modulus(z)))(z), 2 * z.conj())


def test_values_without_derivative():
    rounded = notrace_primitive(onp.round)
    assert grad(lambda x: x * rounded(x))(2.7) == 3.0
    counted = primitive(lambda x: x.size)
    defvjp(counted, None)
    onp.testing.assert_array_equal(grad(lambda x: counted(x) * np.sum(x))(X), [3.0, 3.0, 3.0])


def test_vector_spaces():
    space = vspace({"a": X, "b": [2.0, 1j]})
    assert isinstance(space, VSpace)
    assert space.size == 6
    assert space == vspace({"a": onp.zeros(3), "b": [0.0, 0j]})
    assert space != vspace({"a": onp.zeros(2), "b": [0.0, 0j]})
    assert space != vspace({"a": X.astype("float32"), "b": [2.0, 1j]})
    basis = list(space.standard_basis())
    assert len(basis) == 6
    total = basis[0]
    for vector in basis[1:]:
        total = space.add(total, vector)
    assert [total["b"], space.ones()["b"]] == [[1.0, 1 + 1j]] * 2
    onp.testing.assert_array_equal(total["a"], space.ones()["a"])
    assert space.inner_prod(basis[5], space.covector(space.ones())) == -1.0
    assert space.inner_prod(space.ones(), space.ones()) == 6.0
    assert space.zeros()["b"] == [0.0, 0j]
    assert vspace(space.randn()) == space
    assert (vspace(A).shape, vspace(A).ndim, vspace(A).iscomplex, vspace(1j).iscomplex) == (
        (2, 3),
        2,
        False,
        True,
    )
    with pytest.raises(TypeError, match="vector space"):
        vspace({"a": "text"})
    assert subval((1, 2), 0, 5) == (5, 2)
    assert subvals([1, 2, 3], [(0, 4), (2, 6)]) == (4, 2, 6)
    assert subval((1, 2), -1, 5) == (1, 5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: subval((1, 2), 2, 5), IndexError, r"\[subval\] position 2 is out of range for 2 entries"),
        (lambda: subval((), -1, 5), IndexError, r"\[subval\] position -1 is out of range for 0 entries"),
        (lambda: subvals((1, 2), [(0, 4), (-3, 5)]), IndexError, r"\[subvals\] position -3 is out of range"),
        (
            lambda: subvals((1, 2), [(0, 4, 5)]),
            ValueError,
            r"\[subvals\] ivs must contain pairs .*got \(0, 4, 5\)",
        ),
        (lambda: subvals((1, 2), [0, 4]), ValueError, r"\[subvals\] ivs must contain pairs .*got 0"),
    ],
)
def test_wrong_positions_of_entries(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- miscellany ------------------------------------------------------------------------------------------------------


def test_flatten():
    value = {"b": [A, 2.0], "a": (X,)}
    vector, unflatten = flatten(value)
    onp.testing.assert_array_equal(vector, [*X, *A.ravel(), 2.0])
    again = unflatten(vector * 2)
    assert list(again) == ["b", "a"]
    assert type(again["a"]) is tuple
    onp.testing.assert_array_equal(again["b"][0], 2 * A)
    assert again["b"][1] == 4.0
    with pytest.raises(ValueError, match="10 numbers"):
        unflatten(vector[1:])
    assert flatten([])[0].shape == (0,)
    onp.testing.assert_array_equal(grad(lambda p: np.sum(flatten(p)[0] ** 2))(value)["b"][0], 2 * A)
    onp.testing.assert_array_equal(
        grad(lambda v: np.sum(unflatten(v)["b"][0]))(vector), [0.0] * 3 + [1.0] * 6 + [0.0]
    )
    function, _, start = flatten_func(lambda p: {"a": p["a"] ** 2, "b": p["b"]}, {"b": 3.0, "a": X})
    onp.testing.assert_allclose(jacobian(function)(start), onp.diag([*(2 * X), 1.0]))


def reference_adam(gradient, x, steps, rate):
    m = v = onp.zeros_like(x)
    for t in range(1, steps + 1):
        g = gradient(x)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        x = x - rate * (m / (1 - 0.9**t)) / (onp.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return x


def test_optimizers():
    start = {"x": onp.array([1.0, -2.0]), "c": 0.5}

    def loss(p, i=0):
        return np.sum((p["x"] - 3.0) ** 2) + (p["c"] - p["x"][0]) ** 2

    seen = []
    found = adam(
        grad(loss), start, callback=lambda x, i, g: seen.append((x, i, g)), num_iters=20, step_size=0.1
    )
    vector, unflatten = flatten(start)
    wanted = reference_adam(lambda v: flatten(grad(loss)(unflatten(v)))[0], vector, 20, 0.1)
    onp.testing.assert_allclose(flatten(found)[0], wanted)
    assert [i for _, i, _ in seen] == list(range(20))
    assert seen[0][0]["c"] == 0.5
    assert seen[0][2]["c"] == -1.0
    long = {"num_iters": 400}
    for optimizer, options in (
        (sgd, {"step_size": 0.5}),
        (rmsprop, {**long, "step_size": 0.02}),
        (adam, {**long, "step_size": 0.1}),
    ):
        end = optimizer(grad(loss), start, **options)
        onp.testing.assert_allclose(end["x"], [3.0, 3.0], atol=0.05)
        assert end["c"] == pytest.approx(3.0, abs=0.05)


def test_fixed_points():
    def newton(a):
        return fixed_point(lambda a: lambda x: 0.5 * (x + a / x), a, 1.0, lambda x, y: abs(x - y), 1e-14)

    assert newton(2.0) == pytest.approx(onp.sqrt(2))
    assert grad(newton)(2.0) == pytest.approx(0.5 / onp.sqrt(2))
    matrix = onp.array([[0.2, -0.1], [0.3, 0.1]])

    def solved(b):
        return np.sum(
            fixed_point(
                lambda b: lambda x: np.dot(matrix, x) + b,
                b,
                onp.zeros(2),
                lambda x, y: onp.abs(x - y).max(),
                1e-14,
            )
        )

    onp.testing.assert_allclose(
        grad(solved)(onp.ones(2)), onp.linalg.inv(onp.eye(2) - matrix).sum(0), rtol=1e-10
    )


# ---- programs --------------------------------------------------------------------------------------------------------

LOGISTIC = """
import {0}.numpy as np
from {0} import grad

def sigmoid(x):
    return 0.5 * (np.tanh(x / 2.0) + 1.0)

rng = np.random.RandomState(1)
points = rng.randn(60, 3)
labels = points @ np.array([1.0, -2.0, 0.5]) + 0.3 * rng.randn(60) > 0

def loss(weights):
    p = sigmoid(np.dot(points, weights))
    return -np.sum(np.log(p * labels + (1 - p) * (1 - labels))) + 0.1 * np.sum(weights**2)

slope = grad(loss)
weights = np.zeros(3)
before = loss(weights)
for _ in range(100):
    weights -= 0.02 * slope(weights)
result = [before, loss(weights), *weights]
"""

NETWORK = """
import {0}.numpy as np
import {0}.numpy.random as npr
from {0} import grad
from {0}.misc import flatten
from {0}.misc.optimizers import adam

npr.seed(0)
sizes = [1, 6, 6, 1]
params = [(0.5 * npr.randn(m, n), 0.1 * npr.randn(n)) for m, n in zip(sizes[:-1], sizes[1:])]
x = np.linspace(-2, 2, 40)[:, None]
y = np.sin(2 * x)

def predict(params, inputs):
    for w, b in params:
        outputs = np.dot(inputs, w) + b
        inputs = np.tanh(outputs)
    return outputs

def log_posterior(params):
    prior = -0.01 * np.dot(flatten(params)[0], flatten(params)[0])
    return prior - np.mean((predict(params, x) - y) ** 2)

params = adam(grad(lambda p, i: -log_posterior(p)), params, num_iters=60, step_size=0.02)
result = list(flatten(params)[0])
"""

RECURRENT = """
import {0}.numpy as np
from {0} import value_and_grad

rng = np.random.RandomState(3)
data = rng.rand(12, 5, 2)
params = {{"wx": 0.5 * rng.randn(2, 4), "wh": 0.5 * rng.randn(4, 4), "b": np.zeros(4), "out": rng.randn(4, 3)}}

def log_normalized(x):
    return x - np.log(np.sum(np.exp(x), axis=1, keepdims=True))

def loss(params):
    h = np.zeros((5, 4))
    total = 0.0
    for t in range(data.shape[0]):
        h = np.tanh(np.dot(data[t], params["wx"]) + np.dot(h, params["wh"]) + params["b"])
        total = total - np.mean(log_normalized(np.dot(h, params["out"]))[:, t % 3])
    return total / data.shape[0]

values = []
for i in range(5):
    value, gradient = value_and_grad(loss)(params)
    params = {{k: params[k] - 0.5 * gradient[k] for k in params}}
    values.append(value)
result = [*values, *np.concatenate([np.ravel(params[k]) for k in sorted(params)])]
"""

PENDULUM = """
import {0}.numpy as np
from {0} import grad, hessian, jacobian

def end(state, damping):
    angle, speed = state
    for i in range(40):
        if angle > 2.0:
            damping = damping * 0.9
        acceleration = -np.sin(angle) - damping * speed
        speed = speed + 0.1 * acceleration
        angle = angle + 0.1 * speed
    return np.array([angle, speed])

start = np.array([2.3, 0.4])
energy = lambda state, damping: 1 - np.cos(end(state, damping)[0]) + 0.5 * end(state, damping)[1] ** 2
result = [
    *end(start, 0.1), *jacobian(end)(start, 0.1).ravel(), grad(energy, 1)(start, 0.1),
    *hessian(energy)(start, 0.1).ravel(),
]
"""

MIXTURE = """
import {0}.numpy as np
from {0} import grad, hessian_vector_product, make_jvp
from {0}.extend import primitive, defvjp

@primitive
def logsumexp(x):
    top = np.max(x, axis=1, keepdims=True)
    return top[:, 0] + np.log(np.sum(np.exp(x - top), axis=1))
defvjp(logsumexp, lambda ans, x: lambda g: g[:, None] * np.exp(x - ans[:, None]))

rng = np.random.RandomState(2)
data = np.concatenate([rng.randn(30) - 2.0, rng.randn(20) + 2.0])

def negative_log_likelihood(params):
    means, log_scales = params[:2], params[2:4]
    z = (data[:, None] - means) / np.exp(log_scales)
    return -np.sum(logsumexp(-0.5 * z**2 - log_scales - np.log(2.0)))

params = np.array([-1.0, 1.0, 0.0, 0.2])
for i in range(20):
    params = params - 0.01 * grad(negative_log_likelihood)(params)
v = np.arange(4.0)
result = [*params, *hessian_vector_product(negative_log_likelihood)(params, v)]
"""

CALLS = """
np.cumsum(x, axis=1)
np.prod(x, axis=1)
np.var(x, axis=0, ddof=1)
np.std(x)
np.max(x, axis=1)
np.amin(x)
np.sort(x[0])
np.tile(x, (2, 3))
np.repeat(x, 2, axis=1)
np.kron(x, A)
np.inner(x, A)
np.einsum("ij,kj->ik", x, A)
np.tensordot(x, A, axes=([0, 1], [0, 1]))
np.roll(x, 1, axis=0)
np.rot90(np.flipud(np.fliplr(x)))
np.moveaxis(x[:, None], 0, 2)
np.swapaxes(x, 0, 1)
np.diag(x[0])
np.triu(x, 1) + np.tril(x, -1)
np.trace(x[:, :3])
np.clip(x, -0.5, 0.5)
np.where(x > 0, x**2, -x)
np.select([A > 0, A < -1], [x, x**2], 0.0)
np.logaddexp(x, A)
np.mod(x, 0.7)
np.hypot(x, A) + np.arctan2(x, A)
np.sinc(x) + np.reciprocal(x) + np.exp2(x)
np.pad(x, 1, mode="constant")
np.concatenate(np.split(x, 2, axis=1), axis=0)
np.hsplit(x, 2)[1]
x[[0, 0, 1]]
x[1:, ::-1]
x[..., None, 0]
x[[0, 1], [1, 2]]
x[np.argsort(A[:, 0])]
np.ravel(x, order="F")
x.sum(axis=0) + x.mean() + x.std() + x.max()
np.power(np.abs(x), 1.5) + 2.0**x + x**-1
x * np.floor(x) + x * np.sign(x) + x * np.round(x)
np.gradient(x, axis=1)
np.diff(x, n=2, axis=1)
np.linspace(x[0, 0], x[1, 1], 7)
np.linalg.inv(np.dot(x, x.T))
np.linalg.pinv(x)
np.linalg.det(np.dot(x, x.T))
np.linalg.slogdet(np.dot(x, x.T))[1]
np.linalg.solve(np.dot(x, x.T), x)
np.linalg.cholesky(np.dot(x, x.T))
np.linalg.eigh(np.dot(x, x.T))[0]
np.linalg.svd(x, full_matrices=False)[1]
np.linalg.norm(x) + np.linalg.norm(x, "nuc")
np.linalg.norm(x, ord=3, axis=1)
np.abs(np.fft.fft(x))
np.real(np.fft.ifft2(x * (1 + 2j)))
np.fft.fftshift(x)
np.abs(np.exp(1j * x) + x)
np.imag(np.linalg.inv(np.dot(x, x.T) + 1j * np.eye(3)))
np.real(np.conj(x * 1j) * (x + 2j))
np.angle(x + 1j * x**2)
"""

FUNCTIONS = """
import {0}.numpy as np
from {0} import grad

A = np.array([[0.3, -1.2, 0.8, 2.1], [1.5, 0.4, -0.6, -1.9], [-0.7, 0.9, 1.1, 0.2]])
result = []
for call in calls:
    def weighted(x, call=call):
        value = eval(call, {{"np": np, "A": A, "x": x}})
        return np.sum(value * np.cos(np.arange(1.0 * np.size(value))).reshape(np.shape(value)))
    result += [*grad(weighted)(1.3 * A).ravel()]
"""

PROGRAMS = {
    "logistic": LOGISTIC, "network": NETWORK, "recurrent": RECURRENT, "pendulum": PENDULUM, "mixture": MIXTURE,
    "functions": FUNCTIONS,
}  # fmt: skip


def run_program(name, package):
    """Return the numbers that a program computes with `package`."""
    namespace = {"__name__": name, "calls": CALLS.strip().splitlines()}
    exec(
        compile(PROGRAMS[name].replace("{0}", package).replace("{{", "{").replace("}}", "}"), name, "exec"),
        namespace,
    )
    return [float(x) for x in namespace["result"]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_the_values_of_autograd(name):
    """Only the import differs; `autograd_values` recorded the values with autograd."""
    wanted = json.loads((Path(__file__).parent / "autograd_values.json").read_text(encoding="utf-8"))[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        onp.testing.assert_allclose(run_program(name, "jittape.autograd"), wanted, rtol=1e-9, atol=1e-12)
