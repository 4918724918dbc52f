"""Wrappers that change the gradient of a function: `recompute_grad` and `grad_pass_through`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from jittape.autodiff.custom_gradient import custom_gradient, tensors_read, variables_assigned, with_gradient
from jittape.autodiff.tape import GradientTape
from jittape.core.dtypes import is_differentiable
from jittape.core.primitive import apply
from jittape.primitives.identity import identity
from jittape.primitives.shape.views import recompute_after
from jittape.recording.convert import convert_to_tensor
from jittape.recording.nested import flatten, own_handles
from jittape.recording.operators import Operators
from jittape.recording.symbolic_trace import with_draws
from jittape.recording.tensor import Tensor
from jittape.recording.trace import current_trace
from jittape.recording.variable import Variable

__all__ = ["grad_pass_through", "recompute_grad", "with_values"]


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f` with a gradient that recomputes its intermediate values (checkpointing).

    Parameters
    ----------
    f : callable
        Function that takes and returns tensors or nested structures of them. It may read Variables and tensors from
        outside.

    Returns
    -------
    callable
        The same function with another gradient. Only the arguments are kept; each gradient calls `f` again, with the
        original arguments, the same random numbers and the current values of the Variables. Variables that `f` assigns
        have the values that they had before the call, and keep their current ones.

    Notes
    -----
    A compiled program keeps the values that the backward pass reads in memory: for a chain of blocks, the intermediate
    values of every block. If every block is wrapped, the program keeps only the values between the blocks.

    If `f` writes to an argument, as in ``x[0] = 1.0``, the argument changes only inside `f`.

    Examples
    --------
    >>> import jittape as jt
    >>> block = jt.recompute_grad(lambda x: jt.tanh(jt.sin(x) * x))
    >>> x = jt.Variable(1.0)
    >>> with jt.GradientTape() as tape:
    ...     y = block(block(x))
    >>> print(f"{float(tape.gradient(y, x)):.4f}")
    0.7081
    """

    @functools.wraps(f)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        leaves, rebuild = flatten((args, kwargs))
        leaves = own_handles(leaves)  # `f` and the caller may write to their own
        positional, named = rebuild(own_handles(leaves))
        trace = current_trace()
        before, assigned, entries = trace.node, trace.assigned, trace.assigned.copy()
        draws: list[Any] = []
        y = _identities(with_draws(draws, lambda: f(*positional, **named)))
        given = [leaf for leaf in leaves if isinstance(leaf, Operators)]
        # These may include an argument: `f` may also reach the same tensor from outside.
        read = tensors_read(before)
        changed = variables_assigned(before, assigned, entries)
        values = {id(variable): value for variable, value in changed if value is not None}
        as_read = [values.get(id(one), one) for one in own_handles(read)]

        def gradient(*upstream: Tensor) -> list[Any]:
            copies = [_again(leaf, upstream[0]) for leaf in leaves]
            sources = [*[c for c in copies if isinstance(c, Operators)], *read]
            trace = current_trace()
            with with_values(read, as_read), _assigned_again(changed):
                with GradientTape(watch_accessed_variables=False) as tape:
                    tape.watch([s for s in sources if is_differentiable(s.aval.dtype)])
                    positional, named = rebuild(own_handles(copies))
                    outputs = flatten(_identities(with_draws(draws, lambda: f(*positional, **named))))[0]
                # Unconnected sources give None without a warning: `f` may ignore an argument, or not read it outside.
                return tape._cotangents(trace, outputs, sources, list(upstream), zero=True)

        # Every value that `f` depends on is an operand here, so that its gradient flows.
        if not given and not read:
            return y
        outputs, rebuild_outputs = flatten(y)
        operands: list[Any] = [
            t if isinstance(t, Variable) else convert_to_tensor(t) for t in (*given, *as_read)
        ]
        return rebuild_outputs(with_gradient(gradient, outputs, operands))

    return checkpointed


def _identities(returned: Any) -> Any:
    """Apply `identity` to all leaves, so that values that the function only passes through count as read."""
    leaves, rebuild = flatten(returned)
    return rebuild([identity(leaf) for leaf in leaves])


@contextmanager
def with_values(handles: list[Any], others: list[Any]) -> Iterator[None]:
    """Give tensors the values of `others` inside the context: they may have been written to since they were read."""
    pairs = [(a, b) for a, b in zip(handles, others, strict=True) if isinstance(a, Tensor)]
    states = [(a._trace, a._slot, a._buffer) for a, _ in pairs]
    for a, b in pairs:
        a._trace, a._slot, a._buffer = b._trace, b._slot, b._buffer
    try:
        yield
    finally:
        for (a, _), state in zip(pairs, states, strict=True):
            a._trace, a._slot, a._buffer = state


@contextmanager
def _assigned_again(changed: list[tuple[Variable, Tensor | None]]) -> Iterator[None]:
    """Give Variables the values before a call that assigned them; after the context they are as they were."""
    now = [variable.value() for variable, _ in changed]
    try:
        for variable, value in changed:
            if value is not None:
                variable.assign(value)
        yield
    finally:
        for (variable, _), value in zip(changed, now, strict=True):
            variable.assign(value)


def _again(leaf: Any, upstream: Tensor) -> Any:
    """Return a copy of a tensor that depends on `upstream`, so that ops on it are recomputed in the backward pass."""
    return apply(recompute_after, (leaf, upstream)) if isinstance(leaf, Operators) else leaf


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f` with the gradient of the identity (straight-through estimator).

    Parameters
    ----------
    f : callable
        Function whose value has the shape of its argument.

    Returns
    -------
    callable
        The same function; its gradient passes the cotangent of the value on to the argument unchanged.

    Examples
    --------
    >>> import jittape as jt
    >>> x = jt.Variable([0.3, 1.7])
    >>> with jt.GradientTape() as tape:
    ...     y = jt.grad_pass_through(jt.round)(x) * 3.0
    >>> y.numpy(), tape.gradient(y, x).numpy()
    (array([0., 6.], dtype=float32), array([3., 3.], dtype=float32))
    """

    @functools.wraps(f)
    def passed_through(*args: Any, **kwargs: Any) -> Any:
        def gradient(*upstream: Tensor, variables: Any = ()) -> Any:
            return (upstream, [None] * len(variables)) if variables else upstream

        return f(*args, **kwargs), gradient

    return custom_gradient(passed_through)
