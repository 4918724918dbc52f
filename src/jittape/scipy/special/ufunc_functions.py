"""SciPy's ufuncs as functions with SciPy's names and parameters."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from jittape.scipy.special.ufunc_calls import call_ufunc
from jittape.typing import Tensor

__all__ = [
    "beta",
    "betainc",
    "betaincc",
    "betainccinv",
    "betaincinv",
    "betaln",
    "binom",
    "boxcox",
    "boxcox1p",
    "chdtr",
    "chdtrc",
    "cosm1",
    "dawsn",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfi",
    "erfinv",
    "exp1",
    "exp2",
    "exp10",
    "expi",
    "expit",
    "expm1",
    "expn",
    "exprel",
    "fdtr",
    "fdtrc",
    "fresnel",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammaln",
    "gammasgn",
    "gdtr",
    "gdtrc",
    "huber",
    "hyp0f1",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "inv_boxcox",
    "inv_boxcox1p",
    "iv",
    "ive",
    "j0",
    "j1",
    "jv",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "kl_div",
    "kv",
    "kve",
    "log1p",
    "log_expit",
    "log_ndtr",
    "loggamma",
    "logit",
    "ndtr",
    "ndtri",
    "ndtri_exp",
    "pdtr",
    "pdtrc",
    "poch",
    "pseudo_huber",
    "psi",
    "rel_entr",
    "round",
    "spence",
    "stdtr",
    "stdtrit",
    "wofz",
    "xlog1py",
    "xlogy",
    "y0",
    "y1",
    "yv",
]  # fmt: skip

TEMPLATE = """{summary}

Parameters
----------
{parameters} : tensor-like
    Numbers that broadcast. Arrays of float32 give float32, those of float16 and small integers what the SciPy that is
    installed gives, all else float64. The error and gamma functions, the exponential integrals, and `spence`, `expm1`,
    `log1p`, `xlogy` and `xlog1py` also take complex numbers, for which SciPy computes the value.

Returns
-------
{returns}
    Of the broadcast shape{slopes}.

Raises
------
DTypeError
    If an operand is complex and the function is none of these.
TypeError
    If ``out=`` or another keyword of ufuncs is given: a recorded function has no memory to write to.

See Also
--------
scipy.special.{name}

Examples
--------
>>> import scipy.special
>>> arguments = [{arguments}]
>>> ours, theirs = jt.scipy.special.{name}(*arguments), scipy.special.{name}(*arguments)
>>> np.allclose(ours, theirs, rtol=1e-12)
True
"""

ARGUMENTS = {"n": 2.0, "k": 2.0, "m": 1.5, "a": 1.5, "b": 2.5, "c": 3.5, "df": 3.0, "dfn": 3.0, "dfd": 4.0,
             "ndtri_exp": -0.5}  # fmt: skip
"""Arguments in the examples, by parameter or function; others are 0.5."""


def _function(
    name: str, parameters: str, summary: str, *, constant: str = "", returns: str = "Tensor"
) -> Callable[..., Tensor]:
    """Return the function `name`; no derivative exists with respect to the parameters in `constant`."""
    names = parameters.split()

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            unknown = sorted(set(kwargs) - set(names))
            if unknown:
                raise TypeError(
                    f"[{name}] {unknown[0]}= is not supported on tensors; use the result, and cast it with jt.cast"
                )
            args = tuple(signature.bind(*args, **kwargs).args)
        if len(args) != len(names):
            raise TypeError(f"[{name}] takes {len(names)} arguments ({', '.join(names)}), got {len(args)}")
        return call_ufunc(name, *args)

    signature = Signature([Parameter(n, Parameter.POSITIONAL_OR_KEYWORD) for n in names])
    call.__code__ = call.__code__.replace(co_name=name)  # messages name the function
    call.__name__ = call.__qualname__ = name
    call.__signature__ = signature  # type: ignore[attr-defined]
    slopes = f"; differentiable, not with respect to {constant}" if constant else "; differentiable"
    call.__doc__ = TEMPLATE.format(
        name=name,
        summary=summary,
        parameters=", ".join(names),
        returns=returns,
        slopes=slopes,
        arguments=", ".join(str(ARGUMENTS.get(name, ARGUMENTS.get(n, 0.5))) for n in names),
    )
    return call


# ---- exponentials, logarithms, error functions -----------------------------------------------------------------------

cosm1 = _function("cosm1", "x", "Return ``cos(x) - 1``, accurate near 0.")
exp10 = _function("exp10", "x", "Return ``10**x``.")
exp2 = _function("exp2", "x", "Return ``2**x``.")
expit = _function("expit", "x", "Return the logistic function ``1 / (1 + exp(-x))``.")
expm1 = _function("expm1", "x", "Return ``exp(x) - 1``, accurate near 0.")
exprel = _function("exprel", "x", "Return ``(exp(x) - 1) / x``, and 1 at 0.")
log1p = _function("log1p", "x", "Return ``log(1 + x)``, accurate near 0.")
log_expit = _function("log_expit", "x", "Return the logarithm of `expit`.")
logit = _function("logit", "x", "Return ``log(x / (1 - x))``.")
xlog1py = _function(
    "xlog1py", "x y", "Return ``x log(1 + y)``, and 0 where `x` is 0; the gradient is 0 there too."
)
xlogy = _function("xlogy", "x y", "Return ``x log(y)``, and 0 where `x` is 0; the gradient is 0 there too.")
dawsn = _function("dawsn", "x", "Return Dawson's integral.")
erf = _function("erf", "x", "Return the error function.")
erfc = _function("erfc", "x", "Return ``1 - erf(x)``, accurate for large `x`.")
erfcinv = _function("erfcinv", "y", "Return the inverse of `erfc`.")
erfcx = _function("erfcx", "x", "Return ``exp(x**2) erfc(x)``.")
erfi = _function("erfi", "x", "Return the imaginary error function ``-i erf(ix)``.")
erfinv = _function("erfinv", "y", "Return the inverse of `erf`.")
fresnel = _function("fresnel", "x", "Return Fresnel's integrals S and C.", returns="tuple of Tensor")
log_ndtr = _function("log_ndtr", "x", "Return the logarithm of `ndtr`, accurate in both tails.")
ndtr = _function("ndtr", "x", "Return the distribution function of the standard normal distribution.")
ndtri = _function("ndtri", "y", "Return the inverse of `ndtr`.")
ndtri_exp = _function("ndtri_exp", "y", "Return the inverse of `log_ndtr`. SciPy computes the value.")
wofz = _function("wofz", "z", "Return the Faddeeva function ``exp(-z**2) erfc(-iz)``, of a complex dtype.")
exp1 = _function("exp1", "x", "Return the exponential integral E1.")
expi = _function("expi", "x", "Return the exponential integral Ei.")
expn = _function(
    "expn", "n x", "Return the exponential integral of order n. SciPy computes the value.", constant="n"
)
spence = _function("spence", "x", "Return Spence's integral, the dilogarithm of ``1 - x``.")

# ---- entropies, losses, transformations ------------------------------------------------------------------------------

boxcox = _function("boxcox", "x lmbda", "Return ``(x**lmbda - 1) / lmbda``, and log(x) for ``lmbda = 0``.")
boxcox1p = _function("boxcox1p", "x lmbda", "Return the Box-Cox transformation of ``1 + x``.")
entr = _function("entr", "x", "Return ``-x log(x)``: 0 at 0, where the gradient is 0, and -inf below.")
huber = _function("huber", "delta r", "Return Huber's loss: quadratic up to `delta`, linear beyond.")
inv_boxcox = _function("inv_boxcox", "x lmbda", "Return the inverse of `boxcox`.")
inv_boxcox1p = _function("inv_boxcox1p", "x lmbda", "Return the inverse of `boxcox1p`.")
kl_div = _function("kl_div", "x y", "Return ``x log(x / y) - x + y``; inf outside the first quadrant.")
pseudo_huber = _function("pseudo_huber", "delta r", "Return ``delta**2 (sqrt(1 + (r / delta)**2) - 1)``.")
rel_entr = _function(
    "rel_entr", "x y", "Return ``x log(x / y)``, 0 where `x` is 0; inf outside the first quadrant."
)

# ---- the gamma and beta families -------------------------------------------------------------------------------------

beta = _function("beta", "a b", "Return the beta function.")
betainc = _function("betainc", "a b x", "Return the regularized incomplete beta function.")
betaincc = _function("betaincc", "a b x", "Return 1 minus `betainc`.")
betainccinv = _function(
    "betainccinv", "a b y", "Return the inverse of `betaincc` in `x`. SciPy computes the value."
)
betaincinv = _function(
    "betaincinv", "a b y", "Return the inverse of `betainc` in `x`. SciPy computes the value."
)
betaln = _function(
    "betaln", "a b", "Return the logarithm of the beta function of positive numbers; nan elsewhere."
)
binom = _function(
    "binom",
    "x y",
    "Return the binomial coefficient; 0, with gradient 0, for an integer `y` outside 0 to `x`.",
)
digamma = _function("psi", "z", "Return the derivative of `gammaln`.")
gamma = _function("gamma", "z", "Return the gamma function.")
gammainc = _function("gammainc", "a x", "Return the regularized lower incomplete gamma function.")
gammaincc = _function("gammaincc", "a x", "Return the regularized upper incomplete gamma function.")
gammainccinv = _function(
    "gammainccinv", "a y", "Return the inverse of `gammaincc` in `x`. SciPy computes the value."
)
gammaincinv = _function(
    "gammaincinv", "a y", "Return the inverse of `gammainc` in `x`. SciPy computes the value."
)
gammaln = _function("gammaln", "x", "Return the logarithm of the absolute value of the gamma function.")
gammasgn = _function("gammasgn", "x", "Return the sign of the gamma function, whose gradient is 0.")
loggamma = _function(
    "loggamma", "z", "Return the logarithm of the gamma function of real numbers; nan below 0."
)
poch = _function("poch", "z m", "Return ``gamma(z + m) / gamma(z)``.")
psi = digamma
round = _function("round", "x", "Return the nearest integer, the even one of two; the gradient is 0.")

# ---- distribution functions ------------------------------------------------------------------------------------------

chdtr = _function("chdtr", "v x", "Return the distribution function of the chi-squared distribution.")
chdtrc = _function("chdtrc", "v x", "Return 1 minus `chdtr`.")
fdtr = _function("fdtr", "dfn dfd x", "Return the distribution function of the F distribution.")
fdtrc = _function("fdtrc", "dfn dfd x", "Return 1 minus `fdtr`.")
gdtr = _function("gdtr", "a b x", "Return the distribution function of the gamma distribution with rate `a`.")
gdtrc = _function("gdtrc", "a b x", "Return 1 minus `gdtr`.")
pdtr = _function("pdtr", "k m", "Return the distribution function of the Poisson distribution.")
pdtrc = _function("pdtrc", "k m", "Return 1 minus `pdtr`.")
stdtr = _function("stdtr", "df t", "Return the distribution function of Student's t distribution.")
stdtrit = _function("stdtrit", "df p", "Return the inverse of `stdtr` in `t`. SciPy computes the value.")

# ---- Bessel and hypergeometric functions -----------------------------------------------------------------------------

hyp0f1 = _function("hyp0f1", "v z", "Return 0F1. SciPy computes the value.", constant="v")
hyp1f1 = _function("hyp1f1", "a b x", "Return 1F1. SciPy computes the value.", constant="a and b")
hyp2f1 = _function("hyp2f1", "a b c z", "Return 2F1. SciPy computes the value.", constant="a, b and c")
i0 = _function("i0", "x", "Return the modified Bessel function of the first kind of order 0.")
i0e = _function("i0e", "x", "Return ``exp(-abs(x)) i0(x)``.")
i1 = _function("i1", "x", "Return the modified Bessel function of the first kind of order 1.")
i1e = _function("i1e", "x", "Return ``exp(-abs(x)) i1(x)``.")
iv = _function("iv", "v z", "Return I of order v. SciPy computes the value.", constant="v")
ive = _function("ive", "v z", "Return ``exp(-abs(z)) iv(v, z)``. SciPy computes the value.", constant="v")
j0 = _function("j0", "x", "Return the Bessel function of the first kind of order 0.")
j1 = _function("j1", "x", "Return the Bessel function of the first kind of order 1.")
jv = _function("jv", "v z", "Return J of order v. SciPy computes the value.", constant="v")
k0 = _function("k0", "x", "Return the modified Bessel function of the second kind of order 0.")
k0e = _function("k0e", "x", "Return ``exp(x) k0(x)``.")
k1 = _function("k1", "x", "Return the modified Bessel function of the second kind of order 1.")
k1e = _function("k1e", "x", "Return ``exp(x) k1(x)``.")
kv = _function("kv", "v z", "Return K of order v. SciPy computes the value.", constant="v")
kve = _function("kve", "v z", "Return ``exp(z) kv(v, z)``. SciPy computes the value.", constant="v")
y0 = _function("y0", "x", "Return the Bessel function of the second kind of order 0.")
y1 = _function("y1", "x", "Return the Bessel function of the second kind of order 1.")
yv = _function("yv", "v z", "Return Y of order v. SciPy computes the value.", constant="v")
