"""``jt.random``: random numbers under TensorFlow's names, from a counter-based generator.

The process has one generator. `set_seed` makes a run repeatable, and `get_state` returns the state for a checkpoint.
The functions named ``stateless_*`` take a seed and always return the same numbers for it.
"""

from __future__ import annotations

from jittape.lazy_names import lazily as _lazily
from jittape.random.discrete_laws import bernoulli, binomial, categorical, poisson
from jittape.random.generator import Generator, get_global_generator, set_global_generator
from jittape.random.laws import (
    beta,
    dirichlet,
    exponential,
    gamma,
    gumbel,
    laplace,
    multivariate_normal,
)
from jittape.random.seeds import fold_in, split
from jittape.random.source import get_state, set_seed, set_state
from jittape.random.stateful import normal, shuffle, truncated_normal, uniform
from jittape.random.stateless import (
    stateless_binomial,
    stateless_categorical,
    stateless_gamma,
    stateless_normal,
    stateless_parameterized_truncated_normal,
    stateless_poisson,
    stateless_shuffle,
    stateless_truncated_normal,
    stateless_uniform,
)
from jittape.random.stateless_laws import (
    stateless_beta,
    stateless_dirichlet,
    stateless_exponential,
    stateless_multivariate_normal,
)

__all__ = [
    "Generator",
    "bernoulli",
    "beta",
    "binomial",
    "categorical",
    "dirichlet",
    "exponential",
    "fold_in",
    "gamma",
    "get_global_generator",
    "get_state",
    "gumbel",
    "laplace",
    "multivariate_normal",
    "normal",
    "poisson",
    "set_global_generator",
    "set_seed",
    "set_state",
    "shuffle",
    "split",
    "stateless_beta",
    "stateless_binomial",
    "stateless_categorical",
    "stateless_dirichlet",
    "stateless_exponential",
    "stateless_gamma",
    "stateless_multivariate_normal",
    "stateless_normal",
    "stateless_parameterized_truncated_normal",
    "stateless_poisson",
    "stateless_shuffle",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
