"""Interpolation under SciPy's names (``jittape.scipy.interpolate``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.scipy.interpolate.interpolation_kinds import interp1d as interp1d
from jittape.scipy.interpolate.piecewise_cubics import Akima1DInterpolator as Akima1DInterpolator
from jittape.scipy.interpolate.piecewise_cubics import CubicSpline as CubicSpline
from jittape.scipy.interpolate.piecewise_cubics import PchipInterpolator as PchipInterpolator
from jittape.scipy.interpolate.piecewise_polynomials import PPoly as PPoly

__all__ = ["Akima1DInterpolator", "CubicSpline", "PPoly", "PchipInterpolator", "interp1d"]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
