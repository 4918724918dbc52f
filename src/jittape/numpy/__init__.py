"""``jittape.numpy``: NumPy's names, signatures, defaults and dtypes, for tensors that record.

A program that imports it in place of NumPy computes NumPy's values in NumPy's dtypes, and a tape or `jt.grad` gives its
gradients. The namespace follows the Array API standard 2024.12.

Examples
--------
>>> import jittape as jt
>>> import jittape.numpy as np
>>> jt.grad(lambda x: np.sum(np.sin(x) ** 2))(np.array([0.0, np.pi / 4]))
<jt.Tensor: shape=(2,), dtype=float64, numpy=array([0., 1.])>
"""

from typing import Any as _Any

import numpy as _numpy

from jittape.numpy.namespace_values import OWN as _OWN
from jittape.numpy.namespaces import MODULES as _MODULES
from jittape.numpy.namespaces import names_of as _names_of
from jittape.numpy.namespaces import namespace as _namespace

_PACKAGES = ("fft", "linalg", "random")

__array_api_version__ = "2024.12"
__all__ = _names_of(_numpy, [name for name in _OWN if not name.startswith("_")], _PACKAGES, _MODULES)
__getattr__ = _namespace(__name__, _numpy, _OWN, _PACKAGES, __all__)


def __dir__() -> list[_Any]:
    return __all__
