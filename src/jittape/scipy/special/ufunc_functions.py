"""SciPy's ufuncs as functions with SciPy's names and parameters."""

from __future__ import annotations

from jittape.scipy.special.ufunc_factory import ufunc_function

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

# ---- exponentials, logarithms, error functions -----------------------------------------------------------------------

cosm1 = ufunc_function("cosm1", "x", "Return ``cos(x) - 1``, accurate near 0.")
exp10 = ufunc_function("exp10", "x", "Return ``10**x``.")
exp2 = ufunc_function("exp2", "x", "Return ``2**x``.")
expit = ufunc_function("expit", "x", "Return the logistic function ``1 / (1 + exp(-x))``.")
expm1 = ufunc_function("expm1", "x", "Return ``exp(x) - 1``, accurate near 0.")
exprel = ufunc_function("exprel", "x", "Return ``(exp(x) - 1) / x``, and 1 at 0.")
log1p = ufunc_function("log1p", "x", "Return ``log(1 + x)``, accurate near 0.")
log_expit = ufunc_function("log_expit", "x", "Return the logarithm of `expit`.")
logit = ufunc_function("logit", "x", "Return ``log(x / (1 - x))``.")
xlog1py = ufunc_function(
    "xlog1py", "x y", "Return ``x log(1 + y)``, and 0 where `x` is 0; the gradient is 0 there too."
)
xlogy = ufunc_function(
    "xlogy", "x y", "Return ``x log(y)``, and 0 where `x` is 0; the gradient is 0 there too."
)
dawsn = ufunc_function("dawsn", "x", "Return Dawson's integral.")
erf = ufunc_function("erf", "x", "Return the error function.")
erfc = ufunc_function("erfc", "x", "Return ``1 - erf(x)``, accurate for large `x`.")
erfcinv = ufunc_function("erfcinv", "y", "Return the inverse of `erfc`.")
erfcx = ufunc_function("erfcx", "x", "Return ``exp(x**2) erfc(x)``.")
erfi = ufunc_function("erfi", "x", "Return the imaginary error function ``-i erf(ix)``.")
erfinv = ufunc_function("erfinv", "y", "Return the inverse of `erf`.")
fresnel = ufunc_function("fresnel", "x", "Return Fresnel's integrals S and C.", returns="tuple of Tensor")
log_ndtr = ufunc_function("log_ndtr", "x", "Return the logarithm of `ndtr`, accurate in both tails.")
ndtr = ufunc_function("ndtr", "x", "Return the distribution function of the standard normal distribution.")
ndtri = ufunc_function("ndtri", "y", "Return the inverse of `ndtr`.")
ndtri_exp = ufunc_function("ndtri_exp", "y", "Return the inverse of `log_ndtr`. SciPy computes the value.")
wofz = ufunc_function(
    "wofz", "z", "Return the Faddeeva function ``exp(-z**2) erfc(-iz)``, of a complex dtype."
)
exp1 = ufunc_function("exp1", "x", "Return the exponential integral E1.")
expi = ufunc_function("expi", "x", "Return the exponential integral Ei.")
expn = ufunc_function(
    "expn", "n x", "Return the exponential integral of order n. SciPy computes the value.", constant="n"
)
spence = ufunc_function("spence", "x", "Return Spence's integral, the dilogarithm of ``1 - x``.")

# ---- entropies, losses, transformations ------------------------------------------------------------------------------

boxcox = ufunc_function(
    "boxcox", "x lmbda", "Return ``(x**lmbda - 1) / lmbda``, and log(x) for ``lmbda = 0``."
)
boxcox1p = ufunc_function("boxcox1p", "x lmbda", "Return the Box-Cox transformation of ``1 + x``.")
entr = ufunc_function("entr", "x", "Return ``-x log(x)``: 0 at 0, where the gradient is 0, and -inf below.")
huber = ufunc_function("huber", "delta r", "Return Huber's loss: quadratic up to `delta`, linear beyond.")
inv_boxcox = ufunc_function("inv_boxcox", "x lmbda", "Return the inverse of `boxcox`.")
inv_boxcox1p = ufunc_function("inv_boxcox1p", "x lmbda", "Return the inverse of `boxcox1p`.")
kl_div = ufunc_function("kl_div", "x y", "Return ``x log(x / y) - x + y``; inf outside the first quadrant.")
pseudo_huber = ufunc_function(
    "pseudo_huber", "delta r", "Return ``delta**2 (sqrt(1 + (r / delta)**2) - 1)``."
)
rel_entr = ufunc_function(
    "rel_entr", "x y", "Return ``x log(x / y)``, 0 where `x` is 0; inf outside the first quadrant."
)

# ---- the gamma and beta families -------------------------------------------------------------------------------------

beta = ufunc_function("beta", "a b", "Return the beta function.")
betainc = ufunc_function("betainc", "a b x", "Return the regularized incomplete beta function.")
betaincc = ufunc_function("betaincc", "a b x", "Return 1 minus `betainc`.")
betainccinv = ufunc_function(
    "betainccinv", "a b y", "Return the inverse of `betaincc` in `x`. SciPy computes the value."
)
betaincinv = ufunc_function(
    "betaincinv", "a b y", "Return the inverse of `betainc` in `x`. SciPy computes the value."
)
betaln = ufunc_function(
    "betaln", "a b", "Return the logarithm of the beta function of positive numbers; nan elsewhere."
)
binom = ufunc_function(
    "binom",
    "x y",
    "Return the binomial coefficient; 0, with gradient 0, for an integer `y` outside 0 to `x`.",
)
digamma = ufunc_function("psi", "z", "Return the derivative of `gammaln`.")
gamma = ufunc_function("gamma", "z", "Return the gamma function.")
gammainc = ufunc_function("gammainc", "a x", "Return the regularized lower incomplete gamma function.")
gammaincc = ufunc_function("gammaincc", "a x", "Return the regularized upper incomplete gamma function.")
gammainccinv = ufunc_function(
    "gammainccinv", "a y", "Return the inverse of `gammaincc` in `x`. SciPy computes the value."
)
gammaincinv = ufunc_function(
    "gammaincinv", "a y", "Return the inverse of `gammainc` in `x`. SciPy computes the value."
)
gammaln = ufunc_function("gammaln", "x", "Return the logarithm of the absolute value of the gamma function.")
gammasgn = ufunc_function("gammasgn", "x", "Return the sign of the gamma function, whose gradient is 0.")
loggamma = ufunc_function(
    "loggamma", "z", "Return the logarithm of the gamma function of real numbers; nan below 0."
)
poch = ufunc_function("poch", "z m", "Return ``gamma(z + m) / gamma(z)``.")
psi = digamma
round = ufunc_function("round", "x", "Return the nearest integer, the even one of two; the gradient is 0.")

# ---- distribution functions ------------------------------------------------------------------------------------------

chdtr = ufunc_function("chdtr", "v x", "Return the distribution function of the chi-squared distribution.")
chdtrc = ufunc_function("chdtrc", "v x", "Return 1 minus `chdtr`.")
fdtr = ufunc_function("fdtr", "dfn dfd x", "Return the distribution function of the F distribution.")
fdtrc = ufunc_function("fdtrc", "dfn dfd x", "Return 1 minus `fdtr`.")
gdtr = ufunc_function(
    "gdtr", "a b x", "Return the distribution function of the gamma distribution with rate `a`."
)
gdtrc = ufunc_function("gdtrc", "a b x", "Return 1 minus `gdtr`.")
pdtr = ufunc_function("pdtr", "k m", "Return the distribution function of the Poisson distribution.")
pdtrc = ufunc_function("pdtrc", "k m", "Return 1 minus `pdtr`.")
stdtr = ufunc_function("stdtr", "df t", "Return the distribution function of Student's t distribution.")
stdtrit = ufunc_function("stdtrit", "df p", "Return the inverse of `stdtr` in `t`. SciPy computes the value.")

# ---- Bessel and hypergeometric functions -----------------------------------------------------------------------------

hyp0f1 = ufunc_function("hyp0f1", "v z", "Return 0F1. SciPy computes the value.", constant="v")
hyp1f1 = ufunc_function("hyp1f1", "a b x", "Return 1F1. SciPy computes the value.", constant="a and b")
hyp2f1 = ufunc_function("hyp2f1", "a b c z", "Return 2F1. SciPy computes the value.", constant="a, b and c")
i0 = ufunc_function("i0", "x", "Return the modified Bessel function of the first kind of order 0.")
i0e = ufunc_function("i0e", "x", "Return ``exp(-abs(x)) i0(x)``.")
i1 = ufunc_function("i1", "x", "Return the modified Bessel function of the first kind of order 1.")
i1e = ufunc_function("i1e", "x", "Return ``exp(-abs(x)) i1(x)``.")
iv = ufunc_function("iv", "v z", "Return I of order v. SciPy computes the value.", constant="v")
ive = ufunc_function(
    "ive", "v z", "Return ``exp(-abs(z)) iv(v, z)``. SciPy computes the value.", constant="v"
)
j0 = ufunc_function("j0", "x", "Return the Bessel function of the first kind of order 0.")
j1 = ufunc_function("j1", "x", "Return the Bessel function of the first kind of order 1.")
jv = ufunc_function("jv", "v z", "Return J of order v. SciPy computes the value.", constant="v")
k0 = ufunc_function("k0", "x", "Return the modified Bessel function of the second kind of order 0.")
k0e = ufunc_function("k0e", "x", "Return ``exp(x) k0(x)``.")
k1 = ufunc_function("k1", "x", "Return the modified Bessel function of the second kind of order 1.")
k1e = ufunc_function("k1e", "x", "Return ``exp(x) k1(x)``.")
kv = ufunc_function("kv", "v z", "Return K of order v. SciPy computes the value.", constant="v")
kve = ufunc_function("kve", "v z", "Return ``exp(z) kv(v, z)``. SciPy computes the value.", constant="v")
y0 = ufunc_function("y0", "x", "Return the Bessel function of the second kind of order 0.")
y1 = ufunc_function("y1", "x", "Return the Bessel function of the second kind of order 1.")
yv = ufunc_function("yv", "v z", "Return Y of order v. SciPy computes the value.", constant="v")
