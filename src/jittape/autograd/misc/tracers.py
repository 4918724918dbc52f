"""`const_graph`, under the name that it has in ``autograd.misc.tracers``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jittape.autodiff.tape import GradientTape
from jittape.autograd.call_log import calls_logged
from jittape.autograd.containers import as_numpy, as_tensor, holds_boxes, mapped
from jittape.autograd.misc.constant_graph import ConstantGraph
from jittape.core.primitive import active
from jittape.primitives.identity import identity
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace, current_trace
from jittape.transforms.primals import is_recorded

__all__ = ["const_graph"]


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Return `fun` with its first arguments given; later calls repeat the operations of the first one.

    Python code of `fun` runs at the first call only: branches, values that it takes from outside and random numbers are
    those of that call. A function decorated with `primitive` runs at each call if it depends on the arguments. A
    `checkpoint` inside `fun` has no effect. `fun` runs again for arguments of another structure, shape or dtype, and
    inside a `jittape.function`.

    Parameters
    ----------
    fun : callable
        Function of numbers, arrays and containers of them.
    *args, **kwargs
        First arguments and keyword arguments of `fun`.

    Returns
    -------
    callable
        Function of the remaining positional arguments.

    Raises
    ------
    TypeError
        If an argument is not a number, an array or a container of them, or if `fun` reads a `jittape.Variable` or calls
        a `jittape.custom_gradient`.

    Examples
    --------
    >>> from jittape.autograd import grad
    >>> from jittape.autograd.misc import const_graph
    >>> calls = []
    >>> cubic = const_graph(lambda a, x: calls.append(x) or a * x**3, 2.0)
    >>> cubic(1.0), cubic(2.0), grad(cubic)(2.0), len(calls)
    (np.float64(2.0), np.float64(16.0), np.float64(24.0), 1)
    """
    graphs: dict[Any, ConstantGraph] = {}
    partial = functools.partial(fun, *args, **kwargs)

    @functools.wraps(fun)
    def of_rest(*rest: Any) -> Any:
        if active.recorder.traced_in is not None:
            return partial(*rest)
        host = not is_recorded() and not holds_boxes(rest)
        leaves: list[Tensor] = []

        def boxed(leaf: Any) -> Tensor:
            tensor = identity(leaf) if isinstance(leaf, Operators) else as_tensor(leaf)
            leaves.append(tensor)
            return tensor

        boxes = mapped(boxed, rest)
        key = repr(mapped(lambda _: None, rest)), tuple([leaf.aval for leaf in leaves])
        if key in graphs:
            value = graphs[key].replayed(leaves, host)
        else:
            value, graphs[key] = _first_call(partial, boxes, leaves)
        return as_numpy(value) if host else value

    return of_rest


def _first_call(fun: Callable[..., Any], boxes: Any, leaves: list[Tensor]) -> tuple[Any, ConstantGraph]:
    """Return the value of `fun`, and its graph; a tape holds the trace meanwhile."""
    with GradientTape(persistent=True, watch_accessed_variables=False), calls_logged() as calls:
        trace: Trace = current_trace()
        for leaf in leaves:
            trace.import_tensor(leaf)
        value = fun(*boxes)
        return value, ConstantGraph(trace, leaves, value, calls)


def __dir__() -> list[str]:
    return sorted(__all__)
