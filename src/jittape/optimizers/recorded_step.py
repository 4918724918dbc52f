"""Steps of jittape's optimizers recorded as one call, whatever the number of Variables.

`Optimizer._step` runs inside the body of the call, on a copy of the optimizer whose Variables are `_Value` handles. Its
assignments set these handles; their last values are the results of the call. A step of SGD on four Variables takes
6 µs instead of 35 µs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from jittape.core.builder import Symbol
from jittape.core.primitive import active, any_dtype
from jittape.core.program import Aval
from jittape.optimizers.accumulation import step_count
from jittape.optimizers.gradient_pairs import Pair
from jittape.optimizers.weight_decay import WeightDecay
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import add
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = ["KeepsStep", "RecordedStep", "recorded_step"]

_PACKAGE = __name__.rpartition(".")[0]
_MOST_RECORDINGS = 8
"""Number of settings of an optimizer after which its steps are recorded op by op, such as for a momentum schedule."""
_OWN = frozenset(
    (
        "name", "_learning_rate", "iterations", "_known", "_positions", "_state", "_undecayed", "_undecayed_names",
        "_decayed", "_shapes", "step_values", "_recorded", "_recordings",
    )
)  # fmt: skip
"""Attributes that are no settings."""
_PLAIN = frozenset((type(None), bool, int, float, str))


class _Value(Symbol):
    """The handle to the value of a Variable in the body of a call; `assign` gives it another slot."""

    __slots__ = ("_serial",)

    constraint = None

    def __init__(self, symbol: Symbol, serial: int) -> None:
        super().__init__(symbol.slot, symbol.aval)
        self._serial = serial

    def assign(self, value: Any) -> None:
        self.slot = cast_to(value, self.aval.dtype).slot

    def assign_add(self, delta: Any) -> None:
        before: Any = self.value()
        self.assign(add(before, delta))

    def value(self) -> Symbol:
        return Symbol(self.slot, self.aval)


class _Update:
    """The computation of a step: class and settings of an optimizer, its state, and the Variables with gradients.

    Equal updates are one object, which is part of a key.
    """

    def __init__(
        self,
        optimizer: type[KeepsStep],
        settings: tuple[tuple[str, Any], ...],
        decayed: tuple[bool, ...],
        updated: tuple[int, ...],
        state: tuple[tuple[str, int], ...],
    ) -> None:
        self._class = optimizer
        self._settings = settings
        self._decayed = decayed
        self._updated = updated
        self._state = state

    def values_after(self, gradients: Sequence[Any], before: Sequence[Symbol], rate: Any) -> list[Symbol]:
        """Return the values of all Variables after the step: `iterations`, the optimized ones, the state."""
        values = [_Value(symbol, serial) for serial, symbol in enumerate(before, -1)]
        iterations, known, state = (
            values[0],
            values[1 : 1 + len(self._decayed)],
            values[1 + len(self._decayed) :],
        )
        optimizer: Any = object.__new__(self._class)
        vars(optimizer).update(
            self._settings,
            name="",
            iterations=iterations,
            step_values=None,
            _known=known,
            _positions={i: i for i in range(len(known))},
            _state=dict(zip(self._state, state, strict=True)),
            _decayed=dict(enumerate(self._decayed)),
        )
        pairs = [(g, known[position]) for g, position in zip(gradients, self._updated, strict=True)]
        optimizer._step(pairs, rate)
        return [value.value() for value in values]


_updates: WeakValueDictionary[Any, _Update] = WeakValueDictionary()


@any_dtype
def _stepped(*arguments: Any) -> tuple[Symbol, ...]:
    *handles, rate, update = arguments
    count = len(update._updated)
    return tuple(update.values_after(handles[:count], handles[count:], rate))


class RecordedStep(NamedTuple):
    """A step of an optimizer with gradients for these Variables.

    Attributes
    ----------
    variables : tuple of Variable
        Variables with a gradient.
    avals : tuple of Aval
        Those of the gradients.
    targets : tuple of Variable
        All Variables that the step assigns to.
    update : _Update
    """

    variables: tuple[Variable, ...]
    avals: tuple[Aval, ...]
    targets: tuple[Variable, ...]
    update: _Update

    def gradients_of(self, pairs: Sequence[Any]) -> list[Tensor] | None:
        """Return the gradients of `pairs` if they are tensors for the Variables of this step; None otherwise."""
        if len(pairs) != len(self.variables):
            return None
        gradients: list[Tensor] = []
        for pair, known, aval in zip(pairs, self.variables, self.avals, strict=True):
            if pair.__class__ is not tuple or len(pair) != 2:
                return None
            gradient, variable = pair
            if variable is not known or gradient.__class__ is not Tensor or known._constraint is not None:
                return None
            if gradient._aval is not aval and gradient._aval != aval:
                return None
            if known._declared is not None and known._aval != aval:
                return None
            gradients.append(gradient)
        return gradients

    def run(self, gradients: Sequence[Any], rate: Any) -> None:
        """Record the step and assign its results."""
        results = active.recorder.apply(_stepped, (*gradients, *self.targets, rate), (self.update,))
        try:
            for target, result in zip(self.targets, results, strict=True):
                target.assign(result)
        except BaseException:  # Ctrl-C: nothing else is raised here, and no part of a step may remain
            for target, result in zip(self.targets, results, strict=True):
                target.assign(result)
            raise


class KeepsStep(WeightDecay):
    """Base class of optimizers that keeps the recorded step until a setting changes."""

    gradient_accumulation_steps: int | None
    recorded_at_once = True
    """Whether a step of this class may be one recorded call."""
    _recorded: RecordedStep | None = None
    _recordings = 0

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name != "learning_rate":  # a schedule sets another attribute
            vars(self)["_recorded"] = None


def _is_own(kind: type) -> bool:
    """Return whether `kind` is an optimizer of this package, not one that an example in a docstring defines."""
    name = kind.__module__
    return name.startswith(_PACKAGE) and getattr(sys.modules.get(name), kind.__name__, None) is kind


def recorded_step(optimizer: KeepsStep, pairs: Sequence[Pair]) -> RecordedStep | None:
    """Return the step of `optimizer` with these pairs as one call.

    Returns None if a step may run code of the user, depends on names, or is traced.
    """
    kind = type(optimizer)
    if not kind.recorded_at_once or not _is_own(kind):
        return None
    variables = tuple([v for _, v in pairs])
    if active.recorder.traced_in is not None or any([v.constraint is not None for v in variables]):
        return None
    if optimizer.gradient_accumulation_steps is not None:
        step_count(optimizer)
    settings = tuple([(name, value) for name, value in vars(optimizer).items() if name not in _OWN])
    if any([value.__class__ not in _PLAIN for _, value in settings]):
        return None
    decayed = tuple(
        [optimizer.weight_decay is not None and optimizer.is_decayed(v) for v in optimizer._known]
    )
    updated = tuple([optimizer.position(v) for v in variables])
    key = (kind, repr(settings), decayed, updated, tuple(optimizer._state))
    update = _updates.get(key)
    if update is None:
        if optimizer._recordings >= _MOST_RECORDINGS:
            return None
        vars(optimizer)["_recordings"] = optimizer._recordings + 1
        update = _updates.setdefault(key, _Update(kind, settings, decayed, updated, tuple(optimizer._state)))
    targets = (optimizer.iterations, *optimizer._known, *optimizer._state.values())
    return RecordedStep(variables, tuple([g.aval for g, _ in pairs]), targets, update)
