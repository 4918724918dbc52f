"""Elementwise ops: gradients at kinks and edges, `where` without nan leaks, promotion, and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.core.builder import literal
from jittape.core.interpret import interpret
from jittape.core.simplify import simplify
from jittape.errors import DTypeError, NoGradientError, ShapeError
from jittape.primitives.broadcast import broadcast
from jittape.primitives.elementwise.arithmetic import (
    doubly_zero_dominant_multiply_op,
    zero_dominant_multiply,
    zero_dominant_multiply_op,
)
from programs import Array, derivative, gradient, gradient_program, gradients, program_of, value

INF, NAN = np.inf, np.nan


def arr(*numbers: float) -> Array:
    return np.array(numbers, dtype="float64")


# ---- kinks and edges -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [
        (jt.abs, arr(0, -0.0, 2, -3), arr(0, 0, 1, -1)),
        (jt.nn.relu, arr(0, 1, -1), arr(0, 1, 0)),
        (jt.nn.relu6, arr(0, 6, 3, 7), arr(0, 0, 1, 0)),
        (jt.nn.leaky_relu, arr(0, 1, -1), arr(0.2, 1, 0.2)),
        (jt.nn.elu, arr(0, 1), arr(1, 1)),
        (lambda x: jt.clip_by_value(x, 0.0, 1.0), arr(-1, 0, 0.5, 1, 2), arr(0, 1, 1, 1, 0)),
        (jt.sign, arr(0, 1), arr(0, 0)),
        (jt.sqrt, arr(0, 4), arr(INF, 0.25)),
        (lambda x: jt.pow(x, 0.5), arr(0, 4), arr(INF, 0.25)),
        (lambda x: jt.pow(x, 0.0), arr(0, 4), arr(NAN, 0)),
        (lambda x: jt.pow(x, x), arr(0, 1), arr(NAN, 1)),
        (lambda x: jt.pow(x, 0), arr(0, 4, NAN), arr(0, 0, 0)),
        (lambda x: jt.pow(x, 1), arr(0, 4), arr(1, 1)),
        (lambda x: jt.pow(x, 2), arr(0, -4), arr(0, -8)),
        (lambda x: jt.pow(x, 2.0), arr(0, -4), arr(0, -8)),
        (jt.math.log, arr(0, 2), arr(INF, 0.5)),
        (jt.asin, arr(1), arr(INF)),
        (lambda x: jt.math.mod(x, 3.0), arr(3, 4), arr(1, 1)),
    ],
)
def test_gradient_at_a_kink(function: Callable[..., Any], at: Array, expected: Array) -> None:
    np.testing.assert_allclose(gradient(function, at), expected)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_logarithms_of_powers_are_whole_numbers(dtype: str, mode: str) -> None:
    n = np.arange(23 if dtype == "float64" else 11)
    for _ in range(2):
        x = jt.constant((10.0**n).astype(dtype))
        np.testing.assert_array_equal(np.log10(x), n)
        np.testing.assert_array_equal(np.floor(np.log2(jt.constant((2.0**n).astype(dtype)))), n)
    np.testing.assert_allclose(
        jt.grad(lambda x: jt.reduce_sum(np.log2(x)))(np.array([2.0, 8.0])),
        [0.5 / np.log(2), 0.125 / np.log(2)],
    )


@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0])
def test_higher_derivatives_of_a_power_at_zero(exponent: float, mode: str) -> None:
    """Raise to a power with a float, a scalar tensor or an array as exponent."""
    x = np.array([0.0, -0.0, 2.0, -1.5])
    derived: Callable[..., Any] = jt.pow
    for order in range(1, 5):
        derived = jt.grad(lambda x, p, f=derived: jt.reduce_sum(f(x, p)))
        factor = np.prod(np.arange(exponent, exponent - order, -1.0))
        wanted = factor * x ** max(exponent - order, 0.0)
        for p in (exponent, jt.constant(exponent, jt.float64), np.full(4, exponent)):
            for _ in range(2):
                np.testing.assert_allclose(derived(x, p), wanted, rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_special_exponents_are_those_of_the_power_function(dtype: str, mode: str) -> None:
    """For a single exponent NumPy uses roots and products, whose values at -0.0 and -inf differ."""
    x = np.array([0.0, -0.0, 1.0, 4.0, -2.0, INF, -INF, NAN], dtype)
    for exponent in (0.5, -0.5, 2.0, -1.0, 3.0, -2.0, 0.0, 1.0, 1.5, -3.0, INF, -INF, NAN):
        with np.errstate(all="ignore"):
            wanted = np.power(x, np.full(8, exponent, dtype))
        whole = [int(exponent)] if exponent in (-3, -2, -1, 1, 2, 3) else []
        for p in (exponent, np.array(exponent, dtype), np.full(8, exponent, dtype), *whole):
            for _ in range(2):
                got = jt.pow(jt.constant(x), p).numpy()
                each = (
                    np.array([jt.pow(jt.constant(one), p).numpy() for one in x]) if np.ndim(p) == 0 else got
                )
            for found in (got, each):
                np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(dtype).eps)
                np.testing.assert_array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [
        (jt.maximum, (1.0, 1.0), (1, 0)),
        (jt.minimum, (1.0, 1.0), (1, 0)),
        (jt.math.xlogy, (0.0, 0.0), (0, 0)),
        (jt.math.xlogy, (0.0, 2.0), (0, 0)),
        (jt.math.xlog1py, (0.0, -1.0), (0, 0)),
        (jt.math.divide_no_nan, (1.0, 0.0), (0, 0)),
        (jt.math.multiply_no_nan, (NAN, 0.0), (0, NAN)),
        (jt.pow, (0.0, 2.0), (0, 0)),
        (jt.pow, (-2.0, 2.0), (-4, 0)),
        (jt.pow, (2.0, 0.0), (0, np.log(2))),
        (jt.atan2, (0.0, -1.0), (-1, 0)),
    ],
)
def test_gradients_of_two_operands_at_an_edge(
    function: Callable[..., Any], at: tuple[float, float], expected: tuple[float, float]
) -> None:
    found = gradients(function, *(np.array(x) for x in at))
    np.testing.assert_allclose(np.array(found), np.array(expected, dtype=float))


@pytest.mark.parametrize(
    "function", [jt.floor, jt.math.ceil, jt.round, jt.stop_gradient, lambda x: jt.less(x, 1.0)]
)
def test_no_gradient_flows_through_a_step(function: Callable[..., Any]) -> None:
    x = jt.Variable(1.5)
    with jt.GradientTape() as tape:
        y = function(x)
    with pytest.warns(jt.UnconnectedGradientWarning):
        assert tape.gradient(y, x) is None


def test_floor_divide_stops_the_gradient_of_its_path_alone() -> None:
    assert gradient(lambda x: jt.add(x, jt.math.floordiv(x, 2.0)), arr(5)) == 1


def test_an_op_without_a_rule_is_named() -> None:
    from jittape.core.primitive import Primitive

    bare = Primitive("bare", abstract_eval=lambda x: x, impl=np.copy)
    with pytest.raises(NoGradientError, match="bare"):
        gradient_program(program_of(bare.bind, arr(1)), [0])


# ---- where -----------------------------------------------------------------------------------------------------------

X = arr(0, 2, -1)
GUARDED = {
    "log": (lambda x: jt.math.log(x), [0.5, -0.25, 0.25]),
    "reciprocal": (lambda x: jt.math.reciprocal(x), [-0.25, 0.25, -0.375]),
    "divide": (lambda x: jt.divide(1.0, x), [-0.25, 0.25, -0.375]),
    "log of sqrt": (lambda x: jt.math.log(jt.sqrt(x)), [0.25, -0.125, 0.125]),
    "exp of reciprocal": (
        lambda x: jt.exp(jt.divide(1.0, jt.square(x))),
        [-0.25 * np.exp(0.25), (3 / 8 + 1 / 16) * np.exp(0.25), None],
    ),
    "power": (lambda x: jt.pow(x, -1.5), [-1.5 * 2**-2.5, 3.75 * 2**-3.5, -13.125 * 2**-4.5]),
    "integer power": (lambda x: jt.pow(x, -2), [-0.25, 0.375, -0.75]),
    "rsqrt": (lambda x: jt.math.rsqrt(x), [-0.5 * 2**-1.5, 0.75 * 2**-2.5, -1.875 * 2**-3.5]),
    "missing data": (lambda x: jt.square(jt.multiply(x, jt.divide(x, x))), [4, 2, 0]),
}


@pytest.mark.parametrize("name", GUARDED)
def test_the_branch_that_where_does_not_take_leaks_no_nan(name: str) -> None:
    function, expected = GUARDED[name]
    for order, number in enumerate(expected, start=1):
        if number is not None:
            found = value(derivative(lambda x: jt.where(jt.greater(x, 0.0), function(x), 0.0), order), X)
            np.testing.assert_allclose(found, [0, number, 0], rtol=1e-12, atol=1e-12)


def test_where_guards_on_either_side() -> None:
    np.testing.assert_array_equal(
        gradient(lambda x: jt.where(jt.equal(x, 0.0), 0.0, jt.math.reciprocal(x)), arr(0, 2)), [0, -0.25]
    )


def test_a_mask_over_missing_data_guards_a_loss() -> None:
    target = arr(1, NAN, 3)
    prediction = arr(2, 5, 5)

    def loss(p: Any, t: Any) -> Any:
        return jt.reduce_sum(jt.where(jt.math.is_nan(t), 0.0, jt.square(jt.subtract(p, t))))

    np.testing.assert_array_equal(gradients(loss, prediction, target, wrt=[0])[0], [2, 0, 4])


def test_where_guards_through_a_reduction() -> None:
    def f(x: Any) -> Any:
        return jt.reduce_sum(jt.where(jt.greater(x, 0.0), jt.reduce_logsumexp(jt.math.log(x)), 0.0))

    np.testing.assert_allclose(gradient(f, arr(1, 3)), [0.5, 0.5])


def test_nan_in_the_data_goes_through_where_it_counts() -> None:
    assert np.isnan(gradient(jt.square, arr(NAN)))
    assert np.isnan(gradient(lambda x: jt.where(jt.less(x, 1.0), jt.sqrt(x), 0.0), arr(-1)))


def test_a_compiled_where_leaks_no_nan() -> None:
    x = jt.Variable([0.0, 2.0])
    for _ in range(3):
        with jt.GradientTape() as outer:
            with jt.GradientTape() as tape:
                y = jt.where(x > 0, jt.math.log(x), 0.0)
            first = tape.gradient(y, x)
        second = outer.gradient(first, x)
        np.testing.assert_array_equal(first.numpy(), [0, 0.5])
        np.testing.assert_array_equal(second.numpy(), [0, -0.25])


def test_the_chain_rule_with_a_literal_cotangent_costs_nothing() -> None:
    program = program_of(
        lambda x: zero_dominant_multiply(broadcast(literal(1.0, x.dtype), x.shape), x), arr(1, 2)
    )
    assert [op.primitive for op in simplify(program).ops] == []


def test_the_chain_rule_sees_only_the_cotangent() -> None:
    zero, inf = arr(0, 0, 1, INF), arr(INF, NAN, INF, 0)
    np.testing.assert_array_equal(value(zero_dominant_multiply_op, zero, inf), [0, 0, INF, NAN])
    np.testing.assert_array_equal(value(doubly_zero_dominant_multiply_op, zero, inf), [0, 0, INF, 0])


def test_where_takes_both_branches_or_neither() -> None:
    with pytest.raises(ValueError, match="both x and y"):
        jt.where([True, False], 1.0)


# ---- dtypes ----------------------------------------------------------------------------------------------------------

EXAMPLES = {
    "f4": np.ones(2, "f4"),
    "f8": np.ones(2, "f8"),
    "f2": np.ones(2, "f2"),
    "i4": np.ones(2, "i4"),
    "i8": np.ones(2, "i8"),
    "u1": np.ones(2, "u1"),
    "b1": np.ones(2, "?"),
    "c8": np.ones(2, "c8"),
    "int": 2,
    "float": 2.0,
    "complex": 2j,
}


@pytest.mark.parametrize("first", list(EXAMPLES))
@pytest.mark.parametrize("second", list(EXAMPLES))
@pytest.mark.parametrize(("function", "reference"), [(jt.add, np.add), (jt.divide, np.true_divide)])
def test_promotion_is_numpys(first: str, second: str, function: Any, reference: Any) -> None:
    x, y = EXAMPLES[first], EXAMPLES[second]
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        assert function(x, y).dtype == reference(x, y).dtype


@pytest.mark.parametrize("kind", ["f4", "f8", "f2", "i4", "i8", "u1", "b1", "c8"])
def test_float_functions_take_what_numpys_take(kind: str) -> None:
    assert jt.sin(EXAMPLES[kind]).dtype == np.sin(EXAMPLES[kind]).dtype


def test_python_numbers_alone_have_the_default_dtypes() -> None:
    assert jt.add(1, 2).dtype == np.int32
    assert jt.add(1, 2.0).dtype == np.float32
    assert jt.divide(1, 2).dtype == np.float32
    assert jt.sin(1).dtype == np.float32
    assert jt.math.xlogy(1, 2).dtype == np.float32


def test_a_python_integer_exponent_is_structure_and_a_float_is_an_input() -> None:
    x = arr(1, 2)
    assert len(program_of(lambda x: jt.pow(x, 3), x).ops) == 1
    assert [op.primitive.name for op in program_of(lambda x: jt.pow(x, 2), x).ops] == ["square"]
    names = [op.primitive.name for op in program_of(lambda x, y: jt.pow(x, y), x, np.array(2.0)).ops]
    assert names == ["broadcast_to", "pow"]


def test_integers_to_negative_powers() -> None:
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        jt.pow(np.arange(3), -1)
    assert jt.pow(np.zeros((0, 3), np.int32), -1).shape == (0, 3)  # NumPy refuses only elements
    base = np.array([2, 1, -1, -1])
    power = jt.function(jt.pow)
    for function in (jt.pow, power):
        for exponents in ([1, 2, 3, 0], [3, 2, 1, 1], [2, -1, 0, 1], [1, 1, 1, 2], [0, 0, 0, -2]):
            if min(exponents) >= 0:
                found = function(jt.constant(base), jt.constant(np.array(exponents)))
                np.testing.assert_array_equal(found, base**exponents)
            else:
                with pytest.raises(
                    ValueError, match=rf"exponent is -\d at index \({exponents.index(min(exponents))},\)"
                ):
                    function(jt.constant(base), jt.constant(np.array(exponents))).numpy()


def test_high_integer_powers_are_as_exact_as_numpys() -> None:
    x = np.linspace(0.9, 1.1, 50)
    np.testing.assert_allclose(value(lambda x: jt.pow(x, 1001), x), x**1001, rtol=1e-15)


@pytest.mark.parametrize(
    ("function", "operands", "error", "says"),
    [
        (
            jt.subtract,
            (np.ones(2, "?"), np.ones(2, "?")),
            DTypeError,
            r"\[subtract\] is not defined for bool",
        ),
        (jt.less, (np.ones(2, "c8"), 1.0), DTypeError, r"\[less\] is not defined for complex64"),
        (jt.math.erf, (np.ones(2, "c8"),), DTypeError, r"\[erf\] needs a real floating dtype"),
        (
            jt.add,
            (np.ones((2, 3)), np.ones(4)),
            ShapeError,
            r"\[add\] shapes \(2, 3\) and \(4,\) do not broadcast",
        ),
        (jt.where, (True, np.ones(2), np.ones(3)), ShapeError, r"\[where\] shapes"),
        (jt.add_n, (3.0,), ValueError, r"\[add_n\] inputs must be a list"),
        (jt.math.polygamma, (1.5, 2.0), ValueError, "integer of at least 0"),
        (jt.complex, (np.ones(2, "f2"), 0.0), DTypeError, "must be float32 or float64"),
        (jt.bitwise.invert, (1.0,), DTypeError, r"\[invert\] is not defined for float32"),
    ],
)
def test_what_does_not_fit_is_refused_at_once(
    function: Callable[..., Any], operands: tuple[Any, ...], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        function(*operands)


# ---- complex numbers -------------------------------------------------------------------------------------------------


def test_the_gradient_of_a_complex_square_is_conjugate() -> None:
    assert gradient(jt.square, np.array(3 + 2j)) == 6 - 4j


def test_a_real_operand_of_a_complex_product_has_a_real_gradient() -> None:
    found = gradients(lambda x, z: jt.math.real(jt.multiply(x, z)), np.array(2.0), np.array(3 + 4j))
    assert found[0] == 3
    assert found[0].dtype == np.float64


def test_abs_of_complex_zero_has_gradient_zero() -> None:
    program = program_of(jt.abs, np.array([0j, 3 + 4j]))
    (found,) = interpret(gradient_program(program, [0]), (np.array([0j, 3 + 4j]), np.ones(2)))
    np.testing.assert_allclose(found, [0, 0.6 + 0.8j])


def test_acosh_below_its_domain():
    for dtype in (np.float32, np.float64):
        x = jt.constant(np.array([-2.0, -1e30, 0.5, -1e10, -np.inf, np.nan], dtype))
        for _ in range(2):
            assert np.isnan(jt.acosh(x).numpy()).all()


@pytest.mark.parametrize("way", [lambda f: f, jt.function], ids=["recorded", "compiled"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_logistic_functions_in_their_tails(way: Any, dtype: str) -> None:
    """A slope that is formed from the value alone loses all digits where the value is close to its limit."""
    x = np.array([-60.5, -40.2, -17.0, -1.0, 0.0, 1.0, 17.0, 40.2, 60.5], dtype)
    small = np.exp(-np.abs(x.astype(np.float64)))
    slopes = {"sigmoid": small / (1 + small) ** 2, "expm1": np.exp(x.astype(np.float64))}
    for name, wanted in slopes.items():
        found = jt.grad(way(lambda x, name=name: jt.reduce_sum(getattr(jt.math, name)(x))))(x)
        np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(dtype).eps, err_msg=name)


CUTS = {
    "acos": (np.arccos, 1), "asin": (np.arcsin, 1), "atan": (np.arctan, 1j), "acosh": (np.arccosh, 1),
    "asinh": (np.arcsinh, 1j), "atanh": (np.arctanh, 1), "sqrt": (np.sqrt, 1), "log": (np.log, 1), "rsqrt": (None, 1),
}  # fmt: skip
"""Complex functions, and the direction of their branch cuts."""


@pytest.mark.parametrize("name", CUTS)
def test_derivatives_on_both_sides_of_branch_cuts(name, mode):
    """The sign of a zero imaginary (or real) part selects the side."""
    reference, along = CUTS[name]
    reference = reference or (lambda z: 1 / np.sqrt(z))
    at = np.array([2.0, -2.0, 0.5, -0.5, -1.5, 3.0])
    for zero in (0.0, -0.0):

        def point(x, zero=zero):
            z = np.empty(x.shape, "complex128")
            z.real, z.imag = (x, zero) if along == 1 else (zero, x)
            return z

        differences = (reference(point(at + 1e-6)) - reference(point(at - 1e-6))) / (2e-6 * along)
        with jt.GradientTape() as tape:
            tape.watch(z := jt.constant(point(at)))
            y = getattr(jt.math, name)(z)
        np.testing.assert_allclose(np.conj(tape.gradient(y, z).numpy()), differences, rtol=1e-6)
