"""Distances between vectors (``jittape.scipy.spatial.distance``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.scipy.spatial.distances import cdist as cdist
from jittape.scipy.spatial.distances import pdist as pdist
from jittape.scipy.spatial.distances import squareform as squareform

__all__ = ["cdist", "pdist", "squareform"]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
