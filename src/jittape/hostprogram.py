"""`HostProgram`: works out, at each call of a function, the numbers that its trace made of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jittape.hostnumber import HostNumber

__all__ = ["Changed", "HostProgram"]


class Changed(Exception):
    """A number is not of the type that it had, or not what a trace holds for."""


class HostProgram:
    """Works out numbers from the leaves of a call: in the order in which they were made, each once.

    Parameters
    ----------
    wanted : sequence of HostNumber
    settled : sequence of (HostNumber, value)
        What the trace holds for.
    """

    def __init__(self, wanted: Sequence[HostNumber], settled: Sequence[tuple[HostNumber, Any]]) -> None:
        nodes = _reachable([*wanted, *[number for number, _ in settled]])
        place = {number.serial: i for i, number in enumerate(nodes)}
        self._steps: list[tuple[int, Callable[..., Any] | None, tuple[tuple[bool, Any], ...], type]] = []
        for number in nodes:
            parts = tuple(
                [(True, place[p.serial]) if isinstance(p, HostNumber) else (False, p) for p in number.parts]
            )
            leaf = -1 if number.leaf is None else number.leaf
            self._steps.append((leaf, number.compute, parts, type(number.now)))
        self._wanted = [place[number.serial] for number in wanted]
        self._settled = [(place[number.serial], value) for number, value in settled]
        self._texts = [number.text for number, _ in settled]
        self.empty = not (wanted or settled)

    def difference(self, leaves: Sequence[Any]) -> tuple[str, Any, Any] | None:
        """What of `leaves` the trace does not hold for: its name, the value that it holds for, and this one."""
        values = self._values(leaves)
        for text, (place, settled) in zip(self._texts, self._settled, strict=True):
            if values[place] != settled:
                return text, settled, values[place]
        return None

    def run(self, leaves: Sequence[Any]) -> list[Any]:
        """The wanted numbers.

        Raises
        ------
        Changed
            If the trace does not hold for these leaves.
        """
        values = self._values(leaves)
        for place, settled in self._settled:
            if values[place] != settled:
                raise Changed
        return [values[place] for place in self._wanted]

    def _values(self, leaves: Sequence[Any]) -> list[Any]:
        values: list[Any] = []
        for leaf, compute, parts, kind in self._steps:
            if compute is None:
                value = leaves[leaf]
            else:
                value = compute(*[values[p] if is_place else p for is_place, p in parts])
                if type(value) is not kind:
                    raise Changed
            values.append(value)
        return values


def _reachable(numbers: Sequence[HostNumber]) -> list[HostNumber]:
    """`numbers` and all that they are made of, oldest first."""
    found: dict[int, HostNumber] = {}
    stack = list(numbers)
    while stack:
        number = stack.pop()
        if number.serial not in found:
            found[number.serial] = number
            stack.extend([p for p in number.parts if isinstance(p, HostNumber)])
    return [found[serial] for serial in sorted(found)]
