"""`TensorShape`: the shape of a tensor as users see it, a tuple with TensorFlow's methods.

Only public properties make it. The package itself computes with the plain tuples of avals, which take less time.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any, NoReturn, SupportsIndex

from jittape.core.symbolic.extent_functions import index_of
from jittape.errors import ShapeError
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, with_foreign_names

__all__ = ["SHOWN", "TensorShape", "plain_shape", "shown_shape"]


_item = tuple.__getitem__
_TOLD: list[bool] = []  # not empty: Numba knows the class


@with_foreign_names(ATTRIBUTES_LEFT_OUT["TensorShape"])
class TensorShape(tuple[Any, ...]):
    """The extents of a tensor: a tuple of ints that has TensorFlow's methods.

    NumPy, hashing, pickling and ``isinstance(s, tuple)`` treat it as the tuple that it is, and it compares equal to
    tuples and lists with the same extents. An extent that is not known is None. ``TensorShape(None)`` is a shape of
    unknown rank: it has no length and no extents.

    Parameters
    ----------
    dims : int, iterable of int or None, or None
        The extents; an int gives a vector, None a shape of unknown rank.

    Raises
    ------
    TypeError
        If an extent is no integer.
    ShapeError
        If an extent is negative.

    Notes
    -----
    Slices and ``+`` give a TensorShape. A shape without unknown extents prints as a tuple.

    Examples
    --------
    >>> import jittape as jt
    >>> shape = jt.zeros([2, 3]).shape
    >>> shape == [2, 3], shape.as_list(), shape.rank, shape.num_elements()
    (True, [2, 3], 2, 6)
    >>> jt.TensorShape([None, 3]).merge_with([2, None])
    (2, 3)
    >>> jt.TensorShape([None, 3]).is_compatible_with([5, 4])
    False
    """

    __slots__ = ()

    def __new__(cls, dims: Any) -> TensorShape:
        if isinstance(dims, TensorShape):
            return dims
        if dims is None:
            return _UNKNOWN
        _tell_numba()
        return tuple.__new__(TensorShape, _extents(dims))

    # ---- reading -----------------------------------------------------------------------------------------------

    @property
    def rank(self) -> int | None:
        """The number of dimensions; None if it is unknown."""
        return len(self)

    @property
    def ndims(self) -> int | None:
        """The number of dimensions; TensorFlow's older name of `rank`."""
        return self.rank

    @property
    def dims(self) -> list[int | None] | None:
        """The extents as a list; None if the rank is unknown."""
        return list(self)

    def as_list(self) -> list[int | None]:
        """Return the extents as a list.

        Raises
        ------
        ShapeError
            If the rank is unknown.
        """
        return list(self)

    def num_elements(self) -> int | None:
        """Return the product of the extents; None if one of them is unknown."""
        return math.prod(self) if self.is_fully_defined() else None

    def is_fully_defined(self) -> bool:
        """Return whether the rank and all extents are known."""
        return all(n is not None for n in self)

    # ---- comparing ---------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple):
            return tuple.__eq__(self, other)
        return tuple.__eq__(self, tuple(other)) if type(other) is list else NotImplemented

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = tuple.__hash__

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether one array can have both shapes: the known extents of both are equal."""
        other = TensorShape(other)
        if other.rank is None:
            return True
        return len(self) == len(other) and all(
            m is None or n is None or m == n for m, n in zip(self, other, strict=True)
        )

    def is_subtype_of(self, other: Any) -> bool:
        """Return whether each array of this shape has the shape `other`, too."""
        other = TensorShape(other)
        if other.rank is None:
            return True
        return len(self) == len(other) and all(n is None or m == n for m, n in zip(self, other, strict=True))

    # ---- combining ---------------------------------------------------------------------------------------------

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        if key.__class__ is slice:
            return tuple.__new__(TensorShape, _item(self, key))
        return _item(self, key)

    def __add__(self, other: Any) -> Any:
        return (*self, *other) if _infers(other) else self.concatenate(other)

    def __radd__(self, other: Any) -> Any:
        return (*other, *self) if _infers(other) else TensorShape(other).concatenate(self)

    def concatenate(self, other: Any) -> TensorShape:
        """Return the extents of this shape followed by those of `other`."""
        other = TensorShape(other)
        if other.rank is None:
            return _UNKNOWN
        return tuple.__new__(TensorShape, (*self, *other))

    def merge_with(self, other: Any) -> TensorShape:
        """Return the shape that has the known extents of both.

        Raises
        ------
        ShapeError
            If the shapes are not compatible.
        """
        other = TensorShape(other)
        if other.rank is None:
            return self
        if not self.is_compatible_with(other):
            raise ShapeError(f"Shapes {self} and {other} are not compatible")
        return tuple.__new__(TensorShape, [n if m is None else m for m, n in zip(self, other, strict=True)])

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """Return the shape with None for each extent in which the two shapes differ."""
        other = TensorShape(other)
        if other.rank is None or len(self) != len(other):
            return _UNKNOWN
        return tuple.__new__(TensorShape, [m if m == n else None for m, n in zip(self, other, strict=True)])

    def with_rank(self, rank: int) -> TensorShape:
        """Return this shape if it can have `rank` dimensions; raise `ShapeError` otherwise."""
        return self.merge_with([None] * rank) if self.rank in (None, rank) else self._refuse(f"rank {rank}")

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Return this shape if it can have at least `rank` dimensions; raise `ShapeError` otherwise."""
        return self if self.rank is None or self.rank >= rank else self._refuse(f"rank at least {rank}")

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Return this shape if it can have at most `rank` dimensions; raise `ShapeError` otherwise."""
        return self if self.rank is None or self.rank <= rank else self._refuse(f"rank at most {rank}")

    def _refuse(self, wanted: str) -> NoReturn:
        raise ShapeError(f"Shape {self} must have {wanted}")

    # ---- assertions --------------------------------------------------------------------------------------------

    def assert_has_rank(self, rank: int) -> None:
        """Raise `ShapeError` if the shape cannot have `rank` dimensions."""
        self.with_rank(rank)

    def assert_same_rank(self, other: Any) -> None:
        """Raise `ShapeError` if `other` has another number of dimensions."""
        other = TensorShape(other)
        if None not in (self.rank, other.rank) and self.rank != other.rank:
            raise ShapeError(f"Shapes {self} and {other} must have the same rank")

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise `ShapeError` if `other` is not compatible with this shape."""
        if not self.is_compatible_with(other):
            raise ShapeError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def assert_is_fully_defined(self) -> None:
        """Raise `ShapeError` if an extent or the rank is unknown."""
        if not self.is_fully_defined():
            raise ShapeError(f"Shape {self} is not fully defined")

    # ---- printing ----------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return tuple.__repr__(self)

    def __repr__(self) -> str:
        text = tuple.__repr__(self)
        return text if self.is_fully_defined() else f"TensorShape([{', '.join(map(str, self))}])"


class _UnknownShape(TensorShape):
    """The shape of unknown rank.

    Its tuple holds an Ellipsis, which is no integer: C code that reads the tuple itself raises a TypeError instead of
    taking the shape for that of a scalar.
    """

    __slots__ = ()

    @property
    def rank(self) -> None:
        return None

    @property
    def dims(self) -> None:
        return None

    def as_list(self) -> NoReturn:
        raise ShapeError("as_list() is not defined for a shape of unknown rank")

    def is_fully_defined(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, _UnknownShape)

    def __hash__(self) -> int:
        return hash(_UnknownShape)

    def is_compatible_with(self, other: Any) -> bool:
        TensorShape(other)
        return True

    def is_subtype_of(self, other: Any) -> bool:
        return TensorShape(other).rank is None

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        if not isinstance(key, slice):
            return None
        start, stop = key.start or 0, key.stop
        counted = stop is not None and (start < 0) == (stop < 0) and key.step in (None, 1)
        return TensorShape([None] * max(stop - start, 0)) if counted else self

    def concatenate(self, other: Any) -> TensorShape:
        TensorShape(other)
        return self

    def merge_with(self, other: Any) -> TensorShape:
        return TensorShape(other)

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        TensorShape(other)
        return self

    def __len__(self) -> int:
        raise ShapeError("a shape of unknown rank has no length")

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Iterator[Any]:
        raise ShapeError("a shape of unknown rank cannot be iterated over")

    def __contains__(self, extent: object) -> bool:
        raise ShapeError("a shape of unknown rank has no known extents")

    def __reduce__(self) -> Any:
        return TensorShape, (None,)

    def __str__(self) -> str:
        return "<unknown>"

    def __repr__(self) -> str:
        return "TensorShape(None)"


_UNKNOWN: TensorShape = tuple.__new__(_UnknownShape, (...,))


SHOWN: dict[tuple[int, ...], TensorShape] = {}
"""The results of `shown_shape`: a look-up takes 30 ns, a new object 140 ns."""
_MAX_SHOWN = 4096
"""Number of shapes above which `SHOWN` is emptied."""


def shown_shape(shape: tuple[int, ...]) -> TensorShape:
    """Return the shape of an aval as users see it."""
    _tell_numba()
    shown: TensorShape = tuple.__new__(TensorShape, shape)
    if all([type(n) is int for n in shape]):  # an `Extent` belongs to one run
        if len(SHOWN) >= _MAX_SHOWN:
            SHOWN.clear()
        SHOWN[shape] = shown
    return shown


def plain_shape(value: Any) -> Any:
    """Return a shape of known rank as a plain tuple, any other `value` itself."""
    return tuple(value) if value.__class__ is TensorShape else value


def _tell_numba() -> None:
    """Let Numba, if the program has imported it, take a TensorShape for the tuple that it is.

    Numba knows no subclasses of tuple besides named tuples. It is not imported here, since that takes 0.4 s.
    """
    if "numba" not in sys.modules or _TOLD:
        return
    from numba.extending import typeof_impl

    typeof_impl.register(TensorShape, lambda shape, context: typeof_impl(tuple(shape), context))
    _TOLD.append(True)


def _infers(dims: Any) -> bool:
    """Return whether a tuple holds the -1 of `reshape`, as in ``x.shape[:1] + (-1,)``: the sum is no shape then."""
    return dims.__class__ is tuple and -1 in dims


def _extents(dims: Any) -> tuple[int | None, ...]:
    if isinstance(dims, (str, bytes)):
        raise TypeError(
            f"cannot convert {dims!r} to a shape: give an integer or a sequence of integers and None"
        )
    try:
        items = tuple(dims) if hasattr(dims, "__iter__") and getattr(dims, "ndim", None) != 0 else (dims,)
        extents = tuple([None if n is None else index_of(n) for n in items])
    except TypeError:
        raise TypeError(f"a shape has integers and None as extents, got {dims!r}") from None
    negative = [n for n in extents if n is not None and n < 0]
    if negative:
        raise ShapeError(f"an extent of a shape must be at least 0, got {negative[0]} in {list(extents)}")
    return extents
