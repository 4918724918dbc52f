"""Picture of the demo: both loss curves, and the misclassified digits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure, SubFigure

__all__ = ["Misread", "draw"]

ROWS, COLUMNS = 3, 4
SMOOTH = 20

# Loss at each step, by the name of the run.
Losses = Mapping[str, Sequence[float]]
# Image, predicted digit, true digit.
Misread = tuple[np.ndarray[Any, Any], int, int]


def draw(path: Path, losses: Losses, misread: Sequence[Misread], held_out: int) -> None:
    """Write the picture to `path` as a PNG.

    Parameters
    ----------
    path : Path
        Path of the file, which is replaced.
    losses : Losses
        Of two runs.
    misread : sequence of Misread
        All misclassified digits; the picture shows as many as fit.
    held_out : int
        Number of digits in the test set.
    """
    figure = Figure(figsize=(11, 5), layout="constrained")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.2, 1))[0]
    draw_losses(left, losses)
    draw_misread(right, misread, held_out)
    figure.savefig(path, format="png", dpi=120)


def draw_losses(figure: SubFigure, losses: Losses) -> None:
    """Draw two curves that should coincide: one broad and pale, one thin and dashed on top of it."""
    axes = figure.subplots()
    styles: list[dict[str, Any]] = [
        {"linewidth": 4.0, "color": "tab:blue", "alpha": 0.45},
        {"linewidth": 1.0, "color": "black", "linestyle": "--"},
    ]
    for (name, values), style in zip(losses.items(), styles, strict=True):
        smooth = np.convolve(values, np.full(SMOOTH, 1 / SMOOTH), mode="valid")
        axes.plot(np.arange(SMOOTH, len(values) + 1), smooth, label=name, **style)
    axes.set(xlabel="step", ylabel=f"loss, mean of the last {SMOOTH} steps", yscale="log", title="Training")
    axes.legend()


def draw_misread(figure: SubFigure, misread: Sequence[Misread], held_out: int) -> None:
    """Draw the first misclassified digits in a grid that they fill."""
    figure.suptitle(f"Misread: {len(misread)} of {held_out} held-out digits")
    shown = max(1, min(len(misread), ROWS * COLUMNS))
    columns = math.ceil(math.sqrt(shown))
    grid = figure.subplots(math.ceil(shown / columns), columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for axes, (image, read, truth) in zip(grid.flat, misread, strict=False):
        axes.imshow(image, cmap="gray_r", vmin=0, vmax=16)
        axes.set_title(f"{truth}, read as {read}", fontsize=9)
