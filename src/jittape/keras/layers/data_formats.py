"""Data formats: their names, and the dimensions of inputs."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["format_name", "format_of", "require_dimensions"]


def format_of(owner: str, data_format: str | None, spatial: int) -> str:
    """Return the name that functions of `jt.nn` have for ``"channels_last"``, the default, or ``"channels_first"``.

    Raises
    ------
    ValueError
        For another name.
    """
    if data_format not in (None, "channels_last", "channels_first"):
        raise ValueError(
            f"[{owner}] data_format must be channels_last or channels_first, got {data_format!r}"
        )
    letters = "DHW"[3 - spatial :]
    return f"NC{letters}" if data_format == "channels_first" else f"N{letters}C"


def format_name(letters: str) -> str:
    """Return the name that layers have for a format of the functions of `jt.nn`."""
    return "channels_first" if letters.startswith("NC") else "channels_last"


def require_dimensions(layer: str, shape: Sequence[int], spatial: int) -> None:
    """Raise an error unless inputs of `shape` have a batch, `spatial` dimensions and channels.

    Raises
    ------
    ValueError
        It names the layer.
    """
    if len(shape) != spatial + 2:
        hint = "; x[None] adds the batch, x[..., None] the channels" if len(shape) == spatial + 1 else ""
        raise ValueError(
            f"layer {layer!r} takes inputs with {spatial + 2} dimensions, got shape {tuple(shape)}{hint}"
        )
