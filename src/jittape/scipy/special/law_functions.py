"""SciPy's functions of distributions with SciPy's names and parameters. SciPy computes their values between kernels."""

from __future__ import annotations

from jittape.scipy.special.ufunc_factory import ufunc_function

__all__ = [
    "bdtr", "bdtrc", "bdtri", "bdtrik", "bdtrin", "btdtria", "btdtrib", "chdtri", "chdtriv", "chndtr", "chndtridf",
    "chndtrinc", "chndtrix", "fdtri", "fdtridfd", "gdtria", "gdtrib", "gdtrix", "kolmogi", "kolmogorov", "nbdtr",
    "nbdtrc", "nbdtri", "nbdtrik", "nbdtrin", "ncfdtr", "ncfdtri", "ncfdtridfd", "ncfdtridfn", "ncfdtrinc",
    "nctdtr", "nctdtridf", "nctdtrinc", "nctdtrit", "nrdtrimn", "nrdtrisd", "owens_t", "pdtri", "pdtrik", "smirnov",
    "smirnovi", "stdtridf", "tklmbda", "voigt_profile",
]  # fmt: skip

bdtrc = ufunc_function("bdtrc", "k n p", "Return 1 minus `bdtr`.", constant="n")
bdtrik = ufunc_function("bdtrik", "y n p", "Return the inverse of `bdtr` in `k`, a real number.")
bdtrin = ufunc_function("bdtrin", "k y p", "Return the inverse of `bdtr` in `n`, a real number.")
bdtri = ufunc_function("bdtri", "k n y", "Return the inverse of `bdtr` in `p`.", constant="k and n")
bdtr = ufunc_function(
    "bdtr", "k n p", "Return the distribution function of the binomial distribution.", constant="n"
)
btdtria = ufunc_function("btdtria", "p b x", "Return the inverse of `betainc` in `a`.")
btdtrib = ufunc_function("btdtrib", "a p x", "Return the inverse of `betainc` in `b`.")
chdtriv = ufunc_function("chdtriv", "p x", "Return the inverse of `chdtr` in `v`.")
chdtri = ufunc_function("chdtri", "v p", "Return the inverse of `chdtrc` in `x`.")
chndtridf = ufunc_function(
    "chndtridf", "x p nc", "Return the inverse of `chndtr` in `df`.", constant="x, p and nc"
)
chndtrinc = ufunc_function("chndtrinc", "x df p", "Return the inverse of `chndtr` in `nc`.", constant="df")
chndtrix = ufunc_function("chndtrix", "p df nc", "Return the inverse of `chndtr` in `x`.", constant="df")
chndtr = ufunc_function(
    "chndtr",
    "x df nc",
    "Return the distribution function of the noncentral chi-squared distribution.",
    constant="df",
)
fdtridfd = ufunc_function("fdtridfd", "dfn p x", "Return the inverse of `fdtr` in `dfd`.")
fdtri = ufunc_function("fdtri", "dfn dfd p", "Return the inverse of `fdtr` in `x`.")
gdtria = ufunc_function("gdtria", "p b x", "Return the inverse of `gdtr` in `a`.")
gdtrib = ufunc_function("gdtrib", "a p x", "Return the inverse of `gdtr` in `b`.")
gdtrix = ufunc_function("gdtrix", "a b p", "Return the inverse of `gdtr` in `x`.")
kolmogi = ufunc_function("kolmogi", "p", "Return the inverse of `kolmogorov`.")
kolmogorov = ufunc_function(
    "kolmogorov", "y", "Return the complementary distribution function of Kolmogorov's distribution."
)
nbdtrc = ufunc_function("nbdtrc", "k n p", "Return 1 minus `nbdtr`.", constant="n")
nbdtrik = ufunc_function("nbdtrik", "y n p", "Return the inverse of `nbdtr` in `k`, a real number.")
nbdtrin = ufunc_function("nbdtrin", "k y p", "Return the inverse of `nbdtr` in `n`, a real number.")
nbdtri = ufunc_function("nbdtri", "k n y", "Return the inverse of `nbdtr` in `p`.", constant="k and n")
nbdtr = ufunc_function(
    "nbdtr", "k n p", "Return the distribution function of the negative binomial distribution.", constant="n"
)
ncfdtridfd = ufunc_function(
    "ncfdtridfd", "dfn p nc f", "Return the inverse of `ncfdtr` in `dfd`.", constant="dfn, p, nc and f"
)
ncfdtridfn = ufunc_function(
    "ncfdtridfn", "p dfd nc f", "Return the inverse of `ncfdtr` in `dfn`.", constant="p, dfd, nc and f"
)
ncfdtrinc = ufunc_function(
    "ncfdtrinc", "dfn dfd p f", "Return the inverse of `ncfdtr` in `nc`.", constant="dfn, dfd, p and f"
)
ncfdtri = ufunc_function(
    "ncfdtri", "dfn dfd nc p", "Return the inverse of `ncfdtr` in `f`.", constant="dfn, dfd, nc and p"
)
ncfdtr = ufunc_function(
    "ncfdtr",
    "dfn dfd nc f",
    "Return the distribution function of the noncentral F distribution.",
    constant="dfn, dfd, nc and f",
)
nctdtridf = ufunc_function(
    "nctdtridf", "p nc t", "Return the inverse of `nctdtr` in `df`.", constant="p, nc and t"
)
nctdtrinc = ufunc_function(
    "nctdtrinc", "df p t", "Return the inverse of `nctdtr` in `nc`.", constant="df, p and t"
)
nctdtrit = ufunc_function(
    "nctdtrit", "df nc p", "Return the inverse of `nctdtr` in `t`.", constant="df, nc and p"
)
nctdtr = ufunc_function(
    "nctdtr",
    "df nc t",
    "Return the distribution function of the noncentral t distribution.",
    constant="df, nc and t",
)
nrdtrimn = ufunc_function(
    "nrdtrimn", "p std x", "Return the mean of a normal distribution with probability `p` below `x`."
)
nrdtrisd = ufunc_function(
    "nrdtrisd",
    "mn p x",
    "Return the standard deviation of a normal distribution with probability `p` below `x`.",
)
owens_t = ufunc_function("owens_t", "h a", "Return Owen's T function.")
pdtrik = ufunc_function("pdtrik", "p m", "Return the inverse of `pdtr` in `k`, a real number.")
pdtri = ufunc_function("pdtri", "k y", "Return the inverse of `pdtr` in `m`.", constant="k")
smirnovi = ufunc_function("smirnovi", "n p", "Return the inverse of `smirnov`.", constant="n and p")
smirnov = ufunc_function(
    "smirnov",
    "n d",
    "Return the complementary distribution function of the one-sided Kolmogorov-Smirnov statistic.",
    constant="n and d",
)
stdtridf = ufunc_function("stdtridf", "p t", "Return the inverse of `stdtr` in `df`.")
tklmbda = ufunc_function(
    "tklmbda", "x lmbda", "Return the distribution function of Tukey's lambda distribution."
)
voigt_profile = ufunc_function(
    "voigt_profile",
    "x sigma gamma",
    "Return Voigt's profile: the density of the sum of a normal and a Cauchy variate.",
)
