"""Libraries that compute with arrays, given tensors: einops, opt_einsum, pandas, xarray, scikit-learn and Dask.

Each test is skipped where its library is missing.
"""

from __future__ import annotations

import decimal

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp
from jittape.errors import TapeExitWarning
from processes import run_python

X = np.arange(24.0).reshape(2, 3, 4)

# ---- foreign objects -------------------------------------------------------------------------------------------------


OPERATORS = "+ - * / // % ** @ & | ^ << >> < > <= >= == !="


class Unit:
    """A foreign object with reflected operators only."""

    def _takes(self, tensor):
        assert jt.is_tensor(tensor)
        return "taken"

    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __rmatmul__ = _takes
    __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = __rdivmod__ = _takes
    __lt__ = __gt__ = __le__ = __ge__ = __eq__ = __ne__ = _takes
    __hash__ = None


@pytest.mark.parametrize("kind", [jt.constant, jt.Variable])
@pytest.mark.parametrize("operator", OPERATORS.split(), ids=lambda text: text)
def test_a_foreign_object_gets_its_reflected_operator(operator, kind):
    assert eval(f"t {operator} unit", {"t": kind([1.0]), "unit": Unit()}) == "taken"
    assert divmod(kind([1.0]), Unit()) == "taken"


@pytest.mark.parametrize("other", ["text", None, object(), decimal.Decimal(2), {"a": 1}])
def test_what_neither_side_knows_is_refused_by_name(other):
    with pytest.raises(TypeError, match=r"^\[multiply\] other: Cannot convert"):
        jt.constant(1.0) * other


# ---- einops ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda e, x: e.rearrange(x, "a b c -> c (a b)"),
        lambda e, x: e.rearrange([x, x], "n a b c -> a b c n"),
        lambda e, x: e.reduce(x, "a b c -> a c", "mean"),
        lambda e, x: e.reduce(x, "a b (c d) -> b d", "max", d=2),
        lambda e, x: e.reduce(x, "a b c ->", "prod"),
        lambda e, x: e.repeat(x, "a b c -> a b (c r)", r=2),
        lambda e, x: e.repeat(x, "a b c -> a new b c", new=3),
        lambda e, x: e.pack([x, x[:, :, 0]], "a b *")[0],
        lambda e, x: e.einsum(x, x, "a b c, a d c -> b d"),
    ],
)
def test_einops_records(call):
    einops = pytest.importorskip("einops")
    x = jt.Variable(X)
    with jt.GradientTape() as tape:
        found = call(einops, x)
        total = jt.reduce_sum(found)
    assert isinstance(found, jt.Tensor)
    np.testing.assert_allclose(found.numpy(), call(einops, X))
    assert tape.gradient(total, x) is not None
    compiled = jt.function(lambda x: call(einops, x))
    for _ in range(3):
        np.testing.assert_allclose(compiled(x).numpy(), call(einops, X))


@pytest.mark.parametrize("order", ["einops, jittape as jt", "jittape as jt, einops"])
def test_einops_may_be_imported_first_or_last(order):
    pytest.importorskip("einops")
    done = run_python(
        "-c",
        f"import {order}\nimport gc; gc.collect()\nprint(einops.rearrange(jt.ones([2, 3]), 'a b -> b a').shape)",
    )
    assert (done.stdout, done.stderr) == ("(3, 2)\n", "")


def test_importing_jittape_imports_no_other_library():
    names = "einops opt_einsum pandas xarray sklearn dask"
    done = run_python(
        "-c", f"import sys, jittape.numpy\nprint([n for n in '{names}'.split() if n in sys.modules])"
    )
    assert done.stdout == "[]\n"


# ---- opt_einsum ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk,kl,lm->im", [(2, 3), (3, 4), (4, 5), (5, 2)]),
        ("abc,bd,dc->a", [(2, 3, 4), (3, 5), (5, 4)]),
        ("aab,bcc->ac", [(2, 2, 3), (3, 4, 4)]),
    ],
)
def test_opt_einsum_contracts_tensors(equation, shapes):
    opt_einsum = pytest.importorskip("opt_einsum")
    arrays = [np.cos(np.arange(float(np.prod(shape)))).reshape(shape) for shape in shapes]
    wanted = np.einsum(equation, *arrays)
    tensors = list(map(jnp.asarray, arrays))
    for found in (
        opt_einsum.contract(equation, *tensors),
        opt_einsum.contract(equation, *tensors, backend="jittape.numpy"),
        opt_einsum.contract_expression(equation, *shapes)(*tensors),
    ):
        assert isinstance(found, jt.Tensor)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)
    jt.check_gradient(lambda a: jnp.sum(opt_einsum.contract(equation, a, *tensors[1:]) ** 2), tensors[0])


# ---- pandas ----------------------------------------------------------------------------------------------------------


def test_a_series_and_a_tensor_give_a_tensor_that_is_recorded():
    pandas = pytest.importorskip("pandas")
    series, frame = pandas.Series([1.0, 2.0, 3.0]), pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    v, w = jt.Variable(np.array([1.0, 2.0, 3.0])), jt.Variable(np.array([1.0, 2.0]))
    calls = [
        lambda: series * v,
        lambda: v * series,
        lambda: series.mul(v),
        lambda: np.multiply(series, v),
        lambda: jnp.multiply(series, v),
    ]
    for call in calls:
        with jt.GradientTape() as tape:
            found = call()
        assert isinstance(found, jt.Tensor)
        assert tape.gradient(found, v).tolist() == [1.0, 2.0, 3.0]
    with jt.GradientTape() as tape:
        found = frame * w + frame - w / frame
    assert tape.gradient(found, w).tolist() == [3.0 - 1.5, 7.0 - 1 / 3 - 1 / 4]
    assert (series > v).tolist() == [False] * 3


def test_pandas_says_when_it_makes_an_array():
    pandas = pytest.importorskip("pandas")
    series, frame = pandas.Series([1.0, 2.0]), pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    v = jt.Variable(np.array([1.0, 2.0]))
    with pytest.warns(TapeExitWarning), jt.GradientTape():
        pandas.Series(v.value())
    for call, name in (
        (lambda x: series @ x, "Series @ tensor"),
        (lambda x: series.dot(x), "Series @ tensor"),
        (lambda x: frame @ x, r"DataFrame @ tensor .* jt.constant\(frame\) @ t"),
        (lambda x: frame.dot(x), "DataFrame @ tensor"),
        (lambda x: np.matmul(frame, x), "DataFrame @ tensor"),
        (lambda x: frame.add(x), "DataFrame.add"),
        (lambda x: frame.mul(x, axis="columns"), "DataFrame.add"),
    ):
        for value in (v, v * 1.0):
            with pytest.raises(TypeError, match=name):
                call(value)
    np.testing.assert_array_equal(frame @ v.numpy(), jt.constant(frame) @ v)


def test_pandas_objects_become_tensors():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": [3.5, 4.5]})
    assert jnp.asarray(frame).tolist() == [[1.0, 3.5], [2.0, 4.5]]
    assert jnp.mean(frame["b"]) == 4.0
    assert (jnp.asarray(frame["a"]).dtype, jt.constant(frame["a"]).dtype) == (np.int64, np.int64)
    assert np.isnan(jnp.asarray(pandas.Series([1, None])).numpy()).tolist() == [False, True]
    for series in (pandas.Series(["a"]), pandas.Series(pandas.to_datetime(["2020-01-01"]))):
        with pytest.raises(TypeError, match=r"^\[asarray\] a must be a tensor, an array or nested lists"):
            jnp.asarray(series)


def test_a_series_is_not_shared_unless_its_memory_is_read_only():
    pandas = pytest.importorskip("pandas")
    array = np.ones(3)
    series = pandas.Series(array, copy=False)
    tensor = jnp.asarray(series)
    array[:] = 5.0
    assert tensor.tolist() == [1.0, 1.0, 1.0]
    array.flags.writeable = False
    for held in (pandas.Series(array, copy=False), pandas.DataFrame(array.reshape(1, -1), copy=False)):
        assert np.shares_memory(jnp.asarray(held).numpy(), array)
        assert np.shares_memory(jt.constant(held)._buffer.array, array)


# ---- xarray ----------------------------------------------------------------------------------------------------------


def test_a_data_array_holds_tensors_and_records():
    xarray = pytest.importorskip("xarray")
    d = xarray.DataArray([1.0, 2.0, 3.0], dims="x")
    v = jt.Variable(np.array([1.0, 2.0, 3.0]))
    with jt.GradientTape(persistent=True) as tape:
        left, right = d * v, v * d
        held = np.sin(xarray.DataArray(v.value(), dims="x")).sum()
        taken = [jt.reduce_sum(left), jt.constant(left), jt.sin(left), jnp.sum(left), v * left]
    assert isinstance(left, xarray.DataArray)
    assert isinstance(left.data, jt.Tensor)
    assert isinstance(right, jt.Tensor)
    for found in (left.data, right):
        assert tape.gradient(found, v).tolist() == [1.0, 2.0, 3.0]
    assert all(tape.gradient(found, v) is not None for found in taken)
    assert tape.gradient(taken[0], v).tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_allclose(tape.gradient(held.data, v), np.cos([1.0, 2.0, 3.0]))
    assert jnp.asarray(d).tolist() == jt.constant(d).tolist() == [1.0, 2.0, 3.0]
    assert jnp.sum(d) == 6.0


# ---- scikit-learn ----------------------------------------------------------------------------------------------------

ESTIMATORS = """
import numpy as np, sklearn, jittape as jt, jittape.numpy as jnp
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.preprocessing import MinMaxScaler, StandardScaler
rng = np.random.default_rng(0)
x, w = rng.normal(size=(40, 3)), np.array([1.0, 2.0, 3.0])
def run(x, y):
    scaled = StandardScaler().fit(x).transform(x)
    return (scaled, MinMaxScaler().fit_transform(x), abs(PCA(2, svd_solver="full").fit(x).transform(x)),
            Ridge(solver="svd").fit(x, y).predict(x))
wanted = run(x, x @ w)
with sklearn.config_context(array_api_dispatch=True):
    found = run(jnp.asarray(x), jnp.asarray(x @ w))
    print([isinstance(f, jt.Tensor) and np.allclose(f, t) for f, t in zip(found, wanted)])
    print(jt.grad(lambda x: jnp.sum(StandardScaler().fit(x).transform(x)[0] ** 2))(jnp.asarray(x)).shape)
    print(round(float(r2_score(jnp.asarray(x @ w), found[3])), 3) > 0.99)
"""


def test_scikit_learn_dispatches_to_jittape(monkeypatch):
    pytest.importorskip("sklearn", minversion="1.6")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    done = run_python("-W", "ignore", "-c", ESTIMATORS)
    assert done.stdout.splitlines() == ["[True, True, True, True]", "(40, 3)", "True"], done.stderr


# ---- Dask ------------------------------------------------------------------------------------------------------------


def test_dask_is_refused_with_the_way_out():
    dask_array = pytest.importorskip("dask.array")
    blocks = dask_array.ones(3)
    for call in (lambda: jt.ones([3]) * blocks, lambda: jnp.sum(blocks), lambda: jt.constant(blocks)):
        with pytest.raises(TypeError, match=r"compute\(\)"):
            call()
    with pytest.raises(TypeError, match=r"^\[double\] .*compute\(\)"):
        jt.function(double)(blocks)
    assert jnp.sum(blocks.compute()) == 3.0


def test_gradients_of_the_blocks_of_dask():
    dask_array = pytest.importorskip("dask.array")
    array = np.arange(12.0).reshape(3, 4)
    blocks = dask_array.from_array(array, chunks=(3, 2))
    found = blocks.map_blocks(jt.grad(lambda x: jt.reduce_sum(x * x)), dtype=float).compute()
    np.testing.assert_array_equal(found, 2 * array)
    assert isinstance(dask_array.from_array(jt.constant(array), chunks=2).sum().compute(), jt.Tensor)


def double(x):
    return x * 2.0
