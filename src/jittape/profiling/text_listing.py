"""The page of a profile as text: totals, the slowest lines, and the source with times beside each line."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap

from jittape.core.user_calls import file_shown
from jittape.inspect.explain import size_text
from jittape.profiling.bandwidth import measured_bandwidth
from jittape.profiling.line_profile import LineProfile
from jittape.profiling.remarks import is_warning

__all__ = [
    "COLUMNS", "NOTE", "cells_of", "files_of", "heads_of", "listing", "merged", "shown_ranges", "slowest",
    "time_text", "totals_of",
]  # fmt: skip

COLUMNS = (
    *(("runs", 7), ("forward", 7), ("backward", 8), ("update", 7), ("Python", 7)),
    *(("GB/s", 5), ("of max", 6), ("ops", 5), ("kept", 7)),
)
"""Names and widths of the columns left of the source."""
NOTE = "The compiler's cost model divides a kernel's time among lines. Python: your code, recording and compilation."
_SLOWEST = 5
"""Number of lines in the list of the slowest lines."""
_REMARK = 44
"""Number of characters of a line of a remark."""
_NEAR = 2
"""Number of lines of source around a line with times."""


def listing(totals: Mapping[str, float], lines: Sequence[LineProfile]) -> str:
    """Return the page for the totals and the lines of a profile."""
    parts = [*totals_of(totals), "", *_slowest_text(totals, lines)]
    for file in files_of(lines):
        parts += ["", *_file_text(file, [line for line in lines if line.file == file])]
    return "\n".join(parts)


def totals_of(totals: Mapping[str, float]) -> list[str]:
    """Return the lines that say where the time goes."""
    wall, threads = totals["wall"], int(totals["threads"])
    head = f"{time_text(wall)} in all" + (f" in {threads} threads together" if threads > 1 else "")

    def part(*names: str) -> str:
        return ", ".join([f"{name} {_share(totals[name], wall)}" for name in names])

    return [
        f"Profile: {head}",
        f"  your code     {part('Python')}",
        f"  jittape       {part('recording', 'flushes')}",
        f"  computation   {part('kernels', 'products')}",
        f"  slow steps    {part('NumPy steps', 'interpreter')}",
        f"  compiler      {part('compilation')}",
    ]


def slowest(lines: Sequence[LineProfile]) -> list[LineProfile]:
    """Return the slowest lines."""
    return [line for line in _by_time(lines)[:_SLOWEST] if line.total > 0]


def _by_time(lines: Sequence[LineProfile]) -> list[LineProfile]:
    """Return one line for each number of each file, the slowest first."""
    found = [line for file in files_of(lines) for line in merged([one for one in lines if one.file == file])]
    return sorted(found, key=lambda line: -line.total)


def heads_of(totals: Mapping[str, float], line: LineProfile) -> str:
    """Return a line of the list of the slowest lines: its share, its place and the main kinds of its time."""
    wall = totals["wall"] or 1.0
    kinds = {
        "forward": line.forward,
        "backward": line.backward,
        "update": line.update,
        "Python": line.python,
        "recording": line.recording,
        "compilation": line.compilation,
    }
    largest = sorted(kinds, key=lambda name: -kinds[name])[:2]
    main = ", ".join(
        [f"{name} {time_text(kinds[name])}" for name in largest if kinds[name] > 0.05 * line.total]
    )
    return f"{line.total / wall:>6.1%}  line {line.line} of {_short(line.file)}: {main}"


def _slowest_text(totals: Mapping[str, float], lines: Sequence[LineProfile]) -> list[str]:
    texts = ["Slowest lines:"]
    found = slowest(lines)
    for line in found:
        source = linecache.getline(line.file, line.line).strip()
        texts.append(f"{heads_of(totals, line)}    {source}"[:160])
        texts += [f"            ^ {remark}" for remark in line.remarks[:2]]
    if not found:
        return ["Nothing took measurable time."]
    others = [line for line in _by_time(lines) if line not in found and any(map(is_warning, line.remarks))]
    if others:
        texts += ["", "Other remarks:"]
    for line in others[:_SLOWEST]:
        remark = next(filter(is_warning, line.remarks))
        texts.append(f"        line {line.line} of {_short(line.file)}: {remark}")
    return texts


def _file_text(file: str, lines: Sequence[LineProfile]) -> list[str]:
    by_number = {line.line: line for line in merged(lines)}
    head = " ".join([f"{name:>{width}}" for name, width in COLUMNS])
    indent = len(head)
    texts = [f"{file_shown(file)}", NOTE, f"{head}  | line"]
    for number, shown in enumerate(shown_ranges(by_number, file)):
        if number:
            texts.append(f"{'':{indent}}  | ...")
        for at in shown:
            source = linecache.getline(file, at).rstrip()
            known = by_number.get(at)
            cells = cells_of(known) if known is not None else [""] * len(COLUMNS)
            left = " ".join([f"{cell:>{width}}" for cell, (_, width) in zip(cells, COLUMNS, strict=True)])
            texts.append(f"{left}  | {at:4} {source}")
            for remark in known.remarks if known is not None else ():
                first, *others = wrap(remark, _REMARK)
                texts += [
                    f"{'':{indent}}  |      ^ {first}",
                    *[f"{'':{indent}}  |        {one}" for one in others],
                ]
    return texts


def cells_of(line: LineProfile) -> list[str]:
    """Return the cells left of a line of source."""
    kernels = line.forward + line.backward + line.update
    python = line.python + line.recording + line.compilation
    rate = line.bandwidth if kernels else 0.0
    return [
        f"{line.runs:,}" if line.runs else "",
        *[time_text(t) if t else "" for t in (line.forward, line.backward, line.update, python)],
        f"{rate / 1e9:.{3 if rate >= 1e8 else 2}g}" if rate else "",
        f"{rate / measured_bandwidth():.0%}" if rate else "",
        _count(line.operations),
        size_text(line.kept) if line.kept else "",
    ]


def shown_ranges(numbers: Iterable[int], file: str) -> list[range]:
    """Return the ranges of source lines to show, with a few lines around those that are known."""
    found: list[range] = []
    end = len(linecache.getlines(file))
    for number in sorted(numbers):
        first, last = max(1, number - _NEAR), max(number, min(number + _NEAR, end))
        if found and first <= found[-1].stop + _NEAR:
            found[-1] = range(found[-1].start, last + 1)
        else:
            found.append(range(first, last + 1))
    return found


def merged(lines: Sequence[LineProfile]) -> list[LineProfile]:
    """Return one line for each number: code of several functions, such as a lambda's, may be on one line."""
    found: dict[int, LineProfile] = {}
    for line in lines:
        known = found.get(line.line)
        if known is None:
            found[line.line] = line
            continue
        sums = {name: getattr(known, name) + getattr(line, name) for name in _SUMMED}
        busy = max(known, line, key=lambda one: one.bandwidth)
        remarks = tuple(dict.fromkeys(known.remarks + line.remarks))
        found[line.line] = known._replace(**sums, bandwidth=busy.bandwidth, remarks=remarks)
    return list(found.values())


_SUMMED = (
    *("runs", "forward", "backward", "update", "python", "recording", "compilation"),
    *("operations", "kept"),
)


def files_of(lines: Sequence[LineProfile]) -> list[str]:
    """Return the files of the lines, the slowest first."""
    totals: dict[str, float] = {}
    for line in lines:
        totals[line.file] = totals.get(line.file, 0.0) + line.total
    return sorted(totals, key=lambda file: -totals[file])


def _short(file: str) -> str:
    return file_shown(file).replace("\\", "/").rpartition("/")[2]


def _share(seconds: float, wall: float) -> str:
    return f"{time_text(seconds)} ({seconds / wall:.0%})" if wall else time_text(seconds)


def time_text(seconds: float) -> str:
    """Return a time with three digits and its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * size:
            return (
                f"{seconds / size:.3g} {unit}" if seconds < 999.5 * size else f"{seconds / size:.0f} {unit}"
            )
    return f"{seconds * 1e9:.0f} ns"


def _count(number: int) -> str:
    for unit, size in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number) if number else ""
