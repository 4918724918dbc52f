"""Names of data formats."""

from __future__ import annotations

__all__ = ["format_of"]


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
