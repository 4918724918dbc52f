"""Adagrad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from jittape.core.argument_checks import NOT_NEGATIVE, number
from jittape.core.primitive import apply
from jittape.optimizers.base import Optimizer
from jittape.optimizers.options import Options
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import sqrt
from jittape.recording.variable import Variable

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """Gradient descent divided by the root of the sum of all squared gradients (Duchi et al., JMLR 12, 2011).

    ``a += g**2; w -= learning_rate * g / sqrt(a + epsilon)``

    Parameters
    ----------
    learning_rate : float, Variable, LearningRateSchedule or callable, default 0.001
    initial_accumulator_value : float, default 0.1
        Initial value of the sums; at least 0.
    epsilon : float, default 1e-7
    **options
        `weight_decay`, `clipnorm`, `clipvalue`, `global_clipnorm`, `use_ema`, `ema_momentum`,
        `ema_overwrite_frequency`, `loss_scale_factor`, `gradient_accumulation_steps`, `name`: see `Optimizer`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    Examples
    --------
    >>> w = jt.Variable(1.0)
    >>> _ = jt.optimizers.Adagrad(0.1, initial_accumulator_value=0.0).apply_gradients([(2.0, w)])
    >>> print(round(float(w), 4))
    0.9
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        owner = type(self).__name__
        self.initial_accumulator_value = number(
            owner, "initial_accumulator_value", initial_accumulator_value, NOT_NEGATIVE
        )
        self.epsilon = number(owner, "epsilon", epsilon, NOT_NEGATIVE)

    def build(self, variables: Sequence[Variable]) -> None:
        """Create a sum of squares for each Variable."""
        super().build(variables)
        self.add_optimizer_variables(variables, "accumulator", self.initial_accumulator_value)

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Make one step of Adagrad."""
        total = self.state_of(variable, "accumulator")
        operands = (variable, gradient, total, learning_rate, self.epsilon)
        new_value, new_total = apply(_updated, operands)
        total.assign(new_total)
        variable.assign(new_value)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments as plain values."""
        return super().get_config() | {
            "initial_accumulator_value": self.initial_accumulator_value,
            "epsilon": self.epsilon,
        }


def _updated(w: Any, g: Any, total: Any, rate: Any, epsilon: Any) -> tuple[Any, Any]:
    total = add(total, square(g))
    step = divide(multiply(cast_to(rate, g.dtype), g), sqrt(add(total, epsilon)))
    return subtract(cast_to(w, g.dtype), step), total
