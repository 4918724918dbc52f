"""The keyword arguments ``**options`` that optimizers share, and the printed form of an optimizer."""

from __future__ import annotations

from typing import Any, TypedDict

from jittape.html_report import html_table
from jittape.recording.variable import Variable

__all__ = ["CommonOptions", "Options", "Printed", "unexpected_option"]


_OTHER_ARGUMENTS = {
    "lr": "learning_rate",
    "decay": "a schedule of jt.keras.optimizers.schedules as the learning_rate, such as InverseTimeDecay",
    "loss_scale": "loss_scale_factor",
}
"""Arguments of other versions of Keras, and what to use instead."""


def unexpected_option(owner: str, name: str) -> TypeError:
    """Return the error for an argument that an optimizer does not have."""
    instead = _OTHER_ARGUMENTS.get(name)
    return TypeError(
        f"{owner}: unexpected keyword argument {name!r}" + (f"; use {instead}" if instead else "")
    )


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


class Printed:
    """Base class of optimizers that prints the settings in use and the number of steps."""

    iterations: Variable
    variables: Any
    use_ema: bool
    _learning_rate: Any

    def get_config(self) -> dict[str, Any]:
        """Return the settings."""
        raise NotImplementedError(f"{type(self).__name__} must define get_config()")

    def __repr__(self) -> str:
        settings = [f"{name}={value!r}" for name, value in self._shown_settings().items()]
        return f"<{type(self).__name__}: {', '.join([*settings, f'{int(self.iterations)} steps'])}>"

    def _repr_html_(self) -> str:
        rows = [
            *self._shown_settings().items(),
            ("steps", int(self.iterations)),
            ("state", f"{len(self.variables)} Variables"),
        ]
        return html_table(type(self).__name__, rows)

    def _shown_settings(self) -> dict[str, Any]:
        """Return the settings that are in use."""
        try:
            settings = self.get_config()
        except TypeError:  # the learning rate is a custom function
            settings = {"learning_rate": self._learning_rate}
        unused = ("name",) if self.use_ema else ("name", "ema_momentum")
        return {
            name: value
            for name, value in settings.items()
            if value not in (None, False) and name not in unused
        }
