"""The keyword arguments that optimizers have in common, as types for ``**options``."""

from __future__ import annotations

from typing import TypedDict

__all__ = ["CommonOptions", "Options"]


class CommonOptions(TypedDict, total=False):
    """Keyword arguments that every optimizer takes: see `Optimizer`."""

    clipnorm: float | None
    clipvalue: float | None
    global_clipnorm: float | None
    use_ema: bool
    ema_momentum: float
    ema_overwrite_frequency: int | None
    name: str | None


class Options(CommonOptions, total=False):
    """The same with weight decay, which `AdamW` has among its own."""

    weight_decay: float | None
