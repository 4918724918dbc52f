"""Initial value problems with gradients through the steps, or by the continuous adjoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.autodiff.custom_gradient import tensors_read
from jittape.core.dtypes import float64, is_differentiable
from jittape.core.primitive import active_recorder
from jittape.errors import ControlFlowError, DTypeError, ShapeError
from jittape.primitives.elementwise.comparison import logical_not
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.piecewise import sign
from jittape.primitives.identity import identity, stop_gradient
from jittape.primitives.shape.joining import concat, stack
from jittape.primitives.shape.reshaping import expand_dims, transpose
from jittape.recording.convert import convert_to_tensor
from jittape.recording.tensor import any_recorded
from jittape.recording.trace import Trace, current_trace
from jittape.scipy.integrate.bdf_method import bdf_method
from jittape.scipy.integrate.complex_systems import is_complex, solve_complex
from jittape.scipy.integrate.continuous_adjoint import with_adjoint
from jittape.scipy.integrate.ode_events import (
    DenseSolution,
    Event,
    Occurrences,
    event_list,
    occurrences,
    with_gradients,
)
from jittape.scipy.integrate.ode_loop import MESSAGES, Control, Steps, integrated, steps_taken
from jittape.scipy.integrate.ode_methods import RODAS4, Field, Method, explicit_method
from jittape.scipy.integrate.ode_options import counts_of, solver_result, step_limits, tolerance_of
from jittape.scipy.integrate.radau_method import radau_method
from jittape.scipy.scipy_operands import floating_operand, known_values
from jittape.scipy.scipy_parameters import in_scipys_order

__all__ = ["odeint", "solve_ivp"]


def _vector(function: str, value: Any) -> Any:
    """Return the value of a right-hand side as a float64 vector; a list is stacked."""
    if isinstance(value, (list, tuple)):
        value = stack([_number(function, v) for v in value])
    return _number(function, value)


def _field(function: str, fun: Callable[..., Any], args: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    def field(t: Any, y: Any) -> Any:
        value = _vector(function, fun(t, y, *args))
        if shape == (1,) and not value.shape:
            value = expand_dims(value, 0)
        if tuple(value.shape) != shape:
            raise ShapeError(
                f"[{function}] the function must return the shape of y, {shape}, got {tuple(value.shape)}"
            )
        return value

    return field


def _read_by(field: Callable[[Any, Any], Any], t0: Any, y0: Any) -> list[Any]:
    """Return the tensors and Variables that a right-hand side reads, apart from its arguments."""
    t, y = identity(t0), identity(y0)
    before = current_trace().node
    field(t, y)
    return [x for x in tensors_read(before) if x is not t and x is not y and is_differentiable(x.aval.dtype)]


METHODS: dict[str, Callable[[], Method]] = {
    "RK23": lambda: explicit_method("RK23"),
    "RK45": lambda: explicit_method("RK45"),
    "DOP853": lambda: explicit_method("DOP853"),
    "Radau": radau_method,
    "BDF": bdf_method,
    "Rodas4": lambda: RODAS4,
}


def _method(function: str, name: Any) -> Method:
    if name not in METHODS:
        nearest = "; use 'BDF', or 'RK45' if the system is not stiff" if name == "LSODA" else ""
        raise ValueError(f"[{function}] method must be one of {', '.join(METHODS)}, got {name!r}{nearest}")
    return METHODS[name]()


def _right_hand_side(
    function: str,
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    t0: Any,
    y0: Any,
    method: Method,
    adjoint: bool,
) -> Field:
    field = _field(function, fun, args, tuple(y0.shape))
    return Field(field, _read_by(field, t0, y0) if adjoint or method.implicit else ())


def _number(function: str, x: Any) -> Any:
    x = convert_to_tensor(floating_operand(x))
    if x.dtype.kind == "c":
        raise DTypeError(
            f"[{function}] complex numbers, but y0 is real: give solve_ivp a complex y0, such as y0 + 0j"
        )
    return cast(x, float64)


def _checked_start(function: str, y0: Any) -> Any:
    known, y0 = known_values(y0), _number(function, y0)
    if known is not None and not np.isfinite(known).all():
        raise ValueError(f"[{function}] all components of y0 must be finite, got {known}")
    if len(y0.shape) != 1:
        raise ShapeError(f"[{function}] y0 must have one dimension, got shape {tuple(y0.shape)}; reshape it")
    return y0


def _checked_times(t_span: Any, t_eval: Any) -> Any:
    """Return `t_eval` as a tensor; check its order and limits if its values are known."""
    times = _number("solve_ivp", t_eval)
    if len(times.shape) != 1:
        raise ShapeError(f"[solve_ivp] t_eval must have one dimension, got shape {tuple(times.shape)}")
    if not any_recorded(*t_span, t_eval):
        (t0, t1), t = map(float, t_span), np.asarray(t_eval, np.float64)
        if (t < min(t0, t1)).any() or (t > max(t0, t1)).any():
            raise ValueError("[solve_ivp] values in t_eval are not within t_span")
        if (np.diff(t) * np.sign(t1 - t0) <= 0).any() and t0 != t1:
            raise ValueError(
                "[solve_ivp] values in t_eval are not properly sorted: give them in the order of t_span"
            )
    return times


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    *,
    rtol: float = 1e-3,
    atol: Any = 1e-6,
    first_step: float | None = None,
    max_step: float = np.inf,
    jac: None = None,
    adjoint: bool = False,
) -> Any:
    """Solve ``dy/dt = fun(t, y, *args)`` with adaptive steps, in compiled loops.

    The steps of ``"RK23"``, ``"RK45"`` and ``"DOP853"`` are SciPy's. The result is differentiable in `t_span`, `y0`,
    `t_eval`, and in all tensors and Variables that `fun` and `events` read.

    Parameters
    ----------
    fun : callable
        Right-hand side by jittape's operations: a vector, or a list of numbers. It is traced, so it must not branch on
        values.
    t_span : pair of float
        First and last time; the second may be smaller.
    y0 : tensor-like of shape (n,)
        Start. If it is complex, the real and the imaginary parts are a system of real equations, whose errors are
        controlled one by one.
    method : str
        ``"RK23"``, ``"RK45"``, ``"DOP853"``; for stiff systems ``"BDF"``, a multistep method of orders 1 to 5,
        ``"Radau"``, implicit of order 5, or ``"Rodas4"``, linearly implicit of order 4, all with the exact Jacobian.
    t_eval : tensor-like, optional
        Times of the results, in the order of integration. By default, these are the ends of all steps. Their number
        depends on values: inside a `jt.function`, `t_eval` is needed.
    dense_output : bool
        Return `sol`, the solution as a function of time.
    events : callable, or list of callables
        ``event(t, y, *args)`` returns a number by jittape's operations. An event is a change of its sign during a step.
        The attribute `terminal`, a bool or a number of occurrences, ends the integration; `direction` selects changes
        upward (positive) or downward (negative).
    vectorized
        Ignored.
    args : tuple, optional
        Parameters of `fun` and of the events.
    rtol, atol, first_step, max_step
        As in `scipy.integrate.solve_ivp`.
    jac
        Leave it out: the Jacobian is exact.
    adjoint : bool
        Compute gradients by integrating the adjoint equation backward with the same tolerances. This needs no memory
        for steps. The gradients are those of the exact solution, up to the tolerance, and cannot be differentiated
        again. The default times are the first and the last. Without `adjoint`, gradients go through the accepted
        steps, whose values are stored: they are exact derivatives of the numerical solution with steps of constant
        size, to any order, with ``"Radau"`` and ``"BDF"`` to the first.

    Returns
    -------
    scipy.optimize.OptimizeResult
        `t`; `y`, float64 or complex128 of shape (n, times); `sol`; `t_events` and `y_events`, for each event its times
        and the values at them; `success`; `steps`, the number of attempted steps; `nfev`, `njev` and `nlu`, the numbers
        of calls of `fun`, of Jacobians and of their factorizations. Those of ``"RK23"``, ``"RK45"`` and ``"DOP853"``
        are SciPy's up to the last time of `t_eval`, where jittape stops; the other methods compute a Jacobian in each
        attempt. Events are differentiable, by the implicit function theorem up to the seventh order. With `t_eval`
        alone, `success` is a bool tensor, and after a failure values are nan. Else there are `status` and `message`
        too, and after a failure the results end with the last step.

    Raises
    ------
    ValueError
        For an unknown method, times out of order or outside `t_span`, `jac`, or a wrong attribute of an event.
    ShapeError
        If `fun` returns another shape than that of `y0`, or an event more than one number.
    ControlFlowError
        Inside a `jt.function` or the body of a loop: for events, dense output, or without `t_eval`.

    Examples
    --------
    >>> import jittape as jt
    >>> from jittape.scipy import integrate
    >>> def end(rate):
    ...     return integrate.solve_ivp(lambda t, y: -rate * y, (0.0, 1.0), [1.0], rtol=1e-8).y[0, -1]
    >>> round(float(jt.grad(end)(2.0)), 4)
    -0.1353
    >>> def impact(height):
    ...     def ground(t, y):
    ...         return y[0]
    ...     ground.terminal = True
    ...     fall = integrate.solve_ivp(lambda t, y: [y[1], -9.81], (0.0, 9.0), [height, 0.0], events=ground)
    ...     return fall.t_events[0][0]
    >>> round(float(jt.grad(impact)(10.0)), 5)  # 1 / sqrt(2 * 9.81 * 10)
    0.07139
    """
    if jac is not None:
        raise ValueError("[solve_ivp] leave out jac: the Jacobian is exact")
    if is_complex(y0):
        return solve_complex(
            solve_ivp, fun, t_span, y0, atol, events, method=method, t_eval=t_eval, dense_output=dense_output,
            args=args, rtol=rtol, first_step=first_step, max_step=max_step, adjoint=adjoint,
        )  # fmt: skip
    solver = _method("solve_ivp", method)
    t0, t1 = (_number("solve_ivp", t) for t in t_span)
    y0 = _checked_start("solve_ivp", y0)
    times = None if t_eval is None else _checked_times(t_span, t_eval)
    args = tuple(args or ())
    field = _right_hand_side("solve_ivp", fun, args, t0, y0, solver, adjoint)
    rtol = max(rtol, 100 * float(np.finfo(float).eps))
    first, longest = step_limits(t_span, first_step, max_step)
    tolerance = tolerance_of("solve_ivp", atol, y0.shape[0])
    control = Control(rtol, tolerance, first, longest, stop_gradient(sign(t1 - t0)), t1)
    if dense_output or events is not None or (times is None and not adjoint):
        if adjoint:
            raise ValueError(
                "[solve_ivp] adjoint=True has no events and no dense output: leave one of them out"
            )
        return _step_by_step(
            field, solver, control, (t0, y0, times), dense_output, event_list(events or (), args)
        )
    times = stack([t0, t1]) if times is None else times
    way = with_adjoint if adjoint else integrated
    if not times.shape[0]:
        _, last, _ = way(field, solver, control, t0, y0, expand_dims(t1, 0))
        return solver_result(
            solver, last.attempts, last.calls, t=times, y=times, success=logical_not(last.failed)
        )
    values, last, interpolated = way(field, solver, control, t0, y0, times)
    calls = last.calls + solver.polynomial_calls * interpolated
    return solver_result(
        solver, last.attempts, calls, t=times, y=transpose(values), success=logical_not(last.failed)
    )


def _step_by_step(
    field: Field,
    method: Method,
    control: Control,
    problem: tuple[Any, Any, Any],
    dense_output: bool,
    events: list[Event],
) -> Any:
    """Solve an initial value problem whose results have a number of times that depends on values."""
    if type(active_recorder()) is not Trace:
        raise ControlFlowError(
            "[solve_ivp] the number of steps depends on values: inside a jt.function or a loop, pass t_eval, and leave "
            "out dense_output and events"
        )
    t0, y0, times = problem
    n = y0.shape[0]
    found: list[Any] = []

    def enough(steps: Steps) -> bool:
        found[:] = [occurrences(events, method, steps, t0, y0)]
        return found[0].terminal is not None

    steps, last = steps_taken(field, method, control, t0, y0, enough)
    happened: Occurrences = found[0]
    pairs = [
        with_gradients(e, method, steps, t, at, n)
        for e, t, at in zip(events, happened.times, happened.steps, strict=True)
    ]
    t_events, y_events = [t for t, _ in pairs], [y for _, y in pairs]
    direction = float(control.direction.numpy())
    status = 1 if happened.terminal else -1 if last.failed.numpy() else 0
    if happened.terminal:
        event, place, number = happened.terminal
        steps = Steps(*[leaf[: number + 1] for leaf in steps])
    final = Steps(*[leaf[-1] for leaf in steps]) if happened.terminal else last
    interpolated = steps.t.shape[0] if dense_output else len({i for at in happened.steps for i in at})
    counts = counts_of(final, method, interpolated)
    t, y = steps.t, steps.y
    if happened.terminal:
        t = concat([steps.t[:-1], t_events[event][place : place + 1]], 0)
        y = concat([steps.y[:-1], y_events[event][place : place + 1]], 0)
    solution = DenseSolution(method, steps._replace(t=t), t0, y0, direction)
    if times is None:
        t, y = solution.ts, transpose(concat([expand_dims(y0, 0), y], 0))
        if t.shape[0] == 1 and status == 0:  # an interval of length 0 has two ends
            t, y = concat([t, t], 0), concat([y, y], 1)
    else:
        end = float(solution.ts[-1].numpy())
        kept = int((direction * times.numpy() <= direction * end).sum())
        t = times[:kept]
        y = solution(t) if times.shape[0] else t
    return solver_result(
        method,
        *counts,
        t=t,
        y=y,
        sol=solution if dense_output else None,
        t_events=t_events if events else None,
        y_events=y_events if events else None,
        success=status >= 0,
        status=status,
        message=MESSAGES[status],
    )


def _ordered_times(t: Any) -> Any:
    """Return the times of `odeint` as a tensor; check their order if the values are known."""
    times = _number("odeint", t)
    if len(times.shape) != 1 or times.shape[0] == 0:
        raise ShapeError(f"[odeint] t must be a vector of at least one time, got shape {tuple(times.shape)}")
    known = known_values(t)
    steps = np.zeros(0) if known is None else np.diff(known)
    if not ((steps >= 0).all() or (steps <= 0).all()):
        raise ValueError(
            f"[odeint] the values in t must ascend or descend, got {known}; repeated values are allowed"
        )
    return times


ODEINT = 1.49012e-8
"""SciPy's tolerances of `odeint`."""


@in_scipys_order(
    "func y0 t args Dfun col_deriv full_output ml mu rtol atol tcrit h0 hmax hmin ixpr mxstep mxhnil mxordn mxords "
    "printmessg tfirst",
    hint=", or use solve_ivp; Jacobians are exact",
    ignored="col_deriv ml mu h0 ixpr mxstep mxhnil mxordn mxords printmessg",
    Dfun=None, full_output=0, tcrit=None, hmax=0.0, hmin=0.0,
)  # fmt: skip
def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    tfirst: bool = False,
    rtol: float | None = None,
    atol: Any = None,
    method: str = "DOP853",
    adjoint: bool = False,
) -> Any:
    """Solve ``dy/dt = func(y, t, *args)`` and return the values at the times `t`, of shape (times, n).

    Parameters
    ----------
    func : callable
        Right-hand side by jittape's operations; called as ``func(t, y, *args)`` with `tfirst`.
    y0 : tensor-like of shape (n,)
        Values at ``t[0]``; a number counts as a vector of one.
    t : tensor-like
        Times in ascending or descending order. Others raise an error or, if their values are unknown, give nan.
    args, rtol, atol, tfirst
        As in `scipy.integrate.odeint`.
    method, adjoint
        As in `solve_ivp`; SciPy's method LSODA is not here, use ``"BDF"`` for stiff systems.

    Raises
    ------
    ValueError
        For an unknown method, or times without order.

    Examples
    --------
    >>> from jittape.scipy import integrate
    >>> integrate.odeint(lambda y, t: -y, [1.0], [0.0, 1.0]).numpy().round(6)
    array([[1.      ],
           [0.367879]])
    """
    solver = _method("odeint", method)
    y0 = _checked_start("odeint", y0 if len(_number("odeint", y0).shape) else [y0])
    fun = func if tfirst else (lambda t, y, *more: func(y, t, *more))
    times = _ordered_times(t)
    t0, t1 = times[0], times[-1]
    field = _right_hand_side(
        "odeint", fun, args if isinstance(args, tuple) else (args,), t0, y0, solver, adjoint
    )
    rtol, atol = (ODEINT if given is None else given for given in (rtol, atol))
    tolerance = tolerance_of("odeint", atol, y0.shape[0])
    control = Control(rtol, tolerance, None, np.inf, stop_gradient(sign(t1 - t0)), t1)
    way = with_adjoint if adjoint else integrated
    return way(field, solver, control, t0, y0, times)[0]
