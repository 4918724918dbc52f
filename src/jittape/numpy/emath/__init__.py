"""``jittape.numpy.emath``: functions that are complex where the real ones are not defined, for tensors that record."""

import numpy as _numpy

from jittape.numpy.namespaces import names_of as _names_of
from jittape.numpy.namespaces import namespace as _namespace

__all__ = _names_of(_numpy.emath)
__getattr__ = _namespace(__name__, _numpy.emath, {}, (), __all__)


def __dir__() -> list[str]:
    return __all__
