"""Special functions that SciPy computes between kernels: values, dtypes, and derivatives against differences."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
import scipy.special

import jittape as jt
from jittape.scipy import special
from jittape.scipy.special.complex_steps import COMPLEX_STEPS, NOT_REAL, REAL_ARGUMENTS
from jittape.scipy.special.other_steps import WITHOUT_DERIVATIVE
from jittape.scipy.special.scipy_steps import STEPS
from jittape.scipy.special.ufunc_bodies import RECORDS
from jittape.scipy.special.ufunc_calls import call_ufunc

POSITIVE, UNIT, REAL = (0.3, 3.0), (0.1, 0.9), (-3.0, 3.0)
FEW, MORE = range(5), range(5, 9)
"""Ranges of integers."""
RANGES: dict[str, tuple[Any, ...]] = {
    "bdtr": (FEW, MORE, UNIT),
    "bdtrc": (FEW, MORE, UNIT),
    "bdtri": (FEW, MORE, UNIT),
    "bdtrik": (UNIT, (6.0, 9.0), UNIT),
    "bdtrin": ((1.0, 4.0), UNIT, UNIT),
    "btdtria": (UNIT, POSITIVE, UNIT),
    "btdtrib": (POSITIVE, UNIT, UNIT),
    "chdtri": (POSITIVE, UNIT),
    "chdtriv": (UNIT, POSITIVE),
    "chndtrinc": ((1.0, 2.0), (0.5, 1.0), (0.1, 0.3)),
    "chndtrix": (UNIT, POSITIVE, POSITIVE),
    "ellipe": ((-3.0, 0.95),),
    "ellipeinc": (REAL, (-2.0, 0.9)),
    "ellipj": (REAL, (0.02, 0.95)),
    "ellipk": ((-3.0, 0.95),),
    "ellipkinc": (REAL, (-2.0, 0.9)),
    "eval_sh_jacobi": (FEW, (2.0, 3.0), (0.5, 1.5), UNIT),
    "fdtri": (POSITIVE, POSITIVE, UNIT),
    "fdtridfd": ((3.0, 5.0), (0.45, 0.5), (0.8, 0.85)),
    "gdtria": (UNIT, POSITIVE, POSITIVE),
    "gdtrib": (POSITIVE, UNIT, POSITIVE),
    "gdtrix": (POSITIVE, POSITIVE, UNIT),
    "kn": (FEW, POSITIVE),
    "kolmogi": (UNIT,),
    "kolmogorov": ((0.4, 2.0),),
    "lpmv": (range(4), POSITIVE, (-0.8, 0.8)),
    "mathieu_cem": (FEW, POSITIVE, (0.0, 180.0)),
    "mathieu_sem": (range(1, 5), POSITIVE, (0.0, 180.0)),
    "nbdtr": (FEW, MORE, UNIT),
    "nbdtrc": (FEW, MORE, UNIT),
    "nbdtri": (FEW, MORE, UNIT),
    "nbdtrik": ((0.5, 0.9), (2.0, 6.0), (0.2, 0.5)),
    "nbdtrin": ((2.0, 5.0), UNIT, UNIT),
    "nrdtrimn": (UNIT, POSITIVE, REAL),
    "nrdtrisd": ((-3.0, 0.0), (0.6, 0.9), POSITIVE),
    "owens_t": (REAL, REAL),
    "pdtri": (FEW, UNIT),
    "pdtrik": (UNIT, (2.0, 6.0)),
    "rgamma": ((-3.9, 4.0),),
    "stdtridf": ((0.85, 0.9), (1.3, 1.5)),
    "tklmbda": ((-0.8, 0.8), (-0.5, 0.9)),
    "voigt_profile": (REAL, POSITIVE, POSITIVE),
    "yn": (FEW, POSITIVE),
}
"""Ranges of the operands: of real numbers, or of integers; `POSITIVE` for all others."""
for name in RECORDS:
    if name.startswith("mathieu_mod"):
        RANGES[name] = (range(1, 5), POSITIVE, (0.1, 1.5))
    elif name.startswith("spherical"):
        RANGES[name] = (FEW, POSITIVE)
    elif name.startswith("eval_") and name not in RANGES:
        inner = (POSITIVE,) * (getattr(scipy.special, name).nin - 2)
        RANGES[name] = (FEW, *inner, UNIT if "sh_" in name else REAL)
    elif name.startswith(("pro_ang", "obl_ang")):
        RANGES[name] = (range(2), range(1, 4), POSITIVE, *((POSITIVE,) if "cv" in name else ()), (-0.8, 0.8))
    elif name.startswith(("pro_rad", "obl_rad")):
        RANGES[name] = (range(2), range(1, 4), POSITIVE, *((POSITIVE,) if "cv" in name else ()), (1.2, 3.0))
    elif name in ("smirnov", "smirnovi"):
        RANGES[name] = (range(1, 5), UNIT)
    elif name in ("obl_cv", "pro_cv"):
        RANGES[name] = (range(2), range(2, 4), POSITIVE)
NAMES = [
    *[name for name in RECORDS if name not in STEPS],
    "kelvin",
    *[n for n in NOT_REAL if n not in ("wofz", "lambertw")],
]
LOOSE = {"itairy": 2e-5, "obl_rad2": 1.0, "obl_rad2_cv": 1.0}
"""Relative errors of SciPy's own values, which differences show."""


def parts(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def count(name: str) -> int:
    record = {**COMPLEX_STEPS, **RECORDS}.get(name)
    return 1 if record is None else len(parts(record)[0].vjp)


def operands(name: str, size: int = 5) -> list[Any]:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    found: list[Any] = []
    for limits in RANGES.get(name, (POSITIVE,) * count(name)):
        is_range = isinstance(limits, range)
        found.append(rng.choice(limits, size).astype(float) if is_range else rng.uniform(*limits, size))
    if name.endswith("_cv") and len(found) == 5:
        found[3] = getattr(scipy.special, f"{name[:3]}_cv")(*found[:3])
    return found


def theirs(name: str, *arrays: Any) -> tuple[Any, ...]:
    if name.startswith(("eval_hermite", "spherical")):
        arrays = (arrays[0].astype(int), *arrays[1:])
    if name in ("bdtr", "bdtrc", "bdtri"):  # other dtypes give a warning
        arrays = (arrays[0], arrays[1].astype(int), arrays[2])
    return parts(getattr(scipy.special, name)(*arrays))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("fdtridfd", (3.0, 0.9, 0.5)),
        ("fdtridfd", (3.0, 0.9, 1.5)),
        ("stdtridf", (0.7, -2.0)),
        ("stdtridf", (0.95, 0.5)),
        ("stdtridf", (0.999, 2.0)),
    ],
)
def test_slopes_of_inverses_without_a_solution_are_zero(name: str, arguments: tuple[float, ...]) -> None:
    """SciPy returns a bound of its search, which does not change with the arguments."""
    values = [jt.constant(a, "float64") for a in arguments]
    found = jt.grad(getattr(special, name), tuple(range(len(values))))(*values)
    assert [float(g) for g in found] == [0.0] * len(values)
    assert float(getattr(special, name)(*values)) == getattr(scipy.special, name)(*arguments)


def real_parts(result: Any) -> list[Any]:
    """Return real tensors that depend on both parts of complex results."""
    return [jt.math.real(r) + 2 * jt.math.imag(r) if r.dtype.kind == "c" else r for r in parts(result)]


@pytest.mark.parametrize("name", NAMES)
def test_values_and_dtypes(name: str) -> None:
    arrays = operands(name)
    wanted = theirs(name, *arrays)
    tensors = [jt.constant(x) for x in arrays]
    calls = [getattr(special, name)(*arrays)]
    if name not in ("eval_hermite", "eval_hermitenorm"):
        calls.append(getattr(scipy.special, name)(*tensors))
    else:
        calls.append(getattr(scipy.special, name)(arrays[0].astype(int), tensors[1]))
    if name in ("ellipj", "kelvin", "struve", "hankel1", "bdtr", "eval_legendre"):
        calls.append(jt.function(lambda *x: call_ufunc(name, *x))(*arrays))
        calls.append(jt.vectorized_map(lambda x: tuple(parts(call_ufunc(name, *x))), tuple(tensors)))
    for found in calls:
        for one, other in zip(parts(found), wanted, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one.numpy(), other)
    single = [x.astype(np.float32) for x in arrays]
    if not name.startswith(("eval_hermite", "spherical", "bdtr", "nbdtr", "obl", "pro", "pdtri")):
        found = call_ufunc(name, *single)
        for one, other in zip(parts(found), theirs(name, *single), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one.numpy(), other, rtol=1e-4, atol=1e-5)


def slopes(name: str, arrays: list[Any], i: int, output: int, order: int) -> tuple[Any, Any]:
    """Return a derivative of an element-wise function, and differences of the one below; only the first for order 0."""

    def function(x: Any) -> Any:
        return real_parts(call_ufunc(name, *arrays[:i], x, *arrays[i + 1 :]))[output]

    below = function if order < 2 else lambda x: jt.grad(lambda y: jt.reduce_sum(function(y)))(x)
    found = np.asarray(jt.grad(lambda x: jt.reduce_sum(below(x)))(arrays[i]))
    if order == 0:
        return found, None
    h = 1e-4
    value = {k: np.asarray(below(arrays[i] + k * h)) for k in (-2, -1, 1, 2)}
    return found, (8 * (value[1] - value[-1]) - (value[2] - value[-2])) / (12 * h)


@pytest.mark.filterwarnings("ignore:.*different programs have been recorded")
@pytest.mark.parametrize("name", NAMES[::3])
def test_derivatives_or_a_refusal_by_name(name: str) -> None:
    arrays = operands(name)
    refused = 0
    for output in range(len(theirs(name, *arrays))):
        for i in range(len(arrays)):
            is_count = isinstance(RANGES.get(name, [0] * 5)[i], range)
            try:
                found, wanted = slopes(name, arrays, i, output, 0 if is_count else 1)
            except jt.NoGradientError as error:
                refused += f"[{name}] has no derivative with respect to" in str(error)
                continue
            if is_count:
                assert not found.any()
                continue
            rtol = LOOSE.get(name, 1e-6)
            np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol * abs(wanted).max())
            if name == "radian" or i != len(arrays) - 1 or output:
                continue
            try:
                found, wanted = slopes(name, arrays, i, output, 2)
            except jt.NoGradientError:
                continue
            rtol *= 10
            np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol * abs(wanted).max())
    if name in WITHOUT_DERIVATIVE:
        assert refused == len(arrays)
    elif name not in ("obl_rad2", "obl_rad2_cv"):
        assert refused < len(arrays) * len(theirs(name, *arrays))


@pytest.mark.parametrize("name", sorted(set(COMPLEX_STEPS) - set(NOT_REAL) - {"psi"})[::3])
def test_derivatives_in_complex_numbers(name: str) -> None:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    n, reals = len(parts(COMPLEX_STEPS[name])[0].vjp), REAL_ARGUMENTS.get(name, 0)
    is_order = name.startswith(("eval", "spherical"))
    arrays = [
        rng.integers(0, 4, 4).astype(float) if is_order and i == 0 else rng.uniform(0.3, 2, 4)
        for i in range(reals)
    ]
    arrays += [0.5 * (rng.normal(size=4) + 1j * rng.normal(size=4)) for _ in range(n - reals)]
    for output in range(len(parts(COMPLEX_STEPS[name]))):
        for i in range(reals, n):

            def function(z: Any, i: int = i, output: int = output) -> Any:
                return parts(call_ufunc(name, *arrays[:i], z, *arrays[i + 1 :]))[output]

            with jt.GradientTape() as tape:
                z = jt.constant(arrays[i])
                tape.watch(z)
                y = jt.reduce_sum(jt.math.real(function(z)))
            try:
                found = np.conj(tape.gradient(y, z).numpy())
            except jt.NoGradientError:
                continue
            h = 1e-5
            wanted = (function(arrays[i] + h).numpy() - function(arrays[i] - h).numpy()) / (2 * h)
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    if reals:
        with pytest.raises(jt.DTypeError, match="only the last argument may be complex"):
            call_ufunc(name, *[np.asarray(x, complex) for x in arrays])


def test_slopes_at_removable_singularities() -> None:
    zero = np.zeros(1)
    for name, slope in (("ellipk", np.pi / 8), ("ellipe", -np.pi / 8), ("beip", 0.5), ("berp", 0.0)):
        np.testing.assert_allclose(jt.grad(lambda x, n=name: jt.reduce_sum(call_ufunc(n, x)))(zero), slope)
    poles = np.array([0.0, -1.0, -2.0, -3.0])
    np.testing.assert_allclose(jt.grad(lambda x: jt.reduce_sum(special.rgamma(x)))(poles), [1, -1, 2, -6])
    np.testing.assert_allclose(jt.grad(lambda x: jt.reduce_sum(special.sici(x)[0]))(zero), 1.0)
    np.testing.assert_allclose(jt.grad(lambda a: jt.reduce_sum(special.agm(a, 1.0)))(np.ones(2)), 0.5)
    found = jt.grad(lambda s: jt.reduce_sum(special.voigt_profile(0.5, s, 1.0)))(zero)
    np.testing.assert_array_equal(found, 0.0)
    np.testing.assert_allclose(jt.grad(lambda z: jt.math.real(special.lambertw(z)))(np.float64(0)), 1.0)


def test_compositions() -> None:
    x = np.array([0.4, 1.3, 2.6])
    for name in ("jvp", "yvp", "ivp", "kvp", "h1vp", "h2vp"):
        for n in range(4):
            found = getattr(special, name)(1.5, x, n)
            np.testing.assert_allclose(found, getattr(scipy.special, name)(1.5, x, n), rtol=1e-12)
    for letter in "ijky":
        name = f"spherical_{letter}n"
        for derivative in (False, True):
            found = getattr(special, name)(np.arange(3), x, derivative)
            wanted = getattr(scipy.special, name)(np.arange(3), x, derivative)
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
        slope = jt.grad(lambda z, name=name: jt.reduce_sum(getattr(special, name)(1, z)))(x)
        np.testing.assert_allclose(slope, getattr(scipy.special, name)(1, x, True), rtol=1e-12)
    for n in (1, 2, 5):
        np.testing.assert_allclose(special.diric(x, n), scipy.special.diric(x, n), rtol=1e-12)
    np.testing.assert_allclose(special.assoc_laguerre(x, 3, 0.5), scipy.special.assoc_laguerre(x, 3, 0.5))
    N, k = np.array([5.0, 3.5, 2.0, -1.0, 4.0]), np.array([2.0, 1.5, 3.0, 1.0, 0.0])
    np.testing.assert_allclose(special.perm(N, k), scipy.special.perm(N, k))
    for k in (0, 1, -1):
        np.testing.assert_allclose(special.lambertw(x - 1j, k), scipy.special.lambertw(x - 1j, k), rtol=1e-13)
    jt.check_gradient(lambda z: jt.math.real(special.lambertw(z)), x)
    np.testing.assert_allclose(scipy.special.lambertw(jt.constant(x)), scipy.special.lambertw(x))
    with pytest.raises(ValueError, match="n must be integers from 0 on"):
        special.spherical_jn(-1, x).numpy()
    with pytest.raises(TypeError, match="n must be integers, as in SciPy"):
        special.eval_hermite(1.5, x).numpy()


@pytest.mark.parametrize("name", ["modfresnelp", "modfresnelm"])
def test_all_derivatives_of_modified_fresnel_integrals_are_nan_below_0(name: str) -> None:
    for position in (0, 1):

        def part(x: Any, position: int = position) -> Any:
            return jt.math.real(getattr(special, name)(x)[position])

        slope = jt.grad(part)
        for derivative in (slope, jt.grad(slope)):
            assert np.isnan(float(derivative(-1.5)))
        x, h = np.float64(1.2), 1e-5
        wanted = (float(slope(x + h)) - float(slope(x - h))) / (2 * h)
        assert float(jt.grad(slope)(x)) == pytest.approx(wanted, rel=1e-7)


@pytest.mark.parametrize("name", NOT_REAL)
def test_no_numbers_have_no_values(name):
    operands = [np.zeros((0, 2)), np.zeros((0, 2))] if name.startswith("hankel") else [np.zeros((0, 2))]
    got, expected = getattr(special, name)(*operands), getattr(scipy.special, name)(*operands)
    for value, reference in zip(jt.nest.flatten(got), jt.nest.flatten(expected), strict=True):
        assert (value.numpy().shape, value.numpy().dtype) == (reference.shape, reference.dtype)


def test_the_zeta_function_of_scipy_records(mode):
    x, q = np.array([2.0, 3.5, 6.0]), np.array([1.0, 0.5, 2.0])
    for own, given in ((special, x), (scipy.special, jt.constant(x))):
        np.testing.assert_allclose(own.zeta(given), scipy.special.zeta(x), rtol=1e-13)
        np.testing.assert_allclose(own.zeta(given, q), scipy.special.zeta(x, q), rtol=1e-13)
        np.testing.assert_allclose(own.zeta(given, jt.constant(q)), scipy.special.zeta(x, q), rtol=1e-13)
    jt.check_gradient(lambda q: scipy.special.zeta(x, q), jt.constant(q))
    found = jt.grad(lambda q: jt.reduce_sum(scipy.special.zeta(x, q)))(jt.constant(q))
    np.testing.assert_allclose(found, -x * scipy.special.zeta(x + 1, q), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:floating point number truncated", "ignore:non-integer arg n")
@pytest.mark.parametrize(
    ("name", "arguments", "varied"),
    [
        ("bdtr", (2.0, 2.0, 0.5), (2,)),
        ("bdtr", (2.0, 5.0, 0.4), (2,)),
        ("bdtrc", (3.0, 3.0, 0.5), (2,)),
        ("bdtrik", (0.1, 3.0, 0.2), (0, 1, 2)),
        ("nbdtrik", (0.05, 3.0, 0.5), (0, 1, 2)),
        ("pdtrik", (0.2, 0.3), (0, 1)),
        ("bdtri", (1.5, 4.5, 0.4), (2,)),
        ("nbdtr", (1.5, 4.5, 0.4), (2,)),
        ("nbdtrc", (1.5, 4.5, 0.4), (2,)),
        ("nbdtri", (1.5, 4.5, 0.4), (2,)),
        ("kn", (2.7, 1.3), (1,)),
        ("kn", (-1.5, 1.3), (1,)),
        ("yn", (2.7, 1.3), (1,)),
    ],
)
def test_slopes_at_the_ends_of_counts_and_where_scipy_truncates(
    name: str, arguments: tuple[float, ...], varied: tuple[int, ...]
) -> None:
    function = getattr(special, name)
    for i in varied:
        before, after = (
            theirs(name, *[np.float64(x + step * (k == i)) for k, x in enumerate(arguments)])[0]
            for step in (-1e-6, 1e-6)
        )
        found = jt.grad(lambda x, i=i: function(*arguments[:i], x, *arguments[i + 1 :]))(
            np.float64(arguments[i])
        )
        assert float(found) == pytest.approx((after - before) / 2e-6, rel=1e-6, abs=1e-12), i
