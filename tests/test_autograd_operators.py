"""`jittape.autograd`: derivatives of functions of NumPy arrays, as HIPS autograd defines them."""

import math
import warnings
from collections import OrderedDict, namedtuple

import numpy as onp
import pytest

import jittape as jt
import jittape.autograd.numpy as np
from jittape.autodiff.repeated_products import RepeatedProducts
from jittape.autograd import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from jittape.autograd.builtins import isinstance as isinstance_of_value
from jittape.autograd.builtins import type as type_of_value
from jittape.autograd.extend import Box, defvjp, primitive
from jittape.autograd.numpy.numpy_boxes import ArrayBox
from jittape.autograd.test_util import check_grads, combo_check
from jittape.autograd.tracer import getval, isbox
from processes import run_python

A = onp.array([[1.0, -2.0, 0.5], [0.3, 4.0, -1.0]])


def difference(f, x, step=1e-6):
    """The gradient of a real function by central differences."""
    gradient = onp.zeros(x.shape)
    for index in onp.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[index] += step
        down[index] -= step
        gradient[index] = (f(up) - f(down)) / (2 * step)
    return gradient


def f(x):
    return np.sum(np.tanh(np.dot(A, x)) ** 2)


X = onp.array([0.3, -0.2, 1.1])


def test_a_gradient_is_an_array_in_float64():
    found = grad(f)(X)
    assert type(found) is onp.ndarray
    assert found.dtype == onp.float64
    onp.testing.assert_allclose(found, difference(f, X), atol=1e-8)


def test_numbers_give_numpy_scalars():
    value, gradient = value_and_grad(lambda x: x**3)(2.0)
    assert type(value) is type(gradient) is onp.float64
    assert (value, gradient) == (8.0, 12.0)
    assert type(f(X)) is onp.float64


def test_float32_stays_float32():
    assert grad(lambda x: np.sum(x**2))(onp.ones(2, onp.float32)).dtype == onp.float32


@pytest.mark.parametrize("order", range(1, 6))
def test_derivatives_of_any_order(order):
    derivative = np.exp
    for _ in range(order):
        derivative = grad(derivative)
    assert derivative(0.5) == pytest.approx(onp.exp(0.5))


def test_perturbations_are_not_confused():
    assert grad(lambda x: x * grad(lambda y: x + y)(2.0))(3.0) == 1.0
    assert grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0) == 6.0


def test_python_branches_run_at_each_call():
    derivative = grad(lambda x: x**2 if x > 0 else -x)
    assert [derivative(x) for x in (3.0, -3.0, 4.0)] == [6.0, -1.0, 8.0]


def test_a_loop_ends_when_the_value_says_so():
    def newton(a):
        x = a
        while abs(x * x - a) > 1e-13:
            x = 0.5 * (x + a / x)
        return x

    assert grad(newton)(2.0) == pytest.approx(0.5 / onp.sqrt(2.0))


def test_the_closure_is_read_at_each_call():
    scale = onp.array([1.0, 2.0])
    derivative = grad(lambda x: np.sum(scale * x))
    onp.testing.assert_array_equal(derivative(onp.ones(2)), [1.0, 2.0])
    scale[0] = 5.0
    onp.testing.assert_array_equal(derivative(onp.ones(2)), [5.0, 2.0])


@pytest.mark.parametrize("calls", range(4))
def test_equal_calls_agree(calls):
    derivative = grad(f)
    results = [derivative(X) for _ in range(calls + 1)]
    onp.testing.assert_allclose(results[-1], results[0], rtol=1e-14)


def test_integer_classes_take_the_value():
    assert grad(lambda x: x * np.int64(x))(2.6) == 2.0
    assert type(np.int32("7")) is onp.int32
    assert isinstance(onp.int64(3), np.int64)
    assert onp.issubdtype(onp.int8, np.int8)
    assert np.zeros(2, np.int16).dtype == np.int16


# ---- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argnum", "wanted"), [(0, 9.0), (1, 12.0), (-1, 12.0), ((0, 1), (9.0, 12.0)), ([1, 0], (12.0, 9.0))]
)
def test_the_varied_arguments(argnum, wanted):
    assert grad(lambda x, y: x * y**2, argnum)(2.0, 3.0) == wanted


def test_keyword_arguments_are_passed_on():
    assert grad(lambda x, power=2: x**power)(3.0, power=3) == 27.0


def test_named_arguments():
    assert grad_named(lambda x, y: x * y**2, "y")(2.0, 3.0) == 12.0
    found = multigrad_dict(lambda x, y, z=3.0: x * y * z)(2.0, y=5.0)
    assert found == {"x": 15.0, "y": 6.0, "z": 10.0}
    assert list(found) == ["x", "y", "z"]


def test_containers():
    parameters = {"layers": [(A, onp.zeros(2)), (onp.ones(2), 0.5)], "scale": 2.0}

    def loss(p):
        (w, b), (v, c) = p["layers"]
        return p["scale"] * (np.dot(np.tanh(np.dot(w, X) + b), v) + c)

    value, found = value_and_grad(loss)(parameters)
    slope = 1 - onp.tanh(A @ X) ** 2
    assert value == pytest.approx(2 * (onp.tanh(A @ X).sum() + 0.5))
    assert type(found["layers"]) is list
    assert type(found["layers"][0]) is tuple
    onp.testing.assert_allclose(found["layers"][0][0], 2 * onp.outer(slope, X))
    onp.testing.assert_allclose(found["layers"][0][1], 2 * slope)
    onp.testing.assert_allclose(found["layers"][1][0], 2 * onp.tanh(A @ X))
    assert found["layers"][1][1] == 2.0
    assert found["scale"] == pytest.approx(value / 2)


def test_containers_of_other_classes_and_the_order_of_dicts():
    Pair = namedtuple("Pair", "b a")
    assert grad(lambda p: p.a * p.b)(Pair(2.0, 3.0)) == Pair(3.0, 2.0)
    found = grad(lambda p: p["z"] * p["a"])(OrderedDict(z=2.0, a=3.0))
    assert type(found) is OrderedDict
    assert list(found.items()) == [("z", 3.0), ("a", 2.0)]


def test_an_unused_leaf_has_gradient_zero():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = grad(lambda p: p[0] ** 2)([3.0, onp.ones(2)])
    assert found[0] == 6.0
    onp.testing.assert_array_equal(found[1], [0.0, 0.0])


def test_a_constant_value_gives_zeros_and_a_warning():
    with pytest.warns(UserWarning, match="Output seems independent of input"):
        assert grad(lambda x: 3.0)(1.0) == 0.0
    with pytest.warns(UserWarning, match="Output seems independent of input"):
        onp.testing.assert_array_equal(jacobian(lambda x: onp.ones(2))(onp.ones(3)), onp.zeros((2, 3)))
    with pytest.warns(UserWarning, match="Output seems independent of input"):
        assert make_jvp(lambda x: onp.ones(()))(1.0)(1.0) == (1.0, 0.0)


# ---- operators -------------------------------------------------------------------------------------------------------


def cubes(x):
    return x**3 * x[0]


def test_jacobian_and_hessian():
    wanted = onp.diag(3 * X**2 * X[0])
    wanted[:, 0] += X**3
    onp.testing.assert_allclose(jacobian(cubes)(X), wanted, atol=1e-12)
    onp.testing.assert_allclose(hessian(lambda x: np.sum(x**4))(X), onp.diag(12 * X**2))
    assert hessian(cubes)(X).shape == (3, 3, 3)
    onp.testing.assert_allclose(
        hessian(lambda x: x**3)(X), onp.einsum("i,ij,ik->ijk", 6 * X, *[onp.eye(3)] * 2)
    )
    assert hessian(lambda x: x**3)(2.0) == 12.0
    assert jacobian(lambda x: np.reshape(x * A, (3, 2)))(A).shape == (3, 2, 2, 3)


def test_the_jacobian_for_containers():
    found = jacobian(lambda p: p["a"] * p["b"])({"a": X, "b": 2.0})
    onp.testing.assert_array_equal(found["a"], 2 * onp.eye(3))
    onp.testing.assert_array_equal(found["b"], X)


def test_products_with_the_jacobian():
    v, g = onp.array([1.0, 2.0, -1.0]), onp.array([0.5, -1.0, 3.0])
    matrix = jacobian(cubes)(X)
    vjp, value = make_vjp(cubes)(X)
    onp.testing.assert_allclose(value, X**3 * X[0])
    onp.testing.assert_allclose(vjp(g), g @ matrix)
    onp.testing.assert_allclose(vjp(v), v @ matrix)
    value, tangent = make_jvp(cubes)(X)(v)
    onp.testing.assert_allclose(value, X**3 * X[0])
    onp.testing.assert_allclose(tangent, matrix @ v)
    onp.testing.assert_allclose(vector_jacobian_product(cubes)(X, g), g @ matrix)
    onp.testing.assert_allclose(tensor_jacobian_product(lambda x: np.outer(x, x))(X, g), g @ onp.moveaxis(
        jacobian(lambda x: np.outer(x, x))(X), 0, 1))  # fmt: skip
    onp.testing.assert_allclose(deriv(cubes)(X), matrix @ onp.ones(3))
    onp.testing.assert_allclose(elementwise_grad(cubes)(X), onp.ones(3) @ matrix)
    assert deriv(np.sin)(0.3) == pytest.approx(onp.cos(0.3))


def test_products_with_the_hessian():
    v = onp.array([1.0, 2.0, -1.0])
    matrix = hessian(f)(X)
    onp.testing.assert_allclose(matrix, matrix.T)
    onp.testing.assert_allclose(hessian_vector_product(f)(X, v), matrix @ v)
    onp.testing.assert_allclose(
        hessian_tensor_product(lambda w: f(w[0]))(onp.array([X]), onp.array([v])), [matrix @ v]
    )
    hvp, gradient = make_hvp(f)(X)
    onp.testing.assert_allclose(gradient, grad(f)(X))
    onp.testing.assert_allclose(hvp(v), matrix @ v)
    onp.testing.assert_allclose(hvp(X), matrix @ X)


def test_products_with_the_gauss_newton_matrix():
    v = onp.array([1.0, 2.0, -1.0])
    matrix = jacobian(cubes)(X)
    onp.testing.assert_allclose(make_ggnvp(cubes)(X)(v), matrix.T @ matrix @ v)
    curvature = onp.diag(12 * cubes(X) ** 2)
    onp.testing.assert_allclose(
        make_ggnvp(cubes, lambda y: np.sum(y**4))(X)(v), matrix.T @ curvature @ matrix @ v
    )
    onp.testing.assert_allclose(make_ggnvp(lambda a, x: cubes(x), f_argnum=1)(0, X)(v), matrix.T @ matrix @ v)


def test_products_after_other_operations():
    vjp, value = make_vjp(cubes)(X)
    matrix, g = jacobian(cubes)(X), onp.array([0.5, -1.0, 3.0])
    other, _ = make_vjp(np.sin)(X)
    onp.testing.assert_allclose(vjp(g), g @ matrix)
    for _ in range(3):
        onp.testing.assert_allclose(other(g), onp.cos(X) * g)
        onp.testing.assert_allclose(vjp(g), g @ matrix)
    value[:] = 0.0
    pending = jt.constant(g) * 2.0
    with jt.GradientTape() as tape:
        tape.watch(pending)
        product = vjp(pending)
    onp.testing.assert_allclose(product.numpy(), 2 * g @ matrix)
    onp.testing.assert_allclose(tape.gradient(product, pending).numpy(), matrix.sum(1))
    onp.testing.assert_allclose(vjp(g), g @ matrix)


def test_first_and_later_products_reuse_their_programs():
    def products():
        vjp, _ = make_vjp(lambda x: np.tanh(x) * x)(X)
        return [vjp(X), vjp(X), vjp(2 * X)]

    for _ in range(3):
        products()
    jt.reset_stats()
    first, second, third = products()
    stats = jt.stats()
    onp.testing.assert_array_equal(first, second)
    onp.testing.assert_array_equal(2 * first, third)
    assert (stats.paths_recorded, stats.programs, stats.flushes) == (0, 0, 1)


def test_products_by_a_known_program_keep_the_point():
    """Once the program of a product is known, the trace is released before the value is computed."""
    kept = []

    def f(x):
        y = np.exp(x) * x
        kept[:] = [x, y]
        return y

    for scale in (1.0, 2.0, 3.0, 4.0):
        at = scale * X
        vjp, value = make_vjp(f)(at)
        if scale > 2.0:
            kept[0][:] = 0.0  # the product is that of the argument and the value that the function saw
            kept[1][:] = 0.0
        wanted = onp.exp(at) * (1.0 + at)
        onp.testing.assert_allclose(value, onp.exp(at) * at, rtol=1e-14)
        for seed in (X, onp.ones_like(X)):
            onp.testing.assert_allclose(vjp(seed), seed * wanted, rtol=1e-14)
        second = grad(lambda v, vjp=vjp: np.sum(vjp(v) ** 2))(X)  # records the function again
        onp.testing.assert_allclose(second, 2.0 * X * wanted**2, rtol=1e-14)


def test_tangents_by_a_known_program_keep_the_point():
    kept = []

    def f(x):
        y = np.exp(x) * x
        kept[:] = [x, y]
        return y

    for scale in (1.0, 2.0, 3.0, 4.0):
        at = scale * X
        along = make_jvp(f)(at)
        for direction in (X, onp.ones_like(X)):
            value, tangent = along(direction)
            kept[0][:] = 0.0
            kept[1][:] = 0.0
            onp.testing.assert_allclose(value, onp.exp(at) * at, rtol=1e-14)
            onp.testing.assert_allclose(tangent, onp.exp(at) * (1.0 + at) * direction, rtol=1e-14)


def test_repeated_tangents_record_and_interpret_nothing():
    def tangent():
        return make_jvp(lambda x: np.tanh(x) * x)(X)(X)

    for _ in range(3):
        tangent()
    jt.reset_stats()
    value, moved = tangent()
    stats = jt.stats()
    onp.testing.assert_allclose(value, onp.tanh(X) * X, rtol=1e-14)
    onp.testing.assert_allclose(moved, (X / onp.cosh(X) ** 2 + onp.tanh(X)) * X, rtol=1e-13)
    assert (stats.paths_recorded, stats.programs, stats.flushes) == (0, 0, 0)


LOSING = {
    "make_jvp": lambda: make_jvp(lambda x: x * float(x))(2.0)(1.0),
    "deriv": lambda: deriv(lambda x: x * math.sin(x))(2.0),
    "make_jvp in grad": lambda: grad(lambda y: make_jvp(lambda x: x * float(x) * y)(2.0)(1.0)[1])(1.0),
    "make_vjp in grad": lambda: grad(lambda y: make_vjp(lambda x: x * float(x) * y)(2.0)[0](1.0))(1.0),
}


@pytest.mark.filterwarnings("ignore::jittape.errors.TapeExitWarning")
@pytest.mark.parametrize("name", LOSING)
def test_products_of_functions_that_take_a_value_raise(name):
    with pytest.raises(TypeError, match="takes the value of a varied number"):
        LOSING[name]()


def test_products_whose_program_fails_are_recorded(monkeypatch):
    def f(x):
        return np.sin(x) * x

    for _ in range(2):
        make_vjp(f)(X)[0](X)
    vjp, _ = make_vjp(f)(X)
    monkeypatch.setattr(RepeatedProducts, "run", lambda self, cotangent: None)
    for _ in range(2):
        onp.testing.assert_allclose(vjp(X), X * (onp.cos(X) * X + onp.sin(X)), rtol=1e-14)


def test_the_product_of_a_function_that_writes_to_its_argument():
    def doubled(x):
        y = x * x
        x[0] = 5.0
        return y + x

    vjp, value = make_vjp(doubled)(X)
    onp.testing.assert_allclose(value, X**2 + [5.0, *X[1:]])
    for _ in range(2):
        onp.testing.assert_allclose(vjp(onp.ones(3)), 2 * X + [0.0, 1.0, 1.0])


def test_the_product_of_a_function_that_leaves_the_tape():
    with pytest.raises(TypeError, match="takes the value of a varied number"):
        make_vjp(lambda x: x * float(x))(2.0)


def test_products_of_containers():
    vjp, value = make_vjp(lambda p: {"y": p[0] * p[1], "z": [p[0]]})((2.0, X))
    onp.testing.assert_array_equal(value["y"], 2 * X)
    found = vjp({"y": onp.ones(3), "z": [10.0]})
    assert found[0] == pytest.approx(X.sum() + 10)
    onp.testing.assert_array_equal(found[1], [2.0, 2.0, 2.0])
    with pytest.raises(ValueError, match="structure"):
        vjp([1.0])
    with pytest.raises(ValueError, match="shape"):
        vjp({"y": onp.ones(2), "z": [10.0]})


def test_a_product_is_differentiable():
    def along(x, v):
        return np.sum(make_vjp(cubes)(x)[0](v) ** 2)

    onp.testing.assert_allclose(grad(along)(X, X), difference(lambda x: along(x, X), X), rtol=1e-6)
    onp.testing.assert_allclose(
        grad(lambda x: np.sum(make_jvp(cubes)(x)(x)[1]))(X),
        difference(lambda x: make_jvp(cubes)(x)(x)[1].sum(), X),
        rtol=1e-6,
    )


def test_auxiliary_results():
    gradient, aux = grad_and_aux(lambda x: (np.sum(x**2), {"doubled": 2 * x, "text": "kept"}))(X)
    onp.testing.assert_array_equal(gradient, 2 * X)
    assert type(aux["doubled"]) is onp.ndarray
    onp.testing.assert_array_equal(aux["doubled"], 2 * X)
    assert aux["text"] == "kept"


def test_checkpoint():
    layer = checkpoint(lambda w, x: np.tanh(np.dot(w, x)))
    onp.testing.assert_allclose(
        grad(lambda w: np.sum(layer(w, X)))(A), grad(lambda w: np.sum(np.tanh(np.dot(w, X))))(A)
    )
    assert type(layer(A, X)) is onp.ndarray


# ---- complex numbers -------------------------------------------------------------------------------------------------

Z = onp.array([1.0 + 2.0j, -0.5 + 0.3j])


def test_complex_gradients_follow_autograd():
    """The gradient of a real function is df/dx - i df/dy."""
    assert grad(lambda z: np.real(z) ** 2 + np.imag(z))(1.0 + 2.0j) == 2 - 1j
    assert grad(lambda z: np.abs(z) ** 2)(1.0 + 2.0j) == pytest.approx(2 - 4j)
    found = grad(lambda z: np.real(np.sum(z * np.conj(z) ** 2)))(Z)
    real = difference(lambda x: onp.real(onp.sum((x + 1j * Z.imag) * (x - 1j * Z.imag) ** 2)), Z.real)
    imaginary = difference(lambda y: onp.real(onp.sum((Z.real + 1j * y) * (Z.real - 1j * y) ** 2)), Z.imag)
    onp.testing.assert_allclose(found, real - 1j * imaginary, rtol=1e-7)


def test_holomorphic_functions():
    assert holomorphic_grad(lambda z: z**3)(1.0 + 2.0j) == pytest.approx(3 * (1 + 2j) ** 2)
    with pytest.warns(UserWarning, match="not complex"):
        assert holomorphic_grad(lambda z: z**3)(2.0) == 12.0
    second = holomorphic_grad(holomorphic_grad(lambda z: z**3))
    assert second(1.0 + 2.0j) == pytest.approx(6 * (1 + 2j))


def test_complex_products():
    v = onp.array([1.0 + 2.0j, 3.0 - 1.0j])
    vjp, _ = make_vjp(lambda z: z**3)(Z)
    onp.testing.assert_allclose(vjp(v), 3 * Z**2 * v)
    onp.testing.assert_allclose(make_jvp(lambda z: z**3)(Z)(v)[1], 3 * Z**2 * v)
    vjp, _ = make_vjp(lambda z: np.abs(z) ** 2)(Z)
    onp.testing.assert_allclose(vjp(onp.array([1.0, 2.0])), 2 * Z.conj() * [1.0, 2.0])
    onp.testing.assert_allclose(jacobian(lambda z: np.abs(z) ** 2)(Z), onp.diag(2 * Z.conj()))
    assert deriv(lambda z: z**2)(1.0 + 1.0j) == pytest.approx(4j)  # along 1 + 1j, as autograd


def test_complex_values_need_another_operator():
    with pytest.raises(TypeError, match="real scalar-output"):
        grad(lambda x: x * 1j)(1.0)
    with pytest.raises(TypeError, match="real-output"):
        elementwise_grad(lambda x: x * 1j)(onp.ones(2))
    with pytest.raises(ValueError, match="complex"):
        jacobian(lambda x: x * 1j)(onp.ones(2))


# ---- kinks -----------------------------------------------------------------------------------------------------------


def test_gradients_at_kinks():
    for extreme in (np.maximum, np.minimum):
        assert grad(extreme, (0, 1))(1.0, 1.0) == (0.5, 0.5)
        assert grad(extreme, (0, 1))(1.0, 2.0) == ((0.0, 1.0) if extreme is np.maximum else (1.0, 0.0))
    onp.testing.assert_array_equal(
        elementwise_grad(lambda x: np.maximum(0.0, x))(onp.array([-1.0, 0.0, 2.0])), [0.0, 0.5, 1.0]
    )
    onp.testing.assert_allclose(grad(np.max)(onp.ones(4)), onp.full(4, 0.25))
    for bounds in ({"a_min": 0.0, "a_max": 1.0}, {"min": 0.0, "max": 1.0}):
        clipped = elementwise_grad(lambda x, bounds=bounds: np.clip(x, **bounds))
        onp.testing.assert_array_equal(
            clipped(onp.array([-1.0, 0.0, 0.5, 1.0, 2.0])), [0.0, 0.0, 1.0, 0.0, 0.0]
        )
    assert grad(np.abs)(0.0) == 0.0


# ---- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: grad(lambda x: x**2)(onp.ones(2)),
        lambda: value_and_grad(lambda x: x**2)(onp.ones(2)),
        lambda: grad(lambda x: (x, x))(1.0),
        lambda: grad(lambda x: None)(1.0),
        lambda: grad(lambda x: "text")(1.0),
        lambda: grad(lambda x: x**2)(3),
        lambda: grad(lambda x: np.sum(x**2))(onp.array([1, 2])),
        lambda: grad(lambda p: p["a"])({"a": 1.0, "b": 3}),
        lambda: grad(lambda p: p["a"])({"a": 1.0, "b": None}),
        lambda: grad(lambda x: x)("text"),
        lambda: grad(lambda x: x)(None),
        lambda: grad(3.0),
        lambda: grad(lambda x: x, "x"),
        lambda: grad_and_aux(lambda x: x)(1.0),
        lambda: jacobian(lambda x: (x, x))(1.0),
        lambda: make_jvp(lambda x: x)(1.0)(1j),
    ],
)
def test_type_errors(call):
    with pytest.raises(TypeError):
        call()


def test_a_value_with_one_element_is_a_scalar():
    onp.testing.assert_array_equal(grad(lambda x: x**2)(onp.full((1, 1), 3.0)), [[6.0]])


def test_a_missing_argument():
    with pytest.raises(IndexError):
        grad(lambda x, y: x * y, 5)(2.0, 3.0)


@pytest.mark.filterwarnings("ignore::jittape.TapeExitWarning")
@pytest.mark.parametrize("order", [1, 2])
def test_a_lost_gradient_raises(order):
    """Conversions that autograd's boxes do not have."""
    import math

    def assigned(x):
        y = onp.zeros(2)
        y[0] = x
        return np.sum(y) + x

    for function in (lambda x: float(x) * x, math.sin, assigned, lambda x: x * int(x)):
        derivative = function
        for _ in range(order):
            derivative = grad(derivative)
        with pytest.raises(TypeError, match="gradient would be lost"):
            derivative(1.5)
    assert grad(lambda x: x * getval(x))(3.0) == 3.0
    assert grad(lambda x: x * x.item())(3.0) == 3.0
    assert grad(lambda x: x * float(onp.float64(2.0)))(3.0) == 2.0


@pytest.mark.filterwarnings("ignore::jittape.TapeExitWarning")
def test_integers_that_index_arrays_lose_no_gradient():
    """Their conversions are found beside one that loses it."""
    table = onp.arange(12.0).reshape(3, 4)

    def interpolated(x):
        left = np.floor(x).astype(int)
        return np.sum(table[left, left + 1] * (x - left) + table[left, left] * (1 - x + left)) + np.sum(x)

    x = onp.array([0.3, 1.2, 0.8])
    for _ in range(3):
        onp.testing.assert_allclose(grad(interpolated)(x), [2.0, 2.0, 2.0])
    with pytest.raises(TypeError, match=r"float\(\).*gradient would be lost"):
        grad(lambda x: interpolated(x) + float(x[0]))(x)


# ---- boxes -----------------------------------------------------------------------------------------------------------


def test_questions_about_boxes():
    seen = []

    def asked(x):
        seen.append((isinstance(x, Box), isinstance(x, ArrayBox), isbox(x), isinstance_of_value(x, Box)))
        seen.append((isinstance_of_value(x, onp.ndarray), isinstance_of_value(x, float), type_of_value(x)))
        return np.sum(x)

    grad(asked)(X)
    assert seen == [(True, True, True, False), (True, False, onp.ndarray)]
    seen.clear()
    grad(asked)(1.0)
    assert seen == [(True, True, True, False), (False, True, onp.float64)]
    seen.clear()
    asked(X)
    assert seen == [(False, False, False, False), (True, False, onp.ndarray)]


def test_getval():
    values = []

    def f(x):
        values.append(getval(x))
        values.append(getval([x, 2.0]))
        return np.sum(x**2)

    grad(grad(f))(1.0)
    assert values == [1.0, [1.0, 2.0]]
    assert all(type(v) is onp.float64 for v in values[:1])


def test_it_nests_with_jittape():
    x = jt.constant(2.0, "float64")
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = grad(lambda x: x**3)(x)
    assert float(tape.gradient(y, x)) == 12.0
    assert jt.grad(grad(lambda x: x**3))(onp.float64(2.0)) == 12.0
    assert jt.function(grad(lambda x: x**3))(x).numpy() == 12.0


# ---- checks ----------------------------------------------------------------------------------------------------------


def test_check_grads():
    check_grads(f)(X)
    check_grads(lambda p: {"y": np.sin(p["a"]) * p["b"]}, order=1)({"a": X, "b": 2.0})
    check_grads(lambda x, y: x * np.cos(y), (0, 1))(2.0, 3.0)
    check_grads(lambda z: np.exp(z) * np.conj(z), order=1)(Z)
    combo_check(np.sum, (0,), order=1)([A], axis=[None, 0, 1], keepdims=[True, False])


def test_check_grads_finds_a_wrong_gradient():
    from jittape.autograd.extend import defvjp, primitive

    wrong = primitive(lambda x: onp.sin(x))
    defvjp(wrong, lambda ans, x: lambda g: g * np.sin(x))
    for modes in (["rev"], ["fwd"]):
        with pytest.raises(AssertionError, match="check of"):
            check_grads(wrong, modes=modes, order=1)(0.5)
    with pytest.raises(ValueError, match="modes"):
        check_grads(wrong, modes=["forward"])(0.5)


def test_importing_jittape_does_not_import_it():
    printed = run_python(
        "-c", "import sys, jittape; print([m for m in sys.modules if 'jittape.autograd' in m])"
    )
    assert printed.stdout.strip() == "[]"


def test_where_takes_its_parameters_by_name_and_keeps_numbers_and_lists_of_python():
    condition, x, y = [True, False, True], onp.array([1.0, 2.0, 3.0]), onp.array([4.0, 5.0, 6.0])
    for found in (np.where(condition=condition, x=x, y=y), np.where(condition, x, y=y)):
        onp.testing.assert_array_equal(found, [1.0, 5.0, 3.0])
    assert type(np.where(True, 1, 2)) is int
    assert np.where([True, False], [1, 2], [3, 4]) == [1, 4]
    onp.testing.assert_array_equal(np.where(condition)[0], [0, 2])
    gradient = grad(lambda x: np.sum(np.where(condition=x > 1.5, x=x**2, y=y)))(x)
    onp.testing.assert_array_equal(gradient, [0.0, 4.0, 6.0])
    with pytest.raises(ValueError, match="either both or neither of x and y should be given"):
        np.where(condition, x)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        np.where(condition, x, z=y)


def test_the_power_zero_has_the_gradient_zero():
    assert grad(lambda x: np.power(x, 0.0))(0.0) == 0.0
    assert grad(grad(lambda x: np.power(x, 0.0)))(0.0) == 0.0
    gradient = grad(lambda x: np.sum(np.power(x, [0, 1, 2])))(onp.array([0.0, 0.0, 3.0]))
    onp.testing.assert_array_equal(gradient, [0.0, 1.0, 6.0])


def test_a_failed_check_names_the_function():
    @primitive
    def doubled(x):
        return x * 2.0

    defvjp(doubled, lambda ans, x: lambda g: g * 2.001)
    with pytest.raises(AssertionError, match=r"\(VJP\) check of doubled failed"):
        check_grads(doubled, modes=["rev"])(1.0)
