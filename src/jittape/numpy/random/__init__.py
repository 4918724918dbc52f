"""``jittape.numpy.random``: NumPy's random numbers as tensors, from jittape's counter-based generator.

The laws are NumPy's, the numbers are not: a seed gives other numbers than in NumPy.
"""

from typing import Any as _Any

from jittape.numpy.missing_names import explanation as _explanation
from jittape.numpy.random.legacy_functions import LEGACY as _LEGACY
from jittape.numpy.random.legacy_functions import RandomState as RandomState
from jittape.numpy.random.numpy_generator import Generator as Generator
from jittape.numpy.random.numpy_generator import default_rng as default_rng

__all__ = sorted(["Generator", "RandomState", "default_rng", *_LEGACY])


def __getattr__(name: str) -> _Any:
    if name not in _LEGACY:
        raise AttributeError(_explanation(__name__, name, __all__, True))
    globals()[name] = _LEGACY[name]
    return _LEGACY[name]


def __dir__() -> list[str]:
    return __all__
