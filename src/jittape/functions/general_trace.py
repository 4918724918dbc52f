"""General traces: one run of the Python function for all calls whose arguments differ in extents only.

The function is traced with extents (`jittape.core.symbolic.extents`) in place of the numbers that vary, and the passes
run once on the program with extents. For another length, the guards are checked, and the numbers of the program and of
its schedule are computed: no Python of the user, no simplification, no scheduling. If a guard of the trace fails, the
function is traced again, which adds another general trace; if a guard of the passes fails, only the passes run again.

A function gets a general trace at once if its input signature leaves the extents open, else when it is called with the
second length. It keeps ordinary traces if a value depends on extents in a way that no expression describes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from jittape.core.config import config
from jittape.core.primitive import recording_with
from jittape.core.program import DYNAMIC_DIM, Aval
from jittape.core.symbolic.extents import Extent, Extents
from jittape.core.symbolic.plain_numbers import numbers_of
from jittape.core.user_calls import ValueNeeded, VariableNeeded
from jittape.errors import ProgramError
from jittape.functions.concrete_function import Concrete
from jittape.functions.python_function import (
    call_python,
    placeholders_of,
    tests_bool_identity,
    tests_object_identity,
)
from jittape.functions.signature import SPECIALIZABLE, Call, shared_leaves
from jittape.functions.trace_report import Uncompiled
from jittape.functions.variable_arguments import to_pin, variable_positions, with_variable_placeholders
from jittape.recording.tensor import Tensor
from jittape.recording.user_line import own_line

__all__ = ["SAMPLES", "Families", "GeneralTrace", "Varying", "traced_with_extents"]

SAMPLES = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149)
"""Extents that functions with open signatures are traced for: unlikely to occur elsewhere in a function."""
_PLAIN = frozenset((bool, int, float, complex, str, type(None), Tensor, Extent))
"""Types of constant results that contain no extent, or are one. The arrays of tensors contain none."""
_MOST_VARIANTS = 8
"""Maximum number of general traces of one family. Each holds where other guards do, such as for long arrays."""
_MOST_FAILURES = 2
"""Number of failed attempts after which a family gets ordinary traces only."""
_SMALL_SAMPLES = (23, 29, 31, 37, 41, 43, 47, 53, 59, 61)
"""Extents that a function is traced for at its second length if that is no general one: loops over them are short."""
_SMALLEST = 3
"""Smallest extent that a general trace is made from: 0 and 1 have meanings of their own, and 2 is a common constant."""


class _VariablesCreated(Exception):
    """Raised after a run of a function that has created Variables: the trace is that of the next run."""


class _PositionError(ProgramError):
    """Error of a trace whose extents equal other numbers by accident; `numbers` are those of its program."""

    def __init__(self, numbers: set[Any]) -> None:
        super().__init__("the extents are in no general position")
        self.numbers = numbers


def _without_extents(key: Any) -> Any:
    return (len(key.shape), key.dtype) if key.__class__ is Aval else key


class Varying:
    """The extents that vary: positions among the keys of a call, and the variable of each.

    Positions with equal extents share a variable, so other calls must have equal extents there. `samples` are the
    extents to trace for; there are none if the present ones serve.
    """

    def __init__(
        self, keys: tuple[Any, ...], positions: Sequence[tuple[int, int]], samples: Sequence[int] = ()
    ) -> None:
        self.keys = keys
        self.positions = positions
        self._samples = samples
        self.hints = list(dict.fromkeys([keys[i].shape[axis] for i, axis in positions]))
        self.numbers = [self.hints.index(keys[i].shape[axis]) for i, axis in positions]

    def traced_for(self) -> list[int]:
        """Return the values of the variables to trace for."""
        numbers = {n for key in self.keys if key.__class__ is Aval for n in key.shape}
        return [n for n in self._samples if n not in numbers][: len(self.hints)] or self.hints

    def values(self, keys: tuple[Any, ...]) -> list[int] | None:
        """Return the values of the variables in a call of the family; None if other extents differ."""
        found: dict[int, int] = {}
        varying = dict(zip(self.positions, self.numbers, strict=True))
        for i, (mine, other) in enumerate(zip(self.keys, keys, strict=True)):
            # Even the same aval counts: another argument may have another value of its variable.
            if mine.__class__ is not Aval:
                continue
            for axis, extent in enumerate(other.shape):
                number = varying.get((i, axis))
                if extent != (mine.shape[axis] if number is None else found.setdefault(number, extent)):
                    return None
        return [found[number] for number in range(len(self.hints))]

    def avals(self, extents: Extents) -> dict[int, Aval]:
        """Return the avals with extents, by the number of the leaf."""
        made: dict[int, Aval] = {}
        for (i, axis), number in zip(self.positions, self.numbers, strict=True):
            shape = list(made.get(i, self.keys[i]).shape)
            shape[axis] = extents.variables[number]
            made[i] = Aval(tuple(shape), self.keys[i].dtype)
        return made

    def open_keys(self) -> tuple[Any, ...]:
        """Return the keys with unknown extents, which print as ``?``."""
        shapes = {i: list(self.keys[i].shape) for i, _ in self.positions}
        for i, axis in self.positions:
            shapes[i][axis] = DYNAMIC_DIM
        return tuple(
            [key._replace(shape=tuple(shapes[i])) if i in shapes else key for i, key in enumerate(self.keys)]
        )


class GeneralTrace:
    """A trace with extents.

    Parameters
    ----------
    trace : Concrete
        Trace whose program has extents in its shapes and parameters.
    extents : Extents
    varying : Varying

    Attributes
    ----------
    numbers : set
        The plain numbers of the program, from which extents must differ.

    Raises
    ------
    ProgramError
        If the trace holds for the traced extents only.
    """

    def __init__(self, trace: Concrete, extents: Extents, varying: Varying) -> None:
        # Imports LLVM, as the first compiled program does.
        from jittape.runtime.general_executable import GeneralExecutable, with_constants

        # Nothing depends on the sets of numbers that are made from here on, so any length may equal one of them.
        hashed = dict(extents.hashed)
        program = trace.program
        if not trace.may_be_general:
            raise ProgramError("a general trace cannot print, call Python or change the shape of a Variable")
        if not all(map(_is_plain, trace.result_leaves)):
            raise ProgramError("a result may hide an extent")
        bound = with_constants(program, trace.constants())
        self.numbers = numbers_of(program)
        if not extents.is_general(self.numbers):
            raise _PositionError(self.numbers)
        self._varying = varying
        self._trace = trace
        self._scalars = trace.scalar_inputs()
        donated = trace.donated()
        parts = (tuple(trace.sources), tuple(trace.avals), trace.result_leaves)
        self._parts_at = extents.function(parts, hashed)
        self._program_at = extents.function(program, hashed)
        self._bound_at = extents.function(bound, hashed)
        self._executables = GeneralExecutable(self._bound_at, self._scalars, donated)

    def at(self, keys: tuple[Any, ...]) -> Concrete | None:
        """Return the trace for a call with these keys; None if a guard fails."""
        values = self._varying.values(keys)
        parts = None if values is None else self._parts_at(*values)
        if values is None or parts is None:
            return None
        bound, program = partial(self._bound_at, *values), partial(self._program_at, *values)
        return self._trace.at(keys, parts, program, partial(self._executables.at, values, bound))


def traced_with_extents(
    python: Callable[..., Any],
    name: str,
    owner: tuple[Any, ...],
    call: Call,
    keys: tuple[Any, ...],
    names: Sequence[str],
    pins_variables: bool,
    may_create: bool,
    extents: Extents,
    avals: dict[int, Aval],
) -> Concrete:
    """Return the trace of `python` with these avals in place of those of the arguments.

    Raises
    ------
    ProgramError
        If a general trace cannot have the properties that the function needs.
    """
    from jittape.recording.extent_trace import ExtentTrace  # most functions are called with one shape first

    numbers = {i: issubclass(key, SPECIALIZABLE) for i, key in enumerate(keys) if isinstance(key, type)}
    bools = [i for i in numbers if keys[i] is bool]
    plain = bools if bools and tests_bool_identity(python) else []
    tracing = ExtentTrace(name, call.leaves, may_create, extents)
    with tracing:
        placeholders = placeholders_of(tracing, call, names, numbers, plain, {}, avals)
        pins = pins_variables or tests_object_identity(python)
        pinned = variable_positions(call.leaves) if pins else ()
        placeholders = with_variable_placeholders(tracing, placeholders, pinned)
        with recording_with(tracing):
            result = call_python(python, name, owner, call, placeholders)
        if tracing.made:
            raise _VariablesCreated
        fails = to_pin(tracing, call.leaves, failed=False).difference(pinned)
        if fails or tracing.needed_value is not None or shared_leaves(call.leaves, tracing.distinct):
            raise ProgramError("the function needs an ordinary trace")
        return Concrete(tracing, result, keys, call, {})


def _is_plain(leaf: Any) -> bool:
    """Return whether a constant result contains no extent, or is one."""
    from jittape.recording.shapes.shape_tensor import ShapeTensor

    if type(leaf) in _PLAIN or type(leaf) is ShapeTensor:
        return True
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind != "O"


class Families:
    """The general traces of a function: one family for all calls that differ in extents only.

    Parameters
    ----------
    open_axes : sequence of (int, int or None)
        Leaf and axis of the extents that the input signature leaves open; all axes of a leaf of unknown rank.
    """

    def __init__(self, open_axes: Sequence[tuple[int, int | None]] = ()) -> None:
        self._open_axes = open_axes
        self._families: dict[Any, _Family] = {}
        self._derived: dict[Any, Concrete | Uncompiled] = {}

    def known(self, key: Any) -> Concrete | Uncompiled | None:
        """Return the trace with this key that a general trace gave before; None without one."""
        return self._derived.get(key)

    def traces(self) -> list[Concrete]:
        """Return all traces that a general trace gave."""
        return [trace for trace in list(self._derived.values()) if isinstance(trace, Concrete)]

    def derived(self, key: Any, call: Call, keys: tuple[Any, ...]) -> Concrete | Uncompiled | None:
        """Return the trace for a call from a general trace; None without one. The table keeps it under `key`."""
        found = self._of(call, keys).trace_at(call, keys)
        if found is not None:
            while len(self._derived) >= config.max_signatures:
                self._derived.pop(next(iter(self._derived)), None)
            self._derived[key] = found
        return found

    def generalized(
        self, call: Call, keys: tuple[Any, ...], trace: Callable[[bool, Extents, dict[int, Aval]], Concrete]
    ) -> tuple[Concrete, tuple[Any, ...]] | None:
        """Return the trace for a call from a new general trace, and the keys with unknown extents; None without one.

        ``trace(may_create, extents, avals)`` runs the Python function with these avals for the arguments.
        """
        return self._of(call, keys).generalized(call, keys, trace)

    def recorded(self, call: Call, keys: tuple[Any, ...], trace: Uncompiled) -> tuple[Any, ...]:
        """Record calls with other extents, too, if the values that `trace` needs were needed for all extents.

        Returns the keys of these calls, with unknown extents, or else `keys`.
        """
        return self._of(call, keys).recorded(keys, trace)

    def pinned_at(self, call: Call, keys: tuple[Any, ...]) -> Any:
        """Return the line that needed an extent as a Python number, for which there is no general trace; or None."""
        return self._of(call, keys).pinned_at

    def open(self, call: Call, keys: tuple[Any, ...], axes: Sequence[tuple[int, int | None]]) -> None:
        """Leave these extents open in the first general trace for such calls."""
        self._of(call, keys).leave_open(axes)

    def _of(self, call: Call, keys: tuple[Any, ...]) -> _Family:
        """Return the family of a call."""
        open_keys = tuple([_without_extents(key) for key in keys])
        key = call.structure, call.orders, config.default_float, open_keys
        family = self._families.pop(key, None) or _Family(keys, self._open_axes)
        while len(self._families) >= config.max_signatures:
            del self._families[next(iter(self._families))]
        self._families[key] = family
        return family


class _Family:
    """The general traces of one family; `first` are the keys of its first call."""

    def __init__(self, first: tuple[Any, ...], open_axes: Sequence[tuple[int, int | None]]) -> None:
        self._first = first
        self.leave_open(open_axes)
        self._variants: list[GeneralTrace] = []
        self._needed: Varying | None = None
        self._uncompiled: Uncompiled | None = None
        self._failures = 0
        self.pinned_at: Any = None
        self._numbers: set[Any] = set()

    def leave_open(self, axes: Sequence[tuple[int, int | None]]) -> None:
        """Leave these extents open in the first general trace; None stands for all axes of a leaf."""
        self._any_rank = any([axis is None for _, axis in axes])
        self.open_axes = [
            (i, axis) for i, n in axes for axis in (range(len(self._first[i].shape)) if n is None else (n,))
        ]

    def recorded(self, keys: tuple[Any, ...], trace: Uncompiled) -> tuple[Any, ...]:
        """Do what `Families.recorded` does."""
        if self._needed is None or self._variants:
            return keys
        self._uncompiled = trace
        return self._needed.open_keys()

    def trace_at(self, call: Call, keys: tuple[Any, ...]) -> Concrete | Uncompiled | None:
        """Return the trace for a call from a general trace whose guards hold; None without one."""
        for general in self._variants:
            found = general.at(keys)
            if found is not None:
                return found if found.holds(call.leaves) else None
        return self._uncompiled

    def generalized(
        self, call: Call, keys: tuple[Any, ...], trace: Callable[[bool, Extents, dict[int, Aval]], Concrete]
    ) -> tuple[Concrete, tuple[Any, ...]] | None:
        """Do what `Families.generalized` does, and keep the general trace."""
        varying = self._varying(keys)
        if varying is None:
            return None
        hints, count = varying.traced_for(), len(self._variants)
        found, may_repeat = self._traced(varying, hints, keys, trace)
        if found is None and may_repeat:
            again = self._varying(keys, samples=False)
            if again is not None and (again.positions != varying.positions or hints is not varying.hints):
                varying = again
                found, _ = self._traced(varying, varying.hints, keys, trace)
        if found is None:
            self._failures += len(self._variants) == count and not self._any_rank
            if self._any_rank:  # some of its extents are fixed: those that differ at the next call are not
                self._any_rank, self.open_axes = False, []
            return None
        return found, varying.open_keys()

    def _traced(
        self,
        varying: Varying,
        hints: Sequence[int],
        keys: tuple[Any, ...],
        trace: Callable[[bool, Extents, dict[int, Aval]], Concrete],
    ) -> tuple[Concrete | None, bool]:
        """Return the trace for a call from a new general trace; if it is None, whether other hints may give one."""
        extents = Extents(hints, own_line)
        try:
            try:
                traced = trace(True, extents, varying.avals(extents))
            except _VariablesCreated:
                extents.close()
                extents = Extents(hints, own_line)
                traced = trace(False, extents, varying.avals(extents))
            with extents.hashed_by_expression():
                general = GeneralTrace(traced, extents, varying)
            self._numbers |= general.numbers
            self._variants.insert(0, general)
            return general.at(keys), True
        except _PositionError as error:
            self._numbers |= error.numbers
            return None, extents.pinned_at is None
        except ValueNeeded:
            self._needed = varying
            return None, False
        except (ProgramError, VariableNeeded):
            return None, False
        except Exception:
            # A sample may be out of the range that the function accepts; else an ordinary trace raises it.
            return None, True
        finally:
            self.pinned_at = extents.pinned_at
            extents.close()

    def _varying(self, keys: tuple[Any, ...], samples: bool = True) -> Varying | None:
        """Return the extents that the next trace should leave open; None for an ordinary trace.

        If it is the first one and one of its extents has a meaning of its own, such as 1, it is traced for `samples`.

        An extent that equals a number of the program or another extent by accident is not left open: such as a batch of
        32 sequences if the layer has 32 units.
        """
        if self._failures >= _MOST_FAILURES or len(self._variants) >= _MOST_VARIANTS:
            return None
        arrays = [(i, key.shape) for i, key in enumerate(keys) if key.__class__ is Aval]
        positions = self.open_axes or [
            (i, axis)
            for i, shape in arrays
            for axis, n in enumerate(shape)
            if n != self._first[i].shape[axis]
        ]
        fixed = {n for i, shape in arrays for axis, n in enumerate(shape) if (i, axis) not in positions}
        fixed |= self._numbers
        if self.open_axes and not self._variants:
            return Varying(keys, self.open_axes, SAMPLES if samples else ())
        kept = [
            (i, axis)
            for i, axis in positions
            if keys[i].shape[axis] >= _SMALLEST and keys[i].shape[axis] not in fixed
        ]
        if samples and len(kept) < len(positions) and not self._variants and not self._failures:
            return Varying(keys, positions, _SMALL_SAMPLES)
        return Varying(keys, kept) if kept else None
