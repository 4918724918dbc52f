"""``jt.random``: random tensors under TensorFlow's names, from a NumPy generator.

The process has one generator. `set_seed` makes a run repeatable, and `get_state` returns the state for a checkpoint.
Random numbers are constants for every tape. A `jt.function` draws new numbers at every call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.config import config
from jittape.core.dtypes import as_dtype, int64, is_floating
from jittape.core.primitive import active_recorder
from jittape.core.program import Aval
from jittape.core.traced_scalar import TracedScalar
from jittape.core.user_calls import as_array, named
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.indexing.getitem import getitem
from jittape.primitives.shape.reshaping import as_shape
from jittape.recording.convert import convert_to_tensor
from jittape.recording.function_trace import drawn
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor, tensor_of

__all__ = ["get_state", "normal", "set_seed", "set_state", "shuffle", "truncated_normal", "uniform"]

_generator: np.random.Generator | None = None
_WORD = (1 << 64) - 1


def set_seed(seed: int) -> None:
    """Restart the sequence of random numbers.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.random.set_seed(1)
    >>> a = jt.random.normal([2])
    >>> jt.random.set_seed(1)
    >>> bool(jt.reduce_all(a == jt.random.normal([2])))
    True
    """
    global _generator
    _generator = _seeded(seed)


def get_state() -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return the complete state of the generator as an array.

    Returns
    -------
    ndarray
        Six uint64; see `set_state`.

    Examples
    --------
    >>> import jittape as jt
    >>> state = jt.random.get_state()
    >>> a = jt.random.normal([2])
    >>> jt.random.set_state(state)
    >>> bool(jt.reduce_all(a == jt.random.normal([2])))
    True
    """
    found: Any = _source(None).bit_generator.state
    words = [found["state"][name] >> shift & _WORD for name in ("state", "inc") for shift in (64, 0)]
    return np.array([*words, found["has_uint32"], found["uinteger"]], np.uint64)


def set_state(state: Any) -> None:
    """Restore the state of the generator.

    Parameters
    ----------
    state : ndarray or tensor
        Result of `get_state`, in this process or another.

    Raises
    ------
    TypeError, ValueError
        If it is not a valid state.
    """
    global _generator
    array = as_array("state", state)
    if array.shape != (6,) or array.dtype != np.uint64 or array[4] > 1:
        raise ValueError(
            "[random.set_state] state must be the array of 6 uint64 that jt.random.get_state gave, got "
            f"{Aval(array.shape, array.dtype)}"
        )
    words = array.tolist()
    generator = np.random.Generator(np.random.PCG64())
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": words[0] << 64 | words[1], "inc": words[2] << 64 | words[3]},
        "has_uint32": words[4],
        "uinteger": words[5],
    }
    _generator = generator


def normal(
    shape: Sequence[int] | int = (),
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw normally distributed numbers.

    Parameters
    ----------
    shape : sequence of int
    mean, stddev : float or array that broadcasts to `shape`
    dtype : dtype, optional
        `jt.config.default_float` if not given.
    seed : int, optional
        Seed of a separate generator.
    name : str, optional
        Ignored; for compatibility with TensorFlow.

    Raises
    ------
    TypeError
        For a dtype that is not floating.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.random.normal([2, 3]).shape
    (2, 3)
    """
    wanted, extents = _float_dtype("normal", dtype), _shape("normal", shape)
    if _traced(mean, stddev):
        return _moved(
            drawn(lambda: np.array(_source(seed).standard_normal(extents), wanted), extents, wanted),
            mean,
            stddev,
        )
    center, scale = _bound("normal", "mean", mean, extents), _bound("normal", "stddev", stddev, extents)
    if np.any(scale < 0):
        raise ValueError(f"[random.normal] stddev must not be negative, got {stddev!r}")
    return drawn(lambda: np.array(_source(seed).normal(center, scale, extents), wanted), extents, wanted)


def truncated_normal(
    shape: Sequence[int] | int = (),
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw normally distributed numbers within two standard deviations. Parameters as for `normal`.

    Examples
    --------
    >>> import jittape as jt
    >>> draw = jt.random.truncated_normal([1000], mean=5.0)
    >>> bool(jt.reduce_all((draw >= 3.0) & (draw <= 7.0)))
    True
    """
    wanted, extents = _float_dtype("truncated_normal", dtype), _shape("truncated_normal", shape)
    if _traced(mean, stddev):
        return _moved(
            drawn(lambda: np.array(_truncated(seed, extents), wanted), extents, wanted), mean, stddev
        )
    center = _bound("truncated_normal", "mean", mean, extents)
    scale = _bound("truncated_normal", "stddev", stddev, extents)
    return drawn(lambda: np.array(center + scale * _truncated(seed, extents), wanted), extents, wanted)


def _truncated(seed: int | None, shape: tuple[int, ...]) -> Any:
    source = _source(seed)
    draw = source.standard_normal(shape)
    outside = np.abs(draw) > 2.0
    while np.any(outside):
        draw = np.where(outside, source.standard_normal(shape), draw)
        outside = np.abs(draw) > 2.0
    return draw


def uniform(
    shape: Sequence[int] | int = (),
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw uniformly distributed numbers in ``[minval, maxval)``.

    Parameters
    ----------
    shape : sequence of int
    minval, maxval : number or array that broadcasts to `shape`
        `maxval` is 1 for floats by default, and required for integers.
    dtype : dtype, optional
        `jt.config.default_float` if not given; an integer dtype draws integers.
    seed : int, optional
        Seed of a separate generator.
    name : str, optional
        Ignored; for compatibility with TensorFlow.

    Raises
    ------
    ValueError
        For an integer dtype without `maxval`, and for an empty range.

    Examples
    --------
    >>> import jittape as jt
    >>> dice = jt.random.uniform([1000], 1, 7, jt.int32)
    >>> bool(jt.reduce_all((dice >= 1) & (dice <= 6)))
    True
    """
    wanted = as_dtype(config.default_float if dtype is None else dtype)
    extents = _shape("uniform", shape)
    if wanted.kind in "iu":
        if maxval is None:
            raise ValueError(f"[random.uniform] Must specify maxval for integer dtype {wanted.name}")
        first, end = _integer_range(minval, maxval, extents, wanted)
        return drawn(lambda: np.asarray(_source(seed).integers(first, end, extents, wanted)), extents, wanted)
    wanted = _float_dtype("uniform", wanted)
    if _traced(minval, maxval):
        unit = drawn(
            lambda: _uniform(seed, extents, np.zeros((), wanted), np.ones((), wanted)), extents, wanted
        )
        return _moved(unit, minval, subtract(1.0 if maxval is None else maxval, minval))
    low = _bound("uniform", "minval", minval, extents).astype(wanted)
    high = _bound("uniform", "maxval", 1.0 if maxval is None else maxval, extents).astype(wanted)
    if not np.all((low <= high) & np.isfinite(high - low)):
        raise ValueError(
            f"[random.uniform] minval must not exceed maxval, and both be finite, got {minval!r} and {maxval!r}"
        )
    return drawn(lambda: _uniform(seed, extents, low, high), extents, wanted)


def _uniform(seed: int | None, shape: tuple[int, ...], low: Any, high: Any) -> Any:
    draw = np.asarray(_source(seed).uniform(low, high, shape)).astype(low.dtype)
    # With fewer digits, a number just below `high` may round to `high`.
    return np.where((draw >= high) & (low < high), np.nextafter(high, low), draw)


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """Return the rows of `value` in random order.

    Parameters
    ----------
    value : tensor-like
        Of at least one dimension.
    seed : int, optional
        Seed of a separate generator.
    name : str, optional
        Ignored; for compatibility with TensorFlow.

    Examples
    --------
    >>> import jittape as jt
    >>> sorted(jt.random.shuffle([1, 2, 3]).tolist())
    [1, 2, 3]
    """
    rows = convert_to_tensor(value)
    if not rows.ndim:
        raise ShapeError("[random.shuffle] a 0-d value has no rows")
    recorder = active_recorder()
    if recorder.traced_in is not None or recorder.intervals:
        order: Tensor = getitem(
            rows, drawn(lambda: _source(seed).permutation(rows.shape[0]), rows.shape[:1], int64)
        )
        return order
    return tensor_of(rows.numpy()[_source(seed).permutation(rows.shape[0])])


def _source(seed: int | None) -> np.random.Generator:
    """Return the generator. The common one is created at its first use: importing numpy.random takes 9 ms."""
    global _generator
    if seed is not None:
        return _seeded(seed)
    if _generator is None:
        _generator = np.random.Generator(np.random.PCG64())
    return _generator


def _seeded(seed: int) -> np.random.Generator:
    try:
        return np.random.Generator(np.random.PCG64(seed))
    except (TypeError, ValueError):
        raise named(TypeError(f"seed must be an int of at least 0, got {seed!r}")) from None


def _shape(name: str, shape: Sequence[int] | int) -> tuple[int, ...]:
    extents = as_shape(f"random.{name}", shape)
    if any(n < 0 for n in extents):
        raise ShapeError(f"[random.{name}] dimensions must not be negative, got {shape!r}")
    return extents


def _bound(name: str, argument: str, value: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return a parameter of a distribution as an array that broadcasts to `shape`."""
    array = np.array(convert_to_tensor(value)) if isinstance(value, (list, tuple)) else np.array(value)
    if array.dtype.kind not in "biuf":
        raise DTypeError(
            f"[random.{name}] {argument} must be a real number or an array of them, got {value!r}"
        )
    try:
        fits = np.broadcast_shapes(array.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"[random.{name}] {argument} of shape {array.shape} does not broadcast to {shape}")
    return array


def _integer_range(
    minval: Any, maxval: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    first, end = _bound("uniform", "minval", minval, shape), _bound("uniform", "maxval", maxval, shape)
    limits = np.iinfo(dtype)
    if not np.all((first < end) & (first >= limits.min) & (end <= int(limits.max) + 1)):
        raise ValueError(
            f"[random.uniform] minval must be below maxval and both within {dtype.name}, got {minval!r} and {maxval!r}"
        )
    return first, end


def _float_dtype(name: str, dtype: Any) -> np.dtype[Any]:
    wanted = as_dtype(config.default_float if dtype is None else dtype)
    if not is_floating(wanted):
        raise DTypeError(f"[random.{name}] draws floating-point numbers, not {wanted.name}; cast the result")
    return wanted


def _traced(*values: Any) -> bool:
    """Return whether a value may change between calls of the traced function."""
    return active_recorder().traced_in is not None and any(
        isinstance(v, (Operators, TracedScalar)) for v in values
    )


def _moved(draw: Tensor, center: Any, scale: Any) -> Tensor:
    """Return `drawn` scaled and shifted, in its own dtype."""
    return cast(add(center, multiply(scale, draw)), draw.dtype)


def __dir__() -> list[str]:
    return __all__
