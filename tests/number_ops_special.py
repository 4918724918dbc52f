"""Special functions, for `test_number_ops.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

import jittape as jt
from number_ops import NumberOp, between, normal

ma, msp, ss = jt.math, jt.math.special, scipy.special
SHAPE = (3, 4)


def one(name: str, function: Any, reference: Any, low: float, high: float, **options: Any) -> NumberOp:
    return NumberOp(name, function, between(low, high, SHAPE), reference, **options)


SPECIAL = (
    one("erf", ma.erf, ss.erf, -2, 2),
    one("erfc", ma.erfc, ss.erfc, -2, 2),
    one("erfinv", ma.erfinv, ss.erfinv, -0.9, 0.9),
    one("erfcinv", ma.erfcinv, ss.erfcinv, 0.1, 1.9),
    one("erfcx", ma.erfcx, ss.erfcx, -2, 5),
    one("ndtr", ma.ndtr, ss.ndtr, -3, 3),
    one("ndtri", ma.ndtri, ss.ndtri, 0.05, 0.95),
    one("log_ndtr", ma.log_ndtr, ss.log_ndtr, -8, 3),
    NumberOp("igamma", ma.igamma, between(0.5, 4, SHAPE, SHAPE), ss.gammainc),
    NumberOp("igammac", ma.igammac, between(0.5, 4, SHAPE, SHAPE), ss.gammaincc),
    NumberOp(
        "betainc",
        ma.betainc,
        lambda rng: (*rng.uniform(0.5, 4, (2, *SHAPE)), rng.uniform(0.1, 0.9, SHAPE)),
        ss.betainc,
    ),
    one("lbeta", ma.lbeta, lambda x: np.sum(ss.gammaln(x), -1) - ss.gammaln(np.sum(x, -1)), 0.5, 12),
    NumberOp("betaln", ma.betaln, between(0.5, 4, SHAPE, SHAPE), ss.betaln),
    one("gammaln", ma.gammaln, ss.gammaln, 0.3, 6),
    one("gamma", ma.gamma, ss.gamma, 0.3, 4),
    one("digamma", ma.digamma, ss.digamma, 0.3, 6),
    one("multigammaln", lambda x: ma.multigammaln(x, 3), lambda x: ss.multigammaln(x, 3), 2, 6),
    *(
        one(
            f"polygamma {n}",
            lambda x, n=n: ma.polygamma(float(n), x),
            lambda x, n=n: ss.polygamma(n, x),
            0.5,
            5,
        )
        for n in range(4)
    ),
    NumberOp("zeta", ma.zeta, between(1.5, 5, SHAPE, SHAPE), ss.zeta),
    *(
        one(f"bessel_{name}", getattr(ma, f"bessel_{name}"), getattr(ss, name), 0.3, 6)
        for name in ("i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1", "k1e", "y0", "y1")
    ),
    one("bessel_i1 of negative", ma.bessel_i1, ss.i1, -4, -0.5),
    one("bessel_j1 of large", ma.bessel_j1, ss.j1, 20, 30, tolerance=1e-12),
    one("expint", ma.expint, ss.expi, 0.3, 6),
    one("expint of negative", ma.expint, ss.expi, -6, -0.3),
    one("dawsn", ma.dawsn, ss.dawsn, -4, 4),
    one("fresnel_cos", ma.fresnel_cos, lambda x: ss.fresnel(x)[1], -4, 4),
    one("fresnel_sin", ma.fresnel_sin, lambda x: ss.fresnel(x)[0], -4, 4),
    one("spence", ma.spence, ss.spence, 0.2, 3),
    NumberOp(
        "cumulative_logsumexp",
        lambda x: ma.cumulative_logsumexp(x, axis=-1),
        normal(SHAPE),
        lambda x: np.logaddexp.accumulate(x, -1),
    ),
    NumberOp(
        "cumulative_logsumexp reversed",
        lambda x: ma.cumulative_logsumexp(x, axis=-1, reverse=True, exclusive=True)[..., :-1],
        normal(SHAPE),
        lambda x: np.logaddexp.accumulate(x[..., :0:-1], -1)[..., ::-1],
    ),
    one("logcosh", ma.logcosh, lambda x: np.log(np.cosh(x)), -3, 3),
    one("sinc", ma.sinc, np.sinc, -3, 3),
    NumberOp("nextafter", ma.nextafter, normal(SHAPE, SHAPE), None, order=0),
    NumberOp(
        "truncatediv",
        lambda x, y: jt.truncatediv(x * 10, y),
        between(0.5, 3, SHAPE, SHAPE),
        lambda x, y: np.trunc(10 * x / y),
        order=0,
    ),
    NumberOp(
        "truncatemod",
        jt.truncatemod,
        lambda rng: (rng.uniform(2.1, 2.9, 5), rng.uniform(0.95, 1.04, 5)),
        np.fmod,
    ),
    NumberOp("xlogy", ma.xlogy, between(0.3, 3, SHAPE, SHAPE), ss.xlogy),
    NumberOp("xlog1py", ma.xlog1py, between(0.3, 3, SHAPE, SHAPE), ss.xlog1py),
    NumberOp("xdivy", ma.xdivy, between(0.3, 3, SHAPE, SHAPE), np.divide),
    NumberOp(
        "random_gamma_grad", lambda a, x: ma.random_gamma_grad(a, x), between(0.6, 3, SHAPE, SHAPE), None
    ),
    NumberOp(
        "polyval",
        lambda a, b, x: ma.polyval([a, b, 1.0], x),
        normal((), (), SHAPE),
        lambda a, b, x: a * x * x + b * x + 1,
        leading=False,
    ),
)
