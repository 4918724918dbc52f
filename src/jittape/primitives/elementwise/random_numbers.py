"""Random numbers as elementwise ops on coordinates: the records of `jt.random`.

Each element has a block of 128 random bits of its own, the function `philox` of its coordinates. An element therefore
does not depend on other elements, on the number of threads, or on whether code is compiled or interpreted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from jittape.core.dtypes import info_of, uint64
from jittape.core.forms import Map
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.errors import DTypeError
from jittape.primitives.broadcast import require_equal
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract, zero_dominant_multiply
from jittape.primitives.elementwise.comparison import greater, less, where
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.incomplete_gamma import random_gamma_grad
from jittape.primitives.elementwise.modified_bessel import bessel_i0e, bessel_i1e
from jittape.primitives.elementwise.special import digamma
from jittape.primitives.record_parts import common, in_chunks, same_of_kinds, same_real_float
from jittape.typing import Tensor, TensorLike

__all__ = [
    "binomial_op",
    "exponential_op",
    "gamma_op",
    "hypergeometric_op",
    "log_gamma_op",
    "multiply_high",
    "normal_op",
    "philox_op",
    "poisson_op",
    "scaled_op",
    "truncated_normal_op",
    "von_mises_op",
    "von_mises_slope_op",
    "zipf_op",
]

CONSTANT = "random numbers are constants"
COUNTS = "counts are integers"
LOW_HALF = 0xFFFFFFFF
_CHUNK_ELEMENTS = 1 << 14
"""Number of elements whose intermediate values fit into the cache."""


def _sampler(formula: str, module: str = "sampling", **options: Any) -> Primitive:
    """Return the record of an op on three uint64, the coordinates, and on parameters of the parameter `dtype`.

    ``<formula>(m, coordinates, *parameters, dtype=dtype)`` of a module of `jittape.vectormath` computes an element. The
    coordinates come first.
    """
    name = f"random_{formula}"

    def abstract_eval(block: Aval, stream: Aval, key: Aval, *parameters: Aval, dtype: np.dtype[Any]) -> Aval:
        require_equal(name, block, stream, key)
        if block.dtype != uint64 or dtype.kind != "f":
            raise DTypeError(
                f"[{name}] needs coordinates of uint64 and a floating dtype, got {block} and {dtype}"
            )
        return require_equal(name, Aval(block.shape, dtype), *parameters)

    def compute(m: Any, *operands: Any, dtype: np.dtype[Any]) -> Any:
        from jittape.vectormath.philox import Coordinates  # imported on first use, not with the package

        sample = getattr(import_module(f"jittape.vectormath.{module}"), formula)
        return sample(m, Coordinates(*operands[:3]), *operands[3:], dtype=info_of(dtype).arithmetic)

    def impl(*operands: Any, dtype: np.dtype[Any]) -> Any:
        return _evaluate(lambda *x: compute(_numpy_math(), *x, dtype=dtype), operands, dtype)

    return Primitive(
        name,
        abstract_eval=abstract_eval,
        impl=impl,
        lowering=Map(compute),
        is_expensive=True,
        **{"gradient_stops": CONSTANT, **options},
    )


def _numpy_math() -> Any:
    from jittape.vectormath import NumPyMath  # imported on first use, not with the package

    return NumPyMath()


def _evaluate(function: Callable[..., Any], operands: tuple[Any, ...], dtype: np.dtype[Any]) -> Any:
    """Return the results of an elementwise function in `dtype`; float16 is computed in float32."""
    wide = [x.astype(info_of(x.dtype).arithmetic, copy=False) for x in operands]
    with np.errstate(all="ignore"):
        return in_chunks(function, wide, dtype, _CHUNK_ELEMENTS)


def _half_of_block(operands: Sequence[Any], half: int) -> Any:
    from jittape.vectormath.philox import Coordinates, philox

    return philox(Coordinates(*operands))[half]


philox_op = Primitive(
    "philox",
    abstract_eval=lambda *avals, half: require_equal("philox", *avals),
    impl=lambda *operands, half: _evaluate(lambda *x: _half_of_block(x, half), operands, uint64),
    lowering=Map(lambda m, *x, half: _half_of_block(x, half)),
    gradient_stops=CONSTANT,
)
"""The lower (``half=0``) or upper 64 bits of the block at three uint64: block, stream and key."""

normal_op = _sampler("normal")
truncated_normal_op = _sampler("truncated_normal")
exponential_op = _sampler("exponential")


# ---- location and scale ----------------------------------------------------------------------------------------------


def _scaled(m: Any, loc: Any, scale: Any, x: Any) -> Any:
    return m.rounded_add(loc, m.rounded_multiply(scale, x))


scaled_op = Primitive(
    "random_scaled",
    abstract_eval=same_real_float("random_scaled"),
    impl=lambda *operands: _evaluate(lambda *x: _scaled(_numpy_math(), *x), operands, operands[0].dtype),
    vjp=(
        lambda g, out, loc, scale, x: g,
        lambda g, out, loc, scale, x: zero_dominant_multiply(g, x),
        lambda g, out, loc, scale, x: zero_dominant_multiply(g, scale),
    ),
    lowering=Map(_scaled),
)
"""``loc + scale * x`` with the product rounded: the same bits in interpreted and compiled code, also for weights."""


# ---- gamma -----------------------------------------------------------------------------------------------------------


def _gamma_in_alpha(g: Any, out: Any, block: Any, stream: Any, key: Any, alpha: Any, *, dtype: Any) -> Any:
    return zero_dominant_multiply(g, random_gamma_grad(alpha, out))


def _log_gamma_in_alpha(
    g: Any, out: Any, block: Any, stream: Any, key: Any, alpha: Any, *, dtype: Any
) -> Any:
    """Return the gradient of the logarithm y of a gamma number x.

    For small x the distribution function is ``x**alpha / gamma(alpha + 1)`` times 1 + O(x), so the derivative of y is
    ``(digamma(alpha + 1) - y) / alpha``. This holds even if x underflows.
    """
    tiny = less(out, float(np.log(np.finfo(info_of(dtype).arithmetic).eps)))
    x = exp(where(tiny, 0.0, out))
    of_small = divide(subtract(digamma(add(alpha, 1.0)), out), alpha)
    return zero_dominant_multiply(g, where(tiny, of_small, divide(random_gamma_grad(alpha, x), x)))


gamma_op = _sampler("gamma", vjp=(None, None, None, _gamma_in_alpha), gradient_stops="")
log_gamma_op = _sampler("log_gamma", vjp=(None, None, None, _log_gamma_in_alpha), gradient_stops="")


# ---- von Mises -------------------------------------------------------------------------------------------------------

_LARGE_CONCENTRATION = 200.0
"""Minimum concentration for the asymptotic series of the mean cosine; its relative error is then less than 1e-12."""
_MEAN_COSINE = (1 / 2, 1 / 8, 1 / 8, 25 / 128, 13 / 32, 1073 / 1024)
"""Coefficients of ``1 - I1(kappa) / I0(kappa)`` in powers of ``1 / kappa``, from the first on (DLMF 10.40.1)."""


def _slope(m: Any, *operands: Any) -> Any:
    from jittape.vectormath.law_sampling import von_mises_slope  # imported on first use, not with the package

    return von_mises_slope(m, *operands)


von_mises_slope_op = Primitive(
    "random_von_mises_slope",
    abstract_eval=same_real_float("random_von_mises_slope"),
    impl=lambda *x: _evaluate(lambda *y: _slope(_numpy_math(), *y), x, x[0].dtype),
    lowering=Map(_slope),
    gradient_stops="second derivatives of von Mises numbers are missing",
)


def _von_mises_in_kappa(
    g: Any, out: Any, block: Any, stream: Any, key: Any, kappa: Any, *, dtype: Any
) -> Any:
    large = greater(kappa, _LARGE_CONCENTRATION)
    near = where(large, 1.0, kappa)
    inverse = reciprocal(where(large, kappa, _LARGE_CONCENTRATION))
    series: Any = 0.0
    for coefficient in reversed(_MEAN_COSINE):
        series = multiply(inverse, add(series, coefficient))
    shortfall = where(large, series, subtract(1.0, divide(bessel_i1e(near), bessel_i0e(near))))
    return zero_dominant_multiply(g, von_mises_slope_op.bind(kappa, shortfall, out))


von_mises_op = _sampler(
    "von_mises", "law_sampling", vjp=(None, None, None, _von_mises_in_kappa), gradient_stops=""
)


# ---- counts ----------------------------------------------------------------------------------------------------------

poisson_op = _sampler("poisson", gradient_stops=COUNTS)
binomial_op = _sampler("binomial", gradient_stops=COUNTS)
hypergeometric_op = _sampler("hypergeometric", "law_sampling", gradient_stops=COUNTS)
zipf_op = _sampler("zipf", "law_sampling", gradient_stops=COUNTS)


# ---- products --------------------------------------------------------------------------------------------------------


def _high_word(x: Any, y: Any) -> Any:
    """Return the upper 64 bits of the product of two uint64, from four products of 32 bits."""
    x_low, x_high, y_low, y_high = x & LOW_HALF, x >> 32, y & LOW_HALF, y >> 32
    low = x_low * y_low
    middle = x_high * y_low + (low >> 32)
    other = x_low * y_high + (middle & LOW_HALF)
    return x_high * y_high + (middle >> 32) + (other >> 32)


def _multiply_high(m: Any, x: Any, y: Any) -> Any:
    bits = x.dtype.itemsize * 8
    if bits == 64:
        return _high_word(x, y)
    return m.cast((m.cast(x, np.uint64) * m.cast(y, np.uint64)) >> bits, x.dtype)


def _multiply_high_impl(x: Any, y: Any) -> Any:
    bits = x.dtype.itemsize * 8
    if bits == 64:
        with np.errstate(over="ignore"):
            return _high_word(x, y)
    return ((x.astype(np.uint64) * y.astype(np.uint64)) >> np.uint64(bits)).astype(x.dtype)


multiply_high_op = Primitive(
    "multiply_high",
    abstract_eval=same_of_kinds("multiply_high", "u"),
    impl=_multiply_high_impl,
    lowering=Map(_multiply_high),
    promote_args=common("multiply_high"),
    gradient_stops="integers have no gradient",
)


def multiply_high(x: TensorLike, y: TensorLike) -> Tensor:
    """Return the upper half of the bits of the product of unsigned integers; `multiply` returns the lower half."""
    return apply(multiply_high_op, (x, y))
