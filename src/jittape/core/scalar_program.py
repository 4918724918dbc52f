"""`ScalarProgram`: computes, at each call of a function, the numbers that its trace made of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from operator import itemgetter
from typing import Any

from jittape.core.traced_scalar import TracedScalar

__all__ = ["GuardFailed", "ScalarProgram", "reachable"]


_Step = tuple[Callable[..., Any], Callable[[list[Any]], Any], type]
"""What a number is computed by, what picks its operands among all values, and the type that it must be of."""


class GuardFailed(Exception):
    """A trace does not hold: a number is of another type or value than it was, or cannot be computed."""


class ScalarProgram:
    """Computes numbers from the leaves of a call, each once.

    The values that the trace holds for are checked first, in the order in which Python asked for them, and each is
    computed only where those before it are right: ``every and step % every == 0`` divides by no zero. An error means
    that the trace does not hold, so that Python itself meets it, on the user's line, where the function may handle it.
    Functions of the user's (a learning rate, say) are called last, and only where the trace holds.

    Parameters
    ----------
    wanted : sequence of HostNumber
    settled : sequence of (HostNumber, value)
        What the trace holds for.
    computed : sequence of HostNumber
        What Python computed besides; nothing needs it, but it may fail.

    Attributes
    ----------
    empty : bool
        Whether there is nothing to do.
    reads : bool
        Whether it calls a function of the user's.
    """

    def __init__(
        self,
        wanted: Sequence[TracedScalar],
        settled: Sequence[tuple[TracedScalar, Any]],
        computed: Sequence[TracedScalar],
    ) -> None:
        nodes = reachable([*wanted, *[number for number, _ in settled], *computed])
        read = _read(nodes)
        leaves = sorted({number.leaf for number in nodes if number.leaf is not None})
        constants = {_typed(p): p for n in nodes for p in n.parts if not isinstance(p, TracedScalar)}
        self._leaves = leaves
        self._constants: list[Any] = list(constants.values())
        self._known: dict[Any, int] = {key: i for i, key in enumerate(constants)}
        self._first = len(constants) + len(leaves)
        of_leaf = {leaf: len(constants) + i for i, leaf in enumerate(leaves)}
        place = {n.serial: of_leaf[n.leaf] for n in nodes if n.leaf is not None}
        self._guards: list[tuple[str, list[_Step], int, Any]] = []
        for number, value in settled:
            steps = self._steps(reachable([number], place), place)
            self._guards.append((number.text, steps, place[number.serial], value))
        rest = [n for n in nodes if n.serial not in place]
        self._plain = self._steps([n for n in rest if n.serial not in read], place)
        needed = {n.serial for n in reachable(wanted)}
        self._reading = self._steps([n for n in rest if n.serial in read and n.serial in needed], place)
        self._wanted = [place[number.serial] for number in wanted]
        self.empty = not nodes
        self.reads = bool(self._reading)

    def difference(self, leaves: Sequence[Any]) -> tuple[str, Any, Any] | None:
        """The first number in `leaves` that the trace does not hold for: name, value that it holds for, this value."""
        values = self._given(leaves)
        for text, steps, place, settled in self._guards:
            _extend(values, steps)
            if values[place] != settled:
                return text, settled, values[place]
        return None

    def check(self, leaves: Sequence[Any]) -> list[Any]:
        """All values that need no call of a function of the user's.

        Raises
        ------
        Changed
            If the trace does not hold for these leaves.
        """
        values = self._given(leaves)
        try:
            for _, steps, place, settled in self._guards:
                _extend(values, steps)
                if values[place] != settled:
                    raise GuardFailed
            _extend(values, self._plain)
        except GuardFailed:
            raise
        except Exception as error:
            raise GuardFailed from error
        return values

    def run(self, leaves: Sequence[Any]) -> list[Any]:
        """The wanted numbers.

        Raises
        ------
        Changed
            If the trace does not hold for these leaves.
        """
        values = self.check(leaves)
        _extend(values, self._reading)
        return [values[place] for place in self._wanted]

    def _steps(self, nodes: Sequence[TracedScalar], place: dict[int, int]) -> list[_Step]:
        """The steps that compute `nodes`, equal ones once; `place` gets the position of each."""
        steps: list[_Step] = []
        known = self._known
        for number in nodes:
            parts = tuple(
                [place[p.serial] if isinstance(p, TracedScalar) else known[_typed(p)] for p in number.parts]
            )
            key = (number.compute, parts, type(number.now))
            if key not in known:
                known[key] = self._first + len(steps)
                assert number.compute is not None
                steps.append((number.compute, _picker(parts), type(number.now)))
            place[number.serial] = known[key]
        self._first += len(steps)
        return steps

    def _given(self, leaves: Sequence[Any]) -> list[Any]:
        return [*self._constants, *[leaves[i] for i in self._leaves]]


def _extend(values: list[Any], steps: list[_Step]) -> None:
    for compute, result_index, kind in steps:
        value = compute(*result_index(values))
        if value.__class__ is not kind:
            raise GuardFailed
        values.append(value)


def _read(nodes: Sequence[TracedScalar]) -> set[int]:
    """The serial numbers of those that a function of the user's gives, and of what is made of them."""
    found: set[int] = set()
    for number in nodes:
        parts = [p.serial for p in number.parts if isinstance(p, TracedScalar)]
        if (number.leaf is None and not number.parts) or not found.isdisjoint(parts):
            found.add(number.serial)
    return found


def _typed(value: Any) -> tuple[type, Any]:
    """A key for a constant: 1, 1.0 and True are three, and so are 0.0 and -0.0 two; other objects are themselves."""
    kind = type(value)
    if kind in (float, complex):
        return kind, repr(value)
    return kind, value if kind in (bool, int, str) else id(value)


def _picker(places: tuple[int, ...]) -> Callable[[list[Any]], Any]:
    """A function from a list to what stands at these places."""
    if len(places) > 1:
        return itemgetter(*places)
    first = places[0] if places else 0
    return itemgetter(slice(first, first + len(places)))


def reachable(numbers: Sequence[TracedScalar], known: Container[int] = ()) -> list[TracedScalar]:
    """`numbers` and all that they are made of, oldest first; without those whose serial numbers are `known`."""
    found: dict[int, TracedScalar] = {}
    stack = list(numbers)
    while stack:
        number = stack.pop()
        if number.serial not in found and number.serial not in known:
            found[number.serial] = number
            stack.extend([p for p in number.parts if isinstance(p, TracedScalar)])
    return [found[serial] for serial in sorted(found)]
