"""`TraceTable`: the traces of a function, at most `config.max_signatures`.

If the table is full, the least recently used trace is dropped. To keep calls cheap, they only count the uses of a
trace; the table compares the counts when a trace is added.
"""

from __future__ import annotations

from typing import Any

from jittape.core.config import config
from jittape.core.tickets import WeakValues
from jittape.functions.concrete_function import Concrete
from jittape.functions.trace_report import Signature, Uncompiled

__all__ = ["TraceTable", "all_functions", "compiled_traces"]

Trace = Concrete | Uncompiled


class _Known:
    __slots__ = ("key", "last_used", "signature", "trace", "uses")

    def __init__(self, key: Any, trace: Trace, signature: Signature, last_used: int) -> None:
        self.key, self.trace, self.signature = key, trace, signature
        self.uses, self.last_used = trace.uses, last_used


class TraceTable:
    """Traces by the key of a call. One thread at a time may change it; any thread may read it.

    Attributes
    ----------
    added : int
        Number of traces ever added.
    """

    def __init__(self) -> None:
        self._by_key: dict[Any, tuple[Trace, ...]] = {}
        self._known: list[_Known] = []
        self.added = 0

    def __len__(self) -> int:
        return len(self._known)

    @property
    def dropped(self) -> int:
        """Number of dropped traces."""
        return self.added - len(self._known)

    def get(self, key: Any) -> tuple[Trace, ...]:
        """Return the traces of a key, which are specialized for different values; most recently moved first."""
        return self._by_key.get(key, ())

    def move_to_front(self, key: Any, trace: Trace) -> None:
        """Make `trace` the first one of its key."""
        self._by_key[key] = (trace, *[other for other in self.get(key) if other is not trace])

    def traces(self) -> list[Trace]:
        """Return all traces, oldest first."""
        return [known.trace for known in self._known]

    def signatures(self) -> tuple[Signature, ...]:
        """Return the signatures of all traces, oldest first."""
        return tuple([known.signature for known in self._known])

    def signature_of(self, trace: Trace) -> Signature:
        """Return the signature of `trace`."""
        return next(known.signature for known in self._known if known.trace is trace)

    def add(self, key: Any, trace: Trace, signature: Signature) -> list[Trace]:
        """Add `trace` and return the traces that are dropped for it."""
        self.added += 1
        for known in self._known:
            if known.trace.uses != known.uses:
                known.uses, known.last_used = known.trace.uses, self.added - 1
        self._known.append(_Known(key, trace, signature, self.added))
        self.move_to_front(key, trace)
        return [self._drop() for _ in range(len(self._known) - config.max_signatures)]

    def _drop(self) -> Trace:
        oldest = min(self._known, key=lambda known: known.last_used)
        self._known.remove(oldest)
        others = tuple([trace for trace in self.get(oldest.key) if trace is not oldest.trace])
        if others:
            self._by_key[oldest.key] = others
        else:
            del self._by_key[oldest.key]
        return oldest.trace


all_functions: WeakValues[int, Any] = WeakValues()
"""Every `Function` by its id."""


def compiled_traces() -> list[Concrete]:
    """Return the traces of all functions that are not run as plain Python."""
    functions = list(all_functions.values())
    own = [trace for one in functions for trace in one._traces.traces() if isinstance(trace, Concrete)]
    derived = [trace for one in functions for trace in one._families.traces()]
    return list({id(trace): trace for trace in (*own, *derived)}.values())


def _settings_changed() -> None:
    """Disable the fast paths of all functions until the next call: a trace depends on the settings."""
    for one in all_functions.values():
        one._recent = one._recent_nested = None


config.on_change(_settings_changed)
config.on_native_change(_settings_changed)
