"""Base class of workloads: data, and a way to run it for each library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["SIDES", "Side", "Workload", "compiled_by_jax", "gradient_by_torch", "plain", "tape_side"]

SIDES = ("hand", "jittape", "numpy", "jax", "torch", "tensorflow", "autograd")
"""Libraries in the order of their turns."""


@dataclass
class Side:
    """Implementation of a workload with one library.

    Attributes
    ----------
    run : callable
        One step. Does not return before the result is there, but for `finish`.
    values : callable
        From what `run` returns to arrays: what is compared with the other sides, after the first step.
    finish : callable, optional
        Waits for the last of several steps.
    """

    run: Callable[[], Any]
    values: Callable[[Any], list[Any]]
    finish: Callable[[Any], Any] | None = None


class Workload:
    """One row of the table; its methods create the sides. Missing sides get a dash.

    Attributes
    ----------
    name : str
    goal : str
        Goal of jittape: ``"1.2 hand"`` or ``"2.5 us"``.
    tolerance : float
        Of a result, as a part of its largest element.
    threads : int
        That all sides may use.
    plain_tape : bool
        Whether jittape records the same lines in each run instead of compiling them as a function.
    by_hand_on_threads : bool
        Whether the code written by hand uses them; if not, it is left out where there are several.
    """

    name: str
    goal: str
    tolerance = 1e-9
    threads = 1
    plain_tape = False
    by_hand_on_threads = False

    def team(self, part: Any, *arguments: Any) -> Callable[..., None]:
        """`on_threads` on as many as there may be."""
        from workloads.team import on_threads

        return on_threads(part, self.threads, *arguments)

    def data(self) -> None:
        """Make the inputs, as attributes."""
        raise NotImplementedError

    def numpy(self) -> Side | None:
        return None

    def hand(self) -> Side | None:
        return None

    def tape(self, tf: ModuleType, compiled: Callable[..., Any]) -> Side | None:
        """The same lines for jittape and TensorFlow: `tf` is either, `compiled` the decorator."""
        return None

    def jittape(self) -> Side | None:
        import jittape

        if not self.plain_tape:
            return self.tape(jittape, jittape.function)
        side = self.tape(jittape, lambda function: function)

        def run_and_read() -> Any:
            # A plain tape computes what is read: results that are dropped cost nothing but their recording.
            result = side.run()
            side.values(result)
            return result

        return side and Side(run_and_read, side.values)

    def tensorflow(self) -> Side | None:
        import tensorflow

        return self.tape(tensorflow, tensorflow.function(jit_compile=True, autograph=False))

    def jax(self) -> Side | None:
        return None

    def torch(self) -> Side | None:
        return None

    def autograd(self) -> Side | None:
        return None


def plain(run: Callable[[], Any]) -> Side:
    """A side whose results are arrays or numbers."""
    return Side(run, lambda result: [np.array(v) for v in flat(result)])


def flat(result: Any) -> list[Any]:
    """The leaves of nested tuples and lists, in order."""
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in flat(part)]
    return [result]


def tape_side(function: Callable[..., Any], *arguments: Any) -> Side:
    """A compiled function of a tape library."""
    return Side(lambda: function(*arguments), lambda result: [v.numpy() for v in flat(result)])


def compiled_by_jax(function: Callable[..., Any], *arguments: Any) -> Side:
    """A function of arrays, jitted."""
    import jax

    inputs = jax.tree.map(jax.numpy.asarray, arguments)
    compiled = jax.jit(function)
    return Side(
        lambda: jax.block_until_ready(compiled(*inputs)),
        lambda result: [np.asarray(v) for v in flat(result)],
    )


def stepped_by_jax(step: Callable[..., Any], state: Any, *arguments: Any) -> Side:
    """``loss, state = step(state, *arguments)``, jitted, the old state given away; compared are loss and state."""
    import jax

    holder = [jax.tree.map(jax.numpy.array, state)]
    inputs = jax.tree.map(jax.numpy.asarray, arguments)
    compiled = jax.jit(step, donate_argnums=0)

    def run() -> Any:
        loss, holder[0] = compiled(holder[0], *inputs)
        return jax.block_until_ready(loss)

    def values(loss: Any) -> list[Any]:
        return [np.asarray(loss), *[np.array(v) for v in jax.tree.leaves(holder[0])]]

    return Side(run, values)


def gradient_by_torch(function: Callable[..., Any], *points: Any) -> Side:
    """Value and gradient of a function of tensors, eagerly."""
    import torch

    leaves = [torch.tensor(p, requires_grad=True) for p in points]

    def run() -> Any:
        value = function(*leaves)
        return value.detach(), *torch.autograd.grad(value, leaves)

    return Side(run, lambda result: [v.numpy() for v in result])


def relative_error(values: Sequence[Any], wanted: Sequence[Any]) -> float:
    """The largest difference, as a part of the largest element of its array."""
    if len(values) != len(wanted):
        raise ValueError(f"{len(values)} results instead of {len(wanted)}")
    worst = 0.0
    for value, other in zip(values, wanted, strict=True):
        value, other = np.asarray(value, np.float64), np.asarray(other, np.float64)
        if value.size != other.size:
            raise ValueError(f"a result of shape {value.shape} instead of {other.shape}")
        difference = np.abs(value.reshape(other.shape) - other).max()
        worst = max(worst, float(difference / max(float(np.abs(other).max()), 1e-30)))
    return worst
