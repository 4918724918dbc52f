"""`HostProgram`: works out, at each call of a function, the numbers that its trace made of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from jittape.hostnumber import HostNumber

__all__ = ["Changed", "HostProgram", "reachable"]


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
        nodes = reachable([*wanted, *[number for number, _ in settled]])
        self._leaves = sorted({number.leaf for number in nodes if number.leaf is not None})
        self._constants: list[Any] = []
        self._steps: list[tuple[Callable[..., Any], Callable[[list[Any]], Any], type]] = []
        place = self._places(nodes)
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

    def _places(self, nodes: Sequence[HostNumber]) -> dict[int, int]:
        """Write the steps; where the value of each number stands. What is computed alike is computed once."""
        constants = {_typed(p): p for n in nodes for p in n.parts if not isinstance(p, HostNumber)}
        self._constants = list(constants.values())
        known: dict[Any, int] = {key: i for i, key in enumerate(constants)}
        first = len(self._constants)
        place: dict[int, int] = {}
        for number in nodes:
            if number.leaf is not None:
                place[number.serial] = first + self._leaves.index(number.leaf)
                continue
            parts = tuple(
                [place[p.serial] if isinstance(p, HostNumber) else known[_typed(p)] for p in number.parts]
            )
            key = (number.compute, parts, type(number.now))
            at = known.get(key)
            if at is None:
                at = known[key] = first + len(self._leaves) + len(self._steps)
                assert number.compute is not None
                self._steps.append((number.compute, _picker(parts), type(number.now)))
            place[number.serial] = at
        return place

    def _values(self, leaves: Sequence[Any]) -> list[Any]:
        values = [*self._constants, *[leaves[i] for i in self._leaves]]
        for compute, pick, kind in self._steps:
            value = compute(*pick(values))
            if value.__class__ is not kind:
                raise Changed
            values.append(value)
        return values


def _typed(value: Any) -> tuple[type, Any]:
    """A key for a constant: 1, 1.0 and True are three, and so are 0.0 and -0.0 two."""
    return type(value), repr(value) if isinstance(value, (float, complex)) else value


def _picker(places: tuple[int, ...]) -> Callable[[list[Any]], Any]:
    """A function from a list to what stands at these places."""
    if len(places) > 1:
        return itemgetter(*places)
    first = places[0] if places else 0
    return itemgetter(slice(first, first + len(places)))


def reachable(numbers: Sequence[HostNumber]) -> list[HostNumber]:
    """`numbers` and all that they are made of, oldest first."""
    found: dict[int, HostNumber] = {}
    stack = list(numbers)
    while stack:
        number = stack.pop()
        if number.serial not in found:
            found[number.serial] = number
            stack.extend([p for p in number.parts if isinstance(p, HostNumber)])
    return [found[serial] for serial in sorted(found)]
