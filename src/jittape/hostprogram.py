"""`HostProgram`: works out, at each call of a function, the numbers that its trace made of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from jittape.hostnumber import HostNumber

__all__ = ["Changed", "HostProgram", "reachable"]


_Step = tuple[Callable[..., Any], Callable[[list[Any]], Any], type]
"""What a number is computed by, what picks its operands among all values, and the type that it must be of."""


class Changed(Exception):
    """A number is not of the type that it had, or not what a trace holds for."""


class HostProgram:
    """Works out numbers from the leaves of a call: in the order in which they were made, each once.

    What the trace holds for comes before all else, and what calls a function of the user's (a learning rate, say) last:
    it is called only where the trace holds.

    Parameters
    ----------
    wanted : sequence of HostNumber
    settled : sequence of (HostNumber, value)
        What the trace holds for.

    Attributes
    ----------
    empty : bool
        Whether there is nothing to do.
    reads : bool
        Whether it calls a function of the user's.
    """

    def __init__(self, wanted: Sequence[HostNumber], settled: Sequence[tuple[HostNumber, Any]]) -> None:
        nodes = reachable([*wanted, *[number for number, _ in settled]])
        decisive = {number.serial for number in reachable([number for number, _ in settled])}
        read = _read(nodes)
        self._leaves = sorted({number.leaf for number in nodes if number.leaf is not None})
        constants = {_typed(p): p for n in nodes for p in n.parts if not isinstance(p, HostNumber)}
        self._constants: list[Any] = list(constants.values())
        self._known: dict[Any, int] = {key: i for i, key in enumerate(constants)}
        self._first = len(self._constants) + len(self._leaves)
        place: dict[int, int] = {}
        self._deciding = self._steps([n for n in nodes if n.serial in decisive], place)
        plain = [n for n in nodes if n.serial not in decisive and n.serial not in read]
        self._plain = self._steps(plain, place)
        self._reading = self._steps([n for n in nodes if n.serial in read], place)
        self._wanted = [place[number.serial] for number in wanted]
        self._settled = [(place[number.serial], value) for number, value in settled]
        self._texts = [number.text for number, _ in settled]
        self.empty = not (wanted or settled)
        self.reads = bool(read)

    def difference(self, leaves: Sequence[Any]) -> tuple[str, Any, Any] | None:
        """What of `leaves` the trace does not hold for: its name, the value that it holds for, and this one."""
        values = self._decisive(leaves)
        for text, (place, settled) in zip(self._texts, self._settled, strict=True):
            if values[place] != settled:
                return text, settled, values[place]
        return None

    def check(self, leaves: Sequence[Any]) -> list[Any]:
        """What can be worked out without calling a function of the user's.

        Raises
        ------
        Changed
            If the trace does not hold for these leaves.
        """
        values = self._decisive(leaves)
        for place, settled in self._settled:
            if values[place] != settled:
                raise Changed
        return self._extended(values, self._plain)

    def run(self, leaves: Sequence[Any]) -> list[Any]:
        """The wanted numbers.

        Raises
        ------
        Changed
            If the trace does not hold for these leaves.
        """
        values = self._extended(self.check(leaves), self._reading)
        return [values[place] for place in self._wanted]

    def _steps(self, nodes: Sequence[HostNumber], place: dict[int, int]) -> list[_Step]:
        """What works out `nodes`, and in `place` where each stands. What is computed alike is computed once."""
        steps: list[_Step] = []
        known = self._known
        for number in nodes:
            if number.leaf is not None:
                place[number.serial] = len(self._constants) + self._leaves.index(number.leaf)
                continue
            parts = tuple(
                [place[p.serial] if isinstance(p, HostNumber) else known[_typed(p)] for p in number.parts]
            )
            key = (number.compute, parts, type(number.now))
            if key not in known:
                known[key] = self._first + len(steps)
                assert number.compute is not None
                steps.append((number.compute, _picker(parts), type(number.now)))
            place[number.serial] = known[key]
        self._first += len(steps)
        return steps

    def _decisive(self, leaves: Sequence[Any]) -> list[Any]:
        """The values by which it is decided whether the trace holds."""
        return self._extended([*self._constants, *[leaves[i] for i in self._leaves]], self._deciding)

    def _extended(self, values: list[Any], steps: list[_Step]) -> list[Any]:
        for compute, pick, kind in steps:
            value = compute(*pick(values))
            if value.__class__ is not kind:
                raise Changed
            values.append(value)
        return values


def _read(nodes: Sequence[HostNumber]) -> set[int]:
    """The serial numbers of those that a function of the user's gives, and of what is made of them."""
    found: set[int] = set()
    for number in nodes:
        parts = [p.serial for p in number.parts if isinstance(p, HostNumber)]
        if (number.leaf is None and not number.parts) or not found.isdisjoint(parts):
            found.add(number.serial)
    return found


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
