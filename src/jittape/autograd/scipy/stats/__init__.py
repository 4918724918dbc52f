"""Distributions of ``scipy.stats`` whose functions record if an argument is followed by a derivative."""

from jittape.autograd.scipy.scipy_wrapper import distributions as _distributions

__all__ = [
    "bernoulli", "beta", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma", "geom", "halfnorm", "invgamma",
    "laplace", "logistic", "lognorm", "multinomial", "multivariate_normal", "nbinom", "norm", "pareto", "poisson",
    "t", "uniform",
]  # fmt: skip

globals().update(_distributions(__name__, tuple(__all__)))


def __dir__() -> list[str]:
    return __all__
