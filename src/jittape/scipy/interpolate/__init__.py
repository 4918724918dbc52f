"""Interpolation under SciPy's names (``jittape.scipy.interpolate``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.scipy.interpolate.interpolation_kinds import interp1d as interp1d
from jittape.scipy.interpolate.piecewise_cubics import Akima1DInterpolator as Akima1DInterpolator
from jittape.scipy.interpolate.piecewise_cubics import CubicHermiteSpline as CubicHermiteSpline
from jittape.scipy.interpolate.piecewise_cubics import CubicSpline as CubicSpline
from jittape.scipy.interpolate.piecewise_cubics import PchipInterpolator as PchipInterpolator
from jittape.scipy.interpolate.piecewise_cubics import pchip_interpolate as pchip_interpolate
from jittape.scipy.interpolate.piecewise_polynomials import PPoly as PPoly
from jittape.scipy.interpolate.regular_grids import RegularGridInterpolator as RegularGridInterpolator
from jittape.scipy.interpolate.regular_grids import interpn as interpn
from jittape.scipy.interpolate.splines import BSpline as BSpline
from jittape.scipy.interpolate.splines import make_interp_spline as make_interp_spline

__all__ = [
    "Akima1DInterpolator", "BSpline", "CubicHermiteSpline", "CubicSpline", "PPoly", "PchipInterpolator",
    "RegularGridInterpolator", "interp1d", "interpn", "make_interp_spline", "pchip_interpolate",
]  # fmt: skip

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
