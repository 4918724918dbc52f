"""``jt.keras.random``: random numbers from a seed, from a `SeedGenerator`, or from the generator of the process."""

from jittape.keras.seeded_numbers import SeedGenerator as SeedGenerator
from jittape.keras.seeded_numbers import normal as normal
from jittape.keras.seeded_numbers import randint as randint
from jittape.keras.seeded_numbers import truncated_normal as truncated_normal
from jittape.keras.seeded_numbers import uniform as uniform
from jittape.lazy_names import lazily as _lazily

__all__ = ["SeedGenerator", "normal", "randint", "truncated_normal", "uniform"]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
