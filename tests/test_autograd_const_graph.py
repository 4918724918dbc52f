"""`jittape.autograd.misc.const_graph`: the Python code of a function runs once, its operations at each call."""

import numpy
import pytest

import jittape as jt
import jittape.autograd.numpy as np
from jittape.autograd import checkpoint, elementwise_grad, grad, hessian, jacobian, make_jvp, make_vjp
from jittape.autograd.extend import defvjp, primitive
from jittape.autograd.misc import const_graph
from jittape.autograd.tracer import getval

POINTS = (numpy.array([0.3, -1.2, 2.0]), numpy.array([1.5, 0.1, -0.7]), numpy.array([-2.0, 0.4, 0.9]))


def counted(f):
    def g(*args, **kwargs):
        g.calls += 1
        return f(*args, **kwargs)

    g.calls = 0
    return g


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.sin(x) * x**2),
        lambda x: x * 2.0 + numpy.arange(3.0),
        lambda x: x[np.argmax(x)] + x[1:] * x[:-1],
        lambda x: np.sort(x)[::-1] @ np.array([1.0, 2.0, 3.0]),
        lambda x: np.where(x > 0, x, np.exp(x)),
        lambda x: {"a": x + 1.0, "b": (np.sum(x), 4.0)},
        lambda x: np.stack([x[i] * x[j] for i in range(3) for j in range(i)]),
        lambda x: grad(lambda y: np.sum(y**3 * x))(x),
        lambda x: hessian(lambda y: np.prod(y) + np.sum(x * y))(x),
        lambda x: jacobian(lambda y: np.outer(y, y) @ x)(x),
        lambda x: elementwise_grad(np.tanh)(x),
        lambda x: make_vjp(lambda y: y**2)(x)[0](x),
        lambda x: make_jvp(lambda y: y**2)(x)(x)[1],
        lambda x: np.linalg.solve(np.outer(x, x) + np.eye(3), x),
        lambda x: np.cumsum(x) / np.max(x),
    ],
)
def test_replays_agree_with_the_function(f):
    python = counted(f)
    repeated = const_graph(python)
    for x in (*POINTS, *POINTS):
        found, wanted = repeated(x), f(x)
        assert str(jt.nest.map_structure(type, found)) == str(jt.nest.map_structure(type, wanted))
        jt.nest.map_structure(lambda a, b: numpy.testing.assert_allclose(a, b, rtol=1e-12), found, wanted)
    assert python.calls == 1


@pytest.mark.parametrize("first", ["plain", "gradient"])
def test_gradients_go_through_replays(first):
    python = counted(lambda w, x: np.sum(np.tanh(w["a"] * x) + w["b"] ** 3))
    repeated = const_graph(python)
    parameters = [{"a": x, "b": float(x[0])} for x in POINTS]
    if first == "plain":
        repeated(parameters[0], POINTS[1])
    for w in parameters * 2:
        found, wanted = grad(repeated)(w, POINTS[1]), grad(python)(w, POINTS[1])
        for key in "ab":
            numpy.testing.assert_allclose(found[key], wanted[key], rtol=1e-12)
        numpy.testing.assert_allclose(
            hessian(lambda a, w=w: repeated({"a": a, "b": w["b"]}, POINTS[2]))(w["a"]),
            hessian(lambda a, w=w: python({"a": a, "b": w["b"]}, POINTS[2]))(w["a"]),
        )
    before = python.calls
    grad(repeated)(parameters[0], POINTS[2])
    assert python.calls == before


def test_branches_and_values_are_those_of_the_first_call():
    repeated = const_graph(lambda x: np.sum(x) * (2.0 if np.sum(x) > 0 else 3.0) + getval(x)[0])
    assert repeated(numpy.array([1.0, 2.0])) == 7.0
    assert repeated(numpy.array([-1.0, -2.0])) == -5.0
    drawn = const_graph(lambda x: x + np.random.randn())
    assert drawn(1.0) == drawn(1.0) == pytest.approx(drawn(2.0) - 1.0)


def test_another_shape_dtype_or_structure_runs_the_function_again():
    python = counted(lambda x: np.sum(x[0] if isinstance(x, tuple) else x))
    repeated = const_graph(python)
    for calls, x in enumerate(
        (1.0, numpy.ones(2), numpy.ones(3), numpy.ones(3, numpy.float32), (2.0, 3.0)), 1
    ):
        assert repeated(x) == repeated(x) == python.__closure__[0].cell_contents(x)
        assert python.calls == calls


def test_first_arguments_and_names_are_constants():
    repeated = const_graph(lambda a, x, *, b: a * x + b, 2.0, b=numpy.array([1.0, 2.0]))
    assert repeated(3.0).tolist() == [7.0, 8.0]
    assert repeated(4.0).tolist() == [9.0, 10.0]
    assert repeated.__name__ == "<lambda>"


def test_a_primitive_runs_at_each_call_that_depends_on_the_arguments():
    seen = []
    double = primitive(lambda x, name: seen.append((name, type(x))) or 2.0 * x)
    defvjp(double, lambda ans, x, name: lambda g: 2.0 * g)

    def f(x):
        constant = double(numpy.array(5.0), "constant")
        y = double(np.sin(x), "first")
        return double(y * x, "second") + constant + y

    repeated = const_graph(f)
    for x in (0.3, 0.7, 1.1):
        numpy.testing.assert_allclose(repeated(x), 10.0 + (4.0 * x + 2.0) * numpy.sin(x))
        slope = (4.0 * x + 2.0) * numpy.cos(x) + 4.0 * numpy.sin(x)
        numpy.testing.assert_allclose(grad(repeated)(x), slope)
    assert [name for name, _ in seen] == ["constant", "first", "second", *["first", "second"] * 5]
    assert all(kind in (numpy.float64, numpy.ndarray) for _, kind in seen)


def test_a_primitive_without_a_rule_is_repeated_but_has_no_derivative():
    double = primitive(lambda x: 2.0 * x)
    repeated = const_graph(lambda x: double(x) + 1.0)
    assert (repeated(1.0), repeated(2.0)) == (3.0, 5.0)
    for f in (repeated, const_graph(lambda x: double(x) + 1.0), const_graph(grad(double))):
        with pytest.raises(NotImplementedError, match="VJP of <lambda> wrt argnums"):
            grad(f)(1.0)
    with pytest.raises(TypeError, match=r"\[const_graph\] <lambda> returns no floating numbers"):
        const_graph(primitive(lambda x: int(x)))(1.0)


def test_values_from_outside_are_kept():
    outside = jt.constant([1.0, 2.0])
    repeated = const_graph(lambda x: x * outside + outside**2)
    assert repeated(1.0).tolist() == [2.0, 6.0]
    outside[0] = 5.0
    assert repeated(2.0).tolist() == [3.0, 8.0]
    inner = const_graph(lambda x: np.sum(x**2))
    outer = const_graph(lambda x: inner(x) * x)
    assert outer(POINTS[0]).shape == (3,)
    numpy.testing.assert_allclose(outer(POINTS[1]), numpy.sum(POINTS[1] ** 2) * POINTS[1])
    assert const_graph(lambda x: 3.0)(1.0) == 3.0


def test_tensors_and_traced_functions():
    python = counted(lambda x: x * x)
    repeated = const_graph(python)
    x = jt.constant([1.0, 2.0])
    assert isinstance(repeated(x), jt.Tensor)
    assert repeated(x + 1.0).tolist() == [4.0, 9.0]
    assert python.calls == 1
    traced = jt.function(lambda x: repeated(x) + 1.0)
    assert [traced(x).tolist() for _ in range(3)] == [[2.0, 5.0]] * 3
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = repeated(x)
    assert tape.gradient(y, x).tolist() == [2.0, 4.0]


def test_refusals():
    v = jt.Variable(2.0)
    with pytest.raises(TypeError, match=r"\[const_graph\] the function reads a Variable"):
        const_graph(lambda x: x * v)(1.0)
    own = jt.custom_gradient(lambda x: (x * 2.0, lambda g: g * 3.0))
    with pytest.raises(
        TypeError, match=r"\[const_graph\] the function calls a jittape.custom_gradient at .*: use"
    ):
        const_graph(lambda x: own(x))(1.0)
    with pytest.raises(TypeError, match="Can't find vector space"):
        const_graph(lambda x: x)("a")
    numpy.testing.assert_allclose(const_graph(checkpoint(lambda x: x**2))(3.0), 9.0)
