"""Linear filters of signals, differentiable in the signal, both polynomials and the initial conditions.

With ``a[0] = 1``, the output is ``y[n] = u[n] - sum_k a[k] y[n-k]``, where u is the convolution of `b` and the signal
plus the initial conditions in its first elements. SciPy runs this recurrence. Its derivatives are the same recurrence
backward in time, so derivatives of any order exist, and no rule stores more than the output.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.primitive import Primitive, apply
from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import broadcast, conj, sum_over, to_shape
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, subtract
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.reduce.cumulative import cumsum, delayed
from jittape.primitives.shape.joining import concat, stack
from jittape.primitives.shape.reordering import moveaxis
from jittape.primitives.shape.reshaping import reshape
from jittape.primitives.shape.views import flipped, placed, sliced
from jittape.primitives.signal.direct_convolution import direct_convolution
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.scipy_operands import floating_operand

__all__ = ["filtfilt", "lfilter", "lfilter_zi", "sosfilt"]


# ---- the recurrence --------------------------------------------------------------------------------------------------


def _recurrence(a: Any, u: Any) -> Any:
    from scipy.signal import lfilter as scipy_lfilter

    rows, result = a.reshape(-1, a.shape[-1]), np.empty_like(u)
    if u.size and (rows == rows[0]).all():
        result[...] = scipy_lfilter([1.0], np.concatenate([[1.0], rows[0]]).astype(u.dtype), u)
        return result
    for index in np.ndindex(u.shape[:-1]):
        result[index] = scipy_lfilter([1.0], np.concatenate([[1.0], a[index]]).astype(u.dtype), u[index])
    return result


def _backward(a: Any, g: Any) -> Any:
    axes = (len(g.shape) - 1,)
    return flipped(all_pole_op.bind(conj(a), flipped(g, axes)), axes)


def _delayed(y: Any, by: int) -> Any:
    """Return `y` shifted by `by` elements towards the end of its last axis, with zeros in front."""
    axis, n = len(y.shape) - 1, y.shape[-1]
    kept = sliced(y, axis, 0, max(n - by, 0))
    return placed(kept, tuple([min(by, n) if i == axis else 0 for i in range(axis + 1)]), y.shape)


def _poles_vjp(g: Any, out: Any, a: Any, u: Any) -> Any:
    back, last = _backward(a, g), len(out.shape) - 1
    terms = [sum_over(multiply(back, conj(_delayed(out, k))), (last,)) for k in range(1, a.shape[-1] + 1)]
    return negative(stack(terms, axis=-1))


all_pole_op = Primitive(
    "all_pole_filter",
    abstract_eval=lambda a, u: u,
    impl=_recurrence,
    vjp=(_poles_vjp, lambda g, out, a, u: _backward(a, g)),
    batch=alike(),
)
"""The recurrence ``y[n] = u[n] - sum_k a[k-1] y[n-k]`` along the last axis, with a row of `a` for each row of `u`."""


# ---- filters ---------------------------------------------------------------------------------------------------------


def _filtered(b: Any, a: Any, x: Any, axis: int) -> Any:
    return _continued_filter(b, a, x, None, axis)


def _continued_filter(b: Any, a: Any, x: Any, zi: Any, axis: int) -> Any:
    """Return the output, and with the initial conditions `zi` the final ones."""
    lead = sliced(a, 0, 0, 1)
    b, a = divide(b, broadcast(lead, b.shape)), divide(a, broadcast(lead, a.shape))
    order = max(a.shape[0], b.shape[0]) - 1
    x = moveaxis(x, axis, -1)
    n, rank = x.shape[-1], len(x.shape)
    moving = direct_convolution(x, to_shape(b, (*(1,) * (rank - 1), b.shape[0])), rank, "full")
    u = sliced(moving, rank - 1, 0, n)
    if zi is not None:
        zi = moveaxis(zi, axis, -1)
        zi = broadcast(zi, (*x.shape[:-1], order))
        started = sliced(zi, rank - 1, 0, min(order, n))
        u = add(u, placed(started, (0,) * rank, u.shape))
    poles = sliced(a, 0, 1, a.shape[0] - 1)
    y = u
    if poles.shape[0]:
        wide = broadcast(
            to_shape(poles, (*(1,) * (rank - 1), poles.shape[0])), (*x.shape[:-1], poles.shape[0])
        )
        y = all_pole_op.bind(wide, u)
    if zi is None:
        return moveaxis(y, -1, axis)
    # The final conditions are what the recurrence adds to the outputs after the last one.
    final = _tail(moving, n, order)
    if poles.shape[0]:
        full = direct_convolution(y, to_shape(poles, (*(1,) * (rank - 1), poles.shape[0])), rank, "full")
        # full[m] = sum_k a[k] y[m + 1 - k]
        final = subtract(final, _tail(full, n - 1, order))
    if n < order:
        final = add(final, placed(sliced(zi, rank - 1, n, order - n), (0,) * rank, final.shape))
    return moveaxis(y, -1, axis), moveaxis(final, -1, axis)


def _tail(x: Any, start: int, length: int) -> Any:
    """Return `length` elements from `start` on; those after the end are 0."""
    rank, kept = len(x.shape), min(length, x.shape[-1] - start)
    return placed(sliced(x, rank - 1, start, kept), (0,) * rank, (*x.shape[:-1], length))


def _polynomial(function: str, name: str, p: Any) -> Any:
    p = convert_to_tensor(floating_operand(p))
    p = reshape(p, (1,)) if len(p.shape) == 0 else p
    if len(p.shape) != 1 or not p.shape[0]:
        raise ShapeError(f"[{function}] {name} must be a vector of coefficients, got shape {tuple(p.shape)}")
    return p


def _signal(function: str, x: Any, axis: Any) -> tuple[Any, int]:
    x = convert_to_tensor(floating_operand(x))
    if len(x.shape) == 0:
        raise ShapeError(f"[{function}] x must have at least one dimension; a number is no signal")
    axis = as_int("axis", axis)
    if not -len(x.shape) <= axis < len(x.shape):
        raise ShapeError(f"[{function}] axis={axis} is out of range for shape {tuple(x.shape)}")
    return x, axis % len(x.shape)


def _in_one_dtype(*tensors: Any) -> tuple[Any, ...]:
    dtype = np.result_type(*[np.dtype(t.aval.dtype) for t in tensors])
    return tuple([cast(t, dtype) for t in tensors])


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter a signal by a rational transfer function.

    Parameters
    ----------
    b, a : tensor-like of one dimension
        Coefficients of numerator and denominator; both are divided by ``a[0]``.
    x : tensor-like
        Signals along `axis`.
    axis : int
        Axis of time.
    zi : tensor-like, optional
        Initial conditions, of length ``max(len(a), len(b)) - 1`` along `axis`; its other
        dimensions are broadcast to those of `x`.

    Returns
    -------
    Tensor, or two of them
        The output in the shape of `x`; with `zi` also the final conditions. Differentiable in all arguments.

    Raises
    ------
    ShapeError
        If `b` or `a` is no vector, or `zi` has another length.

    Examples
    --------
    >>> import jittape as jt
    >>> from jittape.scipy import signal
    >>> signal.lfilter([1.0], [1.0, -0.5], [1.0, 0.0, 0.0]).numpy()
    array([1.  , 0.5 , 0.25])
    >>> round(float(jt.grad(lambda p: signal.lfilter([1.0], [1.0, -p], [1.0, 0.0, 0.0])[2])(0.5)), 4)
    1.0
    """
    b, a = _polynomial("lfilter", "b", b), _polynomial("lfilter", "a", a)
    x, axis = _signal("lfilter", x, axis)
    if zi is None:
        return apply(_filtered, _in_one_dtype(b, a, x), (axis,))
    zi = convert_to_tensor(floating_operand(zi))
    order = max(a.shape[0], b.shape[0]) - 1
    if len(zi.shape) != len(x.shape) or zi.shape[axis] != order:
        raise ShapeError(
            f"[lfilter] zi must have {len(x.shape)} dimensions and {order} elements along axis {axis}, "
            f"got shape {tuple(zi.shape)}"
        )
    return apply(_continued_filter, _in_one_dtype(b, a, x, zi), (axis,))


def lfilter_zi(b: Any, a: Any) -> Any:
    """Return the initial conditions for which the output of a constant signal of ones is constant.

    Parameters
    ----------
    b, a : tensor-like of one dimension
        Coefficients of numerator and denominator.

    Raises
    ------
    ShapeError
        If `b` or `a` is no vector, or empty.

    Examples
    --------
    >>> from jittape.scipy import signal
    >>> signal.lfilter_zi([1.0], [1.0, -0.5]).numpy()
    array([1.])
    """
    b, a = _in_one_dtype(_polynomial("lfilter_zi", "b", b), _polynomial("lfilter_zi", "a", a))
    return apply(_steady, (b, a))


def _steady(b: Any, a: Any) -> Any:
    n = max(a.shape[0], b.shape[0])
    lead = sliced(a, 0, 0, 1)
    b, a = [placed(divide(p, broadcast(lead, p.shape)), (0,), (n,)) for p in (b, a)]
    if n == 1:
        return sliced(b, 0, 0, 0)
    first_b = broadcast(sliced(b, 0, 0, 1), (n - 1,))
    added = subtract(sliced(b, 0, 1, n - 1), multiply(sliced(a, 0, 1, n - 1), first_b))
    sums_a, sums_b = cumsum(a, 0), cumsum(added, 0)
    first = divide(sliced(sums_b, 0, n - 2, 1), sliced(sums_a, 0, n - 1, 1))
    return subtract(
        multiply(sliced(sums_a, 0, 0, n - 1), broadcast(first, (n - 1,))), delayed(sums_b, 0, 0.0)
    )


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter a signal by a cascade of sections of second order.

    Parameters
    ----------
    sos : tensor-like of shape (n, 6)
        A row for each section: three coefficients of the numerator, then three of the denominator.
    x : tensor-like
        Signals along `axis`.
    axis : int
        Axis of time.
    zi : tensor-like, optional
        Initial conditions of each section, of shape ``(n, ..., 2, ...)``.

    Returns
    -------
    Tensor, or two of them
        The output in the shape of `x`; with `zi` also the final conditions. Differentiable in all arguments.

    Raises
    ------
    ShapeError
        If `sos` has another shape.

    Examples
    --------
    >>> from jittape.scipy import signal
    >>> signal.sosfilt([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]], [1.0, 0.0, 0.0]).numpy()
    array([1.  , 0.5 , 0.25])
    """
    sos = convert_to_tensor(floating_operand(sos))
    if len(sos.shape) != 2 or sos.shape[1] != 6:
        raise ShapeError(f"[sosfilt] sos must have the shape (sections, 6), got {tuple(sos.shape)}")
    final = []
    for i in range(sos.shape[0]):
        b, a = sos[i, :3], sos[i, 3:]
        if zi is None:
            x = lfilter(b, a, x, axis)
        else:
            x, state = lfilter(b, a, x, axis, zi[i])
            final.append(state)
    return x if zi is None else (x, stack(final))


def filtfilt(
    b: Any, a: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None
) -> Any:
    """Filter a signal forward and backward, without a shift of the phase.

    Parameters
    ----------
    b, a : tensor-like of one dimension
        Coefficients of numerator and denominator.
    x : tensor-like
        Signals along `axis`.
    axis : int
        Axis of time.
    padtype : {"odd", "even", "constant", None}
        Continuation of the signal at both ends.
    padlen : int, optional
        Number of elements of the continuation, ``3 * max(len(a), len(b))`` if not given.

    Returns
    -------
    Tensor
        The output in the shape of `x`, differentiable in all arguments.

    Raises
    ------
    ValueError
        If the signal is not longer than `padlen`, or for another `padtype`.

    Examples
    --------
    >>> import numpy as np
    >>> from jittape.scipy import signal
    >>> bool(np.allclose(signal.filtfilt([0.5, 0.5], [1.0], np.ones(9)), 1.0))
    True
    """
    b, a = _polynomial("filtfilt", "b", b), _polynomial("filtfilt", "a", a)
    x, axis = _signal("filtfilt", x, axis)
    if padtype not in ("odd", "even", "constant", None):
        raise ValueError(f"[filtfilt] padtype must be 'odd', 'even', 'constant' or None, got {padtype!r}")
    edge = 0 if padtype is None else 3 * max(a.shape[0], b.shape[0]) if padlen is None else padlen
    x = moveaxis(x, axis, -1)
    n = x.shape[-1]
    if n <= edge:
        raise ValueError(
            f"[filtfilt] x must have more than padlen={edge} elements along axis {axis}, got {n}"
        )
    if edge:
        x = concat([_continued(x[..., edge:0:-1], x[..., :1], padtype), x,
                    _continued(x[..., -2 : -edge - 2 : -1], x[..., -1:], padtype)], axis=-1)  # fmt: skip
    zi = lfilter_zi(b, a)
    for _ in range(2):
        start = multiply(reshape(zi, (*(1,) * (len(x.shape) - 1), -1)), x[..., :1])
        x = lfilter(b, a, x, -1, start)[0][..., ::-1]
    return moveaxis(x[..., edge : edge + n], -1, axis)


def _continued(mirrored: Any, end: Any, padtype: str | None) -> Any:
    """Return the continuation of a signal, given its mirror image at an end."""
    if padtype == "even":
        return mirrored
    return 2.0 * end - mirrored if padtype == "odd" else end + 0.0 * mirrored
