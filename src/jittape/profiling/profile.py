"""`jt.profile`: where the time of a block goes, beside the lines of the user's source."""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import Any

from jittape.profiling.line_profile import LineProfile
from jittape.profiling.line_samples import LineSamples
from jittape.profiling.line_table import LineCost, LineTable, Totals
from jittape.profiling.measurement import Measurement
from jittape.profiling.remarks import remarks_of

__all__ = ["Profile", "profile"]

_active: list[Profile] = []


class Profile:
    """Measurements of a ``with`` block; made by `jt.profile`.

    ``print`` shows a listing of the user's source with times. In a notebook, the profile shows itself as a table.
    """

    def __init__(self) -> None:
        self._measured: Measurement | None = None
        self._samples: LineSamples | None = None
        self._table: LineTable | None = None

    def __enter__(self) -> Profile:
        if self._measured is not None:
            raise RuntimeError("a profile can be entered once: make another one with jt.profile()")
        if _active:
            raise RuntimeError("a profile is active already: profiles cannot be nested")
        _active.append(self)
        self._measured = Measurement()
        self._samples = LineSamples(self._measured.flushes.tick)
        self._measured.start()
        self._samples.start()
        self._measured.flushes.pauses = self._samples.works
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._measured is not None
        assert self._samples is not None
        self._samples.stop()
        self._measured.stop()
        _active.remove(self)

    # ---- results -----------------------------------------------------------------------------------------------------

    def _finished(self) -> LineTable:
        if self._measured is None or not self._measured.ended:
            raise RuntimeError("the profile has no results before the end of its `with` block")
        if self._table is None:
            assert self._samples is not None
            self._table = LineTable(self._measured, self._samples)
        return self._table

    @property
    def totals(self) -> dict[str, float]:
        """Seconds by kind of work; all but ``wall`` and ``threads`` add up to ``wall``."""
        found = self._finished().totals
        return {
            "wall": found.wall / 1e9,
            "threads": found.threads,
            **{name: value / 1e9 for name, value in parts_of(found).items()},
        }

    @property
    def lines(self) -> tuple[LineProfile, ...]:
        """The lines of the user's source that took time or recorded operations, the slowest first."""
        costs = self._finished().lines.values()
        return tuple([_line_profile(cost) for cost in sorted(costs, key=lambda cost: -cost.total)])

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as plain data for JSON: ``totals``, and ``lines`` with the slowest line first."""
        return {"totals": self.totals, "lines": [line._asdict() for line in self.lines]}

    def dataframe(self) -> Any:
        """Return the lines as a `pandas.DataFrame`, one row each.

        Raises
        ------
        ModuleNotFoundError
            If pandas is not installed.
        """
        try:
            import pandas  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "Profile.dataframe needs pandas: pip install pandas, or use Profile.to_dict()"
            ) from None
        return pandas.DataFrame([line._asdict() for line in self.lines], columns=LineProfile._fields)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a timeline in Chrome's trace format, for https://ui.perfetto.dev or ``chrome://tracing``.

        Parameters
        ----------
        path : str or path
            Name of the file, such as ``"trace.json"``. An existing file is replaced.
        """
        from jittape.profiling.timeline import timeline_of

        self._finished()
        assert self._measured is not None
        assert self._table is not None
        text = json.dumps(timeline_of(self._measured, self._table.kernel_names))
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def html(self) -> str:
        """Return the listing as a page of HTML without scripts and without references to other files."""
        from jittape.profiling.html_listing import page

        return page(self.totals, self.lines)

    def _repr_html_(self) -> str | None:
        if self._measured is None or not self._measured.ended:
            return None
        from jittape.profiling.html_listing import fragment

        return fragment(self.totals, self.lines)

    def __str__(self) -> str:
        from jittape.profiling.text_listing import listing

        return listing(self.totals, self.lines)

    def __repr__(self) -> str:
        if self._measured is None or not self._measured.ended:
            return f"<jt.profile {'that is not entered' if self._measured is None else 'that is active'}>"
        return str(self)


def profile() -> Profile:
    """Return a context manager that measures where the time of its block goes, line by line.

    Returns
    -------
    Profile
        After the block, ``print`` shows the totals, the slowest lines, and the source with times beside each line.

    Notes
    -----
    Clocks between the steps of compiled programs measure kernels, products and NumPy steps. The time of a kernel that
    computes several lines is divided among them by the compiler's cost model. The time of Python and of recording is
    measured by samples of the running line every 4 to 10 ms. This needs a profile that the main thread starts, and a
    system with ``SIGALRM`` that no other code uses; elsewhere, that time is in the totals and not beside lines.

    Examples
    --------
    >>> import jittape as jt
    >>> w = jt.Variable([1.0, 2.0, 3.0])
    >>> with jt.profile() as p:
    ...     for _ in range(3):
    ...         with jt.GradientTape() as tape:
    ...             loss = jt.reduce_sum(jt.square(w))
    ...         _ = w.assign_sub(0.1 * tape.gradient(loss, w))
    >>> totals = p.totals
    >>> sorted(totals)  # doctest: +NORMALIZE_WHITESPACE
    ['NumPy steps', 'Python', 'compilation', 'flushes', 'interpreter', 'kernels', 'products', 'recording', 'threads',
     'wall']
    """
    return Profile()


def parts_of(totals: Totals) -> dict[str, float]:
    """Return the parts of the time by name, in ns."""
    return {
        "Python": totals.python,
        "recording": totals.recording,
        "flushes": totals.flush,
        "kernels": totals.kernels,
        "products": totals.products,
        "NumPy steps": totals.numpy,
        "interpreter": totals.interpreted,
        "compilation": totals.compile,
    }


def _line_profile(cost: LineCost) -> LineProfile:
    seconds = cost.kernels / 1e9
    return LineProfile(
        *cost.line,
        cost.runs,
        cost.forward / 1e9,
        cost.backward / 1e9,
        cost.update / 1e9,
        cost.python / 1e9,
        cost.recording / 1e9,
        cost.compile / 1e9,
        cost.nbytes / seconds if seconds else 0.0,
        cost.operations,
        cost.kept,
        tuple(remarks_of(cost.line, cost.facts)),
    )
