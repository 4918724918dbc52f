"""Vector-Jacobian and Jacobian-vector products that run their program without recording, once it is known."""

from __future__ import annotations

from typing import Any, NamedTuple

from jittape.autodiff.known_gradients import known_edge
from jittape.autodiff.tape_interval import TapeInterval
from jittape.core.buffers import Buffer
from jittape.recording.tensor import Tensor

__all__ = ["RepeatedProducts", "RepeatedTangents"]


class _Known(NamedTuple):
    """The program of a product, and the slots of computed results that it takes as inputs."""

    program: Any
    slots: tuple[int, ...]


_MOST_EDGES = 16
"""Maximum number of edges that a known program replaces."""


class RepeatedProducts:
    """Vector-Jacobian products of a target, of a tape that has been left.

    Parameters
    ----------
    interval : TapeInterval
        Nothing has been recorded after it.
    target : Tensor
    sources : list of Tensor

    Attributes
    ----------
    known : bool
        Whether the program is known: the products do not need the tape, unless one fails.
    """

    __slots__ = ("_available", "_inputs", "_key", "_node", "_program", "_slots", "_sources", "known")

    def __init__(self, interval: TapeInterval, target: Any, sources: list[Any]) -> None:
        trace: Any = interval.trace
        edge = known_edge(interval, target, sources)
        self._node = trace.node
        self._inputs = list(trace.inputs)
        self._sources = sources
        self._key = None if edge is None else ("product", edge)
        shortcuts = self._node.shortcuts
        found = None if shortcuts is None or edge is None else shortcuts.get(self._key)
        self._program: Any = None if found is None else found.program
        self._slots: tuple[int, ...] = () if found is None else found.slots
        self._available: list[Any] = []
        if found is not None:
            by_slot = {t._slot: t for t in trace._available()} if trace.materialized else {}
            by_slot[target._slot] = target
            self._available = [by_slot.get(slot) for slot in self._slots]
        self.known = found is not None and None not in self._available

    def target_is_computed(self, interval: TapeInterval) -> None:
        """Note the computed results that a program which is not known may take as inputs."""
        self._available = interval.trace._available()  # type: ignore[union-attr]
        self._slots = tuple([t._slot for t in self._available])

    def run(self, cotangent: Buffer) -> list[Tensor] | None:
        """Return the product for each source if the program is known and does not fail, else None."""
        if not self.known:
            return None
        try:
            found = self._program.run([*self._inputs, cotangent], [t._buffer for t in self._available])
        except Exception:  # recording the product raises an error that names the op
            return None
        return [Tensor(None, -1, x._aval, value) for x, value in zip(self._sources, found, strict=True)]

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
        self._program = node.executables.get((slots, self._slots, ()))
        if self._program is None:
            return
        self.known = True
        if self._node.shortcuts is None:
            self._node.shortcuts = {}
        self._node.shortcuts[self._key] = _Known(self._program, self._slots)


class RepeatedTangents:
    """The value and the tangent of a target, of a tape that has been left.

    Parameters
    ----------
    interval : TapeInterval
        Nothing has been recorded after it.
    target : Tensor
    sources, tangents : list of Tensor
        The primals, and computed tangents.
    """

    __slots__ = ("_inputs", "_key", "_node", "_tangents")

    def __init__(
        self, interval: TapeInterval, target: Any, sources: list[Any], tangents: list[Tensor]
    ) -> None:
        trace: Any = interval.trace
        edge = None if trace.materialized else known_edge(interval, target, sources)
        self._node = trace.node
        self._inputs = list(trace.inputs)
        self._tangents = tangents
        self._key = None if edge is None else ("tangent", edge)

    def run(self) -> tuple[Buffer, Buffer] | None:
        """Return the value and the tangent if the program is known and does not fail, else None."""
        shortcuts = self._node.shortcuts
        program: Any = None if shortcuts is None or self._key is None else shortcuts.get(self._key)
        if program is None:
            return None
        try:
            value, tangent = program.run([*self._inputs, *[t._computed() for t in self._tangents]], [])
        except Exception:  # recording the tangent raises an error that names the op
            return None
        return value, tangent

    def remember(self, value: Any, tangent: Any) -> None:
        """Compute the target and the tangent that was just recorded after it, and keep the program."""
        trace, node, slots = tangent._trace, None, (value._slot, tangent._slot)
        pending = value._buffer is None and tangent._buffer is None
        if self._key is not None and pending and trace is value._trace and trace is not None:
            node = trace.node
        tangent._computed()
        value._computed()
        if node is None or node.n_inputs != len(self._inputs) + len(self._tangents):
            return
        at: Any = node
        for _ in range(_MOST_EDGES):
            if at is None or at is self._node or at.callback is not None:
                break
            at = at.parent
        program = node.executables.get((slots, (), ()))
        if at is not self._node or program is None:
            return
        if self._node.shortcuts is None:
            self._node.shortcuts = {}
        self._node.shortcuts[self._key] = program
