"""New seeds from seeds: `split` and `fold_in`."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import uint64
from jittape.core.primitive import apply
from jittape.core.user_calls import as_int, shown
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.broadcast import as_symbol, broadcast, cast_to, to_shape
from jittape.primitives.elementwise.bits import bitwise_xor
from jittape.primitives.elementwise.random_numbers import philox_op
from jittape.primitives.shape.joining import stack
from jittape.random.arguments import seed_operand
from jittape.random.coordinates import coordinates
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor

__all__ = ["derived_seeds", "fold_in", "require_algorithm", "split"]

_SPLIT_KEY, _FOLD_KEY = 0x5EED5EED5EED5EED, 0xF01DF01DF01DF01D
"""Masks of the key for derived seeds, whose bits are not those of numbers drawn with the same seed."""


def require_algorithm(op: str, alg: Any) -> None:
    """Raise for an algorithm other than Philox."""
    if not (alg is None or (isinstance(alg, (str, int)) and alg in ("auto_select", "philox", 1))):
        raise ValueError(f"[random.{op}] alg must be 'philox' or 'auto_select', got {alg!r}")


def _words(block: Any, stream: Any, key: Any, mask: int, dtype: np.dtype[Any]) -> Any:
    """Return the two halves of blocks as seeds, along a new last dimension."""
    masked = bitwise_xor(key, broadcast(literal(mask, uint64), key.shape))
    halves = [philox_op.bind(block, stream, masked, half=half) for half in (0, 1)]
    return stack([cast_to(x, dtype) for x in halves], axis=-1)


def derived_seeds(state: Any, count: int, dtype: np.dtype[Any]) -> Any:
    """Return `count` new seeds."""
    return _words(*coordinates(state, (count,)), _SPLIT_KEY, dtype)


def _folded(seed: Any, data: Any) -> Any:
    seed = as_symbol(seed)
    _, stream, key = coordinates(seed, ())
    return _words(to_shape(cast_to(data, uint64), ()), stream, key, _FOLD_KEY, seed.dtype)


def split(seed: Any, num: int = 2, alg: Any = "auto_select") -> Tensor:
    """Return independent new seeds for a seed, which must not be used otherwise.

    Parameters
    ----------
    seed : tensor-like of shape (2,)
        Integers.
    num : int
        Number of seeds.
    alg : str
        Only Philox is available; for compatibility with TensorFlow.

    Returns
    -------
    Tensor of shape (num, 2)
        With the dtype of `seed`.

    Raises
    ------
    DTypeError
        If `seed` is not an integer.
    ShapeError
        If `seed` is not two numbers.

    Examples
    --------
    >>> import jittape as jt
    >>> first, second = jt.random.split([1, 2])
    >>> bool(jt.reduce_all(jt.random.stateless_normal([3], first) == jt.random.stateless_normal([3], second)))
    False
    """
    require_algorithm("split", alg)
    given, count = seed_operand("split", seed), as_int("num", num)
    if count < 1:
        raise ValueError(f"[random.split] num must be at least 1, got {num!r}")
    return apply(derived_seeds, (given,), (count, np.dtype(given.dtype)))


def fold_in(seed: Any, data: Any, alg: Any = "auto_select") -> Tensor:
    """Return a new seed for a seed and an integer, such as the number of a step.

    Parameters
    ----------
    seed : tensor-like of shape (2,)
        Integers.
    data : int or scalar tensor
    alg : str
        Only Philox is available; for compatibility with TensorFlow.

    Returns
    -------
    Tensor of shape (2,)
        With the dtype of `seed`.

    Examples
    --------
    >>> import jittape as jt
    >>> seeds = [jt.random.fold_in([1, 2], step).tolist() for step in (0, 1, 0)]
    >>> seeds[0] == seeds[2], seeds[0] == seeds[1]
    (True, False)
    """
    require_algorithm("fold_in", alg)
    given = seed_operand("fold_in", seed)
    number = data if isinstance(data, Operators) else convert_to_tensor(data)
    if number.dtype.kind not in "iu":
        raise DTypeError(f"[random.fold_in] data must be an integer, got {shown(data)}")
    if number.shape != ():
        raise ShapeError(f"[random.fold_in] data must be a scalar, got shape {tuple(number.shape)}")
    return apply(_folded, (given, number))
