"""The timeline of a profile in Chrome's trace format.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU ("Trace Event Format").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jittape.profiling.measurement import Measurement

__all__ = ["timeline_of"]


def timeline_of(measured: Measurement, kernel_names: Mapping[int, str]) -> dict[str, Any]:
    """Return the events of a profile: a track for each thread, and one for each memory that kernels ran on."""
    origin = measured.began
    events: list[dict[str, Any]] = []
    tracks: dict[Any, int] = {}

    def track(key: Any, name: str) -> int:
        if key not in tracks:
            tracks[key] = len(tracks) + 1
            events.append(
                {"ph": "M", "pid": 1, "tid": tracks[key], "name": "thread_name", "args": {"name": name}}
            )
        return tracks[key]

    for span in measured.spans:
        tid = track(span.thread, f"Python, thread {span.thread}")
        events.append(_event(span.name, "Python", span.began - origin, span.ended - origin, tid))
    lost = 0
    for runs in (measured.path_runs, measured.function_runs):
        lost += runs.lost
        for event in runs.events():
            tid = track(("run", event.run), f"kernels, run memory {event.run:#x}")
            name = kernel_names.get(event.record, "kernel")
            events.append(_event(name, "kernel", event.began - origin, event.ended - origin, tid))
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"steps not logged": lost}}


def _event(name: str, category: str, began: int, ended: int, tid: int) -> dict[str, Any]:
    """Return a complete event; the format counts in µs."""
    return {
        "ph": "X",
        "pid": 1,
        "tid": tid,
        "name": name,
        "cat": category,
        "ts": began / 1000,
        "dur": (ended - began) / 1000,
    }
