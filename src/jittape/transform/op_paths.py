"""`Path`: the op list that leads to a node of the trie, with what queries need to visit only the ops that concern them.

A persistent tape may ask for hundreds of gradients of one path, and a tape in which values are read flushes as often.
Each of these queries visits the ops that compute its own results, not all ops recorded so far: 400 gradients of a tape
took 8 s, and now take 0.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from jittape.core.buffers import Buffer
from jittape.core.program import Aval, Op, Program

__all__ = ["Key", "Path", "cut_program", "effects_of", "parts_of"]

Key = tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...]]
"""Key of a flush: needed slots, available slots, and pairs of an input whose memory may be reused and a needed slot."""


class Path:
    """The op list from the root of the trie to a node.

    Parameters
    ----------
    inputs : sequence of int
    ops : sequence of Op
    avals : mapping of int to Aval
    variables : mapping of int to bool
        For each slot that a Variable was read into, whether the Variable is trainable.

    Attributes
    ----------
    tracking : list
        What tapes track of the path so far: see `jittape.transform.differentiate.seen`.

    Notes
    -----
    The path may grow: the owner of its lists appends to them. Everything derived from them is extended when it is
    asked for, so that each op is visited once.
    """

    __slots__ = ("_found", "_input_numbers", "_numbers", "avals", "inputs", "ops", "tracking", "variables")

    def __init__(
        self,
        inputs: Sequence[int],
        ops: Sequence[Op],
        avals: Mapping[int, Aval],
        variables: Mapping[int, bool],
    ) -> None:
        self.inputs, self.ops, self.avals, self.variables = inputs, ops, avals, variables
        self.tracking: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._input_numbers: dict[int, int] = {}
        self._found: dict[Callable[[Op], bool], tuple[int, dict[int, Op]]] = {}

    # A signal handler may ask for the same in the middle of these methods: what they do twice is the same.

    @property
    def numbers(self) -> Mapping[int, int]:
        """The number of each op, by the slot of its result."""
        known, ops = self._numbers, self.ops
        for number in range(len(known), len(ops)):
            known[ops[number].out] = number
        return known

    @property
    def input_numbers(self) -> Mapping[int, int]:
        """The number of each input, by its slot."""
        known, inputs = self._input_numbers, self.inputs
        for number in range(len(known), len(inputs)):
            known[inputs[number]] = number
        return known

    def ops_where(self, test: Callable[[Op], bool]) -> Mapping[int, Op]:
        """Return the ops for which `test` holds, by the slots of their results."""
        count, found = self._found.get(test, (0, {}))
        ops = self.ops
        for number in range(count, len(ops)):
            if test(ops[number]):
                found[ops[number].out] = ops[number]
        self._found[test] = (len(ops), found)
        return found

    def ops_behind(self, slots: Iterable[int], follow: Callable[[Op], Iterable[int]]) -> list[Op]:
        """Return the ops that compute `slots`, in order.

        `follow` returns the operands of an op that are followed further.
        """
        numbers, ops = self.numbers, self.ops
        waiting, found = list(slots), set()
        while waiting:
            number = numbers.get(waiting.pop())
            if number is not None and number not in found:
                found.add(number)
                waiting += follow(ops[number])
        return [ops[number] for number in sorted(found)]


def effects_of(path: Path) -> Mapping[int, Op]:
    """Return the ops that may end a run, by the slots of their results."""
    return path.ops_where(_is_effectful)


def _is_effectful(op: Op) -> bool:
    return op.primitive.effectful


def cut_program(path: Path, needed: tuple[int, ...], available: tuple[int, ...]) -> Program:
    """Return the program of the ops of `path` that compute `needed` from the inputs and the `available` slots."""
    cut = set(available)
    effects = effects_of(path)
    numbers, ops = path.numbers, path.ops
    waiting = [*needed, *[slot for slot in effects if slot not in cut]]
    defined: set[int] = set()
    kept: list[int] = []
    inputs: list[int] = []
    while waiting:
        slot = waiting.pop()
        if slot in defined:
            continue
        defined.add(slot)
        number = None if slot in cut else numbers.get(slot)
        if number is None:
            inputs.append(slot)
        else:
            kept.append(number)
            waiting += ops[number].args
    kept.sort()
    order = path.input_numbers
    if len(inputs) > 1:
        # The result of a call may be its argument, and then available, too.
        later = {slot: len(order) + i for i, slot in enumerate(available) if slot not in order}
        inputs.sort(key=lambda slot: order[slot] if slot in order else later[slot])
    avals = {slot: path.avals[slot] for slot in sorted(defined)}
    return Program(tuple(inputs), tuple([ops[number] for number in kept]), needed, avals)


def parts_of(
    path: Path, key: Key, inputs: Sequence[Any]
) -> tuple[Program, list[int], frozenset[int], tuple[tuple[int, int], ...]]:
    """Return the program, picks, scalars and donated inputs of the `PathExecutable` of a flush.

    `inputs` are values of the inputs of `path`.
    """
    needed, available, donated = key
    program = cut_program(path, needed, available)
    numbers = path.input_numbers
    given = {slot: -1 - i for i, slot in enumerate(available)}
    picks = [given[slot] if slot in given else numbers[slot] for slot in program.inputs]
    pairs = zip(program.inputs, picks, strict=True)
    scalars = frozenset([slot for slot, i in pairs if i >= 0 and inputs[i].__class__ is not Buffer])
    return program, picks, scalars, donated
