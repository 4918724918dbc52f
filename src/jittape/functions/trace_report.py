"""Why a function was traced, and why it is not compiled: `Signature`, and the sentences of the warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jittape.core.config import config
from jittape.core.program import Aval
from jittape.functions.concrete_function import Concrete
from jittape.functions.signature import Call, difference, distance
from jittape.recording.function_trace import Look
from jittape.recording.user_line import line_of_error

__all__ = [
    "Reason",
    "Recorded",
    "Signature",
    "look_of_error",
    "not_compiled",
    "often_traced",
    "recorded_because",
    "too_many",
    "why_traced",
]


@dataclass(frozen=True)
class Signature:
    """What a function was traced for.

    Attributes
    ----------
    arguments : tuple of (str, str)
        The name of each leaf of the arguments, and what it was: a dtype with a shape, the type of a number, an object.
    holds_for : tuple of (str, value)
        Ints and bools that the function used as Python values, and the values that the trace holds for.
    why : str
        Why it was traced.
    recorded : str
        Why it is recorded at each call instead of compiled; empty if it is compiled.
    """

    arguments: tuple[tuple[str, str], ...]
    holds_for: tuple[tuple[str, Any], ...]
    why: str
    recorded: str

    def __str__(self) -> str:
        parts = [f"{name}: {what}" for name, what in self.arguments]
        parts += [f"{text} = {value!r}" for text, value in self.holds_for]
        how = f"recorded at each call: {self.recorded}" if self.recorded else "compiled"
        return f"({', '.join(parts)})\n    traced because {self.why}\n    {how}"


class Recorded:
    """In the place of a `Concrete`: the function cannot be compiled for this key."""

    def __init__(self, keys: tuple[Any, ...], call: Call) -> None:
        self.keys = keys
        self.structure = call.structure
        self.uses = 0


class Reason(NamedTuple):
    """Why a function was traced, and how that can be avoided."""

    text: str
    remedy: str


def why_traced(
    known: Sequence[Concrete | Recorded], call: Call, keys: tuple[Any, ...], names: list[str]
) -> Reason:
    """What differs from the trace that is most like `call`."""
    if not known:
        return Reason("it is the first call", "")
    alike = [one for one in known if one.structure == call.structure]
    if not alike:
        text = "the structure of the arguments is another one"
        return Reason(
            text, "give arguments of the same structure: lists of one length, dicts of the same keys"
        )
    nearest = min(reversed(alike), key=lambda one: distance(one.keys, keys))
    changes = difference(names, nearest.keys, keys)
    if changes:
        return Reason(", ".join(changes), _remedy(nearest.keys, keys))
    if isinstance(nearest, Concrete) and not nearest.shares(call.leaves):
        return Reason(
            "one tensor is given as several arguments, or is no longer, and the function watches or writes to it",
            "give copies (`copy.copy(x)`) if they are meant to be different",
        )
    other = _settled_otherwise(nearest, call)
    if other is None:
        return Reason("a setting or the type of a computed number is another one", "")
    text, was, now = other
    return Reason(
        f"{text} changed from {was!r} to {now!r}, and the function uses it as a Python value",
        f"pass what {text} comes from as an array, or use jt.fori_loop, jt.cond or jt.switch_case in the place of "
        "Python's loop or branch",
    )


def _settled_otherwise(nearest: Concrete | Recorded, call: Call) -> tuple[str, Any, Any] | None:
    if not isinstance(nearest, Concrete):
        return None
    try:
        return nearest.host.difference(call.leaves)
    except Exception:  # a number that cannot be computed of these arguments
        return None


def _remedy(old: Sequence[Any], new: Sequence[Any]) -> str:
    """What to do about keys that differ."""
    pairs = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    ways = []
    if any(isinstance(a, Aval) and isinstance(b, Aval) for a, b in pairs):
        ways.append("give arrays of the same shapes and dtypes, padded if need be")
    if any(isinstance(a, type) != isinstance(b, type) or isinstance(a, type) for a, b in pairs):
        ways.append("give numbers of one type always")
    if any(not isinstance(key, (Aval, type)) for pair in pairs for key in pair):
        ways.append(
            "pass what varies as arrays or floats; other objects must be the same or equal at each call"
        )
    return ", and ".join(ways)


def look_of_error(error: Exception, names: list[str]) -> Look:
    """The reason where a traced number, one of `names`, made the function fail with `error`."""
    action = f"what raises {type(error).__name__} ({error})"
    remedy = "pass an array in the place of the number"
    return Look(action, f"the number {' or '.join(names)}", line_of_error(error), remedy)


def recorded_because(look: Look) -> str:
    """Why a function is not compiled."""
    place = "an unknown line" if look.line is None else look.line.link
    action = look.action if " " in look.action else f"{look.action}()"
    return f"the value of {look.of} is needed by {action} at {place}"


def not_compiled(name: str, look: Look) -> str:
    """The warning of a function that looks at a traced value."""
    return (
        f"{name} is not compiled for these arguments: {recorded_because(look)}. It is recorded at each call instead, "
        f"which gives the same results. To keep it compiled, {look.remedy}"
    )


def often_traced(name: str, count: int, why: Reason) -> str:
    """The warning of a function that is traced again and again."""
    return (
        f"{name} has been traced for {count} signatures, this time because {why.text}; .explain() lists all. Each "
        f"costs compile time{_to_do(why)}"
    )


def too_many(name: str, why: Reason) -> str:
    """The warning of a function that forgets traces."""
    return (
        f"{name} has been traced for more than {config.max_signatures} signatures (jt.config.max_signatures): from now "
        "on those used longest ago are dropped, and traced and compiled again when they are needed. This time it was "
        f"traced because {why.text}{_to_do(why)}"
    )


def _to_do(why: Reason) -> str:
    return f": {why.remedy}" if why.remedy else ""
