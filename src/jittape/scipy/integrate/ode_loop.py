"""Adaptive integration as recorded loops: SciPy's step size control, and the values at requested times.

The sizes of the steps are constants for gradients, which go through the accepted steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jittape.core.dtypes import float64, int64
from jittape.flow.loops import while_loop
from jittape.flow.scans import scan
from jittape.primitives.elementwise.comparison import logical_and, logical_not, logical_or, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.piecewise import absolute, maximum, minimum
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.identity import stop_gradient
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.creation import zeros
from jittape.primitives.shape.joining import concat
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.integrate.ode_methods import Field, Method, Point, root_mean_square

__all__ = ["MESSAGES", "Control", "State", "Steps", "integrated", "steps_taken"]

MIN_FACTOR, MAX_FACTOR = 0.2, 10.0
FIRST_PORTION = 64
"""Number of accepted steps after which their number is read; each portion has twice that of the one before."""
EPS = float(np.finfo(np.float64).eps)

MESSAGES = {
    -1: "Required step size is less than spacing between numbers.",
    0: "The solver successfully reached the end of the integration interval.",
    1: "A termination event occurred.",
}
"""SciPy's message for each status."""


class Control(NamedTuple):
    """Tolerances and limits of the steps; `direction` is 1 or -1, `end` the last time."""

    rtol: Any
    atol: Any
    first_step: Any
    max_step: Any
    direction: Any
    end: Any

    def scale(self, y: Any, new: Any) -> Any:
        """Return the tolerances of the components for a step from `y` to `new`."""
        return self.atol + maximum(absolute(y), absolute(new)) * self.rtol


class State(NamedTuple):
    """Variables of the loop: the current point, the last accepted step, and the step size control."""

    t: Any
    y: Any
    f: Any
    old_t: Any
    old_y: Any
    rows: Any
    step: Any
    size: Any
    rejected: Any
    failed: Any
    attempts: Any
    accepted: Any
    calls: Any


def _first_size(field: Field, method: Method, control: Control, t: Any, y: Any, f: Any) -> Any:
    """Return the size of the first step (Hairer, Norsett and Wanner I, section II.4), as SciPy chooses it."""
    scale = control.atol + absolute(y) * control.rtol
    interval = absolute(control.end - t)
    d0, d1 = root_mean_square(y / scale), root_mean_square(f / scale)
    small = logical_or(d0 < 1e-5, d1 < 1e-5)
    h0 = minimum(where(small, 1e-6, 0.01 * d0 / d1), interval)
    f1 = field(t + h0 * control.direction, y + h0 * control.direction * f)
    d2 = root_mean_square((f1 - f) / scale) / h0
    flat = logical_and(d1 <= 1e-15, d2 <= 1e-15)
    h1 = where(flat, maximum(1e-6, h0 * 1e-3), pow(0.01 / maximum(d1, d2), 1.0 / (method.order + 1)))
    return minimum(minimum(100.0 * h0, h1), minimum(interval, control.max_step))


def _attempt(field: Field, method: Method, control: Control, s: State) -> State:
    """Try one step; a rejected one changes the size only."""
    least = 10.0 * EPS * maximum(absolute(s.t), 1e-290)
    tried = minimum(maximum(s.size, least), control.max_step)
    h = tried * control.direction
    beyond = control.direction * (s.t + h - control.end) > 0
    new_t = where(beyond, control.end, s.t + h)
    h = stop_gradient(new_t - s.t)
    size = absolute(h)
    at = Point(s.t, s.y, s.f, s.old_t, s.old_y, s.rows, s.step)
    trial = method.step(field, at, h, control.scale)
    error = stop_gradient(trial.error)
    accepted = error < 1.0
    factor = stop_gradient(trial.factor)
    grown = minimum(factor, where(s.rejected, 1.0, MAX_FACTOR))
    shrunk = where(error >= 1.0, maximum(factor, MIN_FACTOR), MIN_FACTOR)  # also for nan
    # Rounding of `new_t` may make `size` a little larger than the least one.
    failed = logical_and(logical_not(accepted), logical_not(tried > least))  # also for nan
    return State(
        t=where(accepted, new_t, s.t),
        y=where(accepted, trial.y, s.y),
        f=where(accepted, trial.f, s.f),
        old_t=where(accepted, s.t, s.old_t),
        old_y=where(accepted, s.y, s.old_y),
        rows=where(accepted, trial.rows, s.rows),
        step=where(accepted, h, s.step),
        size=stop_gradient(size * where(accepted, grown, shrunk)),
        rejected=logical_not(accepted),
        failed=failed,
        attempts=s.attempts + 1,
        accepted=s.accepted + cast(accepted, int64),
        calls=s.calls + cast(trial.calls, int64),
    )


def _start(field: Field, method: Method, control: Control, t0: Any, y0: Any) -> State:
    f0 = field(t0, y0)
    first = control.first_step
    size = _first_size(field, method, control, t0, y0, f0) if first is None else np.float64(first)
    no, zero = np.bool_(False), np.int64(0)
    values = (t0, y0, f0, t0, y0, zeros((method.rows, *y0.shape), dtype=float64), np.float64(1.0))
    calls = np.int64(2 if first is None else 1)
    control_values = (stop_gradient(convert_to_tensor(size)), no, no, zero, zero, calls)
    return State(*[convert_to_tensor(v) for v in (*values, *control_values)])


def _polynomial(field: Field, method: Method, s: State) -> Any:
    """Return the coefficients of the solution inside the last step."""
    return method.polynomial(field, s.old_t, s.old_y, s.y, s.f, s.rows, s.step)


def integrated(
    field: Field, method: Method, control: Control, t0: Any, y0: Any, times: Any
) -> tuple[Any, Any, Any]:
    """Return the values at `times`, the last state, and the number of steps inside of which there are times.

    Values after a failure, beyond the end, and at times that are not in the order of integration are nan.
    """
    t0 = convert_to_tensor(t0)
    start = _start(field, method, control, t0, y0)

    def to(carried: Any, time: Any) -> Any:
        def going(*values: Any) -> Any:
            s = State(*values)
            ahead = logical_and(
                control.direction * (time - s.t) > 0, control.direction * (control.end - s.t) > 0
            )  # a time behind the end is never reached
            return logical_and(ahead, logical_not(s.failed))

        reached = _while(field, method, control, going, State(*carried[0]))
        fraction = (time - reached.old_t) / reached.step
        value = method.inside(reached.old_y, _polynomial(field, method, reached), fraction)
        value = where(reached.accepted == 0, y0 + (time - t0) * start.f, value)
        behind = control.direction * (time - reached.t) > 0
        before = control.direction * (time - reached.old_t) < 0
        lost = logical_or(reached.failed, logical_or(behind, before))
        return tuple(reached), where(lost, np.nan, value)

    states, values = scan(to, times, initializer=(tuple(start), y0))
    reached = State(*states)
    inside = maximum(reached.accepted, 1)
    last = State(*[leaf[-1] for leaf in reached])
    return values, last, 1 + reduce_sum(cast(inside[1:] != inside[:-1], int64))


def _while(field: Field, method: Method, control: Control, going: Any, state: State) -> State:
    def body(*values: Any) -> tuple[Any, ...]:
        return tuple(_attempt(field, method, control, State(*values)))

    return State(*while_loop(going, body, tuple(state)))


class Steps(NamedTuple):
    """Accepted steps, one a row: their ends and starts, the polynomials between, and counts up to their ends."""

    t: Any
    y: Any
    old_t: Any
    old_y: Any
    polynomial: Any
    step: Any
    attempts: Any
    calls: Any


def steps_taken(
    field: Field, method: Method, control: Control, t0: Any, y0: Any, enough: Callable[[Steps], bool]
) -> tuple[Steps, State]:
    """Return the accepted steps up to the end, to a failure, or until `enough` of the steps so far is true.

    The steps are computed in portions, after each of which their number is read; `t0` must not be traced.

    Returns
    -------
    steps : Steps
    last : State
        Variables of the loop after the last step.
    """
    state = _start(field, method, control, t0, y0)
    portions: list[Steps] = []
    size = FIRST_PORTION
    while True:

        def one(carried: Any, _: Any) -> Any:
            before = State(*carried[0])

            def going(*values: Any) -> Any:
                s = State(*values)
                ahead = logical_and(control.direction * (control.end - s.t) > 0, logical_not(s.failed))
                return logical_and(ahead, s.accepted == before.accepted)

            after = _while(field, method, control, going, before)
            return tuple(after), _polynomial(field, method, after)

        blank = zeros((method.degree, *y0.shape), dtype=float64)
        leaves, polynomials = scan(one, zeros((size,), dtype=float64), initializer=(tuple(state), blank))
        rows = State(*leaves)
        begin = int(state.accepted.numpy())
        state = State(*[leaf[-1] for leaf in rows])
        count = int(state.accepted.numpy()) - begin
        x = (rows.t - rows.old_t) / rows.step
        y = method.inside(rows.old_y, polynomials, x)  # differentiable in the end of the last step
        taken = Steps(rows.t, y, rows.old_t, rows.old_y, polynomials, rows.step, rows.attempts, rows.calls)
        portions.append(Steps(*[leaf[:count] for leaf in taken]))
        steps = (
            Steps(*[concat(leaves, 0) for leaves in zip(*portions, strict=True)])
            if len(portions) > 1
            else portions[0]
        )
        if enough(steps) or count < size or not (control.direction * (control.end - state.t)).numpy() > 0:
            return steps, state
        size *= 2
