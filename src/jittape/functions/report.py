"""Why a function was traced, and why it is not compiled: `Signature`, and the sentences of the warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jittape.functions.concrete import Concrete
from jittape.functions.signature import Call, difference, distance
from jittape.hostprogram import Changed
from jittape.recording.tracing import Look

__all__ = ["Recorded", "Signature", "not_compiled", "often_traced", "recorded_because", "why_traced"]


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


def why_traced(
    known: Sequence[Concrete | Recorded], call: Call, keys: tuple[Any, ...], names: list[str]
) -> str:
    """What differs from the trace that is most like `call`."""
    if not known:
        return "it is the first call"
    alike = [one for one in known if one.structure == call.structure]
    if not alike:
        return "the structure of the arguments is another one"
    nearest = min(reversed(alike), key=lambda one: distance(one.keys, keys))
    changes = difference(names, nearest.keys, keys)
    if not changes and isinstance(nearest, Concrete):
        try:
            other = nearest.host.difference(call.leaves)
        except Changed:
            other = None
        if other is not None:
            text, was, now = other
            changes = [f"{text} changed from {was!r} to {now!r}, and the function uses it as a Python value"]
    return ", ".join(changes) or "a setting or the type of a computed number is another one"


def recorded_because(look: Look) -> str:
    """Why a function is not compiled."""
    place = "an unknown line" if look.line is None else f"{look.line.file}:{look.line.line}"
    return f"the value of {look.of} is needed by {look.action}() at {place}"


def not_compiled(name: str, look: Look) -> str:
    """The warning of a function that looks at a traced value."""
    return (
        f"{name} is not compiled for these arguments: {recorded_because(look)}. It is recorded at each call instead, "
        f"which gives the same results. To keep it compiled, {look.remedy}"
    )


def often_traced(name: str, signatures: Sequence[Signature]) -> str:
    """The warning of a function that is traced again and again."""
    return (
        f"{name} has been traced for {len(signatures)} signatures, this time because {signatures[-1].why}; "
        ".explain() lists all. Each costs compile time: give arrays of the same shapes and dtypes, and pass what "
        "varies as arrays or floats"
    )
