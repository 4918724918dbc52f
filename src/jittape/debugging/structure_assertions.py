"""Assertions about shapes, ranks, dtypes and types, which are known when they are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from jittape.core.argument_checks import listed
from jittape.core.dtypes import as_dtype, float32
from jittape.numpy_api.dtype_objects import DType, dtype_object
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor

__all__ = [
    "assert_integer",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_shapes",
    "assert_type",
    "is_numeric_tensor",
]


def _fail(kind: type[Exception], message: str | None, text: str) -> NoReturn:
    raise kind(f"{message}.  {text}" if message else text)


# ---- shapes ----------------------------------------------------------------------------------------------------------


def _shape_of(x: Any) -> tuple[int, ...]:
    return tuple(x.shape if hasattr(x, "shape") else convert_to_tensor(x).shape)


def _as_rank(rank: Any) -> int:
    """Return a rank, given as a number or a scalar tensor, as an int."""
    array = np.asarray(rank.numpy() if isinstance(rank, Operators) else rank)
    if array.ndim:
        raise ValueError(f"Rank must be a scalar, got {rank!r}.")
    if array.dtype.kind not in "iu":
        raise TypeError(f"rank must be an int, got {rank!r}")
    return int(array)


def assert_rank(x: Any, rank: Any, message: str | None = None, name: str | None = None) -> None:
    """Raise an error unless `x` has `rank` dimensions.

    Parameters
    ----------
    x : tensor-like
    rank : int
    message : str, optional
        Start of the error message.
    name : str, optional
        Ignored; for compatibility with TensorFlow.

    Raises
    ------
    ValueError
        With the rank and the shape. In a `jt.function`, while it is traced.

    Examples
    --------
    >>> jt.debugging.assert_rank([[1.0, 2.0]], 2)
    """
    shape, wanted = _shape_of(x), _as_rank(rank)
    if len(shape) != wanted:
        _fail(
            ValueError, message, f"Tensor must have rank {wanted}.  Received rank {len(shape)}, shape {shape}"
        )


def assert_rank_at_least(x: Any, rank: Any, message: str | None = None, name: str | None = None) -> None:
    """Raise an error unless `x` has `rank` dimensions or more; the arguments are those of `assert_rank`.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    rank : int
        Least number of dimensions.
    message : str, optional
        Text that starts the error message.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If the rank is smaller.

    Examples
    --------
    >>> jt.debugging.assert_rank_at_least([[1.0, 2.0]], 1)
    """
    shape, wanted = _shape_of(x), _as_rank(rank)
    if len(shape) < wanted:
        text = f"Tensor must have rank at least {wanted}.  Received rank {len(shape)}, shape {shape}"
        _fail(ValueError, message, text)


def assert_rank_in(x: Any, ranks: Iterable[Any], message: str | None = None, name: str | None = None) -> None:
    """Raise an error unless the number of dimensions of `x` is one of `ranks`; see `assert_rank`.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    ranks : sequence of int
        Numbers of dimensions that are allowed.
    message : str, optional
        Text that starts the error message.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If the rank is not in `ranks`.

    Examples
    --------
    >>> jt.debugging.assert_rank_in([[1.0, 2.0]], [0, 2])
    """
    shape, wanted = _shape_of(x), tuple([_as_rank(rank) for rank in listed("assert_rank_in", "ranks", ranks)])
    if len(shape) not in wanted:
        text = f"Tensor must have rank in {wanted}.  Received rank {len(shape)}, shape {shape}"
        _fail(ValueError, message, text)


def assert_scalar(tensor: Any, message: str | None = None, name: str | None = None) -> Any:
    """Return `tensor` if it has no dimensions; raise `ValueError` otherwise.

    Parameters
    ----------
    tensor : tensor_like
        The tensor to check.
    name : str, optional
        Ignored.
    message : str, optional
        Text that starts the error message.

    Raises
    ------
    ValueError
        If `tensor` is not a scalar.

    Examples
    --------
    >>> jt.debugging.assert_scalar(jt.constant(1.0)).numpy().item()
    1.0
    """
    shape = _shape_of(tensor)
    if shape != ():
        _fail(ValueError, message, f"Expected scalar shape, saw shape: {shape}.")
    return tensor


def assert_shapes(
    shapes: Any,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raise an error unless tensors have the given shapes, in which equal symbols stand for equal sizes.

    Parameters
    ----------
    shapes : sequence of (tensor, shape), or dict
        A shape is a sequence of sizes and symbols. None, or ``"."``, is any size. ``...`` or ``"*"`` as the first entry
        is any number of dimensions. A str is a sequence of symbols.
    data, summarize, name
        Ignored; for compatibility with TensorFlow.
    message : str, optional
        Start of the error message.

    Raises
    ------
    ValueError
        With the tensor, the dimension and both sizes. In a `jt.function`, while it is traced.

    Examples
    --------
    >>> x, w = jt.ones([8, 3]), jt.ones([3, 2])
    >>> jt.debugging.assert_shapes([(x, ("N", "Q")), (w, ("Q", 2))])
    """
    pairs = list(shapes.items() if isinstance(shapes, Mapping) else shapes)
    known: dict[Any, tuple[int, str]] = {}
    for x, wanted in pairs:
        shape = _shape_of(x)
        tensor = f"Tensor shape={shape}"
        if not hasattr(wanted, "__iter__"):
            _fail(ValueError, message, f"{tensor}.  Specified shape must be an iterable, got {wanted!r}")
        symbols = list(wanted)
        open_start = bool(symbols) and _is_any_number(symbols[0])
        symbols = symbols[open_start:]
        if any(map(_is_any_number, symbols)):
            text = f"{tensor}: `...` or `*` for any number of dimensions is only allowed as the first entry"
            _fail(ValueError, message, text)
        if len(shape) < len(symbols) or (len(shape) > len(symbols) and not open_start):
            ranks = f"at least {len(symbols)}" if open_start else str(len(symbols))
            _fail(
                ValueError,
                message,
                f"{tensor} must have rank {ranks}.  Received rank {len(shape)}, shape {shape}",
            )
        first = len(shape) - len(symbols)
        for dimension, (size, symbol) in enumerate(zip(shape[first:], symbols, strict=True), first):
            _require_size(tensor, dimension, size, symbol, known, message)


def _is_any_number(symbol: Any) -> bool:
    return symbol is ... or (isinstance(symbol, str) and symbol in ("...", "*"))


def _require_size(
    tensor: str,
    dimension: int,
    size: int,
    symbol: Any,
    known: dict[Any, tuple[int, str]],
    message: str | None,
) -> None:
    """Raise an error if the size of a dimension is not that of its symbol; note a new symbol in `known`."""
    place = f"{tensor} dimension {dimension}"
    if symbol is None or (isinstance(symbol, str) and symbol == "."):
        return
    if isinstance(symbol, str) and not symbol.isdigit():
        wanted, source = known.setdefault(symbol, (size, f"Specified by {place}"))
    else:
        wanted, source = int(symbol), "Specified explicitly"
    if size != wanted:
        _fail(ValueError, message, f"{source}.  {place} must have size {wanted}.  Received size {size}")


# ---- dtypes and types ------------------------------------------------------------------------------------------------


def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> None:
    """Raise `TypeError` unless `tensor` has the dtype `tf_type`.

    Parameters
    ----------
    tensor : tensor_like
        The tensor to check.
    tf_type : dtype
        The dtype to expect.
    message : str, optional
        Text that starts the error message.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.debugging.assert_type(jt.constant(1), jt.int32)
    """
    found, wanted = convert_to_tensor(tensor).dtype, as_dtype(tf_type)
    if found != wanted:
        _fail(TypeError, message, f"tensor must be of type {wanted.name}; got {found.name}")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> None:
    """Raise `TypeError` unless `x` has an integer dtype.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    message : str, optional
        Text that starts the error message.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.debugging.assert_integer([1, 2])
    """
    found = convert_to_tensor(x).dtype
    if found.kind not in "iu":
        _fail(TypeError, message, f'Expected "x" to be integer type.  Found: tensor of dtype {found.name}')


def assert_same_float_dtype(tensors: Iterable[Any] | None = None, dtype: Any = None) -> DType:
    """Return the common floating dtype of tensors; float32 if there are none.

    Parameters
    ----------
    tensors : iterable of tensor-like, optional
    dtype : dtype, optional
        Required dtype.

    Raises
    ------
    ValueError
        If the dtypes differ or are not floating.

    Examples
    --------
    >>> jt.debugging.assert_same_float_dtype([jt.constant(1.0), jt.ones(3)]).name
    'float32'
    """
    found = None if dtype is None else as_dtype(dtype)
    source = "`dtype`"
    for number, tensor in enumerate(tensors or ()):
        own = convert_to_tensor(tensor).aval.dtype
        if found is None:
            found, source = own, f"tensor {number}"
        elif own != found:
            raise ValueError(f"Tensor {number} is {own.name}, but must be {found.name}, as {source}.")
    found = float32 if found is None else found
    if found.kind != "f":
        raise ValueError(f"Expected floating point type, got {found.name}.")
    return dtype_object(found)


def assert_proper_iterable(values: Any) -> None:
    """Raise `TypeError` unless `values` is an iterable of tensors, such as a list, and no tensor, array or str.

    Parameters
    ----------
    values : object
        The object to check.

    Examples
    --------
    >>> jt.debugging.assert_proper_iterable([jt.constant(1.0)])
    """
    if isinstance(values, (Operators, np.ndarray, str, bytes)):
        raise TypeError(f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}')
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


def is_numeric_tensor(tensor: Any) -> bool:
    """Return whether `tensor` is a Tensor of numbers; bools are none, and neither are Variables and arrays.

    Parameters
    ----------
    tensor : object
        The object to check.

    Examples
    --------
    >>> jt.debugging.is_numeric_tensor(jt.constant(1.0)), jt.debugging.is_numeric_tensor(1.0)
    (True, False)
    """
    return isinstance(tensor, Tensor) and tensor.dtype.kind in "iufc"
