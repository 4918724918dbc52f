"""Distances under SciPy's names (``jittape.scipy.spatial``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.scipy.spatial import distance as distance

__all__ = ["distance"]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
