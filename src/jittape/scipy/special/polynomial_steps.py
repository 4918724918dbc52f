"""Orthogonal polynomials, which SciPy computes between kernels, with derivatives in `x`: DLMF 18.9.15 to 18.9.27."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.primitive import Primitive
from jittape.scipy.special.scipy_steps import scipy_step
from jittape.scipy.special.terms import Term, slope, special, where

__all__ = ["POLYNOMIALS"]


def _below(factor: Callable[..., Any], name: str, *arguments: Callable[..., Any]) -> Callable[..., Any]:
    """Return the derivative ``factor * name(n - 1, ...)`` of a polynomial of degree n, which is 0 for degree 0."""

    def formula(out: Term, n: Term, *others: Term) -> Term:
        lower = special(name, where(n.is_equal(0.0), 0.0, n - 1), *[a(n, *others) for a in arguments])
        return where(n.is_equal(0.0), 0.0, factor(n, *others) * lower)

    return formula


def _polynomial(name: str, parameters: str, formula: Callable[..., Any], integer: bool = False) -> Primitive:
    names = f"n {parameters} x".split()
    of_parameters = [None] * (len(names) - 1)
    impl = (lambda n, x: _of_integers(name, n, x)) if integer else None
    return scipy_step(name, " ".join(names), *of_parameters, slope(formula), impl=impl)


def _of_integers(name: str, n: Any, x: Any) -> Any:
    degrees = n.astype(np.int64)
    if (degrees != n).any():
        raise TypeError(f"[{name}] n must be integers, as in SciPy, got {n[degrees != n].ravel()[0]}")
    from scipy import special as scipy_special

    with np.errstate(all="ignore"):
        return np.asarray(getattr(scipy_special, name)(degrees, x)).astype(x.dtype, copy=False)


def _gegenbauer(factor: float, order: float, inner: Callable[..., Any]) -> Callable[..., Any]:
    return _below(lambda n, x: factor, "eval_gegenbauer", lambda n, x: order + 0.0 * x, lambda n, x: inner(x))


def _same(x: Term) -> Term:
    return x


def _half(x: Term) -> Term:
    return 0.5 * x


def _shifted(x: Term) -> Term:
    return 2 * x - 1


_POLYNOMIALS = (
    _polynomial("eval_chebyc", "", _below(lambda n, x: n, "eval_chebyu", lambda n, x: _half(x))),
    _polynomial("eval_chebys", "", _gegenbauer(1.0, 2.0, _half)),
    _polynomial("eval_chebyt", "", _below(lambda n, x: n, "eval_chebyu", lambda n, x: x)),
    _polynomial("eval_chebyu", "", _gegenbauer(2.0, 2.0, _same)),
    _polynomial(
        "eval_gegenbauer",
        "alpha",
        _below(lambda n, a, x: 2 * a, "eval_gegenbauer", lambda n, a, x: a + 1, lambda n, a, x: x),
    ),
    _polynomial(
        "eval_genlaguerre",
        "alpha",
        _below(lambda n, a, x: -1.0, "eval_genlaguerre", lambda n, a, x: a + 1, lambda n, a, x: x),
    ),
    _polynomial("eval_hermite", "", _below(lambda n, x: 2 * n, "eval_hermite", lambda n, x: x), integer=True),
    _polynomial(
        "eval_hermitenorm", "", _below(lambda n, x: n, "eval_hermitenorm", lambda n, x: x), integer=True
    ),
    _polynomial(
        "eval_jacobi",
        "alpha beta",
        _below(
            lambda n, a, b, x: 0.5 * (n + a + b + 1),
            "eval_jacobi",
            lambda n, a, b, x: a + 1,
            lambda n, a, b, x: b + 1,
            lambda n, a, b, x: x,
        ),
    ),
    _polynomial(
        "eval_laguerre",
        "",
        _below(lambda n, x: -1.0, "eval_genlaguerre", lambda n, x: 0.0 * x + 1.0, lambda n, x: x),
    ),
    _polynomial("eval_legendre", "", _gegenbauer(1.0, 1.5, _same)),
    _polynomial("eval_sh_chebyt", "", _below(lambda n, x: 2 * n, "eval_chebyu", lambda n, x: _shifted(x))),
    _polynomial("eval_sh_chebyu", "", _gegenbauer(4.0, 2.0, _shifted)),
    _polynomial(
        "eval_sh_jacobi",
        "p q",
        _below(
            lambda n, p, q, x: (n + p) / special("binom", 2 * n + p - 1, n),
            "eval_jacobi",
            lambda n, p, q, x: p - q + 1,
            lambda n, p, q, x: q,
            lambda n, p, q, x: _shifted(x),
        ),
    ),
    _polynomial("eval_sh_legendre", "", _gegenbauer(2.0, 1.5, _shifted)),
)
POLYNOMIALS: dict[str, Any] = {p.name.removeprefix("scipy_"): p for p in _POLYNOMIALS}
"""Records by SciPy's name."""
