"""One table that tests every primitive: values, gradients, second order, compiled against interpreted.

A `Row` names a user-level function (or a primitive), knows how to draw operands that lie in its domain, and says by an
independent NumPy or SciPy expression what must come out. `test_primitives.py` runs over the rows. The rows of shapes,
indexing and contractions are in `primitive_table_shape.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from jittape.primitives.elementwise import arithmetic as ar
from jittape.primitives.elementwise import bits as bi
from jittape.primitives.elementwise import comparison as cm
from jittape.primitives.elementwise import division as dv
from jittape.primitives.elementwise import exponential as el
from jittape.primitives.elementwise import hyperbolic as hy
from jittape.primitives.elementwise import piecewise as st
from jittape.primitives.elementwise import powers as po
from jittape.primitives.elementwise import special as sp
from jittape.primitives.elementwise import trigonometric as tr

Array = np.ndarray[Any, Any]
Sampler = Callable[[np.random.Generator], tuple[Array, ...]]

FLOATS = ("float64", "float32", "float16")
REALS = (*FLOATS, "int32", "uint8", "int64")
COMPLEX = ("complex128", "complex64")


@dataclass(frozen=True)
class Row:
    """How one op is tested.

    Attributes
    ----------
    name : str
        Unique in the table.
    function : callable
        The user-level function over handles; static arguments are bound in a lambda.
    sample : callable
        ``sample(rng)`` draws float64 (or integer, bool) operands in the domain, away from kinks: gradients are compared
        with differences there. Floating operands are cast to each of `dtypes`; others keep their dtype.
    reference : callable or None
        ``reference(*operands)``, independent of jittape; compared in value, shape and dtype. None: the tests
        of the row are elsewhere.
    dtypes : tuple of str
        The dtypes that floating operands are given in.
    edges : tuple of tuples
        Further operands, at kinks and singularities (inf, nan, zeros, ties); values are compared there, not gradients.
    wrt : tuple of int or None
        The operands to differentiate with respect to; None: every floating one. Empty: no gradient.
    order : int
        Gradients are tested up to this order, 1 or 2.
    analytic : bool
        `reference` continues to complex arguments: its complex step is the gradient to the last digits.
    rtol : float
        Relative tolerance of values in float64; other dtypes scale with their resolution.
    """

    name: str
    function: Callable[..., Any]
    sample: Sampler
    reference: Callable[..., Any] | None
    dtypes: tuple[str, ...] = ("float64", "float32", "float16")
    edges: tuple[tuple[Any, ...], ...] = ()
    wrt: tuple[int, ...] | None = None
    order: int = 2
    analytic: bool = False
    rtol: float = 1e-14

    def __str__(self) -> str:
        return self.name


def normal(*shapes: tuple[int, ...]) -> Sampler:
    """Return standard normal operands of these shapes."""
    return lambda rng: tuple(rng.standard_normal(shape) for shape in shapes)


def between(low: float, high: float, *shapes: tuple[int, ...]) -> Sampler:
    """Return operands of these shapes, uniform between `low` and `high`."""
    return lambda rng: tuple(rng.uniform(low, high, shape) for shape in shapes)


def integers(low: int, high: int, *shapes: tuple[int, ...], dtype: str = "int32") -> Sampler:
    """Return integer operands of these shapes, from `low` to `high` inclusive."""
    return lambda rng: tuple(rng.integers(low, high, shape, dtype=dtype, endpoint=True) for shape in shapes)


def signed(low: float, high: float, *shapes: tuple[int, ...]) -> Sampler:
    """Return operands with absolute values between `low` and `high` and random signs: away from a kink at 0."""
    return lambda rng: tuple(rng.uniform(low, high, s) * rng.choice([-1.0, 1.0], s) for s in shapes)


def distinct(*shapes: tuple[int, ...]) -> Sampler:
    """Return operands whose elements all differ by at least 0.1: away from ties."""
    return lambda rng: tuple((rng.permutation(int(np.prod(s))) * 0.2 - 1.0).reshape(s) for s in shapes)


def halves(sample: Sampler) -> Sampler:
    """Return the two halves of one operand as two operands, so that no elements tie."""
    return lambda rng: tuple(sample(rng)[0])


# ---- arithmetic and elementary functions -----------------------------------------------------------------------------

INF, NAN = np.inf, np.nan
SPECIALS = np.array([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 0.5, -3.0, 1e4, -1e-5, 700.0])
PAIRS = tuple(np.array(p) for p in np.meshgrid(SPECIALS[:9], SPECIALS[:9]))
SHAPE = (3, 4)


def unary(
    name: str, function: Callable[..., Any], reference: Callable[..., Any], sample: Sampler, **options: Any
) -> Row:
    """Return a row for a function of one float, with all special values as edges."""
    options.setdefault("edges", ((SPECIALS,), (np.array(0.7),), (np.zeros((0, 2)),)))
    return Row(name, function, sample, reference, **options)


def binary(
    name: str, function: Callable[..., Any], reference: Callable[..., Any], sample: Sampler, **options: Any
) -> Row:
    """Return a row for a function of two floats, with all pairs of special values as edges."""
    options.setdefault("edges", (PAIRS, (np.array(0.7), np.array(2.0)), (np.zeros((0, 2)), np.ones(2))))
    return Row(name, function, sample, reference, **options)


def zero_where(condition: Array, otherwise: Array) -> Array:
    return np.where(condition, np.zeros_like(otherwise), otherwise)


def sigmoid(x: Array) -> Array:
    return 0.5 * (1 + np.tanh(x / 2)) if x.dtype.kind == "c" else scipy.special.expit(x)


ARITHMETIC = (
    binary("add", ar.add, np.add, normal(SHAPE, SHAPE), analytic=True),
    binary("add broadcast", ar.add, np.add, normal((3, 1), (4,)), analytic=True, edges=()),
    binary("subtract", ar.subtract, np.subtract, normal(SHAPE, SHAPE), analytic=True),
    binary("multiply", ar.multiply, np.multiply, normal(SHAPE, (3, 1)), analytic=True),
    binary("divide", dv.divide, np.true_divide, signed(0.3, 3.0, SHAPE, SHAPE), analytic=True),
    binary(
        "divide_no_nan",
        dv.divide_no_nan,
        lambda x, y: zero_where(y == 0, x / y),
        signed(0.3, 3.0, SHAPE, SHAPE),
    ),
    binary(
        "zero_dominant_multiply",
        lambda x, y: dv.multiply_no_nan(x, y),
        lambda x, y: zero_where(y == 0, x * y),
        signed(0.3, 3.0, SHAPE, SHAPE),
    ),
    binary(
        "doubly_zero_dominant_multiply",
        ar.doubly_zero_dominant_multiply_op,
        lambda x, y: zero_where((x == 0) | (y == 0), x * y),
        signed(0.3, 3.0, SHAPE, SHAPE),
        edges=(PAIRS,),
    ),
    binary("squared_difference", ar.squared_difference, lambda x, y: (x - y) ** 2, normal(SHAPE, (4,))),
    binary("floor_divide", dv.floor_divide, np.floor_divide, signed(0.3, 3.0, SHAPE, SHAPE), wrt=()),
    binary("mod", dv.mod, np.remainder, lambda rng: (rng.uniform(2.1, 2.9, 5), rng.uniform(0.95, 1.04, 5))),
    Row("add_n", lambda x, y: ar.add_n([x, y, x]), normal(SHAPE, SHAPE), lambda x, y: 2 * x + y),
    unary("negative", ar.negative, np.negative, normal(SHAPE), analytic=True),
    unary("positive", ar.positive, np.positive, normal(SHAPE), analytic=True),
    unary("square", ar.square, np.square, normal(SHAPE), analytic=True),
    unary("reciprocal", dv.reciprocal, lambda x: 1 / x, signed(0.3, 3.0, SHAPE), analytic=True),
    unary("sqrt", el.sqrt, np.sqrt, between(0.3, 4.0, SHAPE), analytic=True),
    unary("rsqrt", el.rsqrt, lambda x: 1 / np.sqrt(x), between(0.3, 4.0, SHAPE), analytic=True),
    unary("exp", el.exp, np.exp, normal(SHAPE), analytic=True),
    unary("expm1", el.expm1, np.expm1, normal(SHAPE), analytic=True),
    unary("log", el.log, np.log, between(0.3, 4.0, SHAPE), analytic=True),
    unary("log2", el.log2, np.log2, between(0.3, 4.0, SHAPE), analytic=True),
    unary("log10", el.log10, np.log10, between(0.3, 4.0, SHAPE), analytic=True),
    unary("log1p", el.log1p, np.log1p, between(-0.6, 4.0, SHAPE), analytic=True),
    unary("sin", tr.sin, np.sin, normal(SHAPE), analytic=True),
    unary("cos", tr.cos, np.cos, normal(SHAPE), analytic=True),
    unary("tan", tr.tan, np.tan, between(-1.2, 1.2, SHAPE), analytic=True, rtol=1e-13),
    unary("asin", tr.asin, np.arcsin, between(-0.9, 0.9, SHAPE), analytic=True),
    unary("acos", tr.acos, np.arccos, between(-0.9, 0.9, SHAPE), analytic=True),
    unary("atan", tr.atan, np.arctan, normal(SHAPE), analytic=True),
    binary("atan2", tr.atan2, np.arctan2, signed(0.3, 2.0, SHAPE, SHAPE)),
    unary("sinh", hy.sinh, np.sinh, normal(SHAPE), analytic=True),
    unary("cosh", hy.cosh, np.cosh, normal(SHAPE), analytic=True),
    unary("tanh", hy.tanh, np.tanh, normal(SHAPE), analytic=True),
    unary("asinh", hy.asinh, np.arcsinh, normal(SHAPE), analytic=True),
    unary("acosh", hy.acosh, np.arccosh, between(1.3, 4.0, SHAPE), analytic=True),
    unary("atanh", hy.atanh, np.arctanh, between(-0.8, 0.8, SHAPE), analytic=True),
    unary("sigmoid", hy.sigmoid, sigmoid, normal(SHAPE), analytic=True),
    unary("softplus", hy.softplus, lambda x: np.logaddexp(0, x), normal(SHAPE)),
    unary("log_sigmoid", hy.log_sigmoid, lambda x: -np.logaddexp(0, -x), normal(SHAPE)),
    binary("logaddexp", hy.logaddexp_op, np.logaddexp, normal(SHAPE, SHAPE), edges=(PAIRS,)),
)

POWERS = (
    binary(
        "pow",
        po.pow,
        np.power,
        lambda rng: (rng.uniform(0.3, 3, SHAPE), rng.standard_normal(SHAPE)),
        rtol=1e-13,
    ),
    binary(
        "pow in a slope",
        po.pow_in_slope_op,
        np.power,
        lambda rng: (rng.uniform(0.3, 3, SHAPE), rng.standard_normal(SHAPE)),
        edges=(PAIRS,),
        rtol=1e-13,
    ),
    *(
        unary(
            f"pow {n}",
            lambda x, n=n: po.pow(x, n),
            lambda x, n=n: np.power(x, float(n)),
            signed(0.5, 1.5, SHAPE),
            rtol=1e-13,
        )
        for n in (-3, -1, 0, 1, 2, 3, 7, 25)
    ),
    Row(
        "pow of integers",
        po.pow,
        lambda rng: (rng.integers(-4, 5, SHAPE), rng.integers(0, 6, SHAPE)),
        np.power,
        dtypes=("float64",),
        edges=((np.array([2, -1, 1, 0, 3]), np.array([40, 3, 2, 0, 0])),),
    ),
    Row(
        "integer to a Python integer",
        lambda x: po.pow(x, 5),
        integers(-4, 4, SHAPE),
        lambda x: x**5,
        dtypes=("float64",),
    ),
)


def lgamma(x: float) -> float:
    """Return Python's lgamma, and inf at the poles, where Python raises."""
    try:
        return math.lgamma(x)
    except ValueError:
        return INF


SPECIAL = (
    unary("lgamma", sp.lgamma, np.vectorize(lgamma, [float]), between(0.3, 5.0, SHAPE), rtol=1e-13),
    unary("digamma", sp.digamma, scipy.special.digamma, between(0.3, 5.0, SHAPE), rtol=1e-13),
    unary(
        "polygamma",
        lambda x: sp.polygamma(2, x),
        lambda x: scipy.special.polygamma(2, x),
        between(0.6, 5.0, SHAPE),
        edges=(),
        rtol=1e-13,
    ),
    binary(
        "xlogy",
        sp.xlogy,
        lambda x, y: zero_where(x == 0, x * np.log(y)),
        between(0.3, 3.0, SHAPE, SHAPE),
        edges=((PAIRS[0], abs(PAIRS[1])),),
    ),
    binary(
        "xlog1py",
        sp.xlog1py,
        lambda x, y: zero_where(x == 0, x * np.log1p(y)),
        between(0.3, 3.0, SHAPE, (4,)),
        edges=((PAIRS[0], abs(PAIRS[1])),),
    ),
)

STEPS = (
    unary("abs", st.absolute, np.abs, signed(0.2, 2.0, SHAPE)),
    unary("sign", st.sign, np.sign, signed(0.2, 2.0, SHAPE)),
    unary("floor", st.floor, np.floor, normal(SHAPE), wrt=(), edges=((SPECIALS * 1.5,),)),
    unary("ceil", st.ceil, np.ceil, normal(SHAPE), wrt=(), edges=((SPECIALS * 1.5,),)),
    unary(
        "round",
        st.round,
        np.round,
        normal(SHAPE),
        wrt=(),
        edges=((SPECIALS / 2,), (np.array([1.5, 2.5, -0.5]),)),
    ),
    binary("maximum", st.maximum, np.maximum, halves(distinct((2, 3, 4)))),
    binary("minimum", st.minimum, np.minimum, halves(distinct((2, 3, 4)))),
    Row(
        "clip_by_value",
        lambda x: st.clip_by_value(x, -0.55, 0.5),
        distinct(SHAPE),
        lambda x: np.clip(x, -0.55, 0.5),
        edges=((SPECIALS,),),
    ),
)


# ---- comparisons, logic, bits ----------------------------------------------------------------------------------------


def comparisons() -> Iterator[Row]:
    """Return rows for every comparison: floats with special values, and integers."""
    for name, function, reference in (
        ("equal", cm.equal, np.equal),
        ("not_equal", cm.not_equal, np.not_equal),
        ("less", cm.less, np.less),
        ("less_equal", cm.less_equal, np.less_equal),
        ("greater", cm.greater, np.greater),
        ("greater_equal", cm.greater_equal, np.greater_equal),
    ):
        yield binary(name, function, reference, normal(SHAPE, SHAPE), wrt=())
        for dtype in ("int32", "uint8"):
            sample = integers(0, 3, SHAPE, SHAPE, dtype=dtype)
            yield Row(f"{name} {dtype}", function, sample, reference, dtypes=("float64",))


def bools(*shapes: tuple[int, ...]) -> Sampler:
    return lambda rng: tuple(rng.integers(0, 2, shape).astype(bool) for shape in shapes)


def integer_rows() -> Iterator[Row]:
    """Return rows for arithmetic and bitwise operations on integers, which wrap around as NumPy's do."""
    for dtype in ("int32", "uint8", "int64"):
        low = 0 if dtype == "uint8" else -100
        for name, function, reference in (
            ("add", ar.add, np.add),
            ("subtract", ar.subtract, np.subtract),
            ("multiply", ar.multiply, np.multiply),
            ("divide", dv.divide, np.true_divide),
            ("floor_divide", dv.floor_divide, np.floor_divide),
            ("mod", dv.mod, np.remainder),
            ("maximum", st.maximum, np.maximum),
            ("minimum", st.minimum, np.minimum),
            ("bitwise_and", bi.bitwise_and, np.bitwise_and),
            ("bitwise_or", bi.bitwise_or, np.bitwise_or),
            ("bitwise_xor", bi.bitwise_xor, np.bitwise_xor),
        ):
            sample = integers(low, 100, SHAPE, SHAPE, dtype=dtype)
            yield Row(f"{name} {dtype}", function, sample, reference, dtypes=("float64",))
        for name, function, reference in (
            ("left_shift", bi.left_shift, np.left_shift),
            ("right_shift", bi.right_shift, np.right_shift),
        ):
            sample = integers(0, 7, SHAPE, SHAPE, dtype=dtype)
            yield Row(f"{name} {dtype}", function, sample, reference, dtypes=("float64",))
        for name, function, reference in (
            ("negative", ar.negative, np.negative),
            ("square", ar.square, np.square),
            ("abs", st.absolute, np.absolute),
            ("sign", st.sign, np.sign),
            ("floor", st.floor, lambda x: x),
            ("ceil", st.ceil, lambda x: x),
            ("round", st.round, lambda x: x),
            ("invert", bi.invert, np.invert),
        ):
            sample = integers(low, 100, SHAPE, dtype=dtype)
            yield Row(f"{name} {dtype}", function, sample, reference, dtypes=("float64",))


LOGIC = (
    *(
        Row(name, function, bools(SHAPE, SHAPE), reference, dtypes=("float64",))
        for name, function, reference in (
            ("logical_and", cm.logical_and, np.logical_and),
            ("logical_or", cm.logical_or, np.logical_or),
            ("logical_xor", cm.logical_xor, np.logical_xor),
            ("add of bools", ar.add, np.add),
            ("multiply of bools", ar.multiply, np.multiply),
            ("maximum of bools", st.maximum, np.maximum),
            ("bitwise_and of bools", bi.bitwise_and, np.bitwise_and),
        )
    ),
    Row("logical_not", cm.logical_not, bools(SHAPE), np.logical_not, dtypes=("float64",)),
    Row(
        "logical_and of floats",
        cm.logical_and,
        normal(SHAPE, SHAPE),
        np.logical_and,
        wrt=(),
        edges=(PAIRS,),
    ),
    unary("is_nan", bi.is_nan, np.isnan, normal(SHAPE), wrt=()),
    unary("is_inf", bi.is_inf, np.isinf, normal(SHAPE), wrt=()),
    unary("is_finite", bi.is_finite, np.isfinite, normal(SHAPE), wrt=()),
    Row(
        "where",
        cm.where,
        lambda rng: (
            rng.integers(0, 2, SHAPE).astype(bool),
            rng.standard_normal(SHAPE),
            rng.standard_normal((4,)),
        ),
        np.where,
        edges=((np.array([True, False]), np.array([NAN, 1.0]), np.array([1.0, INF])),),
    ),
)

ROWS: tuple[Row, ...] = (*ARITHMETIC, *POWERS, *SPECIAL, *STEPS, *comparisons(), *integer_rows(), *LOGIC)
