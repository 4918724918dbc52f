"""NumPy's names for programs of autograd: functions that record if an argument is followed by a derivative.

Functions of plain arrays are NumPy's own. Functions are wrapped when they are first used.

Examples
--------
>>> import jittape.autograd.numpy as np
>>> from jittape.autograd import grad
>>> grad(lambda x: np.sum(np.array([x, 2.0 * x]) ** 2))(3.0)
np.float64(30.0)
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

import numpy as _numpy

from jittape.autograd.numpy.numpy_wrapper import OWN as _OWN
from jittape.autograd.numpy.numpy_wrapper import namespace as _namespace

if _TYPE_CHECKING:
    from jittape.autograd.numpy import fft as fft
    from jittape.autograd.numpy import linalg as linalg
    from jittape.autograd.numpy import numpy_boxes as numpy_boxes
    from jittape.autograd.numpy import random as random

__version__ = _numpy.__version__
__all__ = [*_numpy.__all__, "make_diagonal", "metadata"]

_PACKAGES = ("fft", "linalg", "numpy_boxes", "random")
_find = _namespace(_numpy, __name__, _OWN)


def __getattr__(name: str) -> _Any:
    """Find a name. Packages are imported at their first use: `random` imports NumPy's, in 10 ms."""
    return _import_module(f"{__name__}.{name}") if name in _PACKAGES else _find(name)


def __dir__() -> list[str]:
    return __all__
