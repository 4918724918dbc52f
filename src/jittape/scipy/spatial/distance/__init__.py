"""Distances between vectors (``jittape.scipy.spatial.distance``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.scipy.spatial.distances import cdist as cdist
from jittape.scipy.spatial.distances import pdist as pdist
from jittape.scipy.spatial.distances import squareform as squareform
from jittape.scipy.spatial.vector_distances import braycurtis as braycurtis
from jittape.scipy.spatial.vector_distances import canberra as canberra
from jittape.scipy.spatial.vector_distances import chebyshev as chebyshev
from jittape.scipy.spatial.vector_distances import cityblock as cityblock
from jittape.scipy.spatial.vector_distances import correlation as correlation
from jittape.scipy.spatial.vector_distances import cosine as cosine
from jittape.scipy.spatial.vector_distances import dice as dice
from jittape.scipy.spatial.vector_distances import euclidean as euclidean
from jittape.scipy.spatial.vector_distances import hamming as hamming
from jittape.scipy.spatial.vector_distances import jaccard as jaccard
from jittape.scipy.spatial.vector_distances import jensenshannon as jensenshannon
from jittape.scipy.spatial.vector_distances import mahalanobis as mahalanobis
from jittape.scipy.spatial.vector_distances import minkowski as minkowski
from jittape.scipy.spatial.vector_distances import rogerstanimoto as rogerstanimoto
from jittape.scipy.spatial.vector_distances import russellrao as russellrao
from jittape.scipy.spatial.vector_distances import seuclidean as seuclidean
from jittape.scipy.spatial.vector_distances import sokalsneath as sokalsneath
from jittape.scipy.spatial.vector_distances import sqeuclidean as sqeuclidean
from jittape.scipy.spatial.vector_distances import yule as yule

__all__ = [
    "braycurtis",
    "canberra",
    "cdist",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "dice",
    "euclidean",
    "hamming",
    "jaccard",
    "jensenshannon",
    "mahalanobis",
    "minkowski",
    "pdist",
    "rogerstanimoto",
    "russellrao",
    "seuclidean",
    "sokalsneath",
    "sqeuclidean",
    "squareform",
    "yule",
]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
