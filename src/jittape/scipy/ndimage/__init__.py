"""Interpolation of images under SciPy's names (``jittape.scipy.ndimage``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.scipy.ndimage.coordinate_maps import map_coordinates as map_coordinates

__all__ = ["map_coordinates"]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
