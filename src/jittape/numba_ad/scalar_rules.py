"""Derivatives of functions of scalars, as text.

``{0}`` is the first operand, ``{r}`` the result and ``{g}`` its cotangent. A partial that starts with a minus sign is
subtracted. Where a derivative is infinite at a point that programs do reach (``sqrt(0)``), a zero cotangent gives zero,
by `product_or_zero`: unlike a test of the cotangent, it has the right derivative where the cotangent is zero.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jittape.core.dtypes import SUPPORTED
from jittape.numba_ad.tape_support import accumulate, product_or_zero

__all__ = [
    "ACCUMULATE",
    "BINARY",
    "CASTS",
    "COMPARE",
    "DIVIDE_BY_ROOT",
    "DRAWS",
    "FUNCTIONS",
    "ONE_OPERAND",
    "SELECT",
    "UNARY",
    "Rule",
    "constant_power",
]


@dataclass(frozen=True)
class Rule:
    """A scalar function: the text of a call, the function that gives its type, and its partial derivatives.

    A partial of None is zero by definition. A rule that draws gives another number at each call.
    """

    template: str
    function: Any
    partials: tuple[str | None, ...]
    draws: bool = False


def _binary(symbol: str, function: Any, *partials: str | None) -> Rule:
    return Rule(f"{{0}} {symbol} {{1}}", function, partials)


POWER_OF_X = "product_or_zero({g}, product_or_zero({1}, {0} ** ({1} - 1.0)))"
POWER_OF_P = "(product_or_zero({g}, {r} * math.log({0})) if {0} > 0.0 else 0.0)"

BINARY: dict[str, Rule] = {
    "Add": _binary("+", operator.add, "{g}", "{g}"),
    "Sub": _binary("-", operator.sub, "{g}", "-{g}"),
    "Mult": _binary("*", operator.mul, "{g} * {1}", "{g} * {0}"),
    "Div": _binary("/", operator.truediv, "{g} / {1}", "-{g} * {r} / {1}"),
    "Pow": _binary("**", operator.pow, POWER_OF_X, POWER_OF_P),
    "FloorDiv": _binary("//", operator.floordiv, None, None),
    "Mod": _binary("%", operator.mod, "{g}", "-{g} * np.floor({0} / {1})"),
    "BitAnd": _binary("&", operator.and_, None, None),
    "BitOr": _binary("|", operator.or_, None, None),
    "BitXor": _binary("^", operator.xor, None, None),
    "LShift": _binary("<<", operator.lshift, None, None),
    "RShift": _binary(">>", operator.rshift, None, None),
}
"""Rules of binary operators, by the name of the class in `ast`."""

UNARY: dict[str, Rule] = {
    "USub": Rule("-{0}", operator.neg, ("-{g}",)),
    "UAdd": Rule("+{0}", operator.pos, ("{g}",)),
    "Not": Rule("not {0}", operator.not_, (None,)),
    "Invert": Rule("~{0}", operator.invert, (None,)),
}
"""Rules of unary operators."""

COMPARE: dict[str, Rule] = {
    "Lt": _binary("<", operator.lt, None, None),
    "LtE": _binary("<=", operator.le, None, None),
    "Gt": _binary(">", operator.gt, None, None),
    "GtE": _binary(">=", operator.ge, None, None),
    "Eq": _binary("==", operator.eq, None, None),
    "NotEq": _binary("!=", operator.ne, None, None),
}
"""Rules of comparisons."""

SELECT = Rule("({1} if {0} else {2})", None, (None, "({g} if {0} else 0.0)", "(0.0 if {0} else {g})"))
"""``where`` of scalars; both operands are computed."""


LARGEST_PRODUCT = 4
"""Largest exponent of a power that is computed by multiplications."""


@functools.lru_cache(maxsize=None, typed=True)
def constant_power(exponent: int | float) -> Rule:
    """Return the rule of ``x ** exponent`` for a literal; its operands are `x` and the literal."""
    if isinstance(exponent, float):
        return Rule("{0} ** {1}", operator.pow, (_partial_of_power(exponent), None))
    partial = "2.0 * {0}" if exponent == 2 else f"{float(exponent)} * {{0}} ** ({exponent - 1})"
    return Rule("{0} ** {1}", operator.pow, (None if exponent == 0 else "{g} * " + partial, None))


def _partial_of_power(exponent: float) -> str | None:
    """Return the partial derivative of ``x ** exponent``: by a square root and products if the exponent allows that.

    LLVM vectorizes them, and no call of `pow`: the gradient of NPBench's nbody takes 408 us instead of 536.
    """
    size = abs(exponent - 1.0)
    if exponent == 0.0:
        return None
    if not 0.0 < size <= LARGEST_PRODUCT or 2.0 * size != int(2.0 * size):
        return POWER_OF_X
    whole = size == int(size)
    # The literals make a float32 a float64. Only an integer power has the sign of a negative zero.
    base = "({0} * 1.0)" if whole else "({0} + 0.0)"
    factors = [base] * int(size) + ([] if whole else [f"np.sqrt{base}"])
    sign = "*" if exponent > 1.0 else "/"
    return f"product_or_zero({{g}}, {exponent!r} {sign} ({' * '.join(factors)}))"


ROOT_SAFE = "product_or_zero({g}, 0.5 * (1.0 / {r}))"
LARGER, SMALLER = "({g} if {0} >= {1} else 0.0)", "({g} if {0} <= {1} else 0.0)"
LARGER_1, SMALLER_1 = "(0.0 if {0} >= {1} else {g})", "(0.0 if {0} <= {1} else {g})"
ABSOLUTE = "({g} if {0} > 0.0 else -{g} if {0} < 0.0 else 0.0)"

# By name: (partials, in `math`, in NumPy); the derivatives are those of DLMF 4 and 7.
ONE_OPERAND: dict[str, tuple[str | None, str, str]] = {
    "sqrt": (ROOT_SAFE, "sqrt", "sqrt"),
    "exp": ("{g} * {r}", "exp", "exp"),
    "exp2": ("{g} * {r} * 0.6931471805599453", "exp2", "exp2"),
    "expm1": ("{g} * ({r} + 1.0)", "expm1", "expm1"),
    "log": ("{g} / {0}", "log", "log"),
    "log2": ("{g} / ({0} * 0.6931471805599453)", "log2", "log2"),
    "log10": ("{g} / ({0} * 2.302585092994046)", "log10", "log10"),
    "log1p": ("{g} / (1.0 + {0})", "log1p", "log1p"),
    "sin": ("{g} * math.cos({0})", "sin", "sin"),
    "cos": ("-{g} * math.sin({0})", "cos", "cos"),
    "tan": ("{g} * (1.0 + {r} * {r})", "tan", "tan"),
    "asin": ("{g} / math.sqrt(1.0 - {0} * {0})", "asin", "arcsin"),
    "acos": ("-{g} / math.sqrt(1.0 - {0} * {0})", "acos", "arccos"),
    "atan": ("{g} / (1.0 + {0} * {0})", "atan", "arctan"),
    "sinh": ("{g} * math.cosh({0})", "sinh", "sinh"),
    "cosh": ("{g} * math.sinh({0})", "cosh", "cosh"),
    "tanh": ("{g} * (1.0 - {r} * {r})", "tanh", "tanh"),
    "asinh": ("{g} / math.sqrt({0} * {0} + 1.0)", "asinh", "arcsinh"),
    "acosh": ("{g} / math.sqrt({0} * {0} - 1.0)", "acosh", "arccosh"),
    "atanh": ("{g} / (1.0 - {0} * {0})", "atanh", "arctanh"),
    "erf": ("{g} * 1.1283791670955126 * math.exp(-{0} * {0})", "erf", ""),
    "erfc": ("-{g} * 1.1283791670955126 * math.exp(-{0} * {0})", "erfc", ""),
    "fabs": (ABSOLUTE, "fabs", "fabs"),
    "absolute": (ABSOLUTE, "", "absolute"),
    "square": ("{g} * 2.0 * {0}", "", "square"),
    "reciprocal": ("-{g} * {r} * {r}", "", "reciprocal"),
    "negative": ("-{g}", "", "negative"),
    "radians": ("{g} * 0.017453292519943295", "radians", "radians"),
    "degrees": ("{g} * 57.29577951308232", "degrees", "degrees"),
    "floor": (None, "floor", "floor"),
    "ceil": (None, "ceil", "ceil"),
    "trunc": (None, "trunc", "trunc"),
    "rint": (None, "", "rint"),
    "sign": (None, "", "sign"),
    "isnan": (None, "isnan", "isnan"),
    "isinf": (None, "isinf", "isinf"),
    "isfinite": (None, "isfinite", "isfinite"),
    "cbrt": ("product_or_zero({g}, 1.0 / (3.0 * {r} * {r}))", "", "cbrt"),
    "deg2rad": ("{g} * 0.017453292519943295", "", "deg2rad"),
    "rad2deg": ("{g} * 57.29577951308232", "", "rad2deg"),
    "gamma": ("{g} * {r} * digamma({0})", "gamma", ""),
    "lgamma": ("{g} * digamma({0})", "lgamma", ""),
    "signbit": (None, "", "signbit"),
    "logical_not": (None, "", "logical_not"),
    "invert": (None, "", "invert"),
    "positive": ("{g}", "", "positive"),
    "sinc": ("{g} * sinc_slope({0}, {r})", "", "sinc"),
    "spacing": (None, "", "spacing"),
}

TWO_OPERANDS: dict[str, tuple[tuple[str | None, str | None], str, str]] = {
    "atan2": (
        (
            "{g} * {1} / ({0} * {0} + {1} * {1})",
            "-{g} * {0} / ({0} * {0} + {1} * {1})",
        ),
        "atan2",
        "arctan2",
    ),
    "hypot": (
        ("product_or_zero({g}, {0} / {r})", "product_or_zero({g}, {1} / {r})"),
        "hypot",
        "hypot",
    ),
    "pow": ((POWER_OF_X, POWER_OF_P), "pow", "power"),
    "copysign": (
        ("({g} if ({0} >= 0.0) == ({r} >= 0.0) else -{g})", None),
        "copysign",
        "copysign",
    ),
    "maximum": ((LARGER, LARGER_1), "", "maximum"),
    "minimum": ((SMALLER, SMALLER_1), "", "minimum"),
    "add": (("{g}", "{g}"), "", "add"),
    "subtract": (("{g}", "-{g}"), "", "subtract"),
    "multiply": (("{g} * {1}", "{g} * {0}"), "", "multiply"),
    "divide": (("{g} / {1}", "-{g} * {r} / {1}"), "", "divide"),
    "fmax": (("({g} if {r} == {0} else 0.0)", "(0.0 if {r} == {0} else {g})"), "", "fmax"),
    "fmin": (("({g} if {r} == {0} else 0.0)", "(0.0 if {r} == {0} else {g})"), "", "fmin"),
    "float_power": ((POWER_OF_X, POWER_OF_P), "", "float_power"),
    "fmod": (("{g}", "-{g} * np.trunc({0} / {1})"), "", "fmod"),
    "ldexp": (("math.ldexp({g}, {1})", None), "ldexp", "ldexp"),
    "nextafter": (("{g}", None), "nextafter", "nextafter"),
    "remainder": (("{g}", "-{g} * np.floor({0} / {1})"), "", "remainder"),
    "floor_divide": ((None, None), "", "floor_divide"),
    "logaddexp": (("{g} * np.exp({0} - {r})", "{g} * np.exp({1} - {r})"), "", "logaddexp"),
    "logaddexp2": (("{g} * np.exp2({0} - {r})", "{g} * np.exp2({1} - {r})"), "", "logaddexp2"),
    **{
        name: ((None, None), "", name)
        for name in (
            "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm",
            "left_shift", "right_shift", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal",
        )
    },
}  # fmt: skip

ACCUMULATE = Rule("accumulate({0}, {1})", accumulate, ("{g}", "{g}"))
"""Addition of a term of a sum whose order does not matter."""

FUNCTIONS: dict[Any, Rule] = {
    accumulate: ACCUMULATE,
    product_or_zero: Rule(
        "product_or_zero({0}, {1})",
        product_or_zero,
        ("product_or_zero({g}, {1})", "product_or_zero({0}, {g})"),
    ),
    builtins.abs: Rule("abs({0})", builtins.abs, (ABSOLUTE,)),
    builtins.max: Rule(
        "max({0}, {1})", builtins.max, ("({g} if {r} == {0} else 0.0)", "(0.0 if {r} == {0} else {g})")
    ),
    builtins.min: Rule(
        "min({0}, {1})", builtins.min, ("({g} if {r} == {0} else 0.0)", "(0.0 if {r} == {0} else {g})")
    ),
    builtins.float: Rule("float({0})", builtins.float, ("{g}",)),
    builtins.int: Rule("int({0})", builtins.int, (None,)),
    builtins.bool: Rule("bool({0})", builtins.bool, (None,)),
    builtins.round: Rule("round({0})", builtins.round, (None,)),
}
"""Rules of functions, by the function."""

_DRAWN: dict[str, tuple[str | None, ...]] = {
    "random": (),
    "standard_normal": (),
    "randint": (None, None),
    "standard_exponential": (),
    "standard_cauchy": (),
    "normal": ("{g}", "{g} * ({r} - {0}) / {1}"),
    "uniform": ("{g} * ({1} - {r}) / ({1} - {0})", "{g} * ({r} - {0}) / ({1} - {0})"),
    "gumbel": ("{g}", "{g} * ({r} - {0}) / {1}"),
    "laplace": ("{g}", "{g} * ({r} - {0}) / {1}"),
    "logistic": ("{g}", "{g} * ({r} - {0}) / {1}"),
    "lognormal": ("{g} * {r}", "{g} * {r} * (math.log({r}) - {0}) / {1}"),
    "exponential": ("{g} * {r} / {0}",),
    "rayleigh": ("{g} * {r} / {0}",),
    "weibull": ("-{g} * {r} * math.log({r}) / {0}",),
    "power": ("-{g} * {r} * math.log({r}) / {0}",),
    "pareto": ("-{g} * (1.0 + {r}) * math.log1p({r}) / {0}",),
    "poisson": (None,),
    "binomial": (None, None),
    "geometric": (None,),
}

DRAWS: dict[Any, Rule] = {
    getattr(np.random, name): Rule(
        f"np.random.{name}({', '.join(f'{{{i}}}' for i in range(len(partials)))})",
        getattr(np.random, name),
        partials,
        draws=True,
    )
    for name, partials in _DRAWN.items()
}
"""Rules of random numbers; the derivatives are those for fixed underlying draws."""

_TO_BOOL = Rule("np.bool_({0})", np.bool_, (None,))
CASTS: dict[str, Rule] = {
    dtype.name: Rule(f"np.{dtype.name}({{0}})", dtype.type, ("{g}",) if dtype.kind == "f" else (None,))
    for dtype in sorted(SUPPORTED, key=str)
    if dtype.kind in "fiu" and dtype != np.float16  # Numba computes nothing with float16
} | {"bool": _TO_BOOL, "bool_": _TO_BOOL}
"""Rules of conversions, by the name of the dtype."""

FUNCTIONS.update({rule.function: rule for rule in CASTS.values()})

# A root is 0 or at least 2e-162, so its reciprocal does not overflow. LLVM computes the reciprocal once for both
# operands and for the derivative of the root: the energy of 64 bodies takes 1.17 times an adjoint by hand, not 1.33.
DIVIDE_BY_ROOT = _binary("/", operator.truediv, "{g} * (1.0 / {1})", "-{g} * {r} * (1.0 / {1})")
"""Rule of a division by a square root."""


def _add_rules(names: list[str], partials: tuple[str | None, ...]) -> None:
    """Add the rule of a function under its names in `math` and in NumPy."""
    operands = ", ".join(f"{{{i}}}" for i in range(len(partials)))
    for module, prefix, name in zip((math, np), ("math", "np"), names, strict=True):
        if name:
            function = getattr(module, name)
            FUNCTIONS[function] = Rule(f"{prefix}.{name}({operands})", function, partials)


for _partial, *_names in ONE_OPERAND.values():
    _add_rules(_names, (_partial,))
for _partials, *_names in TWO_OPERANDS.values():
    _add_rules(_names, _partials)
