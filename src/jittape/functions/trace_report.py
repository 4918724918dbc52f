"""Reports on traces: `Signature`, and the warnings about retracing and functions that are not compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jittape.core.config import config
from jittape.core.program import Aval, SourceLine
from jittape.core.user_calls import ValueNeeded
from jittape.functions.concrete_function import Concrete
from jittape.functions.signature import Call, describe_key, distance, key_changes
from jittape.functions.variable_arguments import VariableKind
from jittape.recording.user_line import line_of_error
from jittape.value_classes import value_class

__all__ = [
    "Reason",
    "Signature",
    "Uncompiled",
    "described_leaves",
    "not_compiled",
    "often_traced",
    "reason_of_trace",
    "recorded_because",
    "too_many",
    "value_needed_by",
    "with_pinned_line",
]


@value_class
class Signature:
    """One signature that a function was traced for.

    Attributes
    ----------
    arguments : tuple of (str, str)
        Name and description of each leaf of the arguments: dtype and shape, type of a number, or an object.
    holds_for : tuple of (str, value)
        Ints and bools that the function used as Python values, with the values that the trace holds for.
    why : str
        Reason of the trace.
    recorded : str
        Reason why the function is recorded at each call instead of compiled; empty if it is compiled.
    is_general : bool
        Whether the trace serves other extents too. They are described as ``?``.
    """

    arguments: tuple[tuple[str, str], ...]
    holds_for: tuple[tuple[str, Any], ...]
    why: str
    recorded: str
    is_general: bool = False

    def __str__(self) -> str:
        parts = [f"{name}: {what}" for name, what in self.arguments]
        parts += [f"{text} = {value!r}" for text, value in self.holds_for]
        how = "compiled, for other extents in place of ? too" if self.is_general else "compiled"
        if self.recorded:
            how = f"recorded at each call: {self.recorded}"
        return f"({', '.join(parts)})\n    traced because {self.why}\n    {how}"


class Uncompiled:
    """Replacement of a `Concrete` for keys that the function cannot be compiled for; it is recorded at each call."""

    def __init__(self, keys: tuple[Any, ...], call: Call) -> None:
        self.keys = keys
        self.structure = call.structure
        self.uses = 0


def described_leaves(
    trace: Concrete | Uncompiled, names: Sequence[str], keys: Sequence[Any]
) -> tuple[tuple[str, str], ...]:
    """Return the name and description of each leaf; a Variable that the trace holds for alone is described by name."""
    texts = list(map(describe_key, keys))
    if isinstance(trace, Concrete):
        for i, variable in trace.variables.pinned.items():
            texts[i] = f"<Variable {variable._label!r}>"
    return tuple(zip(names, texts, strict=True))


class Reason(NamedTuple):
    """Reason of a trace, and a remedy."""

    text: str
    remedy: str


def reason_of_trace(
    known: Sequence[Concrete | Uncompiled], call: Call, keys: tuple[Any, ...], names: list[str]
) -> Reason:
    """Return the difference between `call` and the most similar trace."""
    if not known:
        return Reason("it is the first call", "")
    alike = [one for one in known if one.structure == call.structure]
    if not alike:
        return Reason(
            "the structure of the arguments changed",
            "pass arguments of the same structure: lists of one length, dicts with the same keys",
        )
    nearest = min(reversed(alike), key=lambda one: distance(one.keys, keys))
    changes = key_changes(names, nearest.keys, keys)
    if changes:
        return Reason(", ".join(changes), _remedy(nearest.keys, keys))
    changed = nearest.variables.changed_shape() if isinstance(nearest, Concrete) else None
    if changed is not None:
        return Reason(
            f"the Variable {changed[0].name!r} changed from shape {changed[1]} to {changed[0]._aval.shape}",
            "keep its shape, padded if necessary, or pass its value as an argument",
        )
    if isinstance(nearest, Concrete) and not nearest.variables.holds(call.leaves):
        return Reason(
            "another Variable is an argument, and the function uses a name, constraint or optimizer state of the "
            "Variable, or also uses the Variable from outside",
            "use the Variables from outside only, or pass all of them",
        )
    if isinstance(nearest, Concrete) and not nearest.shares(call.leaves):
        return Reason(
            "several arguments are now the same tensor, or no longer are, and the function watches or writes to it",
            "pass copies (`copy.copy(x)`) if they are meant to be different",
        )
    if call.orders and isinstance(nearest, Concrete) and nearest.holds(call.leaves):
        return Reason("the order of the keys of a dict changed", "pass dicts with their keys in one order")
    other = _changed_value(nearest, call)
    if other is None:
        return Reason("a setting or the type of a computed number changed", "")
    text, was, now = other
    return Reason(
        f"{text} changed from {was!r} to {now!r}, and the function uses it as a Python value",
        f"pass the source of {text} as an array, or use jt.fori_loop, jt.cond or jt.switch_case instead of a Python "
        "loop or branch",
    )


def with_pinned_line(reason: Reason, line: SourceLine | None) -> Reason:
    """Return the reason of a trace for one length, if the function needs an extent as a Python number in `line`."""
    if line is None:
        return reason
    return Reason(
        f"{reason.text}, and an extent is used as a Python number at {line.link}",
        "use jt.fori_loop, jt.while_loop, jt.scan or jt.map_fn in place of a Python loop over an axis, and "
        "jt.shape(x)[0] in place of len(x) and int(n), so that one trace serves all lengths",
    )


def _changed_value(nearest: Concrete | Uncompiled, call: Call) -> tuple[str, Any, Any] | None:
    """Return the name, the traced value and the new value of a specialized number that differs; None without one."""
    if not isinstance(nearest, Concrete):
        return None
    try:
        return nearest.scalars.difference(call.leaves)
    except Exception:  # a number cannot be computed from these arguments
        return None


def _remedy(old: Sequence[Any], new: Sequence[Any]) -> str:
    """Return the remedies for keys that differ."""
    pairs = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    remedies = []
    if any(isinstance(a, Aval) and isinstance(b, Aval) for a, b in pairs):
        remedies.append("pass arrays of the same shapes and dtypes, padded if necessary")
    if any(isinstance(a, type) != isinstance(b, type) or isinstance(a, type) for a, b in pairs):
        remedies.append("always pass numbers of the same type")
    if any(isinstance(a, VariableKind) and isinstance(b, VariableKind) for a, b in pairs):
        remedies.append(
            "pass Variables of the same shapes and dtypes, and different ones or the same at each call"
        )
    if any(not isinstance(key, (Aval, VariableKind, type)) for pair in pairs for key in pair):
        remedies.append(
            "pass varying values as arrays or floats; other objects must be the same or equal at each call"
        )
    return ", and ".join(remedies)


def value_needed_by(error: Exception, names: list[str]) -> ValueNeeded:
    """Return the reason why a function is not compiled: a traced number, one of `names`, made it fail with `error`."""
    action = f"what raises {type(error).__name__} ({error})"
    remedy = "pass an array instead of the number"
    return ValueNeeded(action, f"the number {' or '.join(names)}", line_of_error(error), remedy)


def recorded_because(needed: ValueNeeded) -> str:
    """Return the reason why a function is not compiled."""
    place = "an unknown line" if needed.line is None else needed.line.link
    action = needed.action if " " in needed.action else f"{needed.action}()"
    return f"the value of {needed.of} is needed by {action} at {place}"


def not_compiled(name: str, needed: ValueNeeded) -> str:
    """Return the warning about a function that needs a traced value."""
    return (
        f"{name} is not compiled for these arguments: {recorded_because(needed)}. It is recorded at each call instead, "
        f"which gives the same results. To keep it compiled, {needed.remedy}"
    )


def often_traced(name: str, count: int, why: Reason) -> str:
    """Return the warning about a function that is traced repeatedly."""
    return (
        f"{name} has been traced for {count} signatures, this time because {why.text}; .explain() lists all. Each "
        f"costs compile time{_remedy_text(why)}"
    )


def too_many(name: str, why: Reason) -> str:
    """Return the warning about a function that drops traces."""
    return (
        f"{name} has been traced for more than {config.max_signatures} signatures (jt.config.max_signatures): from now "
        "on, the least recently used signatures are dropped; using one again retraces and recompiles it. This time it "
        f"was traced because {why.text}{_remedy_text(why)}"
    )


def _remedy_text(why: Reason) -> str:
    return f": {why.remedy}" if why.remedy else ""
