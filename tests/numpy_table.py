"""What is computed element by element, under jittape's names: see `numpy_rows`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

import jittape as jt
import primitive_table
import primitive_table_bessel
from numpy_rows import FITS, NO_ORDER, NOT_BOOL, NOT_COMPLEX, SQUARE_OF_BOOLS, Deviation, Row
from numpy_samples import binary, each, edges, given, numbers, together, unary


def unlike(why: str, reference: Callable[..., Any]) -> Callable[..., Any]:
    """`reference`, which says by NumPy what another contract asks for; `why` names that."""
    assert why
    return reference


def checked(condition: Any, result: Any) -> Any:
    """`result`, if the arguments are as TensorFlow wants them."""
    if not condition:
        raise ValueError("TensorFlow refuses it")
    return result


def floats(x: Any) -> Any:
    """`x` as NumPy's sin takes it."""
    return x.astype(np.sin(np.zeros(0, x.dtype)).dtype)


def of_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of floats, computed in float64 at least, on integers too; the result as NumPy's sin has it."""

    def reference(x: Any, *args: Any) -> Any:
        x = floats(x)
        wide = x.astype(np.result_type(x, np.float64))
        return np.asarray(function(wide, *args)).astype(x.dtype)

    return reference


# ---- element by element ----------------------------------------------------------------------------------------------

NUMPY_UNARY: dict[str, tuple[Any, tuple[Deviation, ...]]] = {
    "abs": (np.absolute, ()),
    "acos": (np.arccos, ()),
    "acosh": (np.arccosh, ()),
    "asin": (np.arcsin, ()),
    "asinh": (np.arcsinh, ()),
    "atan": (np.arctan, ()),
    "atanh": (np.arctanh, ()),
    "cos": (np.cos, ()),
    "cosh": (np.cosh, ()),
    "exp": (np.exp, ()),
    "math.expm1": (np.expm1, ()),
    "identity": (np.copy, ()),
    "imag": (np.imag, ()),
    "invert": (np.invert, ()),
    "is_finite": (np.isfinite, ()),
    "is_inf": (np.isinf, ()),
    "is_nan": (np.isnan, ()),
    "logical_not": (np.logical_not, ()),
    "math.log": (np.log, ()),
    "math.log1p": (np.log1p, ()),
    "math.positive": (np.positive, ()),
    "negative": (np.negative, ()),
    "real": (np.real, ()),
    "sign": (np.sign, ()),
    "sin": (np.sin, ()),
    "sinh": (np.sinh, ()),
    "sqrt": (np.sqrt, ()),
    "square": (np.square, (NOT_BOOL,)),
    "stop_gradient": (np.copy, ()),
    "tan": (np.tan, ()),
    "tanh": (np.tanh, ()),
    "ceil": (np.ceil, (NOT_BOOL,)),
    "floor": (np.floor, (NOT_BOOL,)),
    "zeros_like": (np.zeros_like, ()),
    "ones_like": (np.ones_like, ()),
}

NUMPY_BINARY: dict[str, tuple[Any, tuple[Deviation, ...]]] = {
    "add": (np.add, ()),
    "atan2": (np.arctan2, (FITS,)),
    "bitwise_and": (np.bitwise_and, ()),
    "bitwise_or": (np.bitwise_or, ()),
    "bitwise_xor": (np.bitwise_xor, ()),
    "divide": (np.divide, ()),
    "equal": (np.equal, ()),
    "floor_divide": (np.floor_divide, ()),
    "greater": (np.greater, (NO_ORDER,)),
    "greater_equal": (np.greater_equal, (NO_ORDER,)),
    "left_shift": (np.left_shift, ()),
    "less": (np.less, (NO_ORDER,)),
    "less_equal": (np.less_equal, (NO_ORDER,)),
    "logical_and": (np.logical_and, ()),
    "logical_or": (np.logical_or, ()),
    "logical_xor": (np.logical_xor, ()),
    "maximum": (np.maximum, (NO_ORDER,)),
    "minimum": (np.minimum, (NO_ORDER,)),
    "mod": (np.remainder, ()),
    "multiply": (np.multiply, ()),
    "not_equal": (np.not_equal, ()),
    "pow": (np.power, (SQUARE_OF_BOOLS,)),
    "right_shift": (np.right_shift, ()),
    "subtract": (np.subtract, ()),
}


def function_of(name: str) -> Callable[..., Any]:
    """The function of jittape that is called `name`."""
    found: Any = jt
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def divided(x: Any, y: Any) -> Any:
    """The quotient, 0 where `y` is 0."""
    return np.where(y == 0, 0, np.divide(x, y)).astype(np.divide(x, y).dtype)


def real_or_pi(x: Any) -> Any:
    """TensorFlow's angle."""
    x = x if x.dtype.kind == "c" else floats(x)
    return np.angle(x) if x.dtype.kind == "c" else np.where(x < 0, np.pi, 0).astype(x.dtype)


def lgamma(x: Any) -> Any:
    """SciPy's, but C's at minus infinity, and right at the least floats."""
    found = np.where(x == -np.inf, np.inf, scipy.special.gammaln(x))
    return np.where((x > 0) & (x < 1e-300), -np.log(x), found)


ALPHA, SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
OF_FLOATS: dict[str, tuple[Callable[..., Any], tuple[Deviation, ...]]] = {
    "math.digamma": (scipy.special.digamma, (NOT_COMPLEX,)),
    "math.erf": (scipy.special.erf, (NOT_COMPLEX,)),
    "math.erfc": (scipy.special.erfc, (NOT_COMPLEX,)),
    "math.gammaln": (lgamma, ()),
    "math.lgamma": (lgamma, ()),
    "math.log_sigmoid": (lambda x: -np.logaddexp(0, -x), ()),
    "math.reciprocal": (lambda x: 1 / x, ()),
    "math.rsqrt": (lambda x: 1 / np.sqrt(x), ()),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), ()),
    "nn.softplus": (lambda x: np.logaddexp(0, x), ()),
    "nn.elu": (lambda x: np.where(x > 0, x, np.expm1(x)), (NOT_COMPLEX,)),
    "nn.selu": (lambda x: SCALE * np.where(x > 0, x, ALPHA * np.expm1(x)), (NOT_COMPLEX,)),
    "nn.silu": (lambda x: x / (1 + np.exp(-x)), ()),
    "nn.softsign": (lambda x: x / (1 + abs(x)), (NOT_COMPLEX,)),
    "nn.gelu": (lambda x: 0.5 * x * scipy.special.erfc(-x / np.sqrt(2)), (NOT_COMPLEX,)),
}

REAL_OR_PI = unlike("TensorFlow: the angle of a real number is 0 or pi", real_or_pi)
ROUND = unlike(
    "TensorFlow: the dtype stays", lambda x: np.rint(x) if x.dtype.kind == "f" else same_integer(x)
)
CONJ = unlike("TensorFlow: a real tensor as it is", lambda x: np.conjugate(x) if x.dtype.kind == "c" else x)
POSITIVE = "biuf"


def same_integer(x: Any) -> Any:
    """`x`, which must be of integers."""
    if x.dtype.kind not in "iu":
        raise TypeError
    return x


def no_nan(x: Any, y: Any) -> Any:
    """The product, 0 where `y` is 0."""
    return np.where(np.equal(y, 0), 0, np.multiply(x, y)).astype(np.multiply(x, y).dtype)


def where_zero(function: Callable[..., Any]) -> Callable[..., Any]:
    """``x * function(y)`` of floats, 0 where `x` is 0."""

    def reference(x: Any, y: Any) -> Any:
        dtype = np.result_type(floats(x), floats(y))
        x, y = (np.asarray(a).astype(np.result_type(dtype, np.float64)) for a in (x, y))
        return np.where(x == 0, 0, x * function(y)).astype(dtype)

    return reference


PAIRS = [(edges(d)[:, None], edges(d)) for d in ("float16", "float32", "float64")] + [
    (numbers("float32"), numbers("float64", (3,))),
    (np.zeros((0, 3)), np.ones(3)),
    (numbers("float64"), np.ones(2)),
]
POLYNOMIALS = [
    ([np.array(1.5), np.array(2.0), np.array(-1.0)], numbers("float64")),
    ([np.array(2)], numbers("int64")),
    ([np.array(1.5)], edges("float32")),
]


def equal_shapes_added(xs):
    """Return the sum of arrays, which must have one shape."""
    if len({np.shape(x) for x in xs}) != 1:
        raise ValueError
    return sum(xs[1:], xs[0])


SUMS = [
    ([numbers("float32"), numbers("int8")],),
    ([numbers("bool"), numbers("bool")],),
    ([numbers("complex64")],),
    ([],),
    ([numbers("int8"), numbers("int8", (3,))],),
    ([numbers("int8"), numbers("int8", (2,))],),
]
SCALED = [
    (2, numbers("float32")),
    (2.5, numbers("int64")),
    (np.float32(2), numbers("float64")),
    (-1, edges("int8")),
]

CLIP = unlike(
    "TensorFlow: the lower bound wins, and bounds must not enlarge",
    lambda x, low, high: fitting(x, np.maximum(np.minimum(x, high), low)),
)
CLIPPED = [
    *[
        (edges(d), low, high)
        for d in ("int8", "uint8", "float16", "float64", "complex64")
        for low, high in ((-1, 1), (0, 2), (2, 1), (0, 300))
    ],
    (numbers("float64"), np.zeros(3), 1.0),
    (numbers("float64"), np.zeros((2, 1)), np.ones((2, 3))),
    (numbers("float64"), np.zeros((4, 2, 3)), 1.0),
    (np.array(2.0), 0.0, np.ones(3)),
    (numbers("float64"), np.nan, 1.0),
]


def horner(coefficients: Any, x: Any) -> Any:
    """The polynomial, that of the highest power first."""
    first, *others = coefficients
    for coefficient in others:
        first = first * x + coefficient
    return first


HORNER = unlike("TensorFlow: a constant has the shape of its coefficient", horner)


def over(x: Any, y: Any) -> Any:
    """The quotient, 0 where `x` is 0."""
    return np.where(x == 0, 0, x / y).astype((x / y).dtype)


def fitting(x: Any, result: Any) -> Any:
    """`result`, if it has the shape of `x`."""
    if result.shape != x.shape:
        raise ValueError
    return result


def squared(x: Any, y: Any) -> Any:
    """The squared absolute value of the difference."""
    d = np.subtract(x, y)
    return d * np.conj(d) if d.dtype.kind == "c" else np.square(d)


def polygamma(n: Any, x: Any) -> Any:
    """SciPy's, for orders that are natural numbers; there is no limit at minus infinity."""
    if not isinstance(n, int) or n < 0:
        raise ValueError
    return of_floats(lambda v: np.where(v == -np.inf, np.nan, scipy.special.polygamma(n, v)))(x)


def cast(x: Any, dtype: Any) -> Any:
    """`x` in a numeric `dtype`; a complex number loses its imaginary part, a float saturates."""
    if np.dtype(dtype).kind not in "biufc":
        raise TypeError
    return (x.real if x.dtype.kind == "c" and np.dtype(dtype).kind not in "bc" else x).astype(dtype)


ROWS: list[Row] = [
    *[Row(f"jt.{n}", function_of(n), f, unary(), d) for n, (f, d) in NUMPY_UNARY.items()],
    *[Row(f"jt.{n}", function_of(n), f, binary(), d) for n, (f, d) in NUMPY_BINARY.items()],
    *[Row(f"jt.{n}", function_of(n), of_floats(f), unary(), d, 64, False) for n, (f, d) in OF_FLOATS.items()],
    Row("jt.angle", jt.angle, REAL_OR_PI, unary()),
    Row("jt.conj", jt.conj, CONJ, unary()),
    Row("jt.round", jt.round, ROUND, unary(POSITIVE)),
    Row(
        "jt.math.reciprocal_no_nan",
        jt.math.reciprocal_no_nan,
        lambda x: divided(np.ones((), x.dtype), x),
        unary(),
    ),
    Row("jt.math.squared_difference", jt.math.squared_difference, squared, binary()),
    Row("jt.multiply_no_nan", jt.multiply_no_nan, no_nan, binary(), signed_zeros=False),
    Row("jt.divide_no_nan", jt.divide_no_nan, divided, binary(), signed_zeros=False),
    Row("jt.math.xlogy", jt.math.xlogy, where_zero(np.log), given(*PAIRS), rtol=64, signed_zeros=False),
    Row("jt.math.xlog1py", jt.math.xlog1py, where_zero(np.log1p), given(*PAIRS), rtol=64, signed_zeros=False),
    Row(
        "jt.math.xdivy",
        jt.math.xdivy,
        over,
        given(*PAIRS),
        rtol=64,
        signed_zeros=False,
    ),
    Row(
        "jt.math.polygamma",
        jt.math.polygamma,
        polygamma,
        given(
            (0, edges("float64")),
            (1, edges("float32")),
            (3, numbers("int64")),
            (-1, np.ones(2)),
            (1.5, np.ones(2)),
        ),
        rtol=64,
    ),
    Row("jt.scalar_mul", jt.scalar_mul, np.multiply, given(*SCALED)),
    Row("jt.add_n", jt.add_n, equal_shapes_added, given(*SUMS)),
    Row("jt.math.polyval", jt.math.polyval, HORNER, given(*POLYNOMIALS)),
    Row(
        "jt.cast",
        jt.cast,
        cast,
        together(
            *[
                each("biufc", (d,))
                for d in (
                    "bool",
                    "int8",
                    "uint16",
                    "int64",
                    "float16",
                    "float64",
                    "complex64",
                    "U3",
                    "object",
                )
            ]
        ),
    ),
    Row(
        "jt.complex",
        jt.complex,
        lambda re, im: re + 1j * im,
        given(
            (numbers("float32"), numbers("float32")),
            (numbers("float64"), 2.0),
            (numbers("float64"), numbers("float64", (2,))),
        ),
    ),
    Row("jt.clip_by_value", jt.clip_by_value, CLIP, given(*CLIPPED), (NO_ORDER,)),
]


def rows_of_primitives(compared: set[Any]) -> list[Row]:
    """Rows of functions of one real number in `jt.math` and `jt.nn` that are only in the table of primitives."""
    names = {
        jt_function: f"jt.{m}.{n}"
        for m in ("math", "nn")
        for n, jt_function in vars(getattr(jt, m)).items()
        if callable(jt_function) and jt_function not in compared
    }
    primitives = (*primitive_table.ROWS, *primitive_table_bessel.ROWS)
    rows = [row for row in primitives if row.function in names and row.reference is not None]
    return [
        Row(names[r.function], r.function, of_floats(r.reference), unary("biuf"), (), 64, False) for r in rows
    ]
