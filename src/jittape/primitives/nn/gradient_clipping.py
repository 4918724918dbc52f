"""Gradient clipping: by the norm of each tensor, or by the common norm of all tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.core.primitive import apply
from jittape.primitives.broadcast import as_symbol, axis_key, cast_to, promote
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.complex_numbers import squared_magnitude
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.elementwise.piecewise import absolute, maximum
from jittape.primitives.identity import identity, stop_gradient
from jittape.primitives.record_parts import floating, not_enlarged
from jittape.primitives.reduce.euclidean import euclidean_norm_op
from jittape.primitives.reduce.reductions import Axis, reduce_sum
from jittape.typing import Tensor, TensorLike

__all__ = ["clip_by_average_norm", "clip_by_global_norm", "clip_by_norm", "global_norm"]


def _require_norm(op: str, clip_norm: Any) -> None:
    """Raise for a negative number, which would reverse the gradient."""
    if isinstance(clip_norm, (int, float)) and clip_norm < 0:
        raise ValueError(f"[{op}] clip_norm must not be negative, got {clip_norm!r}")


def _clip_by_norm(t: Any, clip_norm: Any, axes: Any) -> Any:
    t = floating(t)
    length = sqrt(reduce_sum(squared_magnitude(t), axes, keepdims=True))
    limit = cast_to(clip_norm, length.aval.dtype)
    clipped = multiply(t, cast_to(divide(limit, maximum(length, limit)), t.dtype))
    return not_enlarged("clip_by_norm", "clip_norm", t.shape, clipped)


def clip_by_norm(t: TensorLike, clip_norm: TensorLike, axes: Axis = None, name: str | None = None) -> Tensor:
    """Scale `t` down to a Euclidean norm of at most `clip_norm`.

    Parameters
    ----------
    t : tensor_like
        The tensor to scale.
    clip_norm : float or tensor_like
        Greater than 0. The gradient flows through it as well.
    axes : int or sequence of int, optional
        The dimensions of each norm; all of them by default.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.
    ValueError
        If `clip_norm` is a negative number.

    Examples
    --------
    >>> jt.clip_by_norm([3.0, 4.0], 1.0).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    _require_norm("clip_by_norm", clip_norm)
    return apply(_clip_by_norm, (t, clip_norm), (axis_key(axes),))


def _clip_by_average_norm(t: Any, clip_norm: Any) -> Any:
    t = floating(t)
    average = divide(sqrt(reduce_sum(squared_magnitude(t), keepdims=True)), max(t.aval.size, 1))
    limit = cast_to(clip_norm, average.aval.dtype)
    clipped = multiply(t, cast_to(divide(limit, maximum(average, limit)), t.dtype))
    return not_enlarged("clip_by_average_norm", "clip_norm", t.shape, clipped)


def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """Scale `t` down so that its Euclidean norm, divided by the number of its elements, is at most `clip_norm`.

    Parameters
    ----------
    t : tensor_like
        The tensor to scale.
    clip_norm : float or tensor_like
        Greater than 0. The gradient flows through it as well.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.
    ValueError
        If `clip_norm` is a negative number.

    Examples
    --------
    >>> jt.clip_by_average_norm([3.0, 4.0], 1.0).numpy()
    array([1.2, 1.6], dtype=float32)
    """
    _require_norm("clip_by_average_norm", clip_norm)
    return apply(_clip_by_average_norm, (t, clip_norm))


def _global_norm(*tensors: Any) -> Any:
    operands = [floating(as_symbol(t)) for t in tensors]
    sizes = promote(*[absolute(x) if x.dtype.kind == "c" else x for x in operands])
    return euclidean_norm_op.bind(*sizes, axes=tuple([tuple(range(len(x.shape))) for x in sizes]))


def global_norm(t_list: Sequence[TensorLike | None], name: str | None = None) -> Tensor:
    """Return the common Euclidean norm of all elements in `t_list`. The gradient is nan if the norm is 0.

    Parameters
    ----------
    t_list : sequence of tensor_like or None
        None is skipped.
    name : str, optional
        Ignored.

    Raises
    ------
    TypeError
        If `t_list` is not a list or tuple.
    ValueError
        If `t_list` contains no tensor.

    Examples
    --------
    >>> float(jt.linalg.global_norm([[3.0, 0.0], None, 4.0]))
    5.0
    """
    return apply(_global_norm, _present("global_norm", t_list))


def _present(op: str, t_list: Any) -> tuple[Any, ...]:
    if not isinstance(t_list, (list, tuple)):
        raise TypeError(f"[{op}] t_list should be a sequence of tensors, got {type(t_list).__name__}")
    tensors = tuple([t for t in t_list if t is not None])
    if not tensors:
        raise ValueError(f"[{op}] there is no tensor among the {len(t_list)} entries")
    return tensors


def _clip_by_global_norm(clip_norm: Any, total: Any, *tensors: Any) -> tuple[Any, ...]:
    total = floating(total)
    limit = cast_to(clip_norm, total.dtype)
    # The difference is 0, or nan if the norm is inf or nan, which no factor can scale down.
    scale = add(divide(limit, maximum(total, limit)), stop_gradient(subtract(total, total)))
    clipped = [floating(as_symbol(t)) for t in tensors]
    return tuple([multiply(t, cast_to(scale, t.dtype)) for t in clipped])


def clip_by_global_norm(
    t_list: Sequence[TensorLike | None],
    clip_norm: TensorLike,
    use_norm: TensorLike | None = None,
    name: str | None = None,
) -> tuple[list[Tensor | None], Tensor]:
    """Scale the tensors in `t_list` by one factor, to a common Euclidean norm of at most `clip_norm`.

    Parameters
    ----------
    t_list : sequence of tensor_like or None
        Usually gradients; None stays None.
    clip_norm : float or tensor_like
        Greater than 0.
    use_norm : float or tensor_like, optional
        The norm to use; `global_norm` of `t_list` by default.
    name : str, optional
        Ignored.

    Returns
    -------
    list of Tensor or None
        The scaled tensors. If the norm is inf or nan, all are nan.
    Tensor
        The norm before clipping.

    Raises
    ------
    TypeError
        If `t_list` is not a list or tuple.
    ValueError
        If `t_list` contains no tensor, or `clip_norm` is a negative number.

    Examples
    --------
    >>> clipped, before = jt.clip_by_global_norm([3.0, 4.0], 2.5)
    >>> print(float(clipped[0]), float(clipped[1]), float(before))
    1.5 2.0 5.0
    """
    _require_norm("clip_by_global_norm", clip_norm)
    tensors = _present("clip_by_global_norm", t_list)
    total = global_norm(t_list) if use_norm is None else identity(use_norm)
    clipped = iter(apply(_clip_by_global_norm, (clip_norm, total, *tensors)))
    return [None if t is None else next(clipped) for t in t_list], total
