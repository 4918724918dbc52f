"""Initial value problems in complex numbers, as systems of the real parts followed by the imaginary parts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import complex128
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.elementwise.complex_numbers import cast, complex, imag, real
from jittape.primitives.shape.joining import concat, stack
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.scipy_operands import floating_operand

__all__ = ["is_complex", "solve_complex"]


def is_complex(y0: Any) -> bool:
    """Return whether a start has complex numbers."""
    values = y0 if isinstance(y0, (list, tuple)) else [y0]
    return any(np.iscomplexobj(v) or np.dtype(getattr(v, "dtype", float)).kind == "c" for v in values)


def _numbers(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return stack([_numbers(v) for v in value])
    return cast(convert_to_tensor(floating_operand(value)), complex128)


def _parts(value: Any) -> Any:
    return concat([real(value), imag(value)], 0)


def _whole(parts: Any) -> Any:
    n = parts.shape[0] // 2
    return complex(parts[:n], parts[n:])


def _on_parts(event: Callable[..., Any]) -> Callable[..., Any]:
    """Return an event with its attributes, as a function of the parts."""

    @functools.wraps(event)
    def called(t: Any, y: Any, *args: Any) -> Any:
        value = convert_to_tensor(event(t, _whole(y), *args))
        if value.dtype.kind == "c":
            raise DTypeError("[solve_ivp] an event must return a real number, such as jt.math.real(y[0])")
        return value

    return called


class _ComplexSolution:
    """The solution as a function of time, from that of the parts; see `DenseSolution`."""

    def __init__(self, solution: Any) -> None:
        self._solution = solution
        self.ts, self.t_min, self.t_max = solution.ts, solution.t_min, solution.t_max
        self.n_segments = solution.n_segments

    def __call__(self, t: Any) -> Any:
        """Return the solution at the times `t`: shape (n,) for a number, (n, times) for a vector."""
        return _whole(self._solution(t))


def solve_complex(
    solve: Callable[..., Any],
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    atol: Any,
    events: Any,
    **options: Any,
) -> Any:
    """Solve a complex initial value problem by `solve`, which is `solve_ivp`; see there for the arguments."""
    start = _numbers(y0)
    if len(start.shape) != 1:
        raise ShapeError(
            f"[solve_ivp] y0 must have one dimension, got shape {tuple(start.shape)}; reshape it"
        )

    def field(t: Any, parts: Any, *args: Any) -> Any:
        value = _numbers(fun(t, _whole(parts), *args))
        if tuple(value.shape) != tuple(start.shape):
            raise ShapeError(
                f"[solve_ivp] the function must return the shape of y, {tuple(start.shape)}, got {tuple(value.shape)}"
            )
        return _parts(value)

    if events is not None:
        events = [_on_parts(e) for e in ((events,) if callable(events) else events)]
    if np.ndim(atol):
        atol = np.concatenate([atol, atol])
    found = solve(field, t_span, _parts(start), atol=atol, events=events, **options)
    found.y = _whole(found.y)
    found.sol = None if found.sol is None else _ComplexSolution(found.sol)
    if found.y_events is not None:
        n = start.shape[0]
        found.y_events = [complex(y[:, :n], y[:, n:]) for y in found.y_events]
    return found
