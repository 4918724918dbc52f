"""Tables of HTML, by which notebooks show tensors, layers, optimizers, tapes, functions and settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

__all__ = ["html_table", "summary_of"]

_STYLE = "font-family: monospace; text-align: left; white-space: pre-wrap"


def html_table(title: str, rows: Iterable[Sequence[Any]], head: Sequence[str] = ()) -> str:
    """Return a table with a title. Values are shown by ``str`` and escaped.

    >>> html_table("Dense", [("units", 3)])
    '<table style="..."><caption>Dense</caption><tr><td>units</td><td>3</td></tr></table>'
    """
    lines = ["".join([f"<th>{_escaped(name)}</th>" for name in head])] if head else []
    lines += ["".join([f"<td>{_escaped(str(value))}</td>" for value in row]) for row in rows]
    body = "".join([f"<tr>{line}</tr>" for line in lines])
    return f'<table style="{_STYLE}"><caption>{_escaped(title)}</caption>{body}</table>'


def summary_of(array: np.ndarray[Any, Any]) -> list[tuple[str, str]]:
    """Return rows with the shape, the dtype, the size, the range of the values and the first of them.

    >>> summary_of(np.array([1.0, 4.0]))
    [('shape', '(2,)'), ('dtype', 'float64'), ('size', '2 elements, 16 bytes'), ('range', '1 to 4'),
    ('values', '[1. 4.]')]
    """
    size = f"{array.size:,} element{'s' * (array.size != 1)}, {array.nbytes:,} bytes"
    rows = [("shape", str(array.shape)), ("dtype", array.dtype.name), ("size", size)]
    if array.size and array.dtype.kind in "fiu":
        finite = array[np.isfinite(array)]
        ends = f"{finite.min():.6g} to {finite.max():.6g}" if finite.size else "none"
        bad = array.size - finite.size
        rows.append(("range", f"{ends}; {bad:,} not finite" if bad else ends))
    return [*rows, ("values", np.array2string(array, threshold=20, edgeitems=3))]


def _escaped(text: str) -> str:
    # Importing `html` takes 2 ms, and this module is imported with jittape.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
