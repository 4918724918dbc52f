"""Constants, questions about dtypes and other names that ``jittape.numpy`` shares with NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from jittape.core.dtypes import as_dtype
from jittape.numpy.array_api_info import ArrayNamespaceInfo
from jittape.numpy.array_creation import CREATION
from jittape.numpy.in_place_functions import IN_PLACE
from jittape.numpy.index_objects import INDEX_OBJECTS
from jittape.numpy.scalar_types import SCALAR_TYPES
from jittape.numpy.standard_functions import STANDARD
from jittape.numpy.vectorized_functions import Vectorize
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor

__all__ = ["OWN"]

_SAME = (
    "base_repr binary_repr broadcast_shapes complexfloating e errstate euler_gamma exceptions floating "
    "format_float_positional format_float_scientific generic geterr get_printoptions index_exp inexact inf integer "
    "isscalar iterable nan ndindex newaxis number pi printoptions s_ set_printoptions seterr signedinteger "
    "unsignedinteger"
)
"""Names that mean the same here: constants, abstract kinds of dtypes, options of printing, indices."""


def _dtype_of(value: Any) -> Any:
    """Return the dtype of a tensor, a dtype that `value` names, or `value` itself."""
    if isinstance(value, Operators):
        return value.aval.dtype
    if isinstance(value, (str, type)) or hasattr(value, "__numpy_dtype__"):
        return np.dtype(value)
    return value


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Return whether a cast between dtypes follows the rule `casting`; see `numpy.can_cast`."""
    return bool(np.can_cast(_dtype_of(from_), _dtype_of(to), casting))


def result_type(*arrays_and_dtypes: Any) -> Any:
    """Return the dtype of the promotion rules; see `numpy.result_type`."""
    return _as_scalar_type(np.result_type(*map(_dtype_of, arrays_and_dtypes)))


def promote_types(type1: Any, type2: Any, /) -> Any:
    """Return the least dtype to which both can be cast; see `numpy.promote_types`."""
    return _as_scalar_type(np.promote_types(_dtype_of(type1), _dtype_of(type2)))


def min_scalar_type(a: Any, /) -> Any:
    """Return the least dtype that holds the value; see `numpy.min_scalar_type`."""
    return _as_scalar_type(np.min_scalar_type(a.numpy() if isinstance(a, Operators) else a))


def _as_scalar_type(dtype: np.dtype[Any]) -> Any:
    return SCALAR_TYPES[as_dtype(dtype).name]


def isdtype(dtype: Any, kind: Any) -> bool:
    """Return whether a dtype is of a kind of the Array API; see `numpy.isdtype`."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return bool(np.isdtype(np.dtype(dtype), tuple([k if isinstance(k, str) else np.dtype(k) for k in kinds])))


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Return whether a dtype is below another one, or a kind, in NumPy's order of types; see `numpy.issubdtype`."""
    return bool(np.issubdtype(_dtype_of(arg1), arg2 if isinstance(arg2, type) else _dtype_of(arg2).type))


def finfo(dtype: Any) -> Any:
    """Return the limits of a floating dtype, or of the dtype of a tensor; see `numpy.finfo`."""
    return np.finfo(_dtype_of(dtype))


def iinfo(type: Any) -> Any:
    """Return the limits of an integer dtype, or of the dtype of a tensor; see `numpy.iinfo`."""
    return np.iinfo(_dtype_of(type))


def ndim(a: Any) -> int:
    """Return the number of dimensions; see `numpy.ndim`."""
    return len(a.shape) if isinstance(a, Operators) else CREATION["asarray"](a).ndim


def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the indices and the value of each element; see `numpy.ndenumerate`."""
    tensor = CREATION["asarray"](arr)
    for index in np.ndindex(*tensor.shape):
        yield index, tensor[index]


def iscomplexobj(x: Any) -> bool:
    """Return whether the dtype is complex; see `numpy.iscomplexobj`."""
    return np.dtype(CREATION["asarray"](x).dtype).kind == "c"


def isrealobj(x: Any) -> bool:
    """Return whether the dtype is not complex; see `numpy.isrealobj`."""
    return not iscomplexobj(x)


OWN: dict[str, Any] = {
    **{name: getattr(np, name) for name in _SAME.split()},
    **SCALAR_TYPES,
    **CREATION,
    **STANDARD,
    **INDEX_OBJECTS,
    **IN_PLACE,
    "__array_api_version__": "2024.12",
    "__array_namespace_info__": ArrayNamespaceInfo,
    "__version__": np.__version__,
    "can_cast": can_cast,
    "dtype": np.dtype,
    "False_": False,
    "finfo": finfo,
    "iinfo": iinfo,
    "iscomplexobj": iscomplexobj,
    "isdtype": isdtype,
    "isrealobj": isrealobj,
    "issubdtype": issubdtype,
    "min_scalar_type": min_scalar_type,
    "ndarray": Tensor,
    "ndenumerate": ndenumerate,
    "ndim": ndim,
    "promote_types": promote_types,
    "result_type": result_type,
    "True_": True,
    "vectorize": Vectorize,
}
"""Names of ``jittape.numpy`` that do not come from the tables of NumPy's functions."""
