"""Vector-Jacobian products that run their program without recording, once it is known."""

from __future__ import annotations

from typing import Any

from jittape.autodiff.known_gradients import known_edge
from jittape.autodiff.tape_interval import TapeInterval
from jittape.recording.tensor import Tensor

__all__ = ["RepeatedProducts"]


class RepeatedProducts:
    """Vector-Jacobian products of a computed target, of a tape that has been left.

    Parameters
    ----------
    interval : TapeInterval
        Nothing has been recorded after it, and nothing is pending.
    target : Tensor
    sources : list of Tensor
    """

    __slots__ = ("_available", "_inputs", "_key", "_node", "_sources")

    def __init__(self, interval: TapeInterval, target: Any, sources: list[Any]) -> None:
        trace: Any = interval.trace
        known = known_edge(interval, target, sources)
        self._node = trace.node
        self._inputs = list(trace.inputs)
        self._available = trace._available()
        self._sources = sources
        self._key = None if known is None else ("product", known, tuple([t._slot for t in self._available]))

    def run(self, cotangent: Tensor) -> list[Tensor] | None:
        """Return the product for each source if the program is known and does not fail, else None."""
        shortcuts = self._node.shortcuts
        program: Any = None if shortcuts is None or self._key is None else shortcuts.get(self._key)
        if program is None:
            return None
        seed = cotangent._computed()
        try:
            found = program.run([*self._inputs, seed], [t._buffer for t in self._available])
        except Exception:  # recording the product raises an error that names the op
            return None
        return [Tensor(None, -1, x.aval, value) for x, value in zip(self._sources, found, strict=True)]

    def remember(self, products: list[Any]) -> None:
        """Keep the program of the products just recorded after the target, and compute them."""
        trace, node = products[0]._trace, None
        slots = tuple([t._slot for t in products])
        if trace is not None and all([t._trace is trace and t._buffer is None for t in products]):
            node = trace.node
        for product in products:
            product._computed()
        if node is None or self._key is None or node.callback is not None:
            return
        before = node.parent
        if before is None or before.parent is not self._node or node.n_inputs != len(self._inputs) + 1:
            return
        program = node.executables.get((slots, self._key[2], ()))
        if program is not None:
            if self._node.shortcuts is None:
                self._node.shortcuts = {}
            self._node.shortcuts[self._key] = program
