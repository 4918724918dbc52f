"""Probability distributions under SciPy's names (``jittape.scipy.stats``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.scipy.stats.distributions import Distribution as Distribution
from jittape.scipy.stats.distributions import FrozenDistribution as FrozenDistribution
from jittape.scipy.stats.gaussian_vectors import MultivariateNormal as _MultivariateNormal
from jittape.scipy.stats.multivariate import Dirichlet as _Dirichlet
from jittape.scipy.stats.multivariate import Multinomial as _Multinomial
from jittape.scipy.stats.student_vectors import MultivariateT as _MultivariateT

__all__ = [
    "Distribution",
    "FrozenDistribution",
    "alpha",
    "anglit",
    "arcsine",
    "argus",
    "bernoulli",
    "beta",
    "betabinom",
    "betanbinom",
    "betaprime",
    "binom",
    "boltzmann",
    "bradford",
    "burr",
    "burr12",
    "cauchy",
    "chi",
    "chi2",
    "cosine",
    "crystalball",
    "dgamma",
    "dirichlet",
    "dlaplace",
    "dweibull",
    "erlang",
    "expon",
    "exponnorm",
    "exponpow",
    "exponweib",
    "f",
    "fatiguelife",
    "fisk",
    "foldcauchy",
    "foldnorm",
    "gamma",
    "genexpon",
    "genextreme",
    "gengamma",
    "genhalflogistic",
    "geninvgauss",
    "genlogistic",
    "gennorm",
    "genpareto",
    "geom",
    "gibrat",
    "gompertz",
    "gumbel_l",
    "gumbel_r",
    "halfcauchy",
    "halfgennorm",
    "halflogistic",
    "halfnorm",
    "hypergeom",
    "hypsecant",
    "invgamma",
    "invgauss",
    "invweibull",
    "jf_skew_t",
    "johnsonsb",
    "johnsonsu",
    "kappa3",
    "laplace",
    "laplace_asymmetric",
    "levy",
    "levy_l",
    "loggamma",
    "logistic",
    "loglaplace",
    "lognorm",
    "logser",
    "loguniform",
    "lomax",
    "maxwell",
    "mielke",
    "moyal",
    "multinomial",
    "multivariate_normal",
    "multivariate_t",
    "nakagami",
    "nbinom",
    "nct",
    "ncx2",
    "norm",
    "norminvgauss",
    "pareto",
    "pearson3",
    "planck",
    "poisson",
    "powerlaw",
    "powerlognorm",
    "powernorm",
    "randint",
    "rayleigh",
    "rdist",
    "recipinvgauss",
    "reciprocal",
    "rice",
    "semicircular",
    "skellam",
    "skewcauchy",
    "skewnorm",
    "t",
    "triang",
    "truncexpon",
    "truncnorm",
    "truncpareto",
    "truncweibull_min",
    "tukeylambda",
    "uniform",
    "vonmises",
    "vonmises_line",
    "wald",
    "weibull_max",
    "weibull_min",
    "wrapcauchy",
    "yulesimon",
    "zipf",
]

alpha = Distribution("alpha")
anglit = Distribution("anglit")
arcsine = Distribution("arcsine")
argus = Distribution("argus")
bernoulli = Distribution("bernoulli")
beta = Distribution("beta")
betabinom = Distribution("betabinom")
betanbinom = Distribution("betanbinom")
betaprime = Distribution("betaprime")
binom = Distribution("binom")
boltzmann = Distribution("boltzmann")
bradford = Distribution("bradford")
burr = Distribution("burr")
burr12 = Distribution("burr12")
cauchy = Distribution("cauchy")
chi = Distribution("chi")
chi2 = Distribution("chi2")
cosine = Distribution("cosine")
crystalball = Distribution("crystalball")
dgamma = Distribution("dgamma")
dlaplace = Distribution("dlaplace")
dweibull = Distribution("dweibull")
erlang = Distribution("erlang")
expon = Distribution("expon")
exponnorm = Distribution("exponnorm")
exponpow = Distribution("exponpow")
exponweib = Distribution("exponweib")
f = Distribution("f")
fatiguelife = Distribution("fatiguelife")
fisk = Distribution("fisk")
foldcauchy = Distribution("foldcauchy")
foldnorm = Distribution("foldnorm")
gamma = Distribution("gamma")
genexpon = Distribution("genexpon")
genextreme = Distribution("genextreme")
gengamma = Distribution("gengamma")
genhalflogistic = Distribution("genhalflogistic")
geninvgauss = Distribution("geninvgauss")
genlogistic = Distribution("genlogistic")
gennorm = Distribution("gennorm")
genpareto = Distribution("genpareto")
geom = Distribution("geom")
gibrat = Distribution("gibrat")
gompertz = Distribution("gompertz")
gumbel_l = Distribution("gumbel_l")
gumbel_r = Distribution("gumbel_r")
halfcauchy = Distribution("halfcauchy")
halfgennorm = Distribution("halfgennorm")
halflogistic = Distribution("halflogistic")
halfnorm = Distribution("halfnorm")
hypergeom = Distribution("hypergeom")
hypsecant = Distribution("hypsecant")
invgamma = Distribution("invgamma")
invgauss = Distribution("invgauss")
invweibull = Distribution("invweibull")
jf_skew_t = Distribution("jf_skew_t")
johnsonsb = Distribution("johnsonsb")
johnsonsu = Distribution("johnsonsu")
kappa3 = Distribution("kappa3")
laplace = Distribution("laplace")
laplace_asymmetric = Distribution("laplace_asymmetric")
levy = Distribution("levy")
levy_l = Distribution("levy_l")
loggamma = Distribution("loggamma")
logistic = Distribution("logistic")
loglaplace = Distribution("loglaplace")
lognorm = Distribution("lognorm")
logser = Distribution("logser")
loguniform = Distribution("loguniform")
lomax = Distribution("lomax")
maxwell = Distribution("maxwell")
mielke = Distribution("mielke")
moyal = Distribution("moyal")
nakagami = Distribution("nakagami")
nbinom = Distribution("nbinom")
nct = Distribution("nct")
ncx2 = Distribution("ncx2")
norm = Distribution("norm")
norminvgauss = Distribution("norminvgauss")
pareto = Distribution("pareto")
pearson3 = Distribution("pearson3")
planck = Distribution("planck")
poisson = Distribution("poisson")
powerlaw = Distribution("powerlaw")
powerlognorm = Distribution("powerlognorm")
powernorm = Distribution("powernorm")
randint = Distribution("randint")
rayleigh = Distribution("rayleigh")
rdist = Distribution("rdist")
recipinvgauss = Distribution("recipinvgauss")
reciprocal = Distribution("reciprocal")
rice = Distribution("rice")
semicircular = Distribution("semicircular")
skellam = Distribution("skellam")
skewcauchy = Distribution("skewcauchy")
skewnorm = Distribution("skewnorm")
t = Distribution("t")
triang = Distribution("triang")
truncexpon = Distribution("truncexpon")
truncnorm = Distribution("truncnorm")
truncpareto = Distribution("truncpareto")
truncweibull_min = Distribution("truncweibull_min")
tukeylambda = Distribution("tukeylambda")
uniform = Distribution("uniform")
vonmises = Distribution("vonmises")
vonmises_line = Distribution("vonmises_line")
wald = Distribution("wald")
weibull_max = Distribution("weibull_max")
weibull_min = Distribution("weibull_min")
wrapcauchy = Distribution("wrapcauchy")
yulesimon = Distribution("yulesimon")
zipf = Distribution("zipf")
dirichlet = _Dirichlet()
multinomial = _Multinomial()
multivariate_normal = _MultivariateNormal()
multivariate_t = _MultivariateT()

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
