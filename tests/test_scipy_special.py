"""SciPy's special functions on tensors, by SciPy's own ufuncs and in `jittape.scipy.special`."""

from __future__ import annotations

import subprocess
import sys
import zlib
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special

import jittape as jt
from jittape.scipy import special
from jittape.scipy.special.complex_steps import COMPLEX_STEPS, NOT_REAL
from jittape.scipy.special.scipy_steps import STEPS
from jittape.scipy.special.ufunc_bodies import BODIES as ALL_BODIES
from jittape.scipy.special.ufunc_bodies import RECORDS
from jittape.scipy.special.ufunc_calls import call_ufunc

BODIES = {
    name: body
    for name, body in ALL_BODIES.items()
    if name != "kelvin" and (name not in RECORDS or name in STEPS)
}
"""Bodies without those of `test_scipy_steps.py`."""
POSITIVE = (0.3, 3.0)
UNIT = (0.1, 0.9)
RANGES: dict[str, tuple[tuple[float, float], ...]] = {
    "betainc": (POSITIVE, POSITIVE, UNIT),
    "betaincc": (POSITIVE, POSITIVE, UNIT),
    "betainccinv": (POSITIVE, POSITIVE, UNIT),
    "betaincinv": (POSITIVE, POSITIVE, UNIT),
    "binom": ((-2.9, 6.0), (-2.9, 6.0)),
    "boxcox1p": ((-0.8, 3.0), (-2.0, 2.0)),
    "boxcox": (POSITIVE, (-2.0, 2.0)),
    "erfcinv": ((0.1, 1.9),),
    "erfinv": ((-0.9, 0.9),),
    "gammaincinv": (POSITIVE, UNIT),
    "gammainccinv": (POSITIVE, UNIT),
    "gammasgn": ((-3.9, 3.9),),
    "gammaln": ((-3.9, 3.9),),
    "gamma": ((-3.9, 3.9),),
    "huber": (POSITIVE, (-6.0, 6.0)),
    "hyp2f1": (POSITIVE, POSITIVE, POSITIVE, (-0.9, 0.6)),
    "inv_boxcox1p": (POSITIVE, (-0.3, 2.0)),
    "inv_boxcox": (POSITIVE, (-0.3, 2.0)),
    "log_ndtr": ((-9.0, 4.0),),
    "logit": (UNIT,),
    "ndtri": (UNIT,),
    "ndtri_exp": ((-20.0, -0.1),),
    "pseudo_huber": (POSITIVE, (-6.0, 6.0)),
    "stdtr": (POSITIVE, (-6.0, 6.0)),
    "stdtrit": (POSITIVE, (0.02, 0.98)),
}
"""Ranges of the operands; `POSITIVE` for all others."""
STEPWISE = {
    "bdtr": (0,),
    "bdtrc": (0,),
    "pdtr": (0,),
    "pdtrc": (0,),
    "gammasgn": (0,),
    "round": (0,),
    "expn": (0,),
}
"""Operands in which the function is a step function or an integer order."""
NO_SLOPE = {
    "expn": 1, "hyp0f1": 1, "hyp1f1": 2, "hyp2f1": 3, "iv": 1, "ive": 1, "jv": 1, "kv": 1, "kve": 1, "yv": 1,
}  # fmt: skip
"""Number of first operands without a derivative."""


def operands(name: str, dtype: str = "float64", size: int = 24) -> list[Any]:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    n = getattr(scipy.special, name).nin
    found = [rng.uniform(*bounds, size) for bounds in RANGES.get(name, (POSITIVE,) * n)]
    if name == "expn":
        found[0] = np.floor(found[0])
    if name in ("gamma", "gammaln", "gammasgn", "binom"):  # away from the poles
        found = [np.floor(x) + np.clip(x - np.floor(x), 0.1, 0.9) for x in found]
    return [x.astype(dtype) for x in found]


def parts(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", BODIES)
def test_value_and_dtype_of_each_ufunc(name: str) -> None:
    """SciPy's ufunc on a tensor, and the function of this package, twice and compiled, give SciPy's values."""
    ufunc = getattr(scipy.special, name)
    compiled = jt.function(lambda *x: call_ufunc(name, *x))
    for dtype, rtol in (("float64", 2e-11), ("float32", 1e-4)):
        arrays = operands(name, dtype)
        wanted = parts(ufunc(*arrays))
        tensors = [jt.constant(x) for x in arrays]
        in_function = [compiled(*arrays), compiled(*arrays)] if dtype == "float64" else []
        for found in (ufunc(*tensors), getattr(special, name)(*arrays), *in_function):
            for one, other in zip(parts(found), wanted, strict=True):
                assert isinstance(one, jt.Tensor)
                assert one.dtype == other.dtype == dtype
                np.testing.assert_allclose(one.numpy(), other, rtol=rtol, atol=rtol / 100)


@pytest.mark.parametrize("name", BODIES)
def test_gradient_of_each_ufunc(name: str) -> None:
    """Derivatives are those of differences of SciPy's values, on a tape and in a function."""
    ufunc, arrays, step = getattr(scipy.special, name), operands(name), 1e-5
    for i in range(NO_SLOPE.get(name, 0), len(arrays)):

        def total(x: Any, i: int = i) -> Any:
            given = [*arrays[:i], x, *arrays[i + 1 :]]
            return sum(jt.reduce_sum(r) * (k + 1.0) for k, r in enumerate(parts(ufunc(*given))))

        if i in STEPWISE.get(name, ()):
            with jt.GradientTape() as tape:
                x = jt.constant(arrays[i])
                tape.watch(x)
                y = total(x)
            found = tape.gradient(y, x, unconnected_gradients="zero").numpy()
            np.testing.assert_array_equal(found, 0.0)
            continue
        shifted = [[*arrays[:i], arrays[i] + s * step, *arrays[i + 1 :]] for s in (1, -1)]
        upper, lower = (parts(ufunc(*s)) for s in shifted)
        slopes = sum(
            (u - v) / (2 * step) * (k + 1.0) for k, (u, v) in enumerate(zip(upper, lower, strict=True))
        )
        for function in (total, jt.function(total)):
            found = jt.grad(function)(arrays[i])
            np.testing.assert_allclose(found, slopes, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", NO_SLOPE)
def test_a_parameter_without_derivative_is_named(name: str) -> None:
    x = operands(name, size=2)
    with pytest.raises(jt.NoGradientError, match="has no derivative with respect to"):
        jt.grad(lambda a: jt.reduce_sum(call_ufunc(name, a, *x[1:])))(x[0])


EDGES = np.array([-np.inf, -3.0, -2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 30.0, np.inf, np.nan])
OF_ONE = [
    "entr",
    "expit",
    "exprel",
    "exp1",
    "expi",
    "gammasgn",
    "logit",
    "loggamma",
    "cosm1",
    "log_expit",
    "exp2",
]
OF_TWO = ["rel_entr", "kl_div", "huber", "pseudo_huber", "xlogy", "boxcox", "stdtr", "inv_boxcox"]


@pytest.mark.parametrize("name", OF_ONE)
def test_edges_of_one_operand(name: str) -> None:
    with np.errstate(all="ignore"):
        wanted = getattr(scipy.special, name)(EDGES)
    np.testing.assert_allclose(getattr(special, name)(EDGES).numpy(), wanted, rtol=1e-14)


@pytest.mark.parametrize("name", OF_TWO)
def test_edges_of_two_operands(name: str) -> None:
    values = EDGES[1:-2]
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        wanted = getattr(scipy.special, name)(x, y)
    np.testing.assert_allclose(getattr(special, name)(x, y).numpy(), wanted, rtol=1e-12, atol=1e-15)


def test_boxcox_overflows_with_its_result() -> None:
    x, power = np.array([2.8587238231899534, 0.3]), np.array([525.944789826035, -590.0])
    for name, shift in (("boxcox1p", 0.0), ("boxcox", 1.0)):
        found = getattr(special, name)(x + shift, np.abs(power)).numpy()
        np.testing.assert_allclose(found, getattr(scipy.special, name)(x + shift, np.abs(power)), rtol=1e-12)
    np.testing.assert_allclose(
        special.boxcox(0.3, -590.0).numpy(), scipy.special.boxcox(0.3, -590.0), rtol=1e-12
    )


def test_smooth_at_removable_singularities() -> None:
    """Second derivatives exist where the textbook formula divides by 0."""
    at = np.array([0.0, 1e-9, -1e-9])
    np.testing.assert_allclose(jt.grad(lambda x: jt.reduce_sum(special.exprel(x)))(at), 0.5, rtol=1e-8)
    second = jt.hessian(lambda x: jt.reduce_sum(special.exprel(x)))(at)
    np.testing.assert_allclose(np.diag(second), 1 / 3, rtol=1e-7)
    slope = jt.grad(lambda m: jt.reduce_sum(special.boxcox(2.0, m)))(at)
    np.testing.assert_allclose(slope, np.log(2.0) ** 2 / 2, rtol=1e-7)
    slope = jt.grad(lambda t: jt.reduce_sum(special.stdtr(3.0, t)))(np.array([0.0, 1e-6, 1e-3]))
    np.testing.assert_allclose(slope, scipy_t_density(np.array([0.0, 1e-6, 1e-3])), rtol=1e-9)


def scipy_t_density(t: Any) -> Any:
    from scipy import stats

    return stats.t.pdf(t, 3.0)


# ---- functions that are no ufuncs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp(axis: Any, keepdims: bool) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(3, 4)) * 50, rng.normal(size=(3, 4))
    b[0, 0], a[0, 0] = 0.0, np.inf
    found = special.logsumexp(a, axis, b=b, keepdims=keepdims, return_sign=True)
    wanted = scipy.special.logsumexp(a, axis, b=b, keepdims=keepdims, return_sign=True)
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == np.shape(other)
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-13)
    a[0, 0] = 1.0
    plain = special.logsumexp(a, axis, keepdims=keepdims).numpy()
    np.testing.assert_allclose(plain, scipy.special.logsumexp(a, axis, keepdims=keepdims), rtol=1e-13)
    jt.check_gradient(lambda a, b: jt.reduce_sum(special.logsumexp(a, axis, b=b)), a / 50, np.abs(b) + 0.1)
    for name in ("softmax", "log_softmax"):
        value = getattr(special, name)(a, axis).numpy()
        np.testing.assert_allclose(value, getattr(scipy.special, name)(a, axis), rtol=1e-12, atol=1e-300)
        jt.check_gradient(
            lambda a, n=name: jt.reduce_sum(getattr(special, n)(a, axis) * np.arange(12.0).reshape(3, 4)),
            a / 50,
        )


def test_logsumexp_of_extremes() -> None:
    for a in ([-np.inf, -np.inf], [np.inf, 1.0], [1e300]):
        assert float(special.logsumexp(a)) == scipy.special.logsumexp(a)
    assert np.isnan(float(special.logsumexp([0.0, 1.0], b=[1.0, -1.0])))


def test_counts_and_orders() -> None:
    n, k = np.meshgrid([-1.0, 0.0, 1.0, 5.0, 20.5], [-1.0, 0.0, 2.0, 5.0, 6.0])
    np.testing.assert_allclose(special.comb(n, k).numpy(), scipy.special.comb(n, k), rtol=1e-13)
    n, k = np.meshgrid([0.0, 1.0, 5.0], [0.0, 2.0, 5.0])
    repeated = special.comb(n, k, repetition=True).numpy()
    np.testing.assert_allclose(repeated, scipy.special.comb(n, k, repetition=True), rtol=1e-13)
    np.testing.assert_allclose(
        special.comb(60, 30).numpy(), float(scipy.special.comb(60, 30, exact=True)), rtol=1e-13
    )
    assert special.comb(30, 15).numpy() == scipy.special.comb(30, 15, exact=True)
    x = np.array([0.0, 0.5, 3.0, 10.0, -1.0])
    np.testing.assert_allclose(special.factorial(x).numpy(), scipy.special.factorial(x, extend="zero"))
    y = np.array([0.5, 1.5, 4.0])
    np.testing.assert_allclose(special.polygamma([0, 1, 2], y).numpy(), scipy.special.polygamma([0, 1, 2], y))
    np.testing.assert_allclose(special.multigammaln(y + 1, 2).numpy(), scipy.special.multigammaln(y + 1, 2))
    np.testing.assert_allclose(special.zeta(y + 1).numpy(), scipy.special.zeta(y + 1))
    np.testing.assert_allclose(special.sinc(y).numpy(), np.sinc(y), atol=1e-16)
    np.testing.assert_allclose(special.softplus(y).numpy(), np.logaddexp(0, y))


ZETA_POINTS = [
    *np.linspace(-30.0, 3.0, 67), -260.3, -200.5, -171.0, -300.0, -1e4, -1e-12, 1 - 1e-9, 1 + 1e-9,
    1e5, 1e15, 1e30, np.inf, -np.inf, np.nan,
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_riemann_zeta_of_all_numbers(dtype: Any) -> None:
    """It was nan up to 1."""
    x = np.array(ZETA_POINTS, dtype)
    found, wanted = special.zeta(jt.constant(x)).numpy(), scipy.special.zeta(x)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, *((1e-12, 1e-15) if dtype is np.float64 else (1e-4, 1e-7)))
    assert special.zeta(-2.0).numpy() == 0.0


def test_gradients_of_riemann_zeta() -> None:
    x = np.array([-7.5, -3.3, -2.0, -0.5, 0.0, 0.3, 0.9, 2.5])
    differences = (scipy.special.zeta(x + 1e-6) - scipy.special.zeta(x - 1e-6)) / 2e-6
    found = jt.grad(lambda x: jt.reduce_sum(special.zeta(x)))(jt.constant(x))
    np.testing.assert_allclose(found.numpy(), differences, rtol=1e-6, atol=1e-9)
    assert np.isnan(special.zeta(jt.constant(0.5), 1.0).numpy())  # SciPy's function of Hurwitz, too


# ---- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:floating point number truncated")
@pytest.mark.parametrize("name", BODIES)
def test_dtypes_are_those_of_scipys_loops(name: str) -> None:
    ufunc = getattr(scipy.special, name)
    half, single, small = np.float16([0.5]), np.float32([0.5]), np.int8([1])
    for given in product((half, single, small, np.array([True]), 0.5, 1), repeat=min(ufunc.nin, 2)):
        arguments = (*given, *[given[-1]] * (ufunc.nin - len(given)))
        if not any(isinstance(a, np.ndarray) for a in arguments):
            continue
        wanted = [w.dtype for w in parts(ufunc(*arguments))]
        for found in (getattr(special, name)(*arguments), ufunc(*[
            jt.constant(a) if isinstance(a, np.ndarray) else a for a in arguments
        ])):  # fmt: skip
            assert [f.dtype for f in parts(found)] == wanted, given


def test_numbers_lists_and_small_dtypes() -> None:
    assert special.erf(1).dtype == special.erf([1, 2]).dtype == special.erf(np.int64(3)).dtype == "float64"
    for x in (np.float16(1), np.int8([1])):
        assert special.erf(x).dtype == scipy.special.erf(x).dtype
    x = np.float32([1.0])
    assert special.xlogy(2.0, x).dtype == scipy.special.xlogy(2.0, x).dtype
    assert special.xlogy(*np.float32([[1.0], [2.0]])).dtype == "float32"
    x = jt.constant(2.0)
    np.testing.assert_allclose(
        special.gammaln([x, 3.0]).numpy(), scipy.special.gammaln([2.0, 3.0]), atol=1e-7
    )


@pytest.mark.parametrize("name", sorted(set(COMPLEX_STEPS) - set(RECORDS) - set(NOT_REAL) | {"wofz"}))
def test_complex_numbers(name: str) -> None:
    """Values and dtypes are SciPy's; differences along both axes give the holomorphic derivative."""
    ufunc, function = getattr(scipy.special, name), getattr(special, name)
    z = np.array([0.5 + 0.3j, 1.2 - 0.7j, -0.4 + 2.1j])
    arguments = [z, z[::-1] + 0.25][: ufunc.nin]
    wanted = ufunc(*arguments)
    for call in (ufunc, function, jt.function(function)):
        found = call(*[jt.constant(a) for a in arguments])
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-13)
    single = function(*[jt.constant(a.astype(np.complex64)) for a in arguments])
    assert single.dtype == jt.complex64
    np.testing.assert_allclose(single.numpy(), wanted, rtol=1e-4)
    for i in range(ufunc.nin):
        target = lambda x, i=i: jt.reduce_sum(  # noqa: E731
            jt.math.real(function(*[x if j == i else a for j, a in enumerate(arguments)]))
        )
        if name == "psi":
            with pytest.raises(jt.NoGradientError, match=r"\[psi\] has no derivative for complex numbers"):
                jt.grad(target)(arguments[i])
            continue
        step = 1e-6
        sides = [ufunc(*[a + s * step * (j == i) for j, a in enumerate(arguments)]) for s in (1, -1)]
        slope = (sides[0] - sides[1]) / (2 * step)
        np.testing.assert_allclose(jt.grad(target)(arguments[i]), slope.conj(), rtol=1e-7)


def test_real_arguments_of_a_function_of_complex_numbers() -> None:
    for x in (0.5, np.float32([0.5, 1.0]), [1, 2]):
        found = special.wofz(x)
        assert found.dtype == scipy.special.wofz(np.asarray(x)).dtype
        np.testing.assert_allclose(found.numpy(), scipy.special.wofz(np.asarray(x)), rtol=1e-6)
    assert special.erf(1j).dtype == special.erf(np.float64(1.0) * 1j).dtype == jt.complex128
    assert complex(special.xlogy(0.0, 1j)) == 0.0


def test_refusals_name_the_function_and_the_way_out() -> None:
    x = jt.constant(np.ones(2))
    with pytest.raises(TypeError, match="cannot record into an array"):
        scipy.special.erf(x, out=np.zeros(2))
    with pytest.raises(jt.DTypeError, match=r"scipy.special.betainc\] is recorded for real numbers only"):
        scipy.special.betainc(1.0, 1.0, jt.constant([1j]))
    with pytest.raises(TypeError, match=r"\[erf\] out= is not supported"):
        special.erf(x, out=x)
    with pytest.raises(TypeError, match=r"\[betainc\] takes 3 arguments \(a, b, x\), got 1"):
        special.betainc(x)
    with pytest.raises(jt.ShapeError, match=r"\[betainc\] shapes"):
        special.betainc(x, np.ones(3), x)
    with pytest.raises(ValueError, match=r"\[comb\] exact=True"):
        special.comb(5, 2, exact=True)


def test_nothing_is_imported_before_it_is_used() -> None:
    code = (
        "import sys, jittape, jittape.scipy;"
        "assert not [m for m in sys.modules if m.startswith(('scipy', 'jittape.scipy.'))];"
        "jittape.scipy.special;"
        "assert 'scipy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_infinite_and_missing_arguments() -> None:
    ends = np.array([np.inf, -np.inf, np.nan, 1.0])
    np.testing.assert_allclose(special.erfi(ends).numpy(), scipy.special.erfi(ends))
    np.testing.assert_allclose(special.huber(ends, 2.0).numpy(), scipy.special.huber(ends, 2.0))
    assert float(jt.grad(special.erfi)(np.float64(1.0))) == pytest.approx(
        2 * np.e / np.sqrt(np.pi), rel=1e-12
    )


INF = np.inf
LIMITS = {
    "beta": [
        *[
            (1.0, -0.0),
            (0.0, 0.0),
            (0.0, -1.0),
            (-1.0, 1.0),
            (2.0, -3.0),
            (-2.0, 3.0),
            (-0.5, -0.5),
        ],
        *[(-0.3, -0.3), (INF, -0.5), (1e300, 0.3), (-1.0, 0.3), (0.5, INF)],
    ],
    "betaincc": [
        *[(0.0, 1.0, 0.5), (2.0, 0.0, 0.5), (2.0, 0.0, 0.0), (0.0, 1.0, 0.0)],
        *[(INF, 2.0, 0.5), (INF, 2.0, 1.0), (2.0, INF, 0.5), (2.0, INF, 0.0), (2.0, 1e9, 1e-9)],
    ],
    "betainc": [
        (0.0, 1.0, 0.0),
        (0.0, 1.0, 0.5),
        (2.0, 0.0, 0.5),
        (2.0, 0.0, 1.0),
        (0.0, 0.0, 0.5),
        (0.0, 1.0, 1.5),
        *[(INF, 2.0, 0.5), (INF, 2.0, 1.0), (2.0, INF, 0.5), (2.0, INF, 0.0)],
    ],
    "betaln": [(2.3, -0.6), (-1.5, -0.25), (0.7, -2.2), (3.0, 4.0), (1.0, -0.0), (-2.0, 1.0), (1e300, -0.5)],
    "binom": [
        *[(n, k) for n in (50.0, 1e4, 1e8, 1e15) for k in (1.0, 2.0, 10.0, n - 2.0)],
        *[
            (1e300, 1.0),
            (1e300, 0.3),
            (1e300, -0.5),
            (-1e-10, 1.0),
            (-1e-10, 2.0),
            (1e-300, 2.0),
            (-0.5, 2.5),
        ],
        *[(1e-30, 1.0), (1e-17, 1.0), (INF, 0.0), (INF, 2.0), (0.3, -INF), (2.0, 1e5), (2.0, -1.0)],
    ],
    "boxcox": [(INF, -1.0), (INF, 0.0), (INF, 2.0), (INF, -INF)],
    "chdtrc": [(0.0, 1.0)],
    "chdtr": [(0.0, 1.0), (0.0, 0.0), (1e300, 1e-300)],
    "fdtrc": [(1.0, 2.0, -1.0), (1.0, 2.0, np.inf), (0.0, 2.0, 0.5), (2.0, 0.0, 0.5)],
    "fdtr": [(1.0, 2.0, -1.0), (1.0, 2.0, np.inf), (INF, INF, INF), (0.0, 2.0, 0.5), (2.0, 0.0, 0.5)],
    "gammaincc": [(0.0, 2.0), (0.0, 0.0), (0.0, INF), (1e300, 1e-300), (1e300, 1e305), (1e305, 1e300)],
    "gammainc": [(0.0, 2.0), (0.0, 0.0), (0.0, INF), (1e300, 1e-300), (1e300, 1e305), (1e305, 1e300)],
    "gdtrc": [(1.0, 2.0, -1.0), (-1.0, 2.0, -1.0), (1.0, 0.0, 1.0)],
    "gdtr": [(1.0, 2.0, -1.0), (-1.0, 2.0, -1.0), (1.0, 0.0, 1.0)],
    "inv_boxcox": [(INF, 0.3), (INF, 0.0), (1e300, 1e300)],
    "kl_div": [(INF, -INF), (np.nan, 1.0)],
    "poch": [
        *[
            (1e300, 1.0),
            (1e300, 0.3),
            (1e300, -0.5),
            (-1e-10, -1.0),
            (1e-300, -2.0),
            (-2.0, 0.3),
            (-0.5, -0.5),
        ],
        *[(1.0, -2.0), (INF, 0.0), (-1.0, -0.5)],
        *[(z, m) for z in (1e8, 1e15) for m in (1.0, 2.0, -3.0, 0.5)],
        *[
            (0.0, 0.0),
            (-2.0, 0.0),
            (-3.0, 2.0),
            (-2.0, 1.0),
            (-3.0, 5.0),
            (-5.0, -1.0),
            (2.0, -1.0),
            (-2.5, 0.7),
        ],
    ],
    "stdtr": [
        (1e300, 1.0),
        (-np.inf, 1.0),
        (np.inf, 1.0),
        (100.0, -9.5),
        (100.0, -8.0),
        (500.0, -15.0),
        (20.0, -4.0),
    ],
    "xlogy": [(0.0, np.nan), (0.0, 0.0), (0.0, np.inf), (2.0, np.nan)],
    "xlog1py": [(0.0, np.nan), (0.0, -1.0), (2.0, np.nan)],
    "stdtrit": [(df, p) for df in (np.inf, 1e15, 1e9, 2e3, 500.0) for p in (1e-30, 0.01, 0.4, 0.95)]
    + [(1.0, 1e-300), (2.0, 1e-200)],
}
"""Parameters at the limits of the definition, and so large that differences of logarithms cancel."""


@pytest.mark.parametrize("name", LIMITS)
def test_limits_and_large_parameters(name):
    operands = np.array(LIMITS[name]).T
    expected = getattr(scipy.special, name)(*operands)
    found = getattr(special, name)(*operands).numpy()
    # SciPy is less accurate for tiny numbers and in the far tails of `stdtrit`. Logarithms of 1e300 lose digits.
    sizes = np.abs(operands)
    is_extreme = ((sizes >= 1e300) | ((sizes > 0) & (sizes < 1e-9))).any(0) | (name == "stdtrit")
    of_extremes = {"stdtrit": 1e-6, "binom": 1e-11, "poch": 2e-12, "beta": 2e-12, "betaincc": 1e-8}
    for rows, rtol in ((~is_extreme, 2e-13), (is_extreme, of_extremes.get(name, 2e-13))):
        np.testing.assert_allclose(found[rows], expected[rows], rtol=rtol, atol=0)


def test_fishers_law_keeps_the_digits_of_a_ratio_close_to_one() -> None:
    operands = (1e5, 1e-8, 1e5)
    assert float(special.fdtr(*operands)) == pytest.approx(scipy.special.fdtr(*operands), rel=1e-8)
    assert float(special.fdtrc(1e-8, 1e5, 1e-5)) == pytest.approx(
        scipy.special.fdtrc(1e-8, 1e5, 1e-5), rel=1e-8
    )


SLOPES = {
    "beta": [(-0.5, -0.5), (-0.3, -0.3), (-2.5, 1.2), (3.0, 3.0)],
    "binom": [(0.0, 1.0), (-0.3, 1.0), (-0.3, 2.0), (-2.5, -1.0), (-2.5, 3.5), (4.0, 2.0), (0.4, 3.0)],
    "hyp1f1": [(-1.0, -1.0, 0.5), (-1.0, 2.0, 0.5), (100.5, 0.5, -1.0)],
    "inv_boxcox": [(0.7, 0.0), (-1.0, 0.0)],
    "inv_boxcox1p": [(0.7, 0.0), (-1.0, 0.0)],
    "poch": [(-1.0, -0.3), (-1.3, -1.0), (-0.3, -1.0), (0.2, -2.0)],
    "xlogy": [(0.0, 0.3), (0.0, 2.0)],
    "xlog1py": [(0.0, -0.3), (0.0, 2.0)],
}
"""Arguments at poles, removable singularities and ties of branches."""
MPMATH = {
    "inv_boxcox": lambda x, y: mpmath.exp(x) if y == 0 else (1 + x * y) ** (1 / y),
    "inv_boxcox1p": lambda x, y: mpmath.expm1(x) if y == 0 else (1 + x * y) ** (1 / y) - 1,
    "poch": lambda z, m: mpmath.gammaprod([z + m], [z]),
    "xlog1py": lambda x, y: x * mpmath.log1p(y),
    "xlogy": lambda x, y: x * mpmath.log(y),
}


@pytest.mark.parametrize("name", SLOPES)
def test_gradients_at_poles_and_ties(name: str) -> None:
    formula = MPMATH.get(name, getattr(mpmath, {"binom": "binomial"}.get(name, name), None))
    for operands in SLOPES[name]:
        for place in (2,) if name == "hyp1f1" else range(len(operands)):
            given = list(map(mpmath.mpf, operands))

            def along(t: Any, given: Any = given, place: int = place) -> Any:
                return formula(*given[:place], t, *given[place + 1 :])

            with mpmath.workdps(60):
                step = mpmath.mpf(10) ** -20
                expected = float((along(given[place] + step) - along(given[place] - step)) / (2 * step))
            function = getattr(special, name)
            found = jt.grad(lambda t, f=function, v=operands, i=place: f(*v[:i], t, *v[i + 1 :]))(
                np.float64(operands[place])
            )
            assert float(found) == pytest.approx(expected, rel=1e-9, abs=1e-12), (operands, place)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "betainc", "betaincc"])
def test_integrals_do_not_depend_on_their_parameters_at_the_ends(name: str) -> None:
    parameters = (0.3,) if name.startswith("gamma") else (0.3, 0.4)
    for end in (0.0,) if name.startswith("gamma") else (0.0, 1.0):
        slopes = jt.grad(
            lambda *p, x=end: getattr(special, name)(*p, x), argnums=tuple(range(len(parameters)))
        )(*map(np.float64, parameters))
        assert all(float(slope) == 0.0 for slope in slopes)


@pytest.mark.parametrize("b", [0.5, 1.0, 2.5])
def test_confluent_hypergeometric_functions_of_large_parameters(b: float) -> None:
    """SciPy's own values have no correct digit here."""
    for a in (100.5, 300.0):
        expected = float(mpmath.hyp1f1(a, b, -1.0))
        assert float(special.hyp1f1(a, b, -1.0)) == pytest.approx(expected, rel=1e-7)


def test_quantiles_of_many_degrees_of_freedom_invert_the_distribution():
    for df in (500.0, 900.0, 1.1e3, 1e5, 1e12):
        p = np.array([1e-12, 1e-3, 0.2, 0.45, 0.8, 0.999])
        np.testing.assert_allclose(scipy.special.stdtr(df, special.stdtrit(df, p).numpy()), p, rtol=1e-11)


def test_small_complements_in_float32() -> None:
    a, b, x = (np.float32([v]) for v in (1e-10, 2.0, 1e-30))
    for way in (lambda f: f, jt.function):
        found = way(special.betaincc)(a, b, x)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, scipy.special.betaincc(a, b, x), rtol=1e-6)
