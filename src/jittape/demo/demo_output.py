"""Progress bar, picture and closing lines of a demo."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from matplotlib.figure import Figure
from tqdm import tqdm

__all__ = ["finish", "progress_bar"]


def progress_bar(steps: int, name: str) -> Iterable[int]:
    """Return the numbers from 0 to `steps` - 1; show a bar while they are consumed."""
    # In a log file, the bar is written only every few seconds.
    interval = 0.1 if sys.stderr.isatty() else 5.0
    bar: Iterable[int] = tqdm(range(steps), desc=name, unit=" steps", mininterval=interval)
    return bar


def finish(figure: Figure, path: Path, results: Mapping[str, str], proposal: str) -> None:
    """Write the picture and print the results, one per line.

    Parameters
    ----------
    figure : Figure
        The picture.
    path : Path
        Path of the PNG, which is replaced.
    results : mapping of str to str
        Names and values to print.
    proposal : str
        What to try next, the last line.
    """
    figure.savefig(path, format="png", dpi=120)
    print()
    for name, value in {**results, "picture": str(path.resolve())}.items():
        print(f"{name:<30}{value}")
    print(f"next: {proposal}")
