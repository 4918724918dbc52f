"""The table that `Model.summary` prints."""

from __future__ import annotations

from typing import Any

from jittape.keras.layers.layer import Layer

__all__ = ["print_summary"]


def print_summary(model: Any) -> None:
    """Print the layers of a model with the number of their parameters."""
    layers = [layer for layer in model.layers if isinstance(layer, Layer)]
    rows = [(layer.name, type(layer).__name__, layer.count_params()) for layer in layers]
    width = max([len(name) for name, _, _ in rows], default=5)
    print(f"Model: {model.name}")
    for name, kind, count in rows:
        print(f"  {name:{width}}  {kind:22} {count:>12,}")
    trainable = sum(v.size for v in model.trainable_variables)
    print(f"Parameters: {model.count_params():,}, of which {trainable:,} are trained")
