"""Events of an initial value problem, and the solution between the steps.

A search on the values finds the times of events. Their gradients are those of the implicit function theorem for
``event(t, y(t)) = 0``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jittape.core.dtypes import float64
from jittape.errors import ShapeError
from jittape.flow.loops import fori_loop
from jittape.flow.scans import scan
from jittape.primitives.elementwise.comparison import where
from jittape.primitives.identity import stop_gradient
from jittape.primitives.indexing.binary_search import searchsorted
from jittape.primitives.shape.creation import zeros
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import expand_dims, reshape, transpose
from jittape.scipy.integrate.ode_loop import Steps
from jittape.scipy.integrate.ode_methods import Method
from jittape.scipy.scipy_operands import float64_tensor
from jittape.transforms.gradients import jvp

__all__ = ["DenseSolution", "Event", "Occurrences", "event_list", "occurrences", "with_gradients"]

HALVINGS = 60


class DenseSolution:
    """The solution as a function of time: the polynomials of the steps.

    Parameters
    ----------
    method : Method
    steps : Steps
    t0, y0 : tensor
        Start.
    direction : float
        1 or -1.

    Attributes
    ----------
    ts : tensor of shape (m + 1,)
        Ends of the steps, in the order of integration.
    t_min, t_max : tensor
        First and last of them in ascending order.
    """

    def __init__(self, method: Method, steps: Steps, t0: Any, y0: Any, direction: float) -> None:
        self._method, self._steps, self._y0, self._direction = method, steps, y0, direction
        self.ts = concat([reshape(t0, (1,)), steps.t], 0)
        ends = (self.ts[0], self.ts[-1])
        self.t_min, self.t_max = ends if direction > 0 else ends[::-1]
        self.n_segments = steps.t.shape[0]

    def __call__(self, t: Any) -> Any:
        """Return the solution at the times `t`: shape (n,) for a number, (n, times) for a vector.

        It is differentiable in `t` and in everything that the integration depends on. Outside the interval, the
        polynomials of the first and the last step go on.
        """
        t = float64_tensor("solve_ivp", t)
        if len(t.shape) > 1:
            raise ShapeError(
                f"[solve_ivp] the solution needs a time or a vector of times, got shape {tuple(t.shape)}"
            )
        times = reshape(t, (-1,))
        if self.n_segments == 0:
            y = expand_dims(self._y0, 0) + 0.0 * expand_dims(times, -1)
        else:
            s = self._steps
            at = searchsorted(self._direction * s.t[:-1], self._direction * times)
            x = (times - s.old_t[at]) / s.step[at]
            y = self._method.inside(s.old_y[at], s.polynomial[at], x)
        return transpose(y) if len(t.shape) else y[0]


class Event(NamedTuple):
    """An event: its function of t and y, the number of occurrences that ends the integration, and its direction."""

    function: Callable[[Any, Any], Any]
    limit: float
    direction: float


def event_list(events: Any, args: tuple[Any, ...]) -> list[Event]:
    """Return `events` with their attributes `terminal` and `direction`, as SciPy reads them."""
    found = []
    for event in (events,) if callable(events) else events:
        terminal = getattr(event, "terminal", None)
        if terminal is None or terminal == 0:
            limit = np.inf
        elif int(terminal) == terminal and terminal > 0:
            limit = float(terminal)
        else:
            raise ValueError(
                "[solve_ivp] the `terminal` attribute of each event must be a boolean or positive integer, "
                f"got {terminal!r}"
            )
        found.append(Event(_number_of(event, args), limit, float(getattr(event, "direction", 0))))
    return found


def _number_of(event: Callable[..., Any], args: tuple[Any, ...]) -> Callable[[Any, Any], Any]:
    def function(t: Any, y: Any) -> Any:
        value = float64_tensor("solve_ivp", event(t, y, *args))
        if value.shape and int(np.prod(value.shape)) != 1:
            raise ShapeError(f"[solve_ivp] an event must return a number, got shape {tuple(value.shape)}")
        return reshape(value, ())

    return function


class Occurrences(NamedTuple):
    """Times of each event with the numbers of their steps, in order, and the terminal one: event, place, step."""

    times: list[list[float]]
    steps: list[list[int]]
    terminal: tuple[int, int, int] | None


def occurrences(events: list[Event], method: Method, steps: Steps, t0: Any, y0: Any) -> Occurrences:
    """Return the events in `steps` up to the one that ends the integration."""
    values = np.array([_at_rows(e.function, steps, t0, y0) for e in events]).reshape(
        len(events), -1 if events else 1
    )
    before, after = values[:, :-1], values[:, 1:]
    up, down = (before <= 0) & (after >= 0), (before >= 0) & (after <= 0)
    sides = np.array([e.direction for e in events])[:, None]
    active = (up & (sides > 0)) | (down & (sides < 0)) | ((up | down) & (sides == 0))
    roots = [
        _roots(e.function, method, steps, np.nonzero(row)[0]) for e, row in zip(events, active, strict=True)
    ]
    limits = np.array([e.limit for e in events])
    counts = np.zeros(len(events))
    found = Occurrences([[] for _ in events], [[] for _ in events], None)
    forward = values.shape[1] < 2 or float(steps.step[0].numpy()) > 0
    for i in np.nonzero(active.any(0))[0].tolist():
        now = np.nonzero(active[:, i])[0]
        counts[now] += 1
        ends = bool((counts >= limits)[now].any())
        if ends:
            now = now[np.argsort([roots[e][i] if forward else -roots[e][i] for e in now])]
        for e in now:
            found.times[e].append(roots[e][i])
            found.steps[e].append(i)
            if ends and counts[e] >= limits[e]:
                return found._replace(terminal=(int(e), len(found.times[e]) - 1, i))
    return found


def _at_rows(function: Callable[[Any, Any], Any], steps: Steps, t0: Any, y0: Any) -> Any:
    """Return the values of an event function at the start and at the ends of all steps."""
    t = stop_gradient(concat([reshape(t0, (1,)), steps.t], 0))
    y = stop_gradient(concat([expand_dims(y0, 0), steps.y], 0))
    return scan(lambda _, row: function(*row), (t, y), initializer=zeros((), dtype=float64)).numpy()


def _inside(method: Method, s: Steps, t: Any) -> Any:
    return method.inside(s.old_y, s.polynomial, (t - s.old_t) / s.step)


def _roots(
    function: Callable[[Any, Any], Any], method: Method, steps: Steps, numbers: Any
) -> dict[int, float]:
    """Return the time of a change of sign in each of some steps, by bisection."""
    if not len(numbers):
        return {}

    def root(_: Any, row: Any) -> Any:
        s = Steps(*row)

        def value(t: Any) -> Any:
            return function(t, _inside(method, s, t))

        first = value(s.old_t)

        def halved(_: Any, ends: Any) -> Any:
            left, right = ends
            middle = left + 0.5 * (right - left)
            beyond = value(middle) * first > 0
            return where(beyond, middle, left), where(beyond, right, middle)

        return where(first == 0.0, s.old_t, fori_loop(0, HALVINGS, halved, (s.old_t, s.t))[1])

    rows = tuple([stop_gradient(leaf[numbers]) for leaf in steps])
    times = scan(root, rows, initializer=zeros((), dtype=float64)).numpy()
    return dict(zip(numbers.tolist(), times.tolist(), strict=True))


def with_gradients(
    event: Event, method: Method, steps: Steps, times: Sequence[float], numbers: Sequence[int], size: int
) -> tuple[Any, Any]:
    """Return the times of an event, and the values at them, as functions of everything that `steps` depend on.

    Three steps of Newton's method have the derivatives of the root up to the seventh order.
    """
    if not times:
        return zeros((0,), dtype=float64), zeros((0, size), dtype=float64)

    def at_root(_: Any, row: Any) -> Any:
        *leaves, found = row
        s = Steps(*leaves)

        def value(t: Any) -> Any:
            return event.function(t, _inside(method, s, t))

        t = found
        for _ in range(3):
            error, slope = jvp(value, [t], [found * 0.0 + 1.0])
            t = t - where(slope == 0.0, 0.0, error / slope)
        t = found + (t - stop_gradient(t))
        return t, _inside(method, s, t)

    rows = tuple([leaf[np.array(numbers)] for leaf in steps])
    start = (zeros((), dtype=float64), zeros((size,), dtype=float64))
    made: tuple[Any, Any] = scan(at_root, (*rows, np.array(times)), initializer=start)
    return made
