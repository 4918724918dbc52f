"""Lion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from jittape.core.argument_checks import UNIT, Interval, number
from jittape.core.primitive import apply
from jittape.optimizers.base import Optimizer
from jittape.optimizers.options import Options
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.piecewise import sign
from jittape.recording.variable import Variable

__all__ = ["Lion"]

_ABOVE_ZERO = Interval(
    "above 0, where all would go by the sign of the gradient, and at most 1", lambda x: 0.0 < x <= 1.0
)


class Lion(Optimizer):
    """Steps of equal size, with the sign of an average (Chen et al. 2023, arXiv:2302.06675, algorithm 2).

    ``w -= learning_rate * sign(beta_1 * m + (1 - beta_1) * g); m = beta_2 * m + (1 - beta_2) * g``

    Parameters
    ----------
    learning_rate : float, Variable, LearningRateSchedule or callable, default 0.001
    beta_1 : float, default 0.9
        Above 0, at most 1.
    beta_2 : float, default 0.99
        Between 0 and 1.
    **options
        `weight_decay`, `clipnorm`, `clipvalue`, `global_clipnorm`, `use_ema`, `ema_momentum`,
        `ema_overwrite_frequency`, `loss_scale_factor`, `gradient_accumulation_steps`, `name`: see `Optimizer`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    Examples
    --------
    >>> w = jt.Variable([1.0, 1.0])
    >>> _ = jt.optimizers.Lion(0.25).apply_gradients([([100.0, -0.01], w)])
    >>> w.numpy()
    array([0.75, 1.25], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.99,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        owner = type(self).__name__
        self.beta_1 = number(owner, "beta_1", beta_1, _ABOVE_ZERO)
        self.beta_2 = number(owner, "beta_2", beta_2, UNIT)

    def build(self, variables: Sequence[Variable]) -> None:
        """Create an average for each Variable."""
        super().build(variables)
        self.add_optimizer_variables(variables, "momentum")

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Make one step of Lion."""
        average = self.state_of(variable, "momentum")
        betas = (self.beta_1, 1.0 - self.beta_1, self.beta_2, 1.0 - self.beta_2)
        new_value, new_average = apply(_updated, (variable, gradient, average, learning_rate, *betas))
        average.assign(new_average)
        variable.assign(new_value)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments as plain values."""
        return super().get_config() | {"beta_1": self.beta_1, "beta_2": self.beta_2}


def _updated(
    w: Any, g: Any, m: Any, rate: Any, beta_1: Any, rest_1: Any, beta_2: Any, rest_2: Any
) -> tuple[Any, Any]:
    step = multiply(cast_to(rate, g.dtype), sign(add(multiply(beta_1, m), multiply(rest_1, g))))
    return subtract(cast_to(w, g.dtype), step), add(multiply(beta_2, m), multiply(rest_2, g))
