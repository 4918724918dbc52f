"""The scalar layer of the kernel compiler: operators, the math namespace, and the accuracy of the vector
math."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from llvmlite import ir
from mpmath import mp

import gamma_references
import special_references
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue, constant
from jittape.vectormath import NumPyMath
from ulp_table import (
    COMPOSED,
    ELEMENTARY,
    FUNCTIONS,
    OPS,
    SEVERAL,
    Compiled,
    error_of,
    exact,
    formula,
    interpreted,
    random_bits,
    samples,
    samples_of_several,
    ulp_error,
    worst,
)

FLOATS = [np.float32, np.float64]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
NUMPY = NumPyMath()
inf, nan = np.inf, np.nan

#: Largest error promised, in units in the last place; 2 where nothing is said.
MAX_ULP = (
    {"lgamma": 4.0, "digamma": 4.0} | dict.fromkeys(special_references.ROWS, 4.0) | gamma_references.MAX_ULP
)


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def compiled(name: str, *dtypes: Any, result: Any = None) -> Compiled:
    return Compiled(lambda m, *values: getattr(m, name)(*values), list(dtypes), result)


def both(name: str, *arrays: np.ndarray[Any, Any], result: Any = None) -> list[np.ndarray[Any, Any]]:
    """Evaluate with compiled code and with NumPy."""
    return [
        compiled(name, *(array.dtype for array in arrays), result=result)(*arrays),
        np.asarray(getattr(NUMPY, name)(*arrays)),
    ]


def assert_same(got: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], *inputs: Any) -> None:
    """Require equal dtypes and values, including signs of zeros."""
    assert got.dtype == wanted.dtype
    same = (got == wanted) | ((got != got) & (wanted != wanted))
    if got.dtype.kind == "f":
        same &= (np.signbit(got) == np.signbit(wanted)) | np.isnan(wanted)
    where = np.flatnonzero(~same)[:5]
    assert same.all(), [(got[i], wanted[i], *(array[i] for array in inputs)) for i in where]


# --- accuracy -------------------------------------------------------------------------------------


def check_accuracy(name: str, dtype: Any, reference: Any, arguments: list[np.ndarray[Any, Any]]) -> None:
    limit = MAX_ULP.get(name, 2.0)
    from_ir, from_numpy = both(name, *arguments)
    assert from_numpy.dtype == dtype
    for point, ir_value, numpy_value in zip(zip(*arguments, strict=True), from_ir, from_numpy, strict=True):
        assert error_of(reference, ir_value, dtype, *point) <= limit, (point, ir_value)
        # Without fused operations, one more unit may be lost.
        assert error_of(reference, numpy_value, dtype, *point) <= limit + 1, (point, numpy_value)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_infinite_result_stays_infinite_in_a_sum(name):
    x = np.array([inf, -inf, 800.0, -800.0, 0.0, nan, 1.5, 3e8])
    found = Compiled(lambda m, v, w: getattr(m, name)(v) - w, [x.dtype, x.dtype])
    value = np.asarray(getattr(NUMPY, name)(x))
    for other in (inf, -inf, 1.0):  # exp(inf) * 1.0 - inf, contracted, was -inf
        w = np.full_like(x, other)
        with np.errstate(all="ignore"):
            assert_same(
                np.where(np.isfinite(value - w), 0, found(x, w)),
                np.where(np.isfinite(value - w), 0, value - w),
            )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_accurate(name, dtype):
    count = 40 if name in MAX_ULP else 250
    check_accuracy(name, dtype, FUNCTIONS[name][0], [samples(name, dtype, count, seed=7)])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", SEVERAL)
def test_functions_of_several_arguments_are_accurate(name, dtype):
    check_accuracy(name, dtype, SEVERAL[name], samples_of_several(name, dtype, 300, seed=7))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", OPS)
def test_the_interpreter_is_accurate(name, dtype):
    if name in SEVERAL:
        reference, arguments = SEVERAL[name], samples_of_several(name, dtype, 60, seed=8)
    else:
        reference, arguments = ELEMENTARY[name][0], [samples(name, dtype, 60, seed=8)]
    # NumPy promises an error below 4.
    assert worst(reference, dtype, interpreted(name, *arguments), *arguments)[0] < 4.0
    if name in COMPOSED:
        values = Compiled(formula(name), [dtype])(*arguments)
        assert worst(reference, dtype, values, *arguments)[0] < 2.0


@pytest.mark.parametrize(
    ("name", "x"),
    [
        ("bessel_i0e", 11.957184194294731),
        ("bessel_j0", 2.2881454786602164),
        ("bessel_j1", 11.832878141426537),
        ("bessel_y1", 4.914459478551766),
        ("bessel_y1", 4.998939611628895),
        ("expint", -1.000542974699366),
        ("expint", -1.0000007237160626),
        ("fresnel_cos", 1.4525029400336527),
        ("log_ndtr", 0.7964524394620556),
    ],
)
def test_points_at_which_roundings_add_up(name, x):
    for value in (*both(name, np.array([x])), interpreted(name, np.array([x]))):
        assert error_of(FUNCTIONS[name][0], float(value[0]), np.float64, x) < 4.0


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "base"), [("log2", 2), ("log10", 10)])
def test_logarithms_are_exact_at_powers(name, base, dtype):
    info = np.finfo(dtype)
    if base == 2:
        exponents = np.arange(info.minexp - info.nmant, info.maxexp)
        x = np.ldexp(1.0, exponents).astype(dtype)
    else:
        exponents = np.arange(int(np.log10(info.tiny)) + 1, int(np.log10(info.max)) + 1)
        x = np.array([dtype(f"1e{n}") for n in exponents])
    for values in (*both(name, x), interpreted(name, x)):
        np.testing.assert_array_equal(values, exponents.astype(dtype))


def zeros_of_lgamma() -> list[float]:
    guesses = [1.0, 2.0, -2.457, -2.7477, -3.1436, -3.9553]
    return [float(mp.findroot(lambda x: mp.loggamma(x).real, guess)) for guess in guesses]


def test_gamma_functions_near_their_zeros():
    near = np.array([-1e-3, -1e-9, -1e-15, 0.0, 1e-15, 1e-9, 1e-3])
    for name, zeros in (("lgamma", zeros_of_lgamma()), ("digamma", [1.4616321449683622])):
        x = np.concatenate([zero + near for zero in zeros])
        for values in (*both(name, x), interpreted(name, x)):
            assert worst(ELEMENTARY[name][0], np.float64, values, x)[0] < 5.0


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 5, 7, 10, 31, 100, -1, -2, -3, -10, -31])
@pytest.mark.parametrize("dtype", FLOATS)
def test_integer_power_is_accurate(dtype, exponent):
    generator = np.random.default_rng(3)
    x = np.concatenate([generator.normal(size=200), np.exp(generator.uniform(-30, 30, 200))]).astype(dtype)
    got = Compiled(lambda m, x: m.integer_power(x, exponent), [dtype])(x)
    for value, point in zip(got, x, strict=True):
        assert ulp_error(value, exact(lambda x: x**exponent, point), dtype) <= 2, (value, point)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 5, 6, 9, -1, -2, -3, -4])
def test_integer_power_at_the_edges(dtype, exponent):
    info = np.finfo(dtype)
    x = np.array([0.0, -0.0, 1, -1, inf, -inf, nan, info.max, -info.max, 2, -2, 0.5], dtype)
    wanted = np.power(x.astype(np.float64), exponent) if dtype == np.float32 else np.power(x, float(exponent))
    assert_same(Compiled(lambda m, x: m.integer_power(x, exponent), [dtype])(x), wanted.astype(dtype), x)
    assert_same(NUMPY.integer_power(x, exponent), wanted.astype(dtype), x)


# --- edges ----------------------------------------------------------------------------------------

#: name -> pairs of argument and value that every float must hit exactly.
EDGES: dict[str, list[tuple[float, float]]] = {
    "exp": [(0.0, 1), (-0.0, 1), (inf, inf), (-inf, 0.0), (1e5, inf), (-1e5, 0.0)],
    "exp2": [(0.0, 1), (10, 1024), (-3, 0.125), (inf, inf), (-inf, 0.0), (2000, inf), (-2000, 0.0)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1), (1e5, inf), (-1e5, -1)],
    "log": [(1, 0.0), (0.0, -inf), (-0.0, -inf), (inf, inf), (-1, nan), (-inf, nan)],
    "log2": [(1, 0.0), (8, 3), (0.25, -2), (0.0, -inf), (-0.0, -inf), (inf, inf), (-1, nan), (-inf, nan)],
    "log10": [(1, 0.0), (0.0, -inf), (-0.0, -inf), (inf, inf), (-1, nan), (-inf, nan)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1, -inf), (inf, inf), (-2, nan), (-inf, nan)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "cos": [(0.0, 1), (-0.0, 1), (inf, nan), (-inf, nan)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "arcsin": [(0.0, 0.0), (-0.0, -0.0), (1, np.pi / 2), (-1, -np.pi / 2), (1.5, nan), (-inf, nan)],
    "arccos": [(1, 0.0), (0.0, np.pi / 2), (-1, np.pi), (1.5, nan), (-inf, nan)],
    "arctan": [(0.0, 0.0), (-0.0, -0.0), (inf, np.pi / 2), (-inf, -np.pi / 2), (1, np.pi / 4)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (1e5, inf), (-1e5, -inf)],
    "cosh": [(0.0, 1), (inf, inf), (-inf, inf), (1e5, inf)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (inf, 1), (-inf, -1), (1e5, 1), (-1e5, -1)],
    "sigmoid": [(0.0, 0.5), (inf, 1), (-inf, 0.0), (1e5, 1), (-1e5, 0.0)],
    "softplus": [(inf, inf), (-inf, 0.0), (1e5, 1e5), (-1e5, 0.0)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (inf, 1), (-inf, -1), (1e5, 1), (-1e5, -1)],
    "erfc": [(0.0, 1), (-0.0, 1), (inf, 0.0), (-inf, 2), (1e5, 0.0), (-1e5, 2)],
    "lgamma": [(1, 0.0), (2, 0.0), (0.0, inf), (-0.0, inf), (inf, inf), (-inf, inf), (-3, inf)],
    "digamma": [(0.0, -inf), (-0.0, inf), (inf, inf), (-inf, nan), (-3, nan)],
    "rsqrt": [(4, 0.5), (0.0, inf), (-0.0, -inf), (inf, 0.0), (-1, nan)],
    **special_references.EDGES,
    **gamma_references.EDGES,
}


def test_every_function_has_edges():
    assert EDGES.keys() == FUNCTIONS.keys()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", EDGES)
def test_edges(name, dtype):
    arguments, values = np.array([*EDGES[name], (nan, nan)]).astype(dtype).T
    for got in both(name, np.ascontiguousarray(arguments)):
        assert_same(got, values, arguments)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["expm1", "log1p", "sin", "tan", "arcsin", "arctan", "sinh", "tanh"])
def test_tiny_arguments_come_back(name, dtype):
    info = np.finfo(dtype)
    x = np.array([info.smallest_subnormal, 3 * info.smallest_subnormal, info.tiny, info.tiny * 7], dtype)
    for got in both(name, np.concatenate([x, -x])):
        assert_same(got, np.concatenate([x, -x]))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["log", "log2", "log10", "lgamma"])
def test_subnormal_arguments(name, dtype):
    x = np.array([1, 3, 1000], dtype) * np.finfo(dtype).smallest_subnormal
    reference = FUNCTIONS[name][0]
    for got in both(name, x):
        assert all(
            ulp_error(value, exact(reference, point), dtype) <= 2 for value, point in zip(got, x, strict=True)
        )


@pytest.mark.parametrize("dtype", FLOATS)
def test_power_at_the_edges(dtype):
    info = np.finfo(dtype)
    corners = [0.0, 0.5, 1, 1 - info.epsneg, 1.5, 2, 3, 1001, 1e30, info.max, info.tiny, inf]
    grid = np.array([*corners, *(-corner for corner in corners), nan], dtype)
    x, y = (axis.ravel() for axis in np.meshgrid(grid, grid))
    wanted = np.power(x, y)
    for got in both("power", x, y):
        exact_ones = (wanted == 0) | ~np.isfinite(wanted) | (np.abs(wanted) == 1)
        assert_same(got[exact_ones], wanted[exact_ones], x[exact_ones], y[exact_ones])
        np.testing.assert_allclose(got, wanted, rtol=4 * info.eps)


@pytest.mark.parametrize("dtype", FLOATS)
def test_arctan2_at_the_edges(dtype):
    info = np.finfo(dtype)
    corners = [0.0, 1, info.smallest_subnormal, info.tiny, info.max, inf]
    grid = np.array([*corners, *(-corner for corner in corners), nan], dtype)
    y, x = (axis.ravel() for axis in np.meshgrid(grid, grid))
    for got in both("arctan2", y, x):
        wanted = np.arctan2(y, x)
        assert np.array_equal(np.signbit(got) | np.isnan(got), np.signbit(wanted) | np.isnan(wanted))
        np.testing.assert_allclose(got, wanted, rtol=2 * info.eps)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_next_to_multiples_of_half_pi(name, dtype):
    """Test arguments of which nearly all digits cancel, up to and beyond the limit of the reduction."""
    largest = 2e5 if dtype == np.float32 else 2e9
    turns = np.unique(np.geomspace(1, largest, 300).astype(np.int64))
    x = np.array([float(turn * mp.pi / 2) for turn in turns]).astype(dtype)
    x = np.concatenate([x, np.array([1e22, 4.2e15, 1e30]).astype(dtype)])
    check_accuracy(name, dtype, FUNCTIONS[name][0], [x])


@pytest.mark.parametrize("dtype", FLOATS)
def test_digamma_below_zero(dtype):
    x = np.random.default_rng(5).uniform(-20, 0, 200).astype(dtype)
    for got in both("digamma", x):
        for value, point in zip(got, x, strict=True):
            truth = float(exact(FUNCTIONS["digamma"][0], point))
            # Near a zero of digamma the error is absolute.
            assert abs(value - truth) <= 8 * np.finfo(dtype).eps * (abs(truth) + 4), (point, value, truth)


def test_lgamma_below_zero():
    x = np.random.default_rng(5).uniform(-20, 0, 200)
    truth = [float(exact(FUNCTIONS["lgamma"][0], point)) for point in x]
    for got in both("lgamma", x):
        np.testing.assert_allclose(got, truth, rtol=1e-14, atol=1e-14)


# --- vectorization --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_loops_are_vectorized(name, dtype):
    # float32 lgamma, digamma and erfc compute in float64.
    text = compiled(name, dtype).optimized
    assert re.search(r"f(mul|add|div) [a-z ]*<\d+ x (float|double)>", text)


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "lgamma"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_rare_arguments_in_any_lane(name, dtype):
    function = compiled(name, dtype)
    usual, rare = np.linspace(0.5, 3, 67).astype(dtype), dtype(-2.5e20 if name != "lgamma" else -2.5)
    expected = function(usual)
    special = function(np.array([rare]))[0]
    assert np.isfinite(special)
    for place in range(usual.size):
        x = usual.copy()
        x[place] = rare
        got = function(x)
        assert got[place] == special
        np.testing.assert_allclose(
            np.delete(got, place), np.delete(expected, place), rtol=4 * np.finfo(dtype).eps
        )


def test_two_rare_functions_share_a_module():
    function = Compiled(lambda m, x: m.sin(x) * m.sin(x) + m.cos(x) * m.cos(x), [np.float64])
    np.testing.assert_allclose(function(np.array([0.1, 1e15, 1e300, -3.0])), 1, rtol=1e-15)


# --- operators and the namespace ------------------------------------------------------------------

ARITHMETIC = ["add", "subtract", "multiply", "floor_divide", "remainder", "minimum", "maximum"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"]
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
LOGIC = ["logical_and", "logical_or", "logical_xor"]
PREDICATES = ["isnan", "isinf", "isfinite", "logical_not"]
ROUNDING = ["floor", "ceil", "trunc", "rint"]


def integer_pairs(dtype: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    info = np.iinfo(dtype)
    values = sorted({info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 100, 64, 63, 31, 8})
    values += [value for value in (-1, -2, -3, -100) if value >= info.min]
    a, b = np.meshgrid(np.array(values, dtype), np.array(values, dtype))
    return a.ravel(), b.ravel()


def float_pairs(dtype: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    corners = [0.0, 0.5, 1, 1.5, 2.5, 3.7, 1e10, inf]
    grid = np.array([*corners, *(-corner for corner in corners), nan], dtype)
    a, b = np.meshgrid(grid, grid)
    wild = [random_bits(np.random.default_rng(seed), dtype, 200)[:150] for seed in (1, 2)]
    return np.concatenate([a.ravel(), wild[0]]), np.concatenate([b.ravel(), wild[1]])


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ARITHMETIC + BITS + COMPARISONS + LOGIC)
def test_integer_operations_are_those_of_numpy(name, dtype):
    a, b = integer_pairs(dtype)
    wanted = getattr(np, name)(a, b)
    for got in both(name, a, b, result=wanted.dtype):
        assert_same(got, wanted, a, b)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_power_of_integers(dtype):
    a, b = integer_pairs(dtype)
    a, b = a[b >= 0], b[b >= 0]
    for got in both("power", a, b):
        assert_same(got, np.power(a, b), a, b)
    cube = Compiled(lambda m, x: m.integer_power(x, 3), [dtype])(a)
    assert_same(cube, a * a * a, a)


def test_negative_powers_of_integers_truncate():
    a, b = np.array([1, -1, -1, 2, 0, -5]), np.array([-3, -3, -2, -1, -1, -2])
    for got in both("power", a, b):
        assert got.tolist() == [1, -1, 1, 0, 0, 0]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*ARITHMETIC, "divide", "copysign", "fmod", *COMPARISONS, *LOGIC])
def test_float_operations_are_those_of_numpy(name, dtype):
    a, b = float_pairs(dtype)
    wanted = getattr(np, name)(a, b)
    for got in both(name, a, b, result=wanted.dtype):
        if name in ("minimum", "maximum"):
            got, wanted = got + 0, wanted + 0  # of 0.0 and -0.0 either will do
        assert_same(got, wanted, a, b)


@pytest.mark.parametrize(
    "name", [*COMPARISONS, *LOGIC, "add", "multiply", "minimum", "maximum", "bitwise_xor"]
)
def test_bool_operations_are_those_of_numpy(name):
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    for got in both(name, a, b):
        assert_same(got, getattr(np, name)(a, b), a, b)


def defined_in_numpy(name, dtype):
    kind = np.dtype(dtype).kind
    return not (name == "sqrt" and kind != "f") and not (
        name in ("sign", "signbit", "rint", "square") and kind == "b"
    )


UNARY = [
    (name, dtype)
    for name in [*PREDICATES, *ROUNDING, "absolute", "sign", "signbit", "square", "sqrt"]
    for dtype in [*FLOATS, *INTEGERS, np.bool_]
    if defined_in_numpy(name, dtype)
]


@pytest.mark.parametrize(("name", "dtype"), UNARY)
def test_unary_operations_are_those_of_numpy(name, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        x = float_pairs(dtype)[0]
    else:
        x = np.unique(integer_pairs(np.int8 if dtype.kind == "b" else dtype)[0]).astype(dtype)
    wanted = x < 0 if name == "signbit" and dtype.kind != "f" else getattr(np, name)(x)
    if name in ROUNDING and dtype.kind != "f":
        wanted = x
    for got in both(name, x, result=wanted.dtype):
        assert_same(got, wanted, x)


@pytest.mark.parametrize("target", [*FLOATS, *INTEGERS, np.bool_])
@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS, np.bool_])
def test_casts_are_those_of_numpy(source, target):
    source, target = np.dtype(source), np.dtype(target)
    if source.kind == "f":
        x = np.array([0.0, -0.0, 0.5, 1.9, 100.7, 7], source)
        x = np.concatenate([x, [nan, inf, -inf, -1.5]]).astype(source) if target.kind in "fb" else x
        x = np.append(x, source.type(-1.5)) if target.kind == "i" else x
    else:
        x = np.unique(integer_pairs(np.int8 if source.kind == "b" else source)[0]).astype(source)
    got = Compiled(lambda m, x: m.cast(x, target), [source], target)(x)
    assert_same(got, x.astype(target), x)


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", FLOATS)
def test_casts_out_of_range(source, target):
    """Negative floats wrap as unsigned integers, infinities give some integer."""
    x = np.array([-1.5, -3, nan, inf, -inf, 1e30, -1e30], source)
    got = Compiled(lambda m, x: m.cast(x, target), [source], target)(x)
    assert got[:3].tolist() == np.array([-1, -3, 0]).astype(target).tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_bitcast_and_fma(dtype):
    unsigned = np.uint32 if dtype == np.float32 else np.uint64
    x = float_pairs(dtype)[0]
    assert_same(Compiled(lambda m, x: m.bitcast(x, unsigned), [dtype], unsigned)(x), x.view(unsigned))
    eps = np.finfo(dtype).eps
    a = np.array([1 + eps, 3, inf], dtype)
    wanted = np.array([dtype(eps) * dtype(eps), 8, nan], dtype)
    c = np.array([-(1 + 2 * eps), -1, -inf], dtype)
    for got in both("fma", a, a, c):
        assert_same(got, wanted)


@pytest.mark.parametrize("dtype", FLOATS)
def test_python_scalars_take_the_dtype_of_the_value(dtype):
    function = Compiled(lambda m, x: 2 - m.where(x > 1, 1, -x) * 0.5 / x, [dtype])
    x = np.array([0.25, 4], dtype)
    assert_same(function(x), np.array([2.5, 1.875], dtype))


def test_reflected_and_bitwise_operators():
    function = Compiled(lambda m, x: ((1 << x) | (x & 6)) ^ (~x >> 1), [np.int32])
    x = np.arange(20, dtype=np.int32)
    assert_same(function(x), ((1 << x) | (x & 6)) ^ (~x >> 1))


def a_builder() -> ir.IRBuilder:
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), []), "f")
    return ir.IRBuilder(function.append_basic_block())


def test_what_a_value_refuses():
    builder = a_builder()
    m = IRMath(builder)
    single, double = constant(builder, 1, np.float32), constant(builder, 1, np.float64)
    integer, flag = constant(builder, 1, np.int32), constant(builder, True, np.bool_)
    with pytest.raises(TypeError, match="cast one of them"):
        single + double
    with pytest.raises(TypeError, match="floor_divide"):
        integer / 2
    with pytest.raises(TypeError, match="bool"):
        m.subtract(flag, flag)
    with pytest.raises(TypeError, match="bitcast"):
        single & 1
    with pytest.raises(TypeError, match="truth value"):
        bool(single < 2)
    number = constant(builder, 1j, np.complex128)
    with pytest.raises(TypeError, match="no operator / on complex128"):
        number / 2
    with pytest.raises(TypeError, match="no order"):
        _ = number < 1
    with pytest.raises(OverflowError):
        constant(builder, 300, np.uint8)


def test_contract_is_the_only_fast_math_flag():
    text = compiled("erfc", np.float64).optimized + compiled("tanh", np.float32).optimized
    assert "contract" in text
    assert not re.search(r"\b(fast|nnan|ninf|nsz|arcp|afn|reassoc)\b", text)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "name", ["exp", "expm1", "log", "log1p", "sin", "tan", "arctan", "tanh", "sinh", "erfc"]
)
def test_a_product_as_argument(name, dtype):
    """A product that is fused into the formula's own additions must not change its exact additions."""
    function = compiled(name, dtype)
    generator = np.random.default_rng(11)
    a, b = generator.uniform(-3, 3, (2, 2000)).astype(dtype)
    rounded, following = function(a * b), function(np.nextafter(a * b, dtype(100)))
    fused = Compiled(lambda m, a, b: getattr(m, name)(a * b), [dtype, dtype])(a, b)
    finite = np.isfinite(rounded) & np.isfinite(following)
    allowed = np.abs(following - rounded) + 2 * np.spacing(np.abs(rounded))
    assert (np.abs(fused - rounded) <= allowed)[finite].all()


def test_values_print_their_dtype():
    assert "float32" in repr(IRValue(a_builder(), ir.Constant(ir.FloatType(), 1.0), np.float32))
