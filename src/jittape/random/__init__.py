"""``jt.random``: random numbers under TensorFlow's names, from a counter-based generator.

The process has one generator. `set_seed` makes a run repeatable, and `get_state` returns the state for a checkpoint.
The functions named ``stateless_*`` take a seed and always return the same numbers for it.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.lazy_names import lazily as _lazily

if _TYPE_CHECKING:
    from jittape.random.discrete_laws import bernoulli as bernoulli
    from jittape.random.discrete_laws import binomial as binomial
    from jittape.random.discrete_laws import categorical as categorical
    from jittape.random.discrete_laws import poisson as poisson
    from jittape.random.generator import Generator as Generator
    from jittape.random.generator import get_global_generator as get_global_generator
    from jittape.random.generator import set_global_generator as set_global_generator
    from jittape.random.laws import beta as beta
    from jittape.random.laws import dirichlet as dirichlet
    from jittape.random.laws import exponential as exponential
    from jittape.random.laws import gamma as gamma
    from jittape.random.laws import gumbel as gumbel
    from jittape.random.laws import laplace as laplace
    from jittape.random.laws import multivariate_normal as multivariate_normal
    from jittape.random.seeds import fold_in as fold_in
    from jittape.random.seeds import split as split
    from jittape.random.source import get_state as get_state
    from jittape.random.source import set_seed as set_seed
    from jittape.random.source import set_state as set_state
    from jittape.random.stateful import normal as normal
    from jittape.random.stateful import shuffle as shuffle
    from jittape.random.stateful import truncated_normal as truncated_normal
    from jittape.random.stateful import uniform as uniform
    from jittape.random.stateless import stateless_binomial as stateless_binomial
    from jittape.random.stateless import stateless_categorical as stateless_categorical
    from jittape.random.stateless import stateless_gamma as stateless_gamma
    from jittape.random.stateless import stateless_normal as stateless_normal
    from jittape.random.stateless import (
        stateless_parameterized_truncated_normal as stateless_parameterized_truncated_normal,
    )
    from jittape.random.stateless import stateless_poisson as stateless_poisson
    from jittape.random.stateless import stateless_shuffle as stateless_shuffle
    from jittape.random.stateless import stateless_truncated_normal as stateless_truncated_normal
    from jittape.random.stateless import stateless_uniform as stateless_uniform
    from jittape.random.stateless_laws import stateless_beta as stateless_beta
    from jittape.random.stateless_laws import stateless_dirichlet as stateless_dirichlet
    from jittape.random.stateless_laws import stateless_exponential as stateless_exponential
    from jittape.random.stateless_laws import stateless_multivariate_normal as stateless_multivariate_normal

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

__getattr__ = _lazily(
    __name__,
    {
        "jittape.random.discrete_laws": ("bernoulli", "binomial", "categorical", "poisson"),
        "jittape.random.generator": ("Generator", "get_global_generator", "set_global_generator"),
        "jittape.random.laws": (
            "beta", "dirichlet", "exponential", "gamma", "gumbel", "laplace", "multivariate_normal",
        ),
        "jittape.random.seeds": ("fold_in", "split"),
        "jittape.random.source": ("get_state", "set_seed", "set_state"),
        "jittape.random.stateful": ("normal", "shuffle", "truncated_normal", "uniform"),
        "jittape.random.stateless": (
            "stateless_binomial", "stateless_categorical", "stateless_gamma", "stateless_normal",
            "stateless_parameterized_truncated_normal", "stateless_poisson", "stateless_shuffle",
            "stateless_truncated_normal", "stateless_uniform",
        ),
        "jittape.random.stateless_laws": (
            "stateless_beta", "stateless_dirichlet", "stateless_exponential", "stateless_multivariate_normal",
        ),
    },
)  # fmt: skip


def __dir__() -> list[str]:
    return __all__
