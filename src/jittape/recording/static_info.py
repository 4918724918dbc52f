"""`StaticInfo`: the attributes of Tensor and Variable that need no value, such as the shape."""

from __future__ import annotations

from typing import Any, NoReturn

from jittape.core.program import Aval
from jittape.core.tensor_shape import SHOWN, TensorShape, shown_shape
from jittape.errors import ShapeError
from jittape.numpy_api.dtype_objects import OBJECTS, DType, dtype_object

__all__ = ["StaticInfo", "missing_attribute"]

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"
"""TensorFlow's name of the only device."""


def missing_attribute(value: Any, name: str) -> str:
    """Return the message for an attribute that `value` does not have."""
    kind = type(value).__name__
    if name in ("op", "graph"):
        return (
            f"{kind}.{name} is undefined: jittape has no graphs. jt.explain() shows the recorded operations."
        )
    return f"{kind!r} object has no attribute {name!r}"


def _undefined(name: str) -> property:
    """Return a property that raises AttributeError, as TensorFlow does outside of graphs."""

    def refuse(self: Any) -> NoReturn:
        raise AttributeError(missing_attribute(self, name))

    return property(refuse, doc="Undefined; raises AttributeError.")


class StaticInfo:
    """Shape, dtype and other attributes that are known without running pending operations."""

    __slots__ = ()

    _aval: Aval

    @property
    def aval(self) -> Aval:
        """The shape and dtype."""
        return self._aval

    @property
    def shape(self) -> TensorShape:
        """The extents, as a tuple of ints with TensorFlow's methods."""
        shape = self._aval.shape
        for n in shape:
            if n.__class__ is not int:  # an `Extent`: to hash it would make the trace less general
                return shown_shape(shape)
        try:
            return SHOWN[shape]
        except KeyError:
            return shown_shape(shape)

    @property
    def dtype(self) -> DType:
        """The dtype, with NumPy's and TensorFlow's attributes."""
        try:
            return OBJECTS[self._aval.dtype]
        except KeyError:
            return dtype_object(self._aval.dtype)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._aval.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._aval.size

    @property
    def device(self) -> str:
        """The device, always the processor, as TensorFlow prints it."""
        return DEVICE

    op = _undefined("op")
    graph = _undefined("graph")

    def get_shape(self) -> TensorShape:
        """Return `shape`; TensorFlow's other name."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Check that the shape is compatible with `shape`; nothing changes, since all extents are known.

        Parameters
        ----------
        shape : TensorShape, sequence of int or None, or None
            Expected shape; None matches any extent.

        Raises
        ------
        ShapeError
            If the shapes are not compatible.

        Examples
        --------
        >>> import jittape as jt
        >>> jt.zeros([2, 3]).set_shape([None, 3])
        """
        expected = TensorShape(shape)
        if not self.shape.is_compatible_with(expected):
            raise ShapeError(
                f"Tensor's shape {self.shape} is not compatible with supplied shape {expected}; "
                "use jt.reshape for another shape"
            )
