"""`Traces`: what a function was traced for so far, at most `config.max_signatures`.

A trace that was used longest ago makes room for another one. No call says that it uses a trace, as that would cost each
call something: the traces count their uses, and when one is added it shows which have been used meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jittape.core.config import config
from jittape.functions.concrete_function import Concrete
from jittape.functions.trace_report import Recorded, Signature

__all__ = ["Traces"]

Trace = Concrete | Recorded


@dataclass
class _Known:
    key: Any
    trace: Trace
    signature: Signature
    uses: int
    last_used: int


class Traces:
    """Traces by the key of a call. Changed by one thread at a time, read by any.

    Attributes
    ----------
    added : int
        How many there were in all.
    """

    def __init__(self) -> None:
        self._by_key: dict[Any, tuple[Trace, ...]] = {}
        self._known: list[_Known] = []
        self.added = 0

    def __len__(self) -> int:
        return len(self._known)

    @property
    def dropped(self) -> int:
        """How many have made room for others."""
        return self.added - len(self._known)

    def found(self, key: Any) -> tuple[Trace, ...]:
        """Those of a key, of which each holds for other values; what was used last comes first."""
        return self._by_key.get(key, ())

    def move_to_front(self, key: Any, trace: Trace) -> None:
        """Let `trace` be the first that is tried."""
        self._by_key[key] = (trace, *[other for other in self.found(key) if other is not trace])

    def traces(self) -> list[Trace]:
        """All, oldest first."""
        return [known.trace for known in self._known]

    def signatures(self) -> tuple[Signature, ...]:
        """What they are for."""
        return tuple([known.signature for known in self._known])

    def signature_of(self, trace: Trace) -> Signature:
        """What `trace` is for."""
        return next(known.signature for known in self._known if known.trace is trace)

    def add(self, key: Any, trace: Trace, signature: Signature) -> list[Trace]:
        """Keep `trace`, and give those that are dropped for it."""
        self.added += 1
        for known in self._known:
            if known.trace.uses != known.uses:
                known.uses, known.last_used = known.trace.uses, self.added - 1
        self._known.append(_Known(key, trace, signature, trace.uses, self.added))
        self.move_to_front(key, trace)
        return [self._drop() for _ in range(len(self._known) - config.max_signatures)]

    def _drop(self) -> Trace:
        oldest = min(self._known, key=lambda known: known.last_used)
        self._known.remove(oldest)
        others = tuple([trace for trace in self.found(oldest.key) if trace is not oldest.trace])
        if others:
            self._by_key[oldest.key] = others
        else:
            del self._by_key[oldest.key]
        return oldest.trace
