"""Functions of jittape inside nutpie, PyTensor, PyMC, JAX and PyTorch.

Run by `make test-engines`, in an environment that has these libraries; tests of a missing one are skipped.
"""

from __future__ import annotations

import ctypes
import pickle
from typing import Any

import numpy as np
import pytest

import jittape as jt

FLOAT = jt.float64
X, S = np.array([1.0, 2.0, 3.0]), np.float64(2.0)

pytestmark = pytest.mark.filterwarnings("ignore")


def weighted(x: Any, s: Any) -> Any:
    return jt.reduce_sum(jt.sin(x) * s)


# ---- nutpie and PyMC -------------------------------------------------------------------------------------------------


def normal(a: Any, b: Any) -> Any:
    """A density with mean 1 and deviation 0.5 for `a`, mean 0 and deviation 2 for `b`."""
    return -0.5 * jt.reduce_sum(((a - 1.0) / 0.5) ** 2) - 0.5 * jt.reduce_sum((b / 2.0) ** 2)


def test_nutpie_draws_from_the_density() -> None:
    nutpie = pytest.importorskip("nutpie")
    model = jt.nutpie(normal, {"a": (2,), "b": ()}, dims={"a": ("side",)}, coords={"side": ["left", "right"]})
    trace = nutpie.sample(model, draws=2000, tune=500, chains=2, cores=2, progress_bar=False, seed=1)
    assert list(trace.posterior["side"].values) == ["left", "right"]
    a, b = trace.posterior["a"], trace.posterior["b"]
    np.testing.assert_allclose(a.mean(("chain", "draw")), 1.0, atol=0.06)
    np.testing.assert_allclose(a.std(("chain", "draw")), 0.5, atol=0.06)
    np.testing.assert_allclose([b.mean(), b.std()], [0.0, 2.0], atol=0.25)


def test_nan_in_nutpie_ends_a_trajectory() -> None:
    nutpie = pytest.importorskip("nutpie")
    model = jt.nutpie(lambda x: jt.math.log(1.0 - x * x), {"x": ()})
    trace = nutpie.sample(model, draws=500, tune=200, chains=1, cores=1, progress_bar=False, seed=1)
    assert np.abs(trace.posterior["x"]).max() < 1.0


@pytest.mark.parametrize(
    ("density", "reason"),
    [
        (lambda x: jt.reduce_sum(x) * np.nan, "the log density is nan"),
        (lambda x: 0.0 * jt.reduce_sum(x) - np.inf, "the log density is -inf"),
        (lambda x: jt.reduce_sum(jt.linalg.cholesky(-jt.linalg.tensor_diag(x * x))), "an operation failed"),
        (lambda x: 0.0 * jt.reduce_sum(x), "the gradient of the log density is zero"),
        (lambda x: jt.reduce_sum(jt.sqrt(0.0 * x)), "the gradient of the log density is not finite"),
    ],
)
def test_a_density_where_chains_cannot_start(density: Any, reason: str) -> None:
    nutpie = pytest.importorskip("nutpie")
    model = jt.nutpie(density, {"x": (2,)})
    with pytest.raises(ValueError, match=f"cannot start at any of 100 random points .* {reason}"):
        nutpie.sample(model, draws=10, tune=10, chains=1, progress_bar=False, seed=1)


def test_chains_start_where_the_density_is_finite() -> None:
    """At most points of this one it is not."""
    nutpie = pytest.importorskip("nutpie")
    model = jt.nutpie(lambda x: jt.math.log(0.1 - x * x), {"x": ()})
    trace = nutpie.sample(model, draws=500, tune=200, chains=4, cores=1, progress_bar=False, seed=1)
    assert np.max(np.abs(trace.posterior["x"].values)) < 0.317


DATA = np.random.default_rng(0).normal(size=(300, 4))


@pytest.mark.parametrize(
    ("density", "is_numba"),
    [
        (lambda x: -jt.reduce_sum(jt.math.softplus(jt.linalg.matvec(DATA, x))), False),
        (lambda x: -jt.reduce_sum((DATA[:20, 0] - jt.gather(x, np.arange(20) % 4)) ** 2), False),
        (
            lambda x: jt.scan(lambda a, v: 0.5 * a + jt.sin(v), x, initializer=jt.constant(0.0, FLOAT))[-1],
            False,
        ),
        (
            lambda x: jt.reduce_sum(jt.math.log(jt.linalg.cholesky(jt.linalg.diag(jt.exp(x)) + 0.1)[0])[:1]),
            False,
        ),
        (lambda x: jt.reduce_sum(x[:2] ** 2), False),
        (lambda x: -jt.reduce_sum(jt.signal.dct(jt.tile(x, [75])) ** 2), True),
        (lambda x: jt.cast(jt.reduce_sum(x**2), jt.float32), True),
    ],
)
def test_callbacks_of_nutpie_models(density: Any, is_numba: bool) -> None:
    """They are compiled by LLVM alone, or by Numba, with the same results as a tape's."""
    pytest.importorskip("nutpie")
    callbacks = jt.nutpie(density, {"x": (4,)}).own.callbacks
    assert isinstance(callbacks.owner, tuple) == is_numba
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, *[ctypes.c_void_p] * 4)(callbacks.density)
    x, gradient, value = np.array([0.3, -0.2, 0.5, 0.1]), np.empty(4), np.empty(1)
    pointers = [a.ctypes.data for a in (x, gradient, value)]
    assert call(4, *pointers, None) == 0
    expected = jt.value_and_grad(density)(x)
    np.testing.assert_allclose(value[0], np.asarray(expected[0]), rtol=1e-12)
    np.testing.assert_allclose(gradient, np.asarray(expected[1]), rtol=1e-12, atol=1e-14)
    x[0] = np.nan
    assert call(4, *pointers, None) in (1, 2)


def test_a_pickled_model_is_compiled_again() -> None:
    pytest.importorskip("nutpie")
    first = jt.nutpie(normal, {"a": (2,), "b": ()}, dims={"a": ("side",)}, coords={"side": ["left", "right"]})
    model = pickle.loads(pickle.dumps(first))
    assert (model.n_dim, model.shapes, model.dims, model.coords) == (
        3,
        first.shapes,
        first.dims,
        first.coords,
    )
    np.testing.assert_array_equal(model.own.start(3), first.own.start(3))
    assert repr(model) == "<nutpie model of normal(a: (2,), b: ())>"


def test_errors_of_nutpie_models() -> None:
    pytest.importorskip("nutpie")
    with pytest.raises(ValueError, match="shapes has no parameters"):
        jt.nutpie(normal, {})
    for shapes in ([("a", ())], {"a": 3, "b": ()}, {"a": (None,), "b": ()}):
        with pytest.raises(TypeError, match="shapes must map names to tuples of ints"):
            jt.nutpie(normal, shapes)  # type: ignore[arg-type]
    for options, message in (
        ({"shapes": {"a": (-2,), "b": ()}}, r"extents of a must not be negative, got \(-2,\)"),
        ({"dims": {"c": ("side",)}}, "dims names 'c', but the parameters are a, b"),
        ({"dims": {"a": ("side", "other")}}, "dims of a must have 1 names"),
        ({"shapes": {"a": (2,), "b": (3,)}, "dims": {"a": ("i",), "b": ("i",)}}, "'i' has 2 and 3 elements"),
    ):
        with pytest.raises(ValueError, match=message):
            jt.nutpie(normal, **({"shapes": {"a": (2,), "b": ()}} | options))
    with pytest.raises(TypeError, match="logp must return a real scalar, it returned complex128"):
        jt.nutpie(lambda a: jt.cast(jt.reduce_sum(a), "complex128"), {"a": (2,)})
    for logp, message in (
        (
            lambda a: jt.cast(jt.reduce_sum(a), "int32"),
            r"logp must return a real scalar, it returned int32\[\]",
        ),
        (lambda a: -a, r"logp must return a real scalar, it returned float64\[2\]"),
        (lambda a: None, "logp must return a real scalar, it returned NoneType"),
        (lambda b: -b, r"shapes has the parameters a, but logp takes b: "),
        (lambda a: a[0] if a[0] > 0 else a[1], r"needed by bool\(\) at .*test_engines.py:\d+; use jt.where"),
        (
            lambda a: jt.numpy_function(np.sum, [a], "float64"),
            r"numpy_function\(\) at .*:\d+; (?!use jt.where)",
        ),
    ):
        with pytest.raises(TypeError, match=message):
            jt.nutpie(logp, {"a": (2,)})
    with pytest.raises(ValueError, match=r"coords\['a_dim_0'\] has 1 entries for 2 elements"):
        jt.nutpie(normal, {"a": (2,), "b": ()}, coords={"a_dim_0": [0]})


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA", "JAX"])
def test_pytensor_op(mode: str) -> None:
    pytensor = pytest.importorskip("pytensor")
    x, s = pytensor.tensor.dvector("x"), pytensor.tensor.dscalar("s")
    y = jt.pytensor_op(weighted, jt.TensorSpec([3], FLOAT), jt.TensorSpec([], FLOAT))(x, s)
    dx, ds = pytensor.grad(y, [x, s])
    results = [y, dx, ds, *pytensor.grad((dx**2).sum() * ds, [x, s])]
    value, dx, ds, dxx, dxs = pytensor.function([x, s], results, mode=mode)(X, S)
    np.testing.assert_allclose(value, np.sin(X).sum() * S, rtol=1e-12)
    np.testing.assert_allclose(dx, np.cos(X) * S, rtol=1e-12)
    np.testing.assert_allclose(ds, np.sin(X).sum(), rtol=1e-12)
    squares, sines = (np.cos(X) ** 2).sum(), np.sin(X).sum()
    slope = -2.0 * np.cos(X) * np.sin(X) * S**2 * sines + S**2 * squares * np.cos(X)
    np.testing.assert_allclose(dxx, slope, rtol=1e-12)
    np.testing.assert_allclose(dxs, 2.0 * S * squares * sines, rtol=1e-12)


def test_one_op_computes_the_gradients_of_all_arguments() -> None:
    pytensor = pytest.importorskip("pytensor")
    x, s = pytensor.tensor.dvector("x"), pytensor.tensor.dscalar("s")
    y = jt.pytensor_op(weighted, jt.TensorSpec([3], FLOAT), jt.TensorSpec([], FLOAT))(x, s)
    compiled = pytensor.function([x, s], [y, *pytensor.grad(y, [x, s])])
    ops = [type(node.op).__name__ for node in compiled.maker.fgraph.apply_nodes]
    assert ops.count("TapeOp") == 2
    np.testing.assert_allclose(pytensor.function([x, s], pytensor.grad(y, s))(X, S), np.sin(X).sum())


def test_pytensor_op_takes_the_types_of_its_variables() -> None:
    pytensor = pytest.importorskip("pytensor")
    import pytensor.tensor as pt

    x, s, free = pt.tensor("x", shape=(3,)), pt.scalar("s"), pt.vector("free")
    op = jt.pytensor_op(weighted)
    specs = [jt.TensorSpec([3], FLOAT), jt.TensorSpec([], FLOAT)]
    given = np.array([0.5, -1.0, 2.0]), np.array(1.5)
    found = [
        pytensor.function([x, s], [y, *pytensor.grad(y, [x, s])])(*given)
        for y in (op(x, s), jt.pytensor_op(weighted, specs)(x, s))
    ]
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match=r"\[pytensor_op\] argument 0 has the shape \(None,\)"):
        op(free, s)


def test_operands_and_results_of_pytensor_op() -> None:
    pytest.importorskip("pytensor")
    op = jt.pytensor_op(weighted, jt.TensorSpec([3], FLOAT), jt.TensorSpec([], FLOAT))
    np.testing.assert_allclose(op(X, 2.0).eval(), np.sin(X).sum() * S, rtol=1e-12)
    single = jt.pytensor_op(lambda x: jt.cast(jt.reduce_sum(x), jt.float32), jt.TensorSpec([3], FLOAT))
    assert single(X).type.dtype == single(X).eval().dtype == "float32"
    with pytest.raises(TypeError, match="must return one real float of shape"):
        jt.pytensor_op(jt.sin, jt.TensorSpec([3], FLOAT))
    with pytest.raises(ValueError, match="has an unknown extent"):
        jt.pytensor_op(weighted, jt.TensorSpec([None], FLOAT), jt.TensorSpec([], FLOAT))
    with pytest.raises(TypeError, match=r"\[pytensor_op\] weighted\(.*\) cannot be called with 1 arguments"):
        jt.pytensor_op(weighted)(np.ones(3))


def test_pymc_model_with_a_density_of_jittape() -> None:
    nutpie, pm = pytest.importorskip("nutpie"), pytest.importorskip("pymc")
    with pm.Model() as model:
        x = pm.Normal("x", 0, 1, shape=3)
        density = jt.pytensor_op(lambda x: -2.0 * jt.reduce_sum((x - 1.0) ** 2), jt.TensorSpec([3], FLOAT))
        pm.Potential("likelihood", density(x))
    trace = nutpie.sample(
        nutpie.compile_pymc_model(model), draws=1000, tune=300, chains=2, progress_bar=False, seed=1
    )
    np.testing.assert_allclose(trace.posterior["x"].mean(("chain", "draw")), 0.8, atol=0.08)


# ---- JAX and PyTorch -------------------------------------------------------------------------------------------------


def test_jax_call() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    f = jt.jax_call(weighted)
    np.testing.assert_allclose(f(X, S), np.sin(X).sum() * S, rtol=1e-12)
    for gradient in (jax.grad(f, (0, 1)), jax.jit(jax.grad(f, (0, 1)))):
        dx, ds = gradient(X, S)
        np.testing.assert_allclose(dx, np.cos(X) * S, rtol=1e-12)
        np.testing.assert_allclose(ds, np.sin(X).sum(), rtol=1e-12)
    rows = jax.vmap(f, (0, None))(np.stack([X, X + 1]), S)
    np.testing.assert_allclose(rows, [np.sin(X).sum() * S, np.sin(X + 1).sum() * S], rtol=1e-12)


def test_argument_without_influence_has_no_gradient() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    dx, ds = jax.grad(jt.jax_call(lambda x, s: jt.reduce_sum(x**2)), (0, 1))(X, S)
    np.testing.assert_allclose(dx, 2 * X, rtol=1e-12)
    assert float(ds) == 0.0


def test_torch_function() -> None:
    torch = pytest.importorskip("torch")
    f = jt.torch_function(weighted)
    x = torch.tensor(X, requires_grad=True)
    s = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    (f(x, s) * 3.0).backward()
    np.testing.assert_allclose(x.grad.numpy(), 3.0 * np.cos(X) * S, rtol=1e-12)
    np.testing.assert_allclose(s.grad.numpy(), 3.0 * np.sin(X).sum(), rtol=1e-12)
    assert torch.autograd.gradcheck(f, (x, s))


def products(x: Any, k: Any) -> Any:
    """Two results, one without a gradient, and an argument without a gradient."""
    return jt.sin(x) * jt.cast(k, x.dtype), jt.cast(x, jt.int32), x * x


def test_jax_call_of_several_results_and_numbers() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    f, k = jt.jax_call(products), np.arange(3)
    first, second, _ = f(X, k)
    np.testing.assert_allclose(first, np.sin(X) * k, rtol=1e-12)
    np.testing.assert_array_equal(second, X.astype(np.int32))
    dx = jax.grad(lambda x: f(x, k)[0].sum() + f(x, k)[2].sum())(X)
    np.testing.assert_allclose(dx, np.cos(X) * k + 2 * X, rtol=1e-12)
    ds = jax.jit(jax.grad(lambda s: jt.jax_call(weighted)(X, s)))(2.0)
    np.testing.assert_allclose(ds, np.sin(X).sum(), rtol=1e-12)


def test_second_derivatives_of_jax_call() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    hessian = jax.jit(jax.jacrev(jax.grad(jt.jax_call(weighted))))(X, S)
    np.testing.assert_allclose(hessian, np.diag(-np.sin(X) * S), rtol=1e-12, atol=1e-15)


def holomorphic(z: Any, exp: Any) -> Any:
    return z * z * exp(z) * (1 + 2j)


def test_complex_gradients_follow_the_convention_of_jax() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    z, g = np.array([0.3 + 0.2j, 1j - 0.5]), np.array([1 + 2j, 0.3 - 1j])
    found = jax.vjp(jt.jax_call(lambda z: holomorphic(z, jt.exp)), z)[1](g)[0]
    expected = jax.vjp(lambda z: holomorphic(z, jax.numpy.exp), z)[1](g)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_torch_function_of_several_results_and_numbers() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor(X, requires_grad=True)
    first, second, third = jt.torch_function(products)(x, torch.arange(3))
    assert not second.requires_grad
    (first.sum() + third.sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(X) * np.arange(3) + 2 * X, rtol=1e-12)
    (dx,) = torch.autograd.grad(jt.torch_function(weighted)(x, 2.0), x)
    np.testing.assert_allclose(dx.numpy(), 2.0 * np.cos(X), rtol=1e-12)
    with pytest.raises(jt.errors.DTypeError, match="pass x.float"):
        jt.torch_function(weighted)(x.bfloat16(), 2.0)


def test_torch_func_transforms_a_torch_function() -> None:
    torch = pytest.importorskip("torch")
    from torch.func import grad, jacrev, vmap

    f, x, rows = jt.torch_function(weighted), torch.tensor(X), torch.tensor(np.stack([X, 2 * X]))
    np.testing.assert_allclose(vmap(grad(f), (0, None))(rows, S), np.cos(rows) * S, rtol=1e-12)
    np.testing.assert_allclose(vmap(f, (1, None))(rows.T, 2.0), 2.0 * np.sin(rows).sum(1), rtol=1e-12)
    np.testing.assert_allclose(jacrev(grad(f))(x, S), np.diag(-np.sin(X) * S), rtol=1e-12, atol=1e-15)
    of_rows = grad(lambda rows: (vmap(f, (0, None))(rows, S) ** 2).sum())
    expected = 2 * S**2 * np.sin(rows).sum(1)[:, None] * np.cos(rows)
    np.testing.assert_allclose(of_rows(rows), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="vmap needs at least one element"):
        vmap(f, (0, None))(rows[:0], S)


def test_second_derivatives_of_torch_function() -> None:
    """A penalty on the gradient; its derivative must not lose the part through the gradient."""
    torch = pytest.importorskip("torch")
    x = torch.tensor(X, requires_grad=True)
    s = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    f = jt.torch_function(weighted)
    (dx,) = torch.autograd.grad(f(x, s), x, create_graph=True)
    ((dx**2).sum() + (x**2).sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * X - 8 * np.cos(X) * np.sin(X), rtol=1e-12)
    np.testing.assert_allclose(s.grad.numpy(), 4 * (np.cos(X) ** 2).sum(), rtol=1e-12)
    z = torch.tensor([0.3 + 0.2j, 1j - 0.5], requires_grad=True, dtype=torch.complex128)
    of_z = jt.torch_function(lambda z: holomorphic(z, jt.exp))
    assert torch.autograd.gradcheck(of_z, (z,))
    assert torch.autograd.gradgradcheck(of_z, (z,))


@pytest.mark.parametrize("library", ["jax", "pytensor"])
def test_a_function_that_needs_values_is_named(library: str) -> None:
    pytest.importorskip(library)

    def branch(x: Any) -> Any:
        return x[0] if float(x[0]) > 0.0 else x[1]

    with pytest.raises(TypeError, match="needs the value of a tensor, but .*use jt.where"):
        if library == "jax":
            jt.jax_call(branch)(X)
        else:
            jt.pytensor_op(branch, jt.TensorSpec([3], FLOAT))


@pytest.mark.parametrize("name", ["nutpie", "nutpie_draws", "pytensor_op", "jax_call", "torch_function"])
def test_what_is_no_function_is_named(name: str) -> None:
    pytest.importorskip({"pytensor_op": "pytensor", "jax_call": "jax"}.get(name, name.partition("_")[0]))
    arguments = [{"x": (2,)}] if name.startswith("nutpie") else []
    with pytest.raises(TypeError, match=rf"\[{name}\] (f|logp) must be a function, got 3"):
        getattr(jt, name)(3, *arguments)
