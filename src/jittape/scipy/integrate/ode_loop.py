"""Adaptive integration as recorded loops: SciPy's step size control, and the values at requested times.

The sizes of the steps are constants for gradients, which go through the accepted steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jittape.core.dtypes import float64
from jittape.flow.loops import while_loop
from jittape.flow.scans import scan
from jittape.primitives.elementwise.comparison import logical_and, logical_not, logical_or, where
from jittape.primitives.elementwise.piecewise import absolute, maximum, minimum
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.identity import stop_gradient
from jittape.primitives.shape.creation import zeros
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.integrate.ode_methods import Field, Method, root_mean_square

__all__ = ["Control", "integrated"]

SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 10.0
EPS = float(np.finfo(np.float64).eps)


class Control(NamedTuple):
    """Tolerances and limits of the steps; `direction` is 1 or -1, `end` the last time."""

    rtol: Any
    atol: Any
    first_step: Any
    max_step: Any
    direction: Any
    end: Any


class State(NamedTuple):
    """Variables of the loop: the current point, the last accepted step, and the step size control."""

    t: Any
    y: Any
    f: Any
    old_t: Any
    old_y: Any
    stages: Any
    step: Any
    size: Any
    rejected: Any
    failed: Any
    evaluations: Any


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
    size = minimum(maximum(s.size, least), control.max_step)
    h = size * control.direction
    beyond = control.direction * (s.t + h - control.end) > 0
    new_t = where(beyond, control.end, s.t + h)
    h = stop_gradient(new_t - s.t)
    size = absolute(h)
    new, f_new, stages = method.step(field, s.t, s.y, s.f, h)
    scale = control.atol + maximum(absolute(s.y), absolute(new)) * control.rtol
    error = stop_gradient(method.error(stages, h, scale))
    accepted = error < 1.0
    factor = SAFETY * pow(maximum(error, 1e-300), -1.0 / (method.order + 1))
    grown = minimum(factor, where(s.rejected, 1.0, MAX_FACTOR))
    shrunk = where(error >= 1.0, maximum(factor, MIN_FACTOR), MIN_FACTOR)  # also for nan
    failed = logical_and(logical_not(accepted), size <= least)
    return State(
        t=where(accepted, new_t, s.t),
        y=where(accepted, new, s.y),
        f=where(accepted, f_new, s.f),
        old_t=where(accepted, s.t, s.old_t),
        old_y=where(accepted, s.y, s.old_y),
        stages=where(accepted, stages, s.stages),
        step=where(accepted, h, s.step),
        size=stop_gradient(size * where(accepted, grown, shrunk)),
        rejected=logical_not(accepted),
        failed=failed,
        evaluations=s.evaluations + 1,
    )


def integrated(
    field: Field, method: Method, control: Control, t0: Any, y0: Any, times: Any
) -> tuple[Any, Any, Any]:
    """Return the values at `times`, whether the integration succeeded, and the number of attempted steps.

    Values after a failure are nan.
    """
    t0 = convert_to_tensor(t0)
    f0 = field(t0, y0)
    first = control.first_step
    size = (
        stop_gradient(_first_size(field, method, control, t0, y0, f0)) if first is None else np.float64(first)
    )
    start = State(
        t=t0,
        y=y0,
        f=f0,
        old_t=t0,
        old_y=y0,
        stages=zeros((method.stages, *y0.shape), dtype=float64),
        step=convert_to_tensor(np.float64(1.0)),
        size=convert_to_tensor(size),
        rejected=convert_to_tensor(np.bool_(False)),
        failed=convert_to_tensor(np.bool_(False)),
        evaluations=convert_to_tensor(np.int64(0)),
    )

    def to(carried: Any, time: Any) -> Any:
        state = carried[0]

        def going(*values: Any) -> Any:
            s = State(*values)
            return logical_and(control.direction * (time - s.t) > 0, logical_not(s.failed))

        reached = State(
            *while_loop(going, lambda *v: tuple(_attempt(field, method, control, State(*v))), tuple(state))
        )
        fraction = (time - reached.old_t) / reached.step
        value = method.inside(
            field, reached.old_t, reached.old_y, reached.y, reached.f, reached.stages, reached.step, fraction
        )
        untouched = control.direction * (time - t0) <= 0
        value = where(reached.failed, np.nan, where(untouched, y0, value))
        return tuple(reached), value

    states, values = scan(to, times, initializer=(tuple(start), y0))
    last = State(*[leaf[-1] for leaf in states])
    return values, logical_not(last.failed), last.evaluations
