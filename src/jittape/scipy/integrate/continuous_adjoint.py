"""Gradients of initial value problems by the continuous adjoint."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.autodiff.custom_gradient import custom_gradient
from jittape.autodiff.tape import GradientTape
from jittape.core.dtypes import float64
from jittape.flow.scans import scan
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.identity import stop_gradient
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.creation import zeros
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reordering import reverse
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.convert import convert_to_tensor
from jittape.recording.nested import own_handles
from jittape.scipy.integrate.implicit_equations import differentiable_once
from jittape.scipy.integrate.ode_loop import Control, integrated
from jittape.scipy.integrate.ode_methods import Field, Method
from jittape.transforms.wrappers import with_values

__all__ = ["with_adjoint"]


def with_adjoint(
    field: Field, method: Method, control: Control, t0: Any, y0: Any, times: Any
) -> tuple[Any, Any, Any]:
    """Do as `integrated`; the gradient integrates the adjoint equation backward from one time to the one before.

    With ``a = dL/dy``: ``da/dt = -a df/dy``, and the gradient of a parameter p is the integral of ``a df/dp``
    (Pontryagin; Chen et al., NeurIPS 2018).
    """
    read = field.read
    as_read = own_handles(read)
    values, last, interpolated = integrated(field, method, control, t0, y0, times)
    values, fixed = stop_gradient(values), stop_gradient(times)

    def gradient(upstream: Any) -> list[Any]:
        with with_values(read, as_read):
            found = _swept(field, method, control, (t0, y0, fixed, values), read, upstream)
        return [_once(g) for g in found]

    made = custom_gradient(lambda *operands: (values, gradient))(y0, t0, times, *as_read)
    return made, last, interpolated


_once = differentiable_once(
    "adjoint_gradient",
    "[solve_ivp] adjoint=True gives first derivatives, in reverse mode; leave it out for others",
)


def _swept(
    field: Field,
    method: Method,
    control: Control,
    solution: tuple[Any, Any, Any, Any],
    read: list[Any],
    upstream: Any,
) -> list[Any]:
    """Return the cotangents of the start, the first time, all times, and all tensors in `read`."""
    t0, y0, times, values = solution
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
        found, _, _ = integrated(Field(augmented), method, own, begin, z, reshape(end, (1,)))
        return found[0, n:]

    def slopes(_: Any, row: Any) -> Any:
        t, y, jump = row
        return reduce_sum(field(t, y) * jump)

    upstream = cast(upstream, float64)
    moved = scan(slopes, (times, values, upstream), initializer=zeros((), dtype=float64))
    ends = concat([reshape(convert_to_tensor(t0), (1,)), times[:-1]], 0)
    rows = [reverse(x, [0]) for x in (times, ends, values, upstream)]
    total = scan(back, tuple(rows), initializer=zeros((n + sum(sizes),), dtype=float64))[-1]
    start = total[:n]
    parts, at = [start, -reduce_sum(start * field(t0, y0)), moved], n
    for p, size in zip(read, sizes, strict=True):
        parts.append(cast(reshape(total[at : at + size], p.shape), p.dtype))
        at += size
    return parts
