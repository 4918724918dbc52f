"""Powers. An exponent that is a Python integer is part of the program's structure; any other exponent is an input."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import int8, int64
from jittape.core.forms import Decomposition, Map
from jittape.core.primitive import Primitive, apply
from jittape.core.traced_scalar import TracedScalar
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import as_symbol, cast_to
from jittape.primitives.elementwise.arithmetic import (
    multiply,
    square,
    subtract,
    zero_dominant_multiply,
    zero_dominant_multiply_op,
)
from jittape.primitives.elementwise.assertions import end_run_where
from jittape.primitives.elementwise.comparison import greater, less, not_equal, where
from jittape.primitives.elementwise.exponential import log
from jittape.primitives.record_parts import common_number, filled, same_of_kinds
from jittape.typing import Tensor, TensorLike

__all__ = ["pow"]

MAX_UNROLLED = 16
"""Largest integer exponent of a float that is computed by repeated squaring, which doubles its error at each step."""


# ---- powers ----------------------------------------------------------------------------------------------------------


def _integer_power_impl(x: Any, *, exponent: int) -> Any:
    if x.dtype.kind not in "iu":
        return np.power(x, exponent)
    result, factor = np.ones_like(x), x
    while exponent:
        if exponent & 1:
            result = result * factor
        factor, exponent = factor * factor, exponent >> 1
    return result


def _integer_power_vjp(g: Any, out: Any, x: Any, *, exponent: int) -> Any:
    if exponent == 0:
        return filled(x, 0)
    return zero_dominant_multiply(g, multiply(float(exponent), pow(x, exponent - 1)))


integer_power_op = Primitive(
    "integer_power",
    abstract_eval=lambda x, *, exponent: same_of_kinds("pow", "iufc")(x),
    impl=_integer_power_impl,
    vjp=(_integer_power_vjp,),
    lowering=Map(lambda m, x, *, exponent: m.integer_power(x, exponent)),
)


def _integer_power_body(x: Any, exponent: int) -> Any:
    x = as_symbol(x)
    if x.dtype.kind == "b":  # `array ** 2` of bools is int8 in NumPy
        x = cast_to(x, int8 if exponent == 2 else int64)
    if x.dtype.kind == "i" and exponent < 0 and x.aval.size == 0:
        return x  # NumPy refuses only elements
    if x.dtype.kind in "iu" and exponent < 0:
        raise ValueError(
            f"[pow] Integers to negative integer powers are not allowed: {x.dtype.name} ** {exponent}; "
            f"write x ** {exponent}.0 or cast x to a float"
        )
    if x.dtype.kind in "iu" and exponent > np.iinfo(x.dtype).max:
        raise OverflowError(
            f"[pow] the exponent {exponent} does not fit {x.dtype.name}; cast x to a wider dtype"
        )
    if exponent == 2:
        return square(x)
    if x.dtype.kind not in "iu" and abs(exponent) > MAX_UNROLLED:
        return pow_op.bind(x, filled(x, float(exponent)))
    return integer_power_op.bind(x, exponent=exponent)


def _pow_impl(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        # If one exponent of 0.5 is for all elements, NumPy takes the square root: nan at -inf, and -0.0 at -0.0.
        root_edge = (y == 0.5) & ((x == 0) | (x == -np.inf))
        return np.where(root_edge, np.absolute(x), np.power(x, y))
    if x.dtype.kind == "c":
        return np.power(x, y)
    return np.power(x, np.maximum(y, 0))


def _pow_base_vjp(g: Any, out: Any, x: Any, y: Any) -> Any:
    return zero_dominant_multiply(g, multiply(y, pow_in_slope_op.bind(x, subtract(y, 1))))


def _pow_in_slope_base_vjp(g: Any, out: Any, x: Any, y: Any) -> Any:
    return zero_dominant_multiply(
        g, zero_dominant_multiply_op.bind(y, pow_in_slope_op.bind(x, subtract(y, 1)))
    )


def _pow_exponent_vjp(g: Any, out: Any, x: Any, y: Any) -> Any:
    defined = not_equal(x, 0) if x.dtype.kind == "c" else greater(x, 0)
    return zero_dominant_multiply(g, multiply(out, where(defined, log(x), 0)))


def _natural_impl(exponent: Any) -> Any:
    negative = exponent < 0
    if negative.any():
        place = tuple(int(i) for i in np.argwhere(negative)[0])
        raise ValueError(
            f"[pow] Integers to negative integer powers are not allowed: the exponent is {exponent[place]} at index "
            f"{place}; cast the base to a float"
        )
    return exponent


def _natural(exponent: Any) -> Any:
    """Return the exponent in compiled code; the run ends if it is negative."""
    negative = less(exponent, 0)
    end_run_where(negative, "ValueError", "Integers to negative integer powers are not allowed")
    return where(negative, 0, exponent)


natural_op = Primitive(
    "natural_exponent",
    abstract_eval=lambda exponent: exponent,
    impl=_natural_impl,
    lowering=Decomposition(_natural),
    gradient_stops="the exponent of an integer is an integer",
    batch=alike(),
)


def _pow_promote_args(x: Any, y: Any) -> tuple[Any, ...]:
    x, y = common_number("pow")(x, y)
    return (x, natural_op.bind(y)) if y.dtype.kind == "i" else (x, y)


pow_op = Primitive(
    "pow",
    abstract_eval=same_of_kinds("pow", "iufc"),
    impl=_pow_impl,
    vjp=(_pow_base_vjp, _pow_exponent_vjp),
    lowering=Map(lambda m, x, y: m.power(x, y)),
    promote_args=_pow_promote_args,
)

pow_in_slope_op: Primitive = Primitive(
    "pow_in_slope",
    abstract_eval=pow_op.abstract_eval,
    impl=_pow_impl,
    vjp=(_pow_in_slope_base_vjp, _pow_exponent_vjp),
    lowering=pow_op.lowering,
)
"""The power in the derivative of a power.

Its own derivative is 0 if the exponent is 0, even if the base is 0. So ``x ** 2.0`` has the higher derivatives of ``x
** 2``. The derivative of a power in the user's code is nan there, as in TensorFlow: the limit of ``x ** x`` differs.
"""


def pow(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Raise `x` to the power `y`, element by element.

    Parameters
    ----------
    x : tensor
        The base.
    y : tensor or int
        The exponent. A Python integer is part of the program's structure: another exponent gives another program. A
        float is an input. If the base is not positive, the gradient with respect to `y` is 0.

    Raises
    ------
    ValueError
        If an integer is raised to a negative integer power, as in NumPy. A Python integer `y` raises immediately, a
        tensor when the value is read.

    Examples
    --------
    >>> jt.pow([2.0, 3.0], 2).numpy()
    array([4., 9.], dtype=float32)
    """
    number: Any = y
    if isinstance(number, TracedScalar) and number.kind is int:
        number = number.concretize()
    if type(number) is int:
        return apply(_integer_power_body, (x,), (number,))
    return apply(pow_op, (x, y))
