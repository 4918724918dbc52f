"""SciPy's functions on tensors, differentiable (``jittape.scipy``).

Names, signatures and defaults are SciPy's: Python numbers and lists become float64. Each sub-package is imported at its
first use.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.lazy_names import lazily as _lazily

if _TYPE_CHECKING:
    from jittape.scipy import integrate as integrate
    from jittape.scipy import interpolate as interpolate
    from jittape.scipy import linalg as linalg
    from jittape.scipy import ndimage as ndimage
    from jittape.scipy import optimize as optimize
    from jittape.scipy import signal as signal
    from jittape.scipy import spatial as spatial
    from jittape.scipy import special as special
    from jittape.scipy import stats as stats

__all__ = [
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "spatial",
    "special",
    "stats",
]

__getattr__ = _lazily(__name__, {f"{__name__}.{name}": (name,) for name in __all__})


def __dir__() -> list[str]:
    return __all__
