"""Short and tabular descriptions of a tape."""

from __future__ import annotations

from jittape.autodiff.tape_interval import TapeInterval
from jittape.html_report import html_table
from jittape.recording.tape_exits import described

__all__ = ["TapeReport"]


class TapeReport:
    """The part of `GradientTape` that describes it."""

    __slots__ = ("_interval", "_persistent", "_used_up")

    _interval: TapeInterval
    _persistent: bool
    _used_up: bool

    def __repr__(self) -> str:
        rows = self._rows()
        return f"<jt.GradientTape: {'; '.join([f'{name} {value}' for name, value in rows if name != 'left by'])}>"

    def _repr_html_(self) -> str:
        return html_table("GradientTape", self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        interval = self._interval
        trace = interval.trace
        state = "recording" if interval.recording else "used up" if self._used_up else "not recording"
        rows = [("state", f"{state}, persistent" if self._persistent else state)]
        if trace is None:
            return rows
        names = [f"'{variable._label}'" for variable in interval.watched_variables()]
        rows += [
            ("watches", ", ".join([*names[:5], *(["..."] if len(names) > 5 else [])]) or "no Variable"),
            ("recorded", f"{_recorded(interval, trace.node.n_slots):,} values"),
            ("memory", f"{trace.nbytes():,} bytes (jt.plot.memory() plots the last step)"),
        ]
        for key, exit in (trace.exits or {}).items():
            rows.append(("left by", described(key, exit)))
        return rows


def _recorded(interval: TapeInterval, end: int) -> int:
    """Return the number of values in the segments that the tape has recorded; `end` closes an open segment."""
    bounds = interval._segments
    closed = [*bounds, end] if len(bounds) % 2 else bounds
    return sum(closed[1::2]) - sum(closed[::2])
