"""Discrete cosine transforms of types 1 to 4."""

from __future__ import annotations

from typing import Any

from jittape.core.primitive import apply
from jittape.core.user_calls import as_int
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.broadcast import one_axis_key
from jittape.primitives.shape.reshaping import one_axis
from jittape.primitives.signal.fourier import float_operand, resized
from jittape.primitives.signal.transform_ops import ADJOINT_KIND, dct_op
from jittape.typing import Tensor, TensorLike

__all__ = ["dct", "idct"]


def _dct(x: Any, op: str, kind: int, n: int | None, axis: int, norm: str) -> Any:
    x = float_operand(x)
    if x.dtype.kind == "c":
        raise DTypeError(f"[{op}] needs a real dtype, got {x.dtype.name}; transform both parts")
    a = one_axis(op, axis, len(x.shape))
    if n is not None:
        x = resized(x, a, n)
    if kind == 1 and x.shape[a] == 1:
        raise ShapeError(f"[{op}] type 1 needs at least 2 elements along axis {a}, got shape {x.shape}")
    return dct_op.bind(x, kind=kind, axis=a, norm=norm)


def _checked(op: str, type: Any, n: Any, axis: Any, norm: Any) -> tuple[int, int | None, int, str]:
    kind = as_int("type", type)
    if kind not in ADJOINT_KIND:
        raise ValueError(f"[{op}] type must be 1, 2, 3 or 4, got {kind}")
    if norm is not None and not (isinstance(norm, str) and norm == "ortho"):
        raise ValueError(f"[{op}] norm must be None or 'ortho', got {norm!r}")
    if norm == "ortho" and kind == 1:
        raise ValueError(f"[{op}] norm='ortho' is not defined for type 1; use norm=None")
    length = None if n is None else as_int("n", n)
    if length is not None and length < 1:
        raise ShapeError(f"[{op}] n must be at least 1, got {length}")
    return kind, length, one_axis_key(axis), norm or "backward"


def dct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the discrete cosine transform of real numbers.

    Parameters
    ----------
    input : tensor_like
        A real tensor with at least one dimension.
    type : {1, 2, 3, 4}
        The kind of the transform, as in `scipy.fft.dct`. Type 3 is the inverse of type 2 up to a factor.
    n : int, optional
        The length of the transform; `input` is cropped or padded with zeros.
    axis : int
        The dimension to transform.
    norm : {'ortho'}, optional
        ``"ortho"`` scales the transform so that it keeps the Euclidean norm.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the dimension has no elements, or one for type 1.
    DTypeError
        If `input` is complex.
    ValueError
        If `type` or `norm` is unknown, or for ``norm="ortho"`` with type 1.

    Examples
    --------
    >>> jt.signal.dct([1.0, 2.0, 3.0, 4.0], norm="ortho").numpy().round(3)
    array([ 5.   , -2.23 ,  0.   , -0.159], dtype=float32)
    """
    kind, length, a, scale = _checked("dct", type, n, axis, norm)
    return apply(_dct, (input,), ("dct", kind, length, a, scale))


def idct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the cosine transform that undoes `dct` of the same type, which describes the arguments.

    Without ``norm="ortho"``, the result must be divided by ``2 * n`` (type 1: ``2 * (n - 1)``), as in TensorFlow.

    Parameters
    ----------
    input : tensor_like
        Real numbers.
    type, n, axis, norm, name : those of `dct`

    Raises
    ------
    DTypeError
        If `input` is complex.
    AxisError
        If `axis` is out of range.
    ShapeError
        If a transformed dimension is empty.

    Examples
    --------
    >>> (jt.signal.idct(jt.signal.dct([1.0, 2.0, 3.0])) / 6).numpy()
    array([1., 2., 3.], dtype=float32)
    """
    kind, length, a, scale = _checked("idct", type, n, axis, norm)
    return apply(_dct, (input,), ("idct", ADJOINT_KIND[kind], length, a, scale))
