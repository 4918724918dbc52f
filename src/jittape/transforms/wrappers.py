"""Functions with another gradient or another way to it: `recompute_grad` and `grad_pass_through`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from jittape.autodiff.custom_gradient import custom_gradient, tensors_read
from jittape.autodiff.tape import GradientTape
from jittape.core.dtypes import is_differentiable
from jittape.core.primitive import apply
from jittape.primitives.identity import identity
from jittape.primitives.shape.views import again
from jittape.recording.handles import own_handles
from jittape.recording.nested import flatten
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor
from jittape.recording.trace import current_trace

__all__ = ["grad_pass_through", "recompute_grad"]


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Let the gradient of a function compute again what it needs, instead of keeping it: checkpointing.

    Parameters
    ----------
    f : callable
        Takes and returns tensors or nested structures of them; it may read Variables, and tensors from outside.

    Returns
    -------
    callable
        The same function. Only its arguments are kept for a gradient; `f` is called once more for each gradient, on
        the arguments as they were, and with the Variables as they are then.

    Notes
    -----
    A program that is compiled as a whole keeps what lives from the forward to the backward pass in memory: of a chain
    of blocks all that each block computes. With every block wrapped it keeps what goes from one to the next.

    If `f` writes to an argument, as in ``x[0] = 1.0``, the argument changes within `f` only.

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
        leaves = own_handles(leaves)  # `f` and the caller may write to theirs
        positional, named = rebuild(own_handles(leaves))
        before = current_trace().node
        y = _own(f(*positional, **named))
        given = [leaf for leaf in leaves if isinstance(leaf, Operators)]
        # An argument may be among these: `f` may also reach the same tensor as a value from outside.
        read = tensors_read(before)
        as_read = own_handles(read)

        def gradient(*upstream: Tensor) -> list[Any]:
            copies = [_again(leaf, upstream[0]) for leaf in leaves]
            sources = [*[c for c in copies if isinstance(c, Operators)], *read]
            trace = current_trace()
            with _with_values(read, as_read):
                with GradientTape(watch_accessed_variables=False) as tape:
                    tape.watch([s for s in sources if is_differentiable(s.dtype)])
                    positional, named = rebuild(own_handles(copies))
                    outputs = flatten(_own(f(*positional, **named)))[0]
                # None where nothing is connected, and no warning: `f` may ignore an argument, or not read it outside.
                return tape._cotangents(trace, outputs, sources, list(upstream), zero=True)

        # All that `f` depends on is an argument of this, so that the gradient reaches it.
        return custom_gradient(lambda *operands: (y, gradient))(*given, *as_read) if given or read else y

    return checkpointed


def _own(returned: Any) -> Any:
    """Return what a function returned as values of its own: what it passes through counts as read."""
    leaves, rebuild = flatten(returned)
    return rebuild([identity(leaf) for leaf in leaves])


@contextmanager
def _with_values(handles: list[Any], others: list[Any]) -> Iterator[None]:
    """Let tensors have the values of `others` inside: what a function has read may have been written to since."""
    pairs = [(a, b) for a, b in zip(handles, others, strict=True) if isinstance(a, Tensor)]
    now = [(a._trace, a._slot, a._buffer) for a, _ in pairs]
    for a, b in pairs:
        a._trace, a._slot, a._buffer = b._trace, b._slot, b._buffer
    try:
        yield
    finally:
        for (a, _), state in zip(pairs, now, strict=True):
            a._trace, a._slot, a._buffer = state


def _again(leaf: Any, upstream: Tensor) -> Any:
    """A tensor as a value of its own; what is computed from it has not been computed before, and waits."""
    return apply(again, (leaf, upstream)) if isinstance(leaf, Operators) else leaf


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Let the gradient of a function be that of the identity: the straight-through estimator.

    Parameters
    ----------
    f : callable
        Its value has the shape of its argument.

    Returns
    -------
    callable
        The same function; a cotangent of the value is the cotangent of the argument.

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
