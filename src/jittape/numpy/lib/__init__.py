"""``jittape.numpy.lib``: the parts of ``numpy.lib`` that concern dense arrays of numbers."""

import numpy as _numpy

from jittape.numpy.namespaces import namespace as _namespace

__all__ = ["NumpyVersion", "stride_tricks"]
__getattr__ = _namespace(
    __name__, _numpy.lib, {"NumpyVersion": _numpy.lib.NumpyVersion}, ("stride_tricks",), __all__
)


def __dir__() -> list[str]:
    return __all__
