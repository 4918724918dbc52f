"""The Matplotlib axes of a chart."""

from __future__ import annotations

from typing import Any

__all__ = ["new_axes"]


def new_axes() -> Any:
    """Return the axes of a new figure."""
    import matplotlib.pyplot as plt  # loaded by charts only

    return plt.subplots(layout="constrained")[1]
