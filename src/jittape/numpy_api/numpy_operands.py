"""Operands of NumPy's functions: tensors, arrays, lists and numbers with NumPy's dtypes; arguments that are refused."""

from __future__ import annotations

import operator
import re
import warnings
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np

from jittape.core.builder import WeakScalar
from jittape.core.dtypes import as_dtype
from jittape.core.primitive import active_recorder
from jittape.core.tensor_shape import plain_shape
from jittape.core.traced_scalar import TracedScalar
from jittape.core.user_calls import named, shown
from jittape.errors import DTypeError, ShapeError
from jittape.numpy_api.dtype_objects import DType
from jittape.primitives import elementwise, shape
from jittape.primitives.broadcast import axis_key
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.identity import identity

__all__ = [
    "BROADCAST",
    "PLACES",
    "QUOTIENTS",
    "SUMS",
    "are_ints",
    "array_like",
    "as_tuple",
    "axis_of",
    "clip_body",
    "clips_floats",
    "converted",
    "dtype_of",
    "element_as",
    "given",
    "has_core",
    "has_tensor",
    "initial_beside",
    "is_mask",
    "is_number",
    "is_structure",
    "keeps_dims",
    "numpy_function",
    "on_values",
    "one_or_many",
    "reject",
    "selecting_values_of",
    "shape_of",
    "strong",
    "values_of",
    "with_names",
    "with_out",
    "write",
]


def reject(function: str, **arguments: Any) -> None:
    """Raise `TypeError` if one of NumPy's arguments that cannot be recorded is given."""
    for name, value in arguments.items():
        if value is None or value is np._NoValue or (name == "where" and value is True):
            continue
        if name == "out":
            raise TypeError(
                f"np.{function} cannot record into out=: an ndarray keeps no gradient. Use its result, "
                "Variable.assign for state, or x.numpy() to leave the tape"
            )
        raise TypeError(
            f"np.{function} on a tensor does not support {name}=; use np.where, or x.numpy() to leave the tape"
        )


def given(argument: Any) -> bool:
    """Return whether an optional argument is given: neither None nor NumPy's mark of a missing one."""
    return argument is not None and argument is not np._NoValue


def keeps_dims(keepdims: Any) -> bool:
    """Return the truth of the argument ``keepdims``, an int, as NumPy takes it; raise `TypeError` for other values."""
    if keepdims.__class__ is bool or keepdims is np._NoValue:
        return keepdims is True
    try:
        return bool(operator.index(keepdims))
    except TypeError:
        raise named(TypeError(f"keepdims must be a bool, got {shown(keepdims)}")) from None


def are_ints(value: Any) -> bool:
    """Return whether `value` is a tuple of Python ints, which a key may contain: True equals 1, but is no int."""
    return value.__class__ is tuple and all([i.__class__ is int for i in value])


def as_tuple(value: Any) -> Any:
    """Return a shape, or a list of ints, as a plain tuple; machine code records the two alike. Else return `value`."""
    if value.__class__ is list and are_ints(tuple(value)):
        return tuple(value)
    return plain_shape(value)


def one_or_many(arguments: tuple[Any, ...]) -> Any:
    """Return the argument if there is one, else all of them: ``reshape((2, 3))`` and ``reshape(2, 3)``."""
    if not arguments:
        raise TypeError("[reshape] needs the new shape, as ints or as one sequence")
    return as_tuple(arguments[0]) if len(arguments) == 1 else arguments


def is_mask(where: Any) -> bool:
    """Return whether the argument ``where=`` selects elements; by default it is True."""
    return where is not True and given(where)


def array_like(a: Any) -> Any:
    """Return a sequence as an array with NumPy's dtype, not that of `jt.constant`; one with tensors is stacked."""
    if a.__class__ not in (list, tuple):
        return a
    return shape.joining.stack([strong(x) for x in a]) if has_tensor(a) else np.asarray(a)


def has_tensor(a: Any) -> bool:
    """Return whether `a` is a tensor or a nested sequence that contains one."""
    if isinstance(a, (list, tuple)):
        return any(has_tensor(x) for x in a)
    return hasattr(a, "aval") or isinstance(a, TracedScalar)


def values_of(a: Any) -> np.ndarray[Any, Any]:
    """Return the values of `a` as an ndarray; pending ops run.

    The tape notes the user's line, so a gradient that is None is explained.
    """
    if isinstance(a, (list, tuple)):
        return np.asarray([values_of(x) for x in a]) if has_tensor(a) else np.asarray(a)
    if isinstance(a, np.ndarray) or not hasattr(a, "numpy"):
        return np.asarray(a)
    return np.asarray(a._read() if hasattr(a, "_read") else a.numpy())


def selecting_values_of(a: Any) -> np.ndarray[Any, Any]:
    """Return the values of `a` that select a branch; the tape notes nothing, as no gradient is lost."""
    if active_recorder().traced_in is not None or not hasattr(a, "_computed"):
        return values_of(a)
    return np.asarray(a._computed().view())


def on_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a NumPy `function` that reads the values of tensors; its results are tensors without a gradient."""

    def call(*args: Any, **kwargs: Any) -> Any:
        reject(function.__name__, out=kwargs.pop("out", None))
        result = function(*map(_plain, args), **{name: _plain(a) for name, a in kwargs.items()})
        return _tensors(result)

    return call


def _plain(a: Any) -> Any:
    if isinstance(a, (list, tuple)) and has_tensor(a):
        return type(a)(map(_plain, a))
    return values_of(a) if hasattr(a, "aval") else a


def _tensors(a: Any) -> Any:
    return type(a)(map(_tensors, a)) if isinstance(a, (list, tuple)) else identity(a)


def strong(a: Any) -> Any:
    """Do as `array_like`, and convert Python numbers to arrays too."""
    if hasattr(a, "aval"):
        return a
    if isinstance(a, _NUMBERS_OF_BODIES):
        number: Any = a
        return cast(number, dtype_of(a))
    return np.asarray(a) if isinstance(a, (int, float, complex)) else array_like(a)


def is_number(a: Any) -> bool:
    """Return whether `a` is a Python number, or stands for one in a body or a function."""
    return isinstance(a, (int, float, complex, *_NUMBERS_OF_BODIES))


_NUMBERS_OF_BODIES = (TracedScalar, WeakScalar)


def shape_of(a: Any) -> tuple[int, ...]:
    """Return the shape of `a`, which may be a scalar or a list."""
    if isinstance(a, (list, tuple)):
        a = array_like(a)
    return () if isinstance(a, (int, float, complex)) else tuple(a.shape)


def dtype_of(a: Any) -> np.dtype[Any]:
    """Return the dtype that NumPy gives to `a`."""
    if isinstance(a, _NUMBERS_OF_BODIES):
        return np.dtype(a.kind)
    if isinstance(a, (list, tuple)):
        a = array_like(a)
    if isinstance(a, (int, float, complex)):
        return np.asarray(a).dtype
    return getattr(a, "aval", a).dtype  # the NumPy dtype also of a tensor


def axis_of(function: str, a: Any, axis: Any) -> Any:
    """Return `axis` of a reduction of `a` as None, an int or a tuple. In NumPy, a scalar has an axis 0 too."""
    if axis.__class__ is not int:
        if isinstance(axis, list):
            raise TypeError(f"[np.{function}] axis must be None, an int or a tuple of ints, got {axis!r}")
        axis = axis_key(axis)
    return axis if axis is None or a.shape or axis not in (0, -1) else None


def element_as(number: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number in `dtype`, as ``array[i] = number`` stores it; raise what this raises for Python numbers."""
    if not isinstance(number, (int, float, complex)):
        return cast(number, dtype)
    element = np.empty((), dtype)
    element[()] = number
    return element[()]


def converted(a: Any, dtype: Any, casting: Any = "unsafe") -> Any:
    """Cast `a` to `dtype`; return it unchanged for None.

    Raises
    ------
    TypeError
        If NumPy's rule `casting` forbids the cast.
    """
    if dtype is None:
        return a
    if casting != "unsafe" and not np.can_cast(dtype_of(a), as_dtype(dtype), casting):
        raise DTypeError(
            f"[cast] Cannot cast {dtype_of(a).name} to {as_dtype(dtype).name} by the rule {casting!r}; use jt.cast"
        )
    return cast(a, dtype)


@cache
def with_names(adapter: Callable[..., Any]) -> Callable[..., Any]:
    """Return `adapter` as a body whose last two parameters are tuples: positional and named arguments."""

    def called(*operands_and_static: Any) -> Any:
        *operands, rest, named = operands_and_static
        return adapter(*operands, *rest, **dict(named))

    return called


def has_core(ufunc: np.ufunc, inputs: tuple[Any, ...], out: Any, result: Any) -> bool:
    """Return whether `out` has the last dimensions of a product such as ``matmul``: they do not broadcast to those."""
    if ufunc.signature is None:
        return True
    rank = len(re.findall(r"\w+", ufunc.signature.partition("->")[2]))
    if "?" in ufunc.signature:  # of the dimension that a vector lacks
        rank -= sum([len(shape_of(x)) == 1 for x in inputs])
    return not rank or tuple(out.aval.shape[-rank:]) == tuple(shape_of(result)[-rank:])


def write(out: Any, result: Any, casting: Any = "same_kind", mask: Any = True, exact: bool = False) -> Any:
    """Write `result` to the tensor or Variable `out`, where `mask` is true, as NumPy's ``out=`` does; return `out`.

    The result broadcasts to the shape of `out`, as that of a ufunc does; if it is `exact`, it must have this shape.

    Raises
    ------
    ShapeError
        If `out` has another shape.
    TypeError
        If NumPy's rule `casting` forbids the cast.
    """
    dtype, shape = out.aval.dtype, tuple(shape_of(result))
    if out.aval.shape != shape and (exact or not _broadcasts(shape, out.aval.shape)):
        raise named(ShapeError(f"out has shape {tuple(out.aval.shape)}, but the result has shape {shape}"))
    if not np.can_cast(dtype_of(result), dtype, casting):
        raise named(
            DTypeError(
                f"Cannot cast {dtype_of(result).name} to {dtype.name} according to the rule {casting!r}"
            )
        )
    result = cast(result, dtype)
    if is_mask(mask):
        if not _broadcasts(tuple(shape_of(mask)), out.aval.shape):
            raise named(
                ShapeError(f"out has shape {tuple(out.aval.shape)}, but where has shape {shape_of(mask)}")
            )
        result = elementwise.comparison.where(
            array_like(mask), result, out.value() if hasattr(out, "value") else out
        )
    out[...] = result
    return out


def with_out(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return ``function(*args, **kwargs)``; write the result to ``out=`` if that is a tensor or a Variable."""
    if not kwargs:
        return function(*args)
    out: Any = kwargs.get("out")
    if not hasattr(out, "aval"):
        return function(*args, **kwargs)
    del kwargs["out"]
    casting = "same_kind"
    if function in PLACES and not np.can_cast(out.aval.dtype, np.intp):
        raise named(DTypeError(f"out must have a dtype of integers, got {out.aval.dtype.name}"))
    if (
        function in QUOTIENTS
        and out.aval.dtype.kind in "iu"
        and [*args[1:2], kwargs.get("decimals", 0)][0] < 0
    ):
        raise named(DTypeError(f"out must have a dtype of floats, got {out.aval.dtype.name}: NumPy divides"))
    kwargs |= initial_beside(kwargs, out.aval.dtype)
    if function in SUMS and kwargs.get("dtype") is None and (len(args) < 3 or args[2] is None):
        # NumPy sums in a dtype that holds the elements of the target, too.
        casting, args = "unsafe", (*args[:2], *args[3:])
        kwargs["dtype"] = np.promote_types(dtype_of(args[0]), out.aval.dtype)
    return write(out, function(*args, **kwargs), casting, exact=function not in BROADCAST)


def initial_beside(options: dict[str, Any], dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return the option ``initial=`` of a reduction in the dtype of its ``out=``, where NumPy writes it first."""
    initial = options.get("initial")
    if not isinstance(initial, (int, float, complex, np.number)):
        return {}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        return {"initial": np.asarray(initial).astype(dtype)[()]}


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Return whether an array broadcasts to a shape of at least as many dimensions."""
    fits = all(n in (1, m) for n, m in zip(reversed(shape), reversed(target), strict=False))
    return fits and len(shape) <= len(target)


PLACES: set[Any] = set()
"""Adapters of ``argmax`` and ``argmin``: NumPy writes their results to integers only."""
QUOTIENTS: set[Any] = set()
"""Adapters of ``round``: NumPy writes quotients to ``out=`` if its second argument is negative."""
BROADCAST: set[Any] = set()
"""Adapters whose results broadcast to the shape of ``out=``: NumPy's functions are ufuncs."""
SUMS: set[Any] = set()
"""Adapters of sums and products, whose third parameter is `dtype`."""


def numpy_function(name: str) -> Any:
    """Return the function of NumPy that is called `name`, as in ``linalg.norm``."""
    return attrgetter(name)(np)


_STRUCTURE = frozenset((int, str, type, DType, type(None)))


def is_structure(value: Any) -> bool:
    """Return whether an argument may be part of a key. Equal keys must mean the same: True equals 1, but is no axis."""
    kind = value.__class__
    if kind is tuple:
        return all([i.__class__ is int or (i.__class__ is tuple and is_structure(i)) for i in value])
    return kind in _STRUCTURE or issubclass(kind, (DType, np.dtype))


# ---- numpy.clip of floats, whose bounds are operands -----------------------------------------------------------------

_LISTS = frozenset((list, tuple))


def clip_body(x: Any, low: Any, high: Any) -> Any:
    """Return ``np.clip(x, low, high)`` of floats."""
    return elementwise.piecewise.minimum(elementwise.piecewise.maximum(x, low), high)


def clips_floats(x: Any, low: Any, high: Any) -> bool:
    """Return whether a tensor is of floats and has bounds that may be operands: integers need their values."""
    if x._aval.dtype.kind != "f" or low.__class__ in _LISTS or high.__class__ in _LISTS:
        return False
    return low is not None or high is not None
