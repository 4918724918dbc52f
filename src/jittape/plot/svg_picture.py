"""`Picture`: an SVG that notebooks show and that can be saved."""

from __future__ import annotations

import os
from dataclasses import dataclass
from html import escape
from pathlib import Path

__all__ = ["Picture", "box", "curve", "picture", "text"]

FONT = "12px ui-monospace, Menlo, Consolas, monospace"


@dataclass(frozen=True)
class Picture:
    """An SVG picture. Notebooks show it, and browsers open the file that `save` writes.

    Parameters
    ----------
    svg : str
        Text of the picture.

    Attributes
    ----------
    svg : str
        The text of the picture.

    Examples
    --------
    >>> picture = jt.plot.Picture("<svg xmlns='http://www.w3.org/2000/svg'/>")
    >>> type(picture).__name__
    'Picture'
    """

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file.

        Parameters
        ----------
        path : str or path
            Name of the file, with the suffix ``.svg`` or none.

        Raises
        ------
        ValueError
            If the name has the suffix of another format.
        """
        if Path(path).suffix.lower() not in (".svg", ""):
            raise ValueError(
                f"[Picture.save] the picture is SVG: the name must end in .svg, got {str(path)!r}"
            )
        Path(path).write_text(self.svg, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<Picture, {len(self.svg):,} characters of SVG; save('picture.svg') writes it>"


def picture(width: float, height: float, parts: list[str]) -> Picture:
    """Return the picture of these elements on a white ground of the given size in pixels."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" style="font: {FONT}">'
    )
    ground = f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>'
    return Picture("\n".join([head, ground, *parts, "</svg>"]))


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    stroke: str,
    line_width: float = 1,
    tooltip: str = "",
) -> str:
    """Return a rectangle with rounded corners; `x` and `y` are its upper left corner."""
    title = f"<title>{escape(tooltip)}</title>" if tooltip else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4" fill="{fill}" '
        f'stroke="{stroke}" stroke-width="{line_width:g}">{title}</rect>'
    )


def text(
    x: float, y: float, content: str, color: str = "#222", anchor: str = "middle", size: int = 12
) -> str:
    """Return a line of text at a point of its base line."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}" font-size="{size}" '
        f'pointer-events="none">{escape(content)}</text>'
    )


def curve(x0: float, y0: float, x1: float, y1: float, color: str) -> str:
    """Return a curve that leaves the first point downwards and arrives at the second from above."""
    bend = max(8.0, min(60.0, abs(y1 - y0) / 2))
    return (
        f'<path d="M{x0:.1f},{y0:.1f} C{x0:.1f},{y0 + bend:.1f} {x1:.1f},{y1 - bend:.1f} {x1:.1f},{y1:.1f}" '
        f'fill="none" stroke="{color}"/>'
    )
