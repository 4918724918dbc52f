"""``jittape.numpy.linalg``: NumPy's matrix products, decompositions and equations, for tensors that record."""

import numpy as _numpy

from jittape.errors import LinAlgError as LinAlgError
from jittape.numpy.namespaces import names_of as _names_of
from jittape.numpy.namespaces import namespace as _namespace

__all__ = _names_of(_numpy.linalg, ["LinAlgError"])
__getattr__ = _namespace(__name__, _numpy.linalg, {}, (), __all__)


def __dir__() -> list[str]:
    return __all__
