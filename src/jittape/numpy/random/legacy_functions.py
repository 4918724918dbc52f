"""``numpy.random`` before `Generator`: functions that draw from the generator of the process, and `RandomState`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from jittape.core.user_calls import as_int
from jittape.numpy.random.numpy_choices import DiscreteLaws
from jittape.numpy.random.numpy_generator import default_rng
from jittape.random.source import set_seed, taken_from

__all__ = ["LEGACY", "LegacyLaws", "RandomState"]


class LegacyLaws(DiscreteLaws):
    """The laws with the names that came before `numpy.random.Generator`."""

    def rand(self, *shape: int) -> Any:
        """Draw numbers in ``[0, 1)``; see `numpy.random.rand`."""
        return self.random(shape)

    def randn(self, *shape: int) -> Any:
        """Draw normal numbers of mean 0 and deviation 1; see `numpy.random.randn`."""
        return self.standard_normal(shape)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        """Draw integers in ``[low, high)``, or ``[0, low)``; see `numpy.random.randint`."""
        return self.integers(low, high, size, dtype)

    def random_sample(self, size: Any = None) -> Any:
        """Draw numbers in ``[0, 1)``; see `numpy.random.random_sample`."""
        return self.random(size)


class RandomState(LegacyLaws):
    """A generator with NumPy's older methods, such as ``randn``; `default_rng` gives one with the current ones.

    Parameters
    ----------
    seed : None, int, sequence of int, or generator
        As for `default_rng`. The numbers are jittape's, not those of NumPy's Mersenne Twister.

    Examples
    --------
    >>> import jittape.numpy as np
    >>> np.random.RandomState(0).randn(2, 3).shape
    (2, 3)
    """

    __module__ = "jittape.numpy.random"

    def __init__(self, seed: Any = None) -> None:
        super().__init__()
        self.bit_generator = default_rng(seed).bit_generator

    def _take(self, blocks: int) -> Any:
        return self.bit_generator._take(blocks)

    def seed(self, seed: Any = None) -> None:
        """Restart from a seed; see `numpy.random.seed`."""
        self.bit_generator.reset(default_rng(seed).bit_generator.state)


class _Global(LegacyLaws):
    """The generator of the process, which `jt.random.set_seed` and `seed` restart."""

    def _take(self, blocks: int) -> Any:
        return taken_from(None)(blocks)

    def seed(self, seed: Any = None) -> None:
        """Restart the generator of the process, also that of `jt.random`; see `numpy.random.seed`."""
        set_seed(int.from_bytes(os.urandom(16), "little") if seed is None else as_int("seed", seed))


_laws = _Global()
_METHODS = (
    "beta binomial bytes chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric laplace "
    "logistic lognormal logseries multinomial multivariate_normal negative_binomial noncentral_chisquare "
    "noncentral_f normal pareto permutation poisson power rand randint randn random random_sample rayleigh seed "
    "shuffle standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular uniform "
    "vonmises wald weibull zipf"
)
LEGACY: dict[str, Callable[..., Any]] = {
    **{name: getattr(_laws, name) for name in _METHODS.split()},
    "ranf": _laws.random_sample,
    "sample": _laws.random_sample,
}
"""Functions of the namespace; most are methods of the generator of the process."""
