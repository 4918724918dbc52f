"""`ScalarType`: a dtype of the namespace, such as ``jittape.numpy.float64``, which also converts."""

from __future__ import annotations

from types import FunctionType
from typing import Any, cast

import numpy as np

from jittape.core.dtypes import as_dtype
from jittape.numpy.array_arguments import as_tensor
from jittape.numpy.array_creation import asarray
from jittape.numpy_api.dtype_objects import DType
from jittape.recording.machine_code.planned_functions import take_array

__all__ = ["SCALAR_TYPES", "ScalarType"]


class ScalarType(DType):
    """A dtype that converts when it is called, as NumPy's types of scalars do.

    It is equal to the dtype of a tensor, and NumPy takes it where it takes a dtype.

    Examples
    --------
    >>> import jittape.numpy as np
    >>> np.float32(1) + np.zeros(2, np.float32)
    <jt.Tensor: shape=(2,), dtype=float32, numpy=array([1., 1.], dtype=float32)>
    >>> isinstance(3.0, np.float64), np.float64 == np.ones(1).dtype
    (False, True)
    """

    __slots__ = ()

    def __call__(self, value: Any = 0, /) -> Any:
        """Return `value` as a tensor of this dtype; gradients flow through."""
        try:
            return asarray(value, self.dtype)
        except TypeError:
            pass
        try:  # the error names no function of the user's
            return as_tensor(value, self.dtype)
        except TypeError as error:
            text = str(error).removeprefix("[as_tensor] ")
            raise TypeError(f"[{self.name}] {text}") from None

    def __instancecheck__(self, value: Any) -> bool:
        """Return whether `value` is a scalar of NumPy, or a 0-d tensor, of this dtype."""
        if isinstance(value, self.dtype.type):
            return True
        aval = getattr(value, "aval", None)
        return aval is not None and aval.shape == () and aval.dtype == self.dtype

    def __repr__(self) -> str:
        return f"jittape.numpy.{self.name}"

    def __reduce__(self) -> Any:
        return _by_name, (self.name,)


take_array(cast("FunctionType", asarray), copies=False)  # machine code makes ``float64(2.0)``


def _by_name(name: str) -> ScalarType:
    return SCALAR_TYPES[name]


_NAMES = (
    "bool bool_ byte cdouble complex128 complex64 csingle double float16 float32 float64 half int16 int32 int64 int8 "
    "int_ intc intp long longlong short single ubyte uint uint16 uint32 uint64 uint8 uintc uintp ulong ulonglong ushort"
)
_BY_DTYPE: dict[np.dtype[Any], ScalarType] = {}
SCALAR_TYPES: dict[str, ScalarType] = {}
"""The dtypes of the namespace under NumPy's names; those of the same dtype share an object."""
for _name in _NAMES.split():
    _dtype = as_dtype(np.dtype(getattr(np, _name)).name)
    SCALAR_TYPES[_name] = _BY_DTYPE.setdefault(_dtype, ScalarType(_dtype))
