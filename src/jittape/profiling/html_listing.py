"""The page of a profile as HTML, without scripts and without references to other files."""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from html import escape

from jittape.core.user_calls import file_shown
from jittape.profiling.line_profile import LineProfile
from jittape.profiling.text_listing import (
    COLUMNS,
    NOTE,
    cells_of,
    files_of,
    heads_of,
    merged,
    shown_ranges,
    slowest,
    totals_of,
)

__all__ = ["fragment", "page"]

_STYLE = """
.jittape-profile { font: 13px/1.4 monospace; }
.jittape-profile table { border-collapse: collapse; }
.jittape-profile td, .jittape-profile th { padding: 0 8px; text-align: right; white-space: pre; border: 0; }
.jittape-profile .source { text-align: left; }
.jittape-profile .remark { text-align: left; color: #777; font-style: italic; }
"""


def page(totals: Mapping[str, float], lines: Sequence[LineProfile]) -> str:
    """Return a whole page."""
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>jittape profile</title></head>'
    )
    return f"{head}<body>{fragment(totals, lines)}</body></html>\n"


def fragment(totals: Mapping[str, float], lines: Sequence[LineProfile]) -> str:
    """Return the part of the page that a notebook shows."""
    parts = [f'<div class="jittape-profile"><style>{_STYLE}</style>']
    parts.append(f"<pre>{escape(chr(10).join(totals_of(totals)))}</pre>")
    found = slowest(lines)
    if found:
        parts.append("<p>Slowest lines:</p><table>")
        for line in found:
            source = linecache.getline(line.file, line.line).strip()
            parts.append(
                f'<tr><td class="source">{escape(heads_of(totals, line))}</td>'
                f'<td class="source">{escape(source)}</td>'
                f'<td class="remark">{escape("; ".join(line.remarks))}</td></tr>'
            )
        parts.append("</table>")
    slow = max([line.total for line in lines], default=0.0)
    for file in files_of(lines):
        parts.append(_file_table(file, [line for line in lines if line.file == file], slow))
    parts.append("</div>")
    return "\n".join(parts)


def _file_table(file: str, lines: list[LineProfile], slow: float) -> str:
    """Return the table of a file; slow lines have a red background."""
    by_number = {line.line: line for line in merged(lines)}
    heads = "".join([f"<th>{name}</th>" for name, _ in COLUMNS])
    rows = [f"<p>{escape(file_shown(file))}<br>{escape(NOTE)}</p><table>"]
    rows.append(f'<tr>{heads}<th>line</th><th class="source">source</th></tr>')
    for number, shown in enumerate(shown_ranges(by_number, file)):
        if number:
            rows.append(f'<tr><td colspan="{len(COLUMNS) + 1}"></td><td class="source">...</td></tr>')
        for at in shown:
            known = by_number.get(at)
            cells = cells_of(known) if known is not None else [""] * len(COLUMNS)
            heat = known.total / slow if known is not None and slow else 0.0
            source = escape(linecache.getline(file, at).rstrip())
            rows.append(
                f'<tr style="background: rgba(220, 50, 30, {0.35 * heat:.2f})">'
                + "".join([f"<td>{escape(cell)}</td>" for cell in cells])
                + f'<td>{at}</td><td class="source">{source}</td></tr>'
            )
            for remark in known.remarks if known is not None else ():
                rows.append(
                    f'<tr><td colspan="{len(COLUMNS) + 1}"></td><td class="remark">{escape(remark)}</td></tr>'
                )
    return "".join([*rows, "</table>"])
