"""Derivatives as functions: values against differences and each other, structures, forms of results, errors."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der, rosen_hess, rosen_hess_prod

import jittape as jt

pytestmark = pytest.mark.usefixtures("mode")


def rosenbrock(x: Any) -> Any:
    return jt.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def network(p: dict[str, Any], x: Any) -> Any:
    """Nested parameters, a scalar result."""
    hidden = jt.tanh(x @ p["layers"][0]) * p["scale"]
    return jt.reduce_mean(jt.square(hidden @ p["layers"][1] - 0.3))


def parameters(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    layers = (rng.standard_normal((3, 4)), rng.standard_normal((4, 2)))
    return {"layers": layers, "scale": np.float64(rng.standard_normal())}


DATA = np.random.default_rng(5).standard_normal((6, 3))
POINT = np.random.default_rng(1).standard_normal(5)
DIRECTION = np.random.default_rng(2).standard_normal(5)


# ---- values ----------------------------------------------------------------------------------------------------------


def test_rosenbrock_to_second_order() -> None:
    for _ in range(3):
        value, gradient = jt.value_and_grad(rosenbrock)(POINT)
        assert value == pytest.approx(rosen(POINT), rel=1e-14)
        np.testing.assert_allclose(gradient, rosen_der(POINT), rtol=1e-12)
        np.testing.assert_allclose(jt.grad(rosenbrock)(POINT), gradient, rtol=1e-15)
        np.testing.assert_allclose(jt.hessian(rosenbrock)(POINT), rosen_hess(POINT), rtol=1e-12, atol=1e-12)
        expected = rosen_hess_prod(POINT, DIRECTION)
        np.testing.assert_allclose(jt.hvp(rosenbrock)(POINT, DIRECTION), expected, rtol=1e-12)


def test_against_the_complex_step() -> None:
    """The derivative to the last digits without a difference: J. R. R. A. Martins et al., 2003."""

    def f(x: Any) -> Any:
        return jt.reduce_sum(jt.exp(jt.sin(x)) / (1.0 + x * x) * jt.tanh(x[::-1]))

    def f_numpy(x: Any) -> Any:
        return np.sum(np.exp(np.sin(x)) / (1.0 + x * x) * np.tanh(x[::-1]))

    expected = [f_numpy(POINT + 1e-200j * unit).imag / 1e-200 for unit in np.eye(5)]
    for _ in range(3):
        np.testing.assert_allclose(jt.grad(f)(POINT), expected, rtol=1e-13)
        _, tangent = jt.jvp(f, [POINT], [DIRECTION])
        assert tangent == pytest.approx(np.dot(expected, DIRECTION), rel=1e-13)


def test_forward_reverse_and_differences_agree_on_a_jacobian() -> None:
    def f(x: Any) -> Any:
        return jt.stack([x[0] * x[1], jt.sin(x[2]) * x[0], jt.reduce_sum(x**3), x[3] / x[4]])

    for _ in range(3):
        forward = jt.jacobian(f, mode="forward")(POINT)
        np.testing.assert_allclose(forward, jt.jacobian(f, mode="reverse")(POINT), rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(jt.jacobian(f)(POINT), jt.jacobian(f, mode="reverse")(POINT))
        differences = [(f(POINT + 1e-6 * u).numpy() - f(POINT - 1e-6 * u).numpy()) / 2e-6 for u in np.eye(5)]
        np.testing.assert_allclose(forward, np.transpose(differences), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("rows", "columns", "mode"), [(7, 2, "forward"), (2, 7, "reverse"), (3, 3, "reverse")]
)
def test_the_mode_follows_from_the_shapes(rows: int, columns: int, mode: str) -> None:
    """One pass is mapped over the smaller side: the products of the compiled program say which."""
    w = np.random.default_rng(0).standard_normal((rows, columns))

    def f(x: Any) -> Any:
        return jt.tanh(jt.linalg.matvec(w, jt.sin(x)))

    x = np.random.default_rng(1).standard_normal(columns)
    for _ in range(3):
        got = jt.jacobian(f)(x)
    s = np.tanh(w @ np.sin(x))
    np.testing.assert_allclose(got, (1 - s**2)[:, None] * w * np.cos(x), rtol=1e-12)
    program = jt.explain().program
    shapes = {program.avals[op.out].shape for op in program.ops if op.primitive.name == "matmul"}
    tall = {(columns, rows)} if mode == "forward" else {(rows, columns)}
    assert shapes == {(rows, 1)} | tall


def test_jacobians_of_structures() -> None:
    def f(p: Any, k: Any) -> Any:
        return {"product": p["a"] * p["b"] * k, "total": jt.reduce_sum(p["a"])}

    p = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}
    for _ in range(3):
        found = jt.jacobian(f, unconnected_gradients="zero")(p, 10.0)
        np.testing.assert_array_equal(found["product"]["a"], np.diag([30.0, 40.0]))
        np.testing.assert_array_equal(found["product"]["b"], np.diag([10.0, 20.0]))
        np.testing.assert_array_equal(found["total"]["a"], [1.0, 1.0])
        np.testing.assert_array_equal(found["total"]["b"], [0.0, 0.0])
        both = jt.jacobian(lambda a, b: a * b, argnums=(0, -1))(p["a"], p["b"])
        np.testing.assert_array_equal(both, [np.diag([3.0, 4.0]), np.diag([1.0, 2.0])])


def test_a_hessian_of_structures_against_differences_of_the_gradient() -> None:
    p = parameters()
    hessian = jt.hessian(network)(p, DATA)
    gradient = jt.grad(network)

    def moved(step: float) -> Any:
        q = {**p, "layers": (p["layers"][0].copy(), p["layers"][1])}
        q["layers"][0][1, 2] += step
        return gradient(q, DATA)

    up, down = moved(1e-6), moved(-1e-6)
    for i in range(2):
        expected = (up["layers"][i] - down["layers"][i]) / 2e-6
        np.testing.assert_allclose(
            hessian["layers"][i]["layers"][0][..., 1, 2], expected, rtol=1e-6, atol=1e-8
        )
    assert hessian["scale"]["scale"].shape == ()
    assert hessian["scale"]["layers"][1].shape == (4, 2)


def test_hvp_of_structures_is_the_hessian_times_the_vector() -> None:
    p, v = parameters(), parameters(7)
    for _ in range(3):
        product = jt.hvp(network)(p, v, DATA)
        hessian = jt.hessian(network)(p, DATA)
        rows = hessian["layers"][1]
        expected = rows["scale"] * v["scale"]
        for i, axes in ((0, 2), (1, 2)):
            expected = expected + np.tensordot(rows["layers"][i], v["layers"][i], axes)
        np.testing.assert_allclose(product["layers"][1], expected, rtol=1e-10)


def test_the_products_of_a_hessian_vector_product() -> None:
    """Of logistic regression three: X w, X v and X' of what becomes of them. Value and gradient are not computed."""
    x = np.random.default_rng(0).standard_normal((40, 5))

    def loss(w: Any) -> Any:
        return jt.reduce_mean(jt.math.softplus(jt.linalg.matvec(x, w))) + jt.reduce_sum(w * w)

    for _ in range(3):
        product = jt.hvp(loss)(POINT, DIRECTION)
    p = 1 / (1 + np.exp(-x @ POINT))
    np.testing.assert_allclose(
        product, x.T @ (p * (1 - p) * (x @ DIRECTION)) / 40 + 2 * DIRECTION, rtol=1e-12
    )
    page = jt.explain()
    if page.compiled:
        names = [op.primitive.name for op in page.program.ops]
        assert names.count("matmul") == 3
        assert len(page.steps) == 5
        assert len(page.program.outputs) == 1


def test_any_order() -> None:
    f = lambda x: x**6  # noqa: E731
    for order, expected in enumerate([64.0, 192.0, 480.0, 960.0, 1440.0]):
        assert float(f(np.float64(2.0))) == pytest.approx(expected)
        f = jt.grad(f)
        del order


def test_modes_nest_in_any_order() -> None:
    def f(x: Any) -> Any:
        return jt.reduce_sum(jt.sin(x) * x**2)

    def forward(g: Any) -> Any:
        return lambda x: jt.jvp(g, [x], [jt.ones_like(x)])[1]

    def reverse(g: Any) -> Any:
        return lambda x: jt.reduce_sum(jt.grad(g)(x))

    x = np.array([0.7])
    expected = -np.cos(x) * x**2 - 6 * np.sin(x) * x + 6 * np.cos(x)
    for first in (forward, reverse):
        for second in (forward, reverse):
            for third in (forward, reverse):
                got = third(second(first(f)))(x)
                np.testing.assert_allclose(got, expected[0], rtol=1e-12)


def test_perturbations_are_not_confused() -> None:
    """What a function holds of its argument besides is constant: the classic trap of nested derivatives."""
    x = jt.constant(3.0)
    inner = jt.grad(lambda y: x * y)
    for _ in range(2):
        assert float(jt.grad(lambda x: x * jt.grad(lambda y: x + y)(1.0))(2.0)) == 1.0
        assert float(inner(x)) == 3.0
        assert [float(g) for g in jt.grad(lambda a, b: a * a * b, argnums=(0, 1))(x, x)] == [18.0, 9.0]
        assert float(jt.jvp(lambda y: x * y, [x], [1.0])[1]) == 3.0


def test_batch_jacobian() -> None:
    w = np.random.default_rng(3).standard_normal((3, 5))
    for narrow in (w, w.T):
        x = np.random.default_rng(4).standard_normal((4, narrow.shape[0]))
        for _ in range(3):
            got = jt.batch_jacobian(lambda x, narrow=narrow: jt.tanh(x @ narrow))(x)
        s = np.tanh(x @ narrow)
        np.testing.assert_allclose(got, (1 - s**2)[:, :, None] * narrow.T, rtol=1e-12, atol=1e-13)
    with pytest.raises(ValueError, match="Need first dimension of target shape"):
        jt.batch_jacobian(lambda x: x[:2])(np.ones((3, 2)))
    with pytest.raises(ValueError, match="must have rank at least 2"):
        jt.batch_jacobian(lambda x: x)(np.ones(3))


# ---- vjp and jvp -----------------------------------------------------------------------------------------------------


def test_vjp_and_jvp_are_adjoint() -> None:
    def f(p: Any, x: Any) -> Any:
        return {"y": jt.tanh(x @ p["layers"][0]) @ p["layers"][1], "z": jt.reduce_sum(x) * p["scale"]}

    p, dp, dx = parameters(), parameters(3), np.random.default_rng(9).standard_normal(DATA.shape)
    for _ in range(3):
        value, tangent = jt.jvp(f, (p, DATA), (dp, dx))
        again, pullback = jt.vjp(f, p, DATA)
        np.testing.assert_array_equal(value["y"], again["y"])
        cotangents = {"y": np.ones(value["y"].shape), "z": np.float64(2.0)}
        for _ in range(2):
            back_p, back_x = pullback(cotangents)
            left = np.sum(tangent["y"]) + 2.0 * tangent["z"]
            right = np.sum(back_x * dx) + back_p["scale"] * dp["scale"]
            right += sum(np.sum(a * b) for a, b in zip(back_p["layers"], dp["layers"], strict=True))
            assert left == pytest.approx(right, rel=1e-12)


def test_a_pullback_called_often_is_compiled_once() -> None:
    """It makes no trace longer; what it met and gave stays as it was."""
    v, x = jt.Variable(np.array([1.0, 2.0])), jt.constant(np.array([1.0, 3.0]))
    y, pullback = jt.vjp(lambda x: jt.sin(x) * v, x)
    expected = np.cos([1.0, 3.0]) * [1.0, 2.0]
    kept = []
    for i in range(6):
        if i == 4:
            before = jt.stats()
        cotangent = jt.constant(np.array([1.0, i]))
        (gradient,) = pullback(cotangent * 2.0)
        kept.append((gradient, gradient * cotangent + v, jt.reduce_sum(y * cotangent)))
    assert jt.stats().paths_recorded == before.paths_recorded
    for i, (gradient, later, total) in enumerate(kept):
        np.testing.assert_allclose(gradient, expected * [2.0, 2.0 * i], rtol=1e-14)
        np.testing.assert_allclose(later, expected * [2.0, 2.0 * i**2] + [1.0, 2.0], rtol=1e-14)
        assert float(total) == pytest.approx(np.sin(1.0) + 2.0 * i * np.sin(3.0))


def test_a_pullback_calls_a_gradient_function_that_enters_tapes() -> None:
    @jt.custom_gradient
    def cube(x: Any) -> Any:
        def gradient(upstream: Any) -> Any:
            with jt.GradientTape() as tape:
                tape.watch(x)
                y = x**3
            return upstream * tape.gradient(y, x) * jt.grad(lambda z: jt.reduce_sum(z))(x)

        return x**3, gradient

    x = np.array([1.0, -2.0])
    value, pullback = jt.vjp(lambda x: jt.sin(cube(x)), x)
    for cotangent in (np.array([1.0, 0.0]), np.array([0.5, 2.0])):
        np.testing.assert_allclose(pullback(cotangent)[0], cotangent * np.cos(x**3) * 3 * x**2)
    np.testing.assert_allclose(value, np.sin(x**3))


def test_what_a_pullback_gave_may_go_into_it_again() -> None:
    x = jt.constant(np.array([1.0, 3.0]))
    _, pullback = jt.vjp(jt.sin, x)
    for seed in (jt.constant(np.array([1.0, 2.0])), np.array([1.0, 2.0])):
        g = seed
        for power in range(1, 5):
            (g,) = pullback(g)
            np.testing.assert_allclose(g, np.cos([1.0, 3.0]) ** power * [1.0, 2.0], rtol=1e-14)


def test_a_pullback_is_differentiable_in_its_cotangents() -> None:
    x = jt.constant(np.array([1.0, 3.0]))
    _, pullback = jt.vjp(jt.sin, x)
    for _ in range(2):
        with jt.GradientTape() as tape:
            tape.watch(x)
            total = jt.reduce_sum(pullback(x * x)[0])
        np.testing.assert_allclose(tape.gradient(total, x), 2 * x.numpy() * np.cos([1.0, 3.0]))
        with jt.GradientTape() as tape:
            tape.watch(x)
            total = jt.reduce_sum(jt.vjp(jt.sin, x)[1](x * x)[0])
        expected = 2 * x.numpy() * np.cos([1.0, 3.0]) - x.numpy() ** 2 * np.sin([1.0, 3.0])
        np.testing.assert_allclose(tape.gradient(total, x), expected)


def test_what_comes_with_the_value() -> None:
    def f(x: Any) -> Any:
        y = jt.sin(x)
        return jt.reduce_sum(y), {"y": y, "name": "sine", "none": None}

    x = np.array([0.5, 1.0])
    (value, aux), gradient = jt.value_and_grad(f, has_aux=True)(x)
    assert value == pytest.approx(np.sin(x).sum())
    np.testing.assert_array_equal(aux["y"], np.sin(x))
    assert (aux["name"], aux["none"]) == ("sine", None)
    np.testing.assert_allclose(gradient, np.cos(x))
    gradient, aux = jt.grad(f, has_aux=True)(x)
    assert isinstance(aux["y"], np.ndarray)
    value, pullback, aux = jt.vjp(f, x, has_aux=True)
    np.testing.assert_allclose(pullback(1.0)[0], np.cos(x))
    value, tangent, aux = jt.jvp(f, [x], [np.ones(2)], has_aux=True)
    assert tangent == pytest.approx(np.cos(x).sum())
    assert jt.jacobian(f, has_aux=True)(x)[1]["name"] == "sine"
    assert jt.hessian(f, has_aux=True)(x)[0].shape == (2, 2)


@pytest.mark.parametrize("how", ["forward", "reverse"])
def test_custom_gradients_in_jacobians(how: str) -> None:
    """Also one whose gradient is a function with a gradient of its own: it says wrong on purpose, so one sees it."""

    @jt.custom_gradient
    def first(x: Any) -> Any:
        return 3.0 * x * x, lambda upstream: upstream * 600.0

    @jt.custom_gradient
    def cube(x: Any) -> Any:
        return x**3, lambda upstream: upstream * first(x)

    x = np.array([1.0, 2.0])
    for _ in range(3):
        np.testing.assert_array_equal(jt.jacobian(cube, mode=how)(x), np.diag(3 * x**2))
        np.testing.assert_array_equal(
            jt.jacobian(lambda x: first(x) * x, mode=how)(x), np.diag(600 * x + 3 * x**2)
        )
        gradient = jt.grad(lambda x: jt.reduce_sum(cube(x)))
        np.testing.assert_array_equal(jt.jacobian(gradient, mode=how)(x), np.diag([600.0, 600.0]))
        np.testing.assert_array_equal(
            jt.hessian(lambda x: jt.reduce_sum(cube(x)))(x), np.diag([600.0, 600.0])
        )
        np.testing.assert_array_equal(jt.hvp(lambda x: jt.reduce_sum(cube(x)))(x, x), 600.0 * x)


def test_views_and_empty_arrays() -> None:
    """A vector that is no neighbor in memory, and one of another byte order, as an optimizer may hand out."""
    x = np.arange(12.0).reshape(6, 2)[:, 0] / 10
    for one in (x, x.astype(">f8"), x[::-1]):
        np.testing.assert_allclose(jt.grad(rosenbrock)(one), rosen_der(one), rtol=1e-12)
        np.testing.assert_allclose(jt.grad(jt.function(rosenbrock))(one), rosen_der(one), rtol=1e-12)
    for size in (0, 1, 2):
        gradient = jt.grad(lambda x: jt.reduce_sum(x**2))(np.ones(size))
        assert gradient.tolist() == [2.0] * size
        assert jt.hessian(lambda x: jt.reduce_sum(x**2))(np.ones(size)).shape == (size, size)


# ---- the form of results ---------------------------------------------------------------------------------------------


def test_arrays_give_arrays_and_tensors_give_tensors() -> None:
    f = lambda x, y: jt.reduce_sum(x * y)  # noqa: E731
    array, tensor, variable = np.ones(2), jt.constant(np.ones(2)), jt.Variable(np.ones(2))
    value, gradient = jt.value_and_grad(f)(array, tensor)
    assert type(value) is np.float64
    assert type(gradient) is np.ndarray
    assert gradient.dtype == np.float64
    for x in (tensor, variable):
        value, gradient = jt.value_and_grad(f)(x, array)
        assert type(value) is jt.Tensor
        assert type(gradient) is jt.Tensor
    assert type(jt.grad(lambda x: x * x)(3.0)) is np.float32  # a Python float has the default float
    assert type(jt.jvp(f, [array, array], [array, tensor])[1]) is jt.Tensor
    assert type(jt.hvp(f)(array, array, array)) is np.ndarray


def test_arrays_that_come_out_are_the_callers_own() -> None:
    for f in (lambda x: jt.reduce_sum(x * 2.0), jt.function(lambda x: jt.reduce_sum(x * 2.0))):
        gradient_of = jt.grad(f)
        x, kept = np.ones(3), []
        for i in range(4):
            kept.append(gradient_of(x))
            kept[-1] *= i
        assert [g.tolist() for g in kept] == [[2.0 * i] * 3 for i in range(4)]
        (same,) = jt.vjp(lambda x: x, x)[1](x)
        same[0] = 7.0
        assert x.tolist() == [1.0, 1.0, 1.0]


def test_inside_a_tape_an_array_gives_a_tensor() -> None:
    scale = jt.Variable(np.float64(2.0))
    for _ in range(2):
        with jt.GradientTape() as tape:
            gradient = jt.grad(lambda x: jt.reduce_sum(scale * x**2))(np.array([1.0, 2.0]))
            total = jt.reduce_sum(gradient)
        assert float(tape.gradient(total, scale)) == 6.0


def test_variables_as_arguments() -> None:
    v = jt.Variable([1.0, 2.0])
    for _ in range(2):
        assert jt.grad(lambda v: jt.reduce_sum(v**2))(v).tolist() == [2.0, 4.0]
        found = jt.grad(lambda p: jt.reduce_sum(p["v"] ** 2))({"v": v})
        assert found["v"].tolist() == [2.0, 4.0]


def test_none_in_a_structure_stays() -> None:
    assert jt.grad(lambda p: p[0] ** 2)([3.0, None]) == [6.0, None]


def test_a_method_and_keywords() -> None:
    class Model:
        weight = 3.0

        @jt.function
        def unused(self) -> None: ...

        def loss(self, x: Any, power: int = 2) -> Any:
            return self.weight * x**power

        slope = jt.grad(loss, argnums=1)

    assert float(jt.grad(Model().loss)(2.0, power=3)) == 36.0
    assert float(Model().slope(2.0)) == 12.0
    assert jt.grad(Model.loss, argnums=1).__name__ == "loss"


def test_it_pickles_like_its_function() -> None:
    loaded = pickle.loads(pickle.dumps(jt.value_and_grad(rosenbrock)))
    assert loaded(POINT)[0] == pytest.approx(rosen(POINT))


# ---- functions -------------------------------------------------------------------------------------------------------


def test_inside_a_function_it_is_compiled_with_it() -> None:
    compiled = jt.function(jt.value_and_grad(rosenbrock))
    product = jt.function(jt.hvp(rosenbrock))
    for _ in range(3):
        value, gradient = compiled(POINT)
        assert float(value) == pytest.approx(rosen(POINT), rel=1e-14)
        np.testing.assert_allclose(gradient, rosen_der(POINT), rtol=1e-12)
        np.testing.assert_allclose(product(POINT, DIRECTION), rosen_hess_prod(POINT, DIRECTION), rtol=1e-12)
    assert (compiled.trace_count, product.trace_count) == (1, 1)


def test_of_a_function_the_whole_is_compiled_and_arrays_come_out() -> None:
    traced = []

    @jt.function
    def f(x: Any, scale: Any) -> Any:
        traced.append(1)
        return rosenbrock(x) * scale

    derivatives = [jt.value_and_grad(f), jt.hessian(f), jt.jacobian(f)]
    for scale in (1.0, 2.0, 3.0):
        (value, gradient), hessian, jacobian = [d(POINT, scale) for d in derivatives]
        assert type(value) is np.float64
        assert type(gradient) is type(hessian) is type(jacobian) is np.ndarray
        assert value == pytest.approx(scale * rosen(POINT))
        np.testing.assert_allclose(hessian, scale * rosen_hess(POINT), rtol=1e-10, atol=1e-10)
    assert len(traced) == 3
    tensor = jt.constant(POINT)
    assert type(jt.grad(f)(tensor, 1.0)) is jt.Tensor
    with jt.GradientTape() as tape:
        tape.watch(tensor)
        total = jt.reduce_sum(jt.grad(f)(tensor, 1.0))
    np.testing.assert_allclose(tape.gradient(total, tensor), rosen_hess(POINT).sum(0), rtol=1e-10)


# ---- None, and errors ------------------------------------------------------------------------------------------------


def test_a_gradient_that_is_none_says_why() -> None:
    for _ in range(2):
        with pytest.warns(
            jt.UnconnectedGradientWarning, match=r"argmax` at line \d+ of .*test_transforms.py"
        ):
            assert jt.grad(lambda x: jt.cast(jt.argmax(x), jt.float64) * 2.0)(POINT) is None
        with pytest.warns(jt.UnconnectedGradientWarning, match="does not depend on"):
            first, second = jt.grad(lambda x, y: x * x, argnums=(0, 1))(1.0, 2.0)
        assert (first, second) == (2.0, None)
        f = lambda x: jt.reduce_sum(jt.numpy_function(np.sort, [x], jt.float64))  # noqa: E731
        with pytest.warns(jt.UnconnectedGradientWarning, match="NumPy computed it"):
            assert jt.grad(f)(POINT) is None
        with pytest.warns(jt.UnconnectedGradientWarning):
            assert jt.jvp(lambda x: jt.floor(x), [POINT], [POINT])[1] is None
        with pytest.warns(jt.UnconnectedGradientWarning):
            assert jt.jacobian(lambda x: jt.floor(x))(POINT) is None


def test_zeros_on_request_and_for_second_derivatives() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            jt.grad(lambda x: jt.reduce_sum(jt.floor(x)), unconnected_gradients="zero")(POINT).tolist()
            == [0.0] * 5
        )
        linear = lambda x: jt.reduce_sum(3.0 * x)  # noqa: E731
        assert jt.hvp(linear)(POINT, DIRECTION).tolist() == [0.0] * 5
        assert jt.hessian(linear)(POINT).tolist() == np.zeros((5, 5)).tolist()
        cross = jt.hessian(lambda p: p["a"] ** 2 + 3.0 * p["b"])({"a": 1.0, "b": 2.0})
        assert cross == {"a": {"a": 2.0, "b": 0.0}, "b": {"a": 0.0, "b": 0.0}}
        assert jt.hessian(lambda p: jt.constant(1.0))({}) == {}
    with pytest.warns(jt.UnconnectedGradientWarning):
        blocks = jt.hessian(lambda p: p["a"] ** 2)({"a": 1.0, "b": 2.0})
    assert blocks == {"a": {"a": 2.0, "b": 0.0}, "b": {"a": None, "b": None}}
    with pytest.warns(jt.UnconnectedGradientWarning):
        assert jt.hvp(lambda p: p["a"] ** 2)({"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 1.0}) == {
            "a": 6.0,
            "b": None,
        }


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (
            lambda: jt.grad(lambda x: x)(np.ones(3)),
            jt.ShapeError,
            r"must return a scalar, got shape \(3,\).*jacobian",
        ),
        (lambda: jt.grad(lambda x: (x, x))(1.0), TypeError, r"scalar, got tuple; with has_aux=True"),
        (lambda: jt.grad(lambda x: jt.argmax(x))(np.ones(3)), TypeError, "real floating number, got int64"),
        (lambda: jt.grad(lambda x: x * 1j)(1.0), TypeError, "got complex.*: take jt.abs"),
        (lambda: jt.grad(lambda x: x)(3), TypeError, "argument 0 is int32.*pass floats"),
        (lambda: jt.grad(lambda x: x)("a"), TypeError, "argument 0 is varied but contains str 'a'"),
        (
            lambda: jt.grad(lambda x: x, argnums=1)(1.0),
            ValueError,
            "argnums=1 requires argument 1, .* 1 positional",
        ),
        (
            lambda: jt.grad(lambda x: x, has_aux=True)(1.0),
            TypeError,
            r"must return \(value, aux\), got Tensor",
        ),
        (lambda: jt.jacobian(lambda x: None)(np.ones(3)), TypeError, r"^\[jacobian\] .* got None"),
        (
            lambda: jt.batch_jacobian(lambda x: None)(np.ones((3, 2))),
            TypeError,
            r"^\[batch_jacobian\] .* None",
        ),
        (lambda: jt.grad(3.0), TypeError, "f must be a function, got 3.0"),
        (
            lambda: jt.grad(lambda x: x, unconnected_gradients="no")(1.0),
            ValueError,
            "Unknown value for unconnected",
        ),
        (
            lambda: jt.jacobian(lambda x: x, mode="both"),
            ValueError,
            "mode must be 'forward', 'reverse' or None",
        ),
        (lambda: jt.jvp(lambda x: x, np.ones(2), np.ones(2)), TypeError, "must be tuples or lists"),
        (lambda: jt.jvp(lambda x: x, [1.0], [1.0, 2.0]), ValueError, "must have equal length, got 1 and 2"),
        (
            lambda: jt.jvp(lambda x: x, [np.ones(2)], [np.ones(3)]),
            ValueError,
            r"tangents\[0\] has shape \(3,\)",
        ),
        (lambda: jt.jvp(lambda x: x, [1.0], [np.int32(1)]), TypeError, r"tangents\[0\] has dtype int32"),
        (
            lambda: jt.vjp(lambda x: x, np.ones(2))[1](np.ones(3)),
            ValueError,
            r"cotangents\[0\] has shape \(3,\)",
        ),
        (lambda: jt.hvp(rosenbrock)(POINT), TypeError, r"call it with the point and the vector"),
        (lambda: jt.hvp(rosenbrock)(POINT, np.ones(4)), ValueError, r"shape \(4,\), its primal \(5,\)"),
        (
            lambda: jt.hvp(rosenbrock)(POINT, np.ones(5) * 1j),
            TypeError,
            "dtype complex128, its primal float64",
        ),
    ],
)
def test_errors_say_what_to_do(call: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call()


def test_a_failing_function_leaves_nothing_behind() -> None:
    with pytest.raises(ZeroDivisionError):
        jt.grad(lambda x: x * (1 / 0))(1.0)
    with pytest.raises(ZeroDivisionError):
        jt.jvp(lambda x: x * (1 / 0), [1.0], [1.0])
    assert type(jt.grad(lambda x: x * x)(3.0)) is np.float32  # nothing is recording any more


# ---- other ways to a gradient ----------------------------------------------------------------------------------------


def test_recompute_grad_gives_the_same_in_less_memory() -> None:
    weights = [np.random.default_rng(i).standard_normal((16, 16)) * 0.3 for i in range(12)]
    x = np.random.default_rng(0).standard_normal((64, 16))

    def block(x: Any, weights: Any) -> Any:
        for w in weights:
            x = jt.tanh(x @ w)
        return x

    def loss(x: Any, weights: Any, block: Any) -> Any:
        for i in range(0, 12, 3):
            x = block(x, weights[i : i + 3])
        return jt.reduce_sum(x * x)

    arenas, results = [], []
    for one in (block, jt.recompute_grad(block)):
        for _ in range(3):
            found = jt.value_and_grad(loss, argnums=(0, 1))(x, weights, one)
        results.append(found)
        if not jt.config.interpret:
            arenas.append(arena_of(lambda one=one: jt.grad(loss)(x, weights, one)))
    (value, (gx, gw)), (again, (hx, hw)) = results
    assert value == again
    np.testing.assert_allclose(gx, hx, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(gw, hw, rtol=1e-12, atol=1e-13)
    if arenas:
        assert arenas[1] < 0.6 * arenas[0]


def arena_of(call: Any) -> int:
    """The bytes of temporaries of what `call` runs."""
    from jittape.runtime.counters import counters

    for _ in range(6):  # each block that copies arrays in machine code makes another program
        call()
    return int(counters.last.compiled.schedule.arena)


def test_recompute_grad_with_variables_keywords_and_higher_orders() -> None:
    v = jt.Variable(np.float64(2.0))

    @jt.recompute_grad
    def f(x: Any, power: int = 2, *, shift: Any = 0.0) -> Any:
        return v * x**power + shift

    for _ in range(3):
        x, shift = jt.constant(3.0, jt.float64), jt.constant(1.0, jt.float64)
        with jt.GradientTape() as tape:
            tape.watch([x, shift])
            y = f(x, 3, shift=shift) ** 2
        dx, dv, ds = tape.gradient(y, [x, v, shift])
        assert [float(g) for g in (dx, dv, ds)] == pytest.approx([2 * 55 * 54, 2 * 55 * 27, 110.0])
        second = jt.grad(jt.grad(lambda x: f(x, 3)))(np.float64(3.0))
        assert second == pytest.approx(36.0)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("looped", [False, True])
def test_recompute_grad_of_a_function_that_uses_tensors_from_outside(compiled: bool, looped: bool) -> None:
    scale = jt.Variable(np.array([1.0, 2.0, 0.5]))
    fixed = jt.constant(np.array([3.0, -1.0, 1.0]))

    def value(x: Any, again: Any) -> Any:
        outer = x * x * scale
        block = again(lambda z: jt.sin(z) * x + outer * fixed + scale * z)
        if looped:
            return jt.reduce_sum(jt.fori_loop(0, 3, lambda i, z: block(z) * 0.5, x * 2.0))
        return jt.reduce_sum(block(block(x * 2.0)))

    def gradients(again: Any) -> list[Any]:
        def both(x: Any) -> Any:
            with jt.GradientTape() as tape:
                tape.watch(x)
                first = jt.grad(lambda y: value(y, again))(x)
                y = jt.reduce_sum(first * fixed) + value(x, again)
            return tape.gradient(y, [x, scale])

        function = jt.function(both) if compiled else both
        return [[np.array(g) for g in function(jt.constant(X3))] for _ in range(3)][-1]

    for found, expected in zip(gradients(jt.recompute_grad), gradients(lambda f: f), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


X3 = np.array([0.3, -0.7, 1.2])


@pytest.mark.parametrize("looped", [False, True])
def test_recompute_grad_of_an_argument_that_is_read_from_outside_too(looped: bool) -> None:
    variable = jt.Variable(X3)

    def value(x: Any, again: Any) -> Any:
        def step(z: Any) -> Any:
            block = again(lambda a, v: (jt.sin(a) * z * v * variable, z, 2.0))
            first, passed, two = block(z, variable)
            return first + passed * two

        return jt.reduce_sum(jt.fori_loop(0, 3, lambda i, z: step(z), x) if looped else step(x))

    def gradients(again: Any) -> list[Any]:
        x = jt.constant(X3 + 1.0)
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = value(x, again)
        return [np.array(g) for g in tape.gradient(y, [x, variable])]

    for _ in range(3):
        for found, expected in zip(gradients(jt.recompute_grad), gradients(lambda f: f), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_recompute_grad_gives_none_where_nothing_is_connected() -> None:
    x, unused = jt.constant(2.0), jt.constant(3.0)
    with jt.GradientTape() as tape:
        tape.watch([x, unused])
        y = jt.recompute_grad(lambda a, b: jt.sin(a))(x, unused)
    with pytest.warns(jt.UnconnectedGradientWarning):
        dx, nothing = tape.gradient(y, [x, unused])
    assert float(dx) == pytest.approx(np.cos(2.0))
    assert nothing is None


def test_recompute_grad_calls_again_for_every_gradient() -> None:
    calls = []

    @jt.recompute_grad
    def f(x: Any) -> Any:
        calls.append(1)
        return jt.sin(x), {"c": jt.cos(x)}

    for _ in range(2):
        s, c = (lambda r: (r[0], r[1]["c"]))(f(jt.constant(1.0)))
        assert float(s * s + c * c) == pytest.approx(1.0)
    assert len(calls) == 2
    jt.grad(lambda x: f(x)[0])(1.0)
    assert len(calls) == 4


def test_grad_pass_through() -> None:
    v = jt.Variable(2.0)
    for _ in range(2):
        x = jt.constant([0.4, 1.6])
        with jt.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = jt.reduce_sum(jt.grad_pass_through(jt.round)(x) * [1.0, 10.0])
            z = jt.grad_pass_through(lambda x: x * v)(x)
        assert tape.gradient(y, x).tolist() == [1.0, 10.0]
        assert tape.gradient(z, x).tolist() == [1.0, 1.0]
        with pytest.warns(jt.UnconnectedGradientWarning):
            assert tape.gradient(z, v) is None
        assert jt.jvp(jt.grad_pass_through(jt.round), [x], [x])[1].tolist() == pytest.approx([0.4, 1.6])


@pytest.mark.parametrize("function", [np.logaddexp, np.logaddexp2])
def test_second_derivatives_where_operands_are_equal(function):
    """The sum of exponentials is smooth there; the derivative is 1/2 for equal infinities too."""
    first = jt.grad(function)
    x = np.float64(1.5)
    step = 1e-5
    numeric = (first(x + step, 1.5) - first(x - step, 1.5)) / (2 * step)
    np.testing.assert_allclose(jt.grad(first)(x, 1.5), numeric, rtol=1e-7)
    assert first(np.float64(np.inf), np.inf) == 0.5
    assert first(np.float64(-np.inf), -np.inf) == 0.5
