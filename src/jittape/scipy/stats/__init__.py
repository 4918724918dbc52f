"""Probability distributions under SciPy's names (``jittape.scipy.stats``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.scipy.stats.distributions import Distribution as Distribution
from jittape.scipy.stats.distributions import FrozenDistribution as FrozenDistribution
from jittape.scipy.stats.gaussian_vectors import MultivariateNormal as _MultivariateNormal
from jittape.scipy.stats.multivariate import Dirichlet as _Dirichlet
from jittape.scipy.stats.multivariate import Multinomial as _Multinomial

__all__ = [
    "Distribution",
    "FrozenDistribution",
    "alpha",
    "anglit",
    "arcsine",
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
    "dgamma",
    "dirichlet",
    "dlaplace",
    "dweibull",
    "expon",
    "exponnorm",
    "exponpow",
    "exponweib",
    "f",
    "fatiguelife",
    "fisk",
    "foldnorm",
    "gamma",
    "genextreme",
    "gengamma",
    "genlogistic",
    "gennorm",
    "genpareto",
    "geom",
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
    "johnsonsb",
    "johnsonsu",
    "laplace",
    "laplace_asymmetric",
    "levy",
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
    "nakagami",
    "nbinom",
    "nct",
    "ncx2",
    "norm",
    "pareto",
    "planck",
    "poisson",
    "powerlaw",
    "powernorm",
    "randint",
    "rayleigh",
    "rdist",
    "rice",
    "semicircular",
    "skewnorm",
    "t",
    "triang",
    "truncexpon",
    "truncnorm",
    "uniform",
    "vonmises",
    "wald",
    "weibull_max",
    "weibull_min",
    "yulesimon",
    "zipf",
]

alpha = Distribution("alpha")
anglit = Distribution("anglit")
arcsine = Distribution("arcsine")
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
dgamma = Distribution("dgamma")
dlaplace = Distribution("dlaplace")
dweibull = Distribution("dweibull")
expon = Distribution("expon")
exponnorm = Distribution("exponnorm")
exponpow = Distribution("exponpow")
exponweib = Distribution("exponweib")
f = Distribution("f")
fatiguelife = Distribution("fatiguelife")
fisk = Distribution("fisk")
foldnorm = Distribution("foldnorm")
gamma = Distribution("gamma")
genextreme = Distribution("genextreme")
gengamma = Distribution("gengamma")
genlogistic = Distribution("genlogistic")
gennorm = Distribution("gennorm")
genpareto = Distribution("genpareto")
geom = Distribution("geom")
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
johnsonsb = Distribution("johnsonsb")
johnsonsu = Distribution("johnsonsu")
laplace = Distribution("laplace")
laplace_asymmetric = Distribution("laplace_asymmetric")
levy = Distribution("levy")
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
pareto = Distribution("pareto")
planck = Distribution("planck")
poisson = Distribution("poisson")
powerlaw = Distribution("powerlaw")
powernorm = Distribution("powernorm")
randint = Distribution("randint")
rayleigh = Distribution("rayleigh")
rdist = Distribution("rdist")
rice = Distribution("rice")
semicircular = Distribution("semicircular")
skewnorm = Distribution("skewnorm")
t = Distribution("t")
triang = Distribution("triang")
truncexpon = Distribution("truncexpon")
truncnorm = Distribution("truncnorm")
uniform = Distribution("uniform")
vonmises = Distribution("vonmises")
wald = Distribution("wald")
weibull_max = Distribution("weibull_max")
weibull_min = Distribution("weibull_min")
yulesimon = Distribution("yulesimon")
zipf = Distribution("zipf")
dirichlet = _Dirichlet()
multinomial = _Multinomial()
multivariate_normal = _MultivariateNormal()

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
