"""`ScalarProgram`: computes, at each call of a function, the numbers that its trace derived from the arguments."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from operator import itemgetter
from typing import Any

from jittape.core.traced_scalar import TracedScalar

__all__ = ["GuardFailed", "ScalarProgram", "reachable"]


_Step = tuple[Callable[..., Any], Callable[[list[Any]], Any], type]
"""The function that computes a number, the getter of its operands from all values, and the required type."""


class GuardFailed(Exception):
    """A trace is not valid for a call: a number has another type or value, or cannot be computed."""


class ScalarProgram:
    """Computes numbers from the leaves of a call, each once.

    Guards are checked first, in the order in which Python needed the values, and each is computed only if those before
    it hold: ``every and step % every == 0`` does not divide by zero. An error means that the trace is not valid, so
    that Python itself raises it on the user's line, where the function may handle it. Functions of the user (a learning
    rate, say) are called last, and only if the trace is valid.

    Parameters
    ----------
    wanted : sequence of TracedScalar
        Numbers that `run` returns.
    specialized : sequence of (TracedScalar, value)
        Guards: numbers and the values for which the trace is valid.
    computed : sequence of TracedScalar
        Other numbers that Python computed. They are not used, but computing them may fail.

    Attributes
    ----------
    empty : bool
        Whether there is nothing to compute.
    reads : bool
        Whether `run` calls a function of the user.
    """

    def __init__(
        self,
        wanted: Sequence[TracedScalar],
        specialized: Sequence[tuple[TracedScalar, Any]],
        computed: Sequence[TracedScalar],
    ) -> None:
        nodes = reachable([*wanted, *[number for number, _ in specialized], *computed])
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
        for number, value in specialized:
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
        """Return name, expected and actual value of the first guard that fails for `leaves`; None if all hold."""
        values = self._given(leaves)
        for text, steps, place, expected in self._guards:
            _extend(values, steps)
            if values[place] != expected:
                return text, expected, values[place]
        return None

    def check(self, leaves: Sequence[Any]) -> list[Any]:
        """Return all values that need no call of a function of the user.

        Raises
        ------
        GuardFailed
            If the trace is not valid for these leaves.
        """
        values = self._given(leaves)
        try:
            for _, steps, place, expected in self._guards:
                _extend(values, steps)
                if values[place] != expected:
                    raise GuardFailed
            _extend(values, self._plain)
        except GuardFailed:
            raise
        except Exception as error:
            raise GuardFailed from error
        return values

    def run(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the wanted numbers.

        Raises
        ------
        GuardFailed
            If the trace is not valid for these leaves.
        """
        values = self.check(leaves)
        _extend(values, self._reading)
        return [values[place] for place in self._wanted]

    def _steps(self, nodes: Sequence[TracedScalar], place: dict[int, int]) -> list[_Step]:
        """Return the steps that compute `nodes`, without duplicates; the position of each is added to `place`."""
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
    """Return the serial numbers of values that functions of the user return, and of all that depend on them."""
    found: set[int] = set()
    for number in nodes:
        parts = [p.serial for p in number.parts if isinstance(p, TracedScalar)]
        if (number.leaf is None and not number.parts) or not found.isdisjoint(parts):
            found.add(number.serial)
    return found


def _typed(value: Any) -> tuple[type, Any]:
    """Return a key for a constant that distinguishes 1, 1.0 and True, and 0.0 and -0.0; other objects by identity."""
    kind = type(value)
    if kind in (float, complex):
        return kind, repr(value)
    return kind, value if kind in (bool, int, str) else id(value)


def _picker(places: tuple[int, ...]) -> Callable[[list[Any]], Any]:
    """Return a function from a list to its elements at `places`."""
    if len(places) > 1:
        return itemgetter(*places)
    first = places[0] if places else 0
    return itemgetter(slice(first, first + len(places)))


def reachable(numbers: Sequence[TracedScalar], known: Container[int] = ()) -> list[TracedScalar]:
    """Return `numbers` and all their parts, oldest first, without those whose serial numbers are `known`."""
    found: dict[int, TracedScalar] = {}
    stack = list(numbers)
    while stack:
        number = stack.pop()
        if number.serial not in found and number.serial not in known:
            found[number.serial] = number
            stack.extend([p for p in number.parts if isinstance(p, TracedScalar)])
    return [found[serial] for serial in sorted(found)]
