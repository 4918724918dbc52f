"""Types of the keyword arguments ``**options`` that optimizers share."""

from __future__ import annotations

from typing import TypedDict

__all__ = ["CommonOptions", "Options"]


class CommonOptions(TypedDict, total=False):
    """Keyword arguments of every optimizer; see `Optimizer`."""

    clipnorm: float | None
    clipvalue: float | None
    global_clipnorm: float | None
    use_ema: bool
    ema_momentum: float
    ema_overwrite_frequency: int | None
    loss_scale_factor: float | None
    gradient_accumulation_steps: int | None
    name: str | None


class Options(CommonOptions, total=False):
    """`CommonOptions` and weight decay, which is an explicit argument of `AdamW`."""

    weight_decay: float | None
