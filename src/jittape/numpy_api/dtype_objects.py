"""`DType`: a dtype as users see it, with TensorFlow's attributes, that NumPy takes as its own.

Only the public surface makes these objects. The package itself computes with the `numpy.dtype` of avals.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from jittape.core import dtypes
from jittape.core.user_calls import named
from jittape.errors import DTypeError
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, advice_for

__all__ = ["OBJECTS", "DType", "as_dtype", "dtype_object"]


class DType:
    """The dtype of a tensor: NumPy's dtype with TensorFlow's attributes.

    `jt.float32` and ``x.dtype`` are such objects, one for each dtype. NumPy, SciPy, pandas and Numba accept them where
    they accept a dtype: NumPy reads the attribute `dtype` or ``__numpy_dtype__``. They compare equal to the NumPy dtype
    and its names, have the same hash, and have all its attributes (`kind`, `itemsize`, `char`, ...).

    Parameters
    ----------
    dtype : numpy.dtype
        The dtype of NumPy.

    Attributes
    ----------
    dtype : numpy.dtype
        NumPy's own object.
    name : str
        Name, such as ``"float32"``.

    Notes
    -----
    NumPy's dtype cannot be subclassed. Some functions (`numpy.isdtype`, Numba's typing) ask ``isinstance(d, np.dtype)``
    before they read anything else, so the answer is True: ``__class__`` is `numpy.dtype`. ``type(d)`` is `DType`. The
    text is NumPy's, ``str(jt.float32) == "float32"``.

    Examples
    --------
    >>> import jittape as jt
    >>> dtype = jt.constant([1.0, 2.0]).dtype
    >>> dtype, dtype == np.float32, dtype.is_floating, dtype.size
    (jt.float32, True, True, 4)
    >>> np.zeros(2, dtype).dtype
    dtype('float32')
    """

    __slots__ = ("__weakref__", "dtype", "itemsize", "kind", "name", "type")

    _legacy = True  # `numpy.lib.format` reads it from the type

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.name: str = dtype.name
        self.kind: str = dtype.kind
        self.itemsize: int = dtype.itemsize
        self.type: builtins.type[Any] = dtype.type

    # ---- NumPy's side ------------------------------------------------------------------------------------------

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return np.dtype

    @property
    def __numpy_dtype__(self) -> np.dtype[Any]:
        return self.dtype

    def __getattr__(self, name: str) -> Any:
        advice = advice_for(ATTRIBUTES_LEFT_OUT["DType"], name)
        if advice is not None:
            raise AttributeError(f"DType has no {name!r}: {advice}")
        if name.startswith("__"):  # a protocol that NumPy's dtype has is not ours
            raise AttributeError(f"{DType.__name__} has no attribute {name!r}")
        return getattr(self.dtype, name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(DType), *self.__slots__, *dir(self.dtype)})

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return False if other is None else self.dtype == other

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __lt__(self, other: Any) -> bool:
        return self.dtype < np.dtype(other)

    def __le__(self, other: Any) -> bool:
        return self.dtype <= np.dtype(other)

    def __gt__(self, other: Any) -> bool:
        return self.dtype > np.dtype(other)

    def __ge__(self, other: Any) -> bool:
        return self.dtype >= np.dtype(other)

    def __reduce__(self) -> Any:
        return as_dtype, (self.name,)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"jt.{self.name}"

    # ---- TensorFlow's side -------------------------------------------------------------------------------------

    @property
    def as_numpy_dtype(self) -> builtins.type[Any]:
        """The type of NumPy's scalars, such as `numpy.float32`."""
        return self.type

    @property
    def base_dtype(self) -> DType:
        """The dtype itself; TensorFlow has other dtypes for references."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The dtype of the real part."""
        return dtype_object(dtypes.info_of(self.dtype).real)

    @property
    def is_floating(self) -> bool:
        """Whether the numbers are real floating-point numbers."""
        return dtypes.is_floating(self.dtype)

    @property
    def is_integer(self) -> bool:
        """Whether the numbers are integers; False for bool."""
        return self.kind in "iu"

    @property
    def is_unsigned(self) -> bool:
        """Whether the numbers are unsigned integers."""
        return self.kind == "u"

    @property
    def is_complex(self) -> bool:
        """Whether the numbers are complex."""
        return self.kind == "c"

    @property
    def is_bool(self) -> bool:
        """Whether the values are truth values."""
        return self.kind == "b"

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers, as opposed to truth values."""
        return self.kind != "b"

    @property
    def is_quantized(self) -> bool:
        """False; jittape has no quantized dtypes."""
        return False

    @property
    def is_numpy_compatible(self) -> bool:
        """True; each dtype of jittape is NumPy's."""
        return True

    @property
    def size(self) -> int:
        """Size of a number in bytes."""
        return self.itemsize

    @property
    def min(self) -> Any:
        """The least finite number.

        Raises
        ------
        TypeError
            If the dtype is bool or complex.
        """
        return self._extremes("min")[0]

    @property
    def max(self) -> Any:
        """The greatest finite number.

        Raises
        ------
        TypeError
            If the dtype is bool or complex.
        """
        return self._extremes("max")[1]

    @property
    def limits(self) -> tuple[Any, Any]:
        """The range of intensities of an image: (0, 1) for floats, 0 and the greatest number for integers.

        Raises
        ------
        ValueError
            If the dtype is complex.
        """
        if self.is_complex:
            raise ValueError(f"{self!r} has no limits; use those of its real_dtype")
        if self.is_bool:
            return 0, True
        return (0, 1) if self.is_floating else (0, self.max)

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether `other`, a dtype or its name, is the same dtype."""
        return self == as_dtype(other)

    def _extremes(self, wanted: str) -> tuple[Any, Any]:
        if self.is_integer:
            whole = np.iinfo(self.dtype)
            return whole.min, whole.max
        if not self.is_floating:
            raise TypeError(f"{self!r} has no {wanted}: its values are not ordered numbers")
        limits = dtypes.float_limits(self.dtype)
        return limits.min, limits.max


OBJECTS: dict[np.dtype[Any], DType] = {}
"""The objects that `dtype_object` has made, one for each dtype."""


def dtype_object(dtype: np.dtype[Any]) -> DType:
    """Return the object that users see for the dtype of an aval; always the same one."""
    return OBJECTS.get(dtype) or OBJECTS.setdefault(dtype, DType(dtype))


def as_dtype(type_value: Any) -> DType:
    """Return the dtype that `type_value` names.

    Parameters
    ----------
    type_value : dtype, str or type
        Anything that `numpy.dtype` accepts, except None.

    Raises
    ------
    DTypeError
        If there is no such dtype, or jittape does not support it (strings, objects, dates, records).

    Examples
    --------
    >>> import jittape as jt
    >>> jt.as_dtype("float32"), jt.as_dtype(np.int8)
    (jt.float32, jt.int8)
    """
    if type_value is None:
        raise named(DTypeError("Cannot convert None to a dtype; give one such as 'float32'"))
    return dtype_object(dtypes.as_dtype(type_value))
