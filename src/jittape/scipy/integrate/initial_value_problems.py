"""Initial value problems with gradients through the steps, or by the continuous adjoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.autodiff.custom_gradient import custom_gradient, tensors_read
from jittape.autodiff.tape import GradientTape
from jittape.core.dtypes import float64, is_differentiable
from jittape.errors import NoGradientError, ShapeError
from jittape.flow.scans import scan
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.piecewise import sign
from jittape.primitives.identity import identity, stop_gradient
from jittape.primitives.shape.creation import zeros
from jittape.primitives.shape.joining import concat, stack
from jittape.primitives.shape.reshaping import reshape, reverse, transpose
from jittape.recording.convert import convert_to_tensor
from jittape.recording.handles import own_handles
from jittape.recording.trace import current_trace
from jittape.scipy.integrate.ode_loop import Control, integrated
from jittape.scipy.integrate.ode_methods import METHODS, Field, Method
from jittape.scipy.scipy_operands import floating_operand
from jittape.transforms.wrappers import with_values

__all__ = ["odeint", "solve_ivp"]


def _vector(value: Any) -> Any:
    """Return the value of a right-hand side as a float64 vector; a list is stacked."""
    if isinstance(value, (list, tuple)):
        value = stack([cast(convert_to_tensor(v), float64) for v in value])
    return cast(convert_to_tensor(value), float64)


def _field(function: str, fun: Callable[..., Any], args: tuple[Any, ...], shape: tuple[int, ...]) -> Field:
    def field(t: Any, y: Any) -> Any:
        value = _vector(fun(t, y, *args))
        if tuple(value.shape) != shape:
            raise ShapeError(
                f"[{function}] the function must return the shape of y, {shape}, got {tuple(value.shape)}"
            )
        return value

    return field


def _method(function: str, name: Any) -> Method:
    if name not in METHODS:
        stiff = "; for stiff systems use 'Rodas4'" if name in ("Radau", "BDF", "LSODA") else ""
        raise ValueError(f"[{function}] method must be one of {', '.join(METHODS)}, got {name!r}{stiff}")
    return METHODS[name]()


# ---- the continuous adjoint ------------------------------------------------------------------------------------------


def _by_adjoint(
    field: Field, method: Method, control: Control, t0: Any, y0: Any, times: Any
) -> tuple[Any, Any, Any]:
    """Do as `integrated`; the gradient integrates the adjoint equation backward from one time to the one before.

    With ``a = dL/dy``: ``da/dt = -a df/dy``, and the gradient of a parameter p is the integral of ``a df/dp``
    (Pontryagin; Chen et al., NeurIPS 2018).
    """
    start = identity(y0)
    before = current_trace().node
    field(convert_to_tensor(t0), start)
    read = [t for t in tensors_read(before) if t is not start and is_differentiable(t.aval.dtype)]
    as_read = own_handles(read)
    values, success, steps = integrated(field, method, control, t0, y0, times)
    values, times = stop_gradient(values), stop_gradient(times)

    def gradient(upstream: Any) -> list[Any]:
        with with_values(read, as_read):
            found = _swept(field, method, control, (t0, times, values), read, upstream)
        return [_differentiable_once(g) for g in found]

    made = custom_gradient(lambda *operands: (values, gradient))(y0, *as_read)
    return made, success, steps


@custom_gradient
def _differentiable_once(cotangent: Any) -> Any:
    """Return `cotangent`; raise if it is differentiated, because the steps of the sweep have no gradient."""

    def gradient(upstream: Any) -> Any:
        raise NoGradientError(
            "[solve_ivp] adjoint=True gives first derivatives, in reverse mode; leave it out for others"
        )

    return identity(cotangent), gradient


def _swept(
    field: Field,
    method: Method,
    control: Control,
    solution: tuple[Any, Any, Any],
    read: list[Any],
    upstream: Any,
) -> list[Any]:
    """Return the cotangents of the start and of all tensors in `read`."""
    t0, times, values = solution
    n = values.shape[1]
    sizes = [int(np.prod(p.shape)) for p in read]

    def augmented(t: Any, z: Any) -> Any:
        y, a = z[:n], z[n : 2 * n]
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([y, *read])
            f = field(t, y)
        slopes = tape.gradient(f, [y, *read], a, "zero")
        return concat([f, *[reshape(cast(-s, float64), (-1,)) for s in slopes]], 0)

    def back(carried: Any, row: Any) -> Any:
        begin, end, y, jump = row
        z = concat([y, carried[:n] + jump, carried[n:]], 0)
        own = control._replace(direction=-control.direction, end=end, first_step=None)
        found, _, _ = integrated(augmented, method, own, begin, z, reshape(end, (1,)))
        return found[0, n:]

    ends = concat([reshape(convert_to_tensor(t0), (1,)), times[:-1]], 0)
    rows = [reverse(x, [0]) for x in (times, ends, values, cast(upstream, float64))]
    total = scan(back, tuple(rows), initializer=zeros((n + sum(sizes),), dtype=float64))[-1]
    parts, at = [total[:n]], n
    for p, size in zip(read, sizes, strict=True):
        parts.append(cast(reshape(total[at : at + size], p.shape), p.dtype))
        at += size
    return parts


# ---- SciPy's functions -----------------------------------------------------------------------------------------------


def _integrated(
    function: str, field: Field, name: Any, control: Control, t0: Any, y0: Any, times: Any, adjoint: bool
) -> tuple[Any, Any, Any]:
    method = _method(function, name)
    return (_by_adjoint if adjoint else integrated)(field, method, control, t0, y0, times)


def _number(x: Any) -> Any:
    return stop_gradient(cast(convert_to_tensor(floating_operand(x)), float64))


def _checked_start(function: str, y0: Any) -> Any:
    y0 = cast(convert_to_tensor(floating_operand(y0)), float64)
    if len(y0.shape) != 1:
        raise ShapeError(f"[{function}] y0 must have one dimension, got shape {tuple(y0.shape)}; reshape it")
    return y0


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    args: Any = None,
    *,
    rtol: float = 1e-3,
    atol: Any = 1e-6,
    first_step: float | None = None,
    max_step: float = np.inf,
    adjoint: bool = False,
) -> Any:
    """Solve ``dy/dt = fun(t, y, *args)`` with adaptive steps, as one compiled loop.

    The steps of ``"RK23"``, ``"RK45"`` and ``"DOP853"`` are SciPy's. The result is differentiable in `y0`, in `t_eval`,
    and in all tensors and Variables that `fun` reads.

    Parameters
    ----------
    fun : callable
        Right-hand side by jittape's operations: a vector, or a list of numbers. It is traced, so it must not branch on
        values.
    t_span : pair of float
        First and last time; the second may be smaller. No gradient flows to them.
    y0 : tensor-like of shape (n,)
        Start.
    method : str
        ``"RK23"``, ``"RK45"``, ``"DOP853"``, or ``"Rodas4"`` for stiff systems: linearly implicit, of order 4, with the
        exact Jacobian.
    t_eval : tensor-like, optional
        Times of the results, in the order of integration. Without them, the results are those at the first and the last
        time: SciPy returns all steps, whose number depends on values.
    args : tuple, optional
        Parameters of `fun`.
    rtol, atol, first_step, max_step
        As in `scipy.integrate.solve_ivp`.
    adjoint : bool
        Compute gradients by integrating the adjoint equation backward with the same tolerances. This needs no memory
        for steps. The gradients are those of the exact solution, up to the tolerance; they cannot be differentiated
        again, and none flows to `t_eval`. By default, gradients go through the accepted steps, whose values are stored:
        they are exact derivatives of the numerical solution with steps of constant size, to any order.

    Returns
    -------
    scipy.optimize.OptimizeResult
        `t`; `y`, float64 of shape (n, times); `success`, a bool tensor; `steps`, the number of attempted steps. After a
        failure, values are nan.

    Raises
    ------
    ValueError
        For an unknown method.
    ShapeError
        If `fun` returns another shape than that of `y0`.

    Examples
    --------
    >>> import jittape as jt
    >>> from jittape.scipy import integrate
    >>> def end(rate):
    ...     return integrate.solve_ivp(lambda t, y: -rate * y, (0.0, 1.0), [1.0], rtol=1e-8).y[0, -1]
    >>> round(float(jt.grad(end)(2.0)), 4)
    -0.1353
    """
    t0, t1 = (_number(t) for t in t_span)
    y0 = _checked_start("solve_ivp", y0)
    field = _field("solve_ivp", fun, tuple(args or ()), tuple(y0.shape))
    times = stack([t0, t1]) if t_eval is None else cast(convert_to_tensor(floating_operand(t_eval)), float64)
    rtol = max(rtol, 100 * float(np.finfo(float).eps))
    first = None if first_step is None else float(first_step)
    control = Control(rtol, _tolerance(atol), first, float(max_step), sign(t1 - t0), t1)
    values, success, steps = _integrated("solve_ivp", field, method, control, t0, y0, times, adjoint)
    from scipy.optimize import OptimizeResult

    return OptimizeResult(t=times, y=transpose(values), success=success, steps=steps)


def _tolerance(atol: Any) -> Any:
    return float(atol) if isinstance(atol, (int, float)) else np.asarray(atol, np.float64)


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    tfirst: bool = False,
    rtol: float = 1.49012e-8,
    atol: Any = 1.49012e-8,
    method: str = "DOP853",
    adjoint: bool = False,
) -> Any:
    """Solve ``dy/dt = func(y, t, *args)`` and return the values at the times `t`, of shape (times, n).

    Parameters
    ----------
    func : callable
        Right-hand side by jittape's operations; called as ``func(t, y, *args)`` with `tfirst`.
    y0 : tensor-like of shape (n,)
        Values at ``t[0]``.
    t : tensor-like
        Times in ascending or descending order.
    args, rtol, atol
        As in `scipy.integrate.odeint`.
    method, adjoint
        As in `solve_ivp`; SciPy's method LSODA is not here, use ``"Rodas4"`` for stiff systems.

    Raises
    ------
    ValueError
        For an unknown method.

    Examples
    --------
    >>> from jittape.scipy import integrate
    >>> integrate.odeint(lambda y, t: -y, [1.0], [0.0, 1.0]).numpy().round(6)
    array([[1.      ],
           [0.367879]])
    """
    y0 = _checked_start("odeint", y0)
    fun = func if tfirst else (lambda t, y, *more: func(y, t, *more))
    field = _field("odeint", fun, args if isinstance(args, tuple) else (args,), tuple(y0.shape))
    times = cast(convert_to_tensor(floating_operand(t)), float64)
    t0, t1 = stop_gradient(times[0]), stop_gradient(times[-1])
    control = Control(rtol, _tolerance(atol), None, np.inf, sign(t1 - t0), t1)
    return _integrated("odeint", field, method, control, t0, y0, times, adjoint)[0]
