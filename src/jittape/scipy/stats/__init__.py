"""Probability distributions under SciPy's names (``jittape.scipy.stats``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.scipy.stats.distributions import Distribution as Distribution
from jittape.scipy.stats.distributions import FrozenDistribution as FrozenDistribution
from jittape.scipy.stats.multivariate import Dirichlet as _Dirichlet
from jittape.scipy.stats.multivariate import Multinomial as _Multinomial
from jittape.scipy.stats.multivariate import MultivariateNormal as _MultivariateNormal

__all__ = [
    "Distribution",
    "FrozenDistribution",
    "bernoulli",
    "beta",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "halfnorm",
    "invgamma",
    "laplace",
    "logistic",
    "lognorm",
    "multinomial",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "rayleigh",
    "t",
    "truncnorm",
    "uniform",
    "weibull_min",
]

bernoulli = Distribution("bernoulli")
beta = Distribution("beta")
binom = Distribution("binom")
cauchy = Distribution("cauchy")
chi2 = Distribution("chi2")
expon = Distribution("expon")
gamma = Distribution("gamma")
geom = Distribution("geom")
gumbel_l = Distribution("gumbel_l")
gumbel_r = Distribution("gumbel_r")
halfnorm = Distribution("halfnorm")
invgamma = Distribution("invgamma")
laplace = Distribution("laplace")
logistic = Distribution("logistic")
lognorm = Distribution("lognorm")
nbinom = Distribution("nbinom")
norm = Distribution("norm")
pareto = Distribution("pareto")
poisson = Distribution("poisson")
rayleigh = Distribution("rayleigh")
t = Distribution("t")
truncnorm = Distribution("truncnorm")
uniform = Distribution("uniform")
weibull_min = Distribution("weibull_min")
dirichlet = _Dirichlet()
multinomial = _Multinomial()
multivariate_normal = _MultivariateNormal()

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
