"""Adamax: Adam with the maximum norm instead of the mean square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from jittape.core.argument_checks import BELOW_ONE, NOT_NEGATIVE, number
from jittape.core.dtypes import float64
from jittape.core.primitive import apply
from jittape.optimizers.base import Optimizer
from jittape.optimizers.options import Options
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.piecewise import absolute, maximum
from jittape.primitives.elementwise.powers import pow
from jittape.recording.variable import Variable

__all__ = ["Adamax"]


class Adamax(Optimizer):
    """Adam with the maximum norm (Kingma and Ba, ICLR 2015, section 7.1).

    ``m = beta_1 * m + (1 - beta_1) * g; u = max(beta_2 * u, abs(g))``, then
    ``w -= learning_rate / (1 - beta_1**t) * m / (u + epsilon)`` in step t.

    Parameters
    ----------
    learning_rate : float, Variable, LearningRateSchedule or callable, default 0.001
    beta_1, beta_2 : float, default 0.9 and 0.999
        Decay rates of the average of the gradient and of its maximum norm.
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
    >>> _ = jt.optimizers.Adamax(0.1).apply_gradients([(2.0, w)])
    >>> print(round(float(w), 4))
    0.9
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        owner = type(self).__name__
        self.beta_1 = number(owner, "beta_1", beta_1, BELOW_ONE)
        self.beta_2 = number(owner, "beta_2", beta_2, BELOW_ONE)
        self.epsilon = number(owner, "epsilon", epsilon, NOT_NEGATIVE)

    def build(self, variables: Sequence[Variable]) -> None:
        """Create an average and a norm for each Variable."""
        super().build(variables)
        for variable in variables:
            self.add_variable_from_reference(variable, "momentum")
            self.add_variable_from_reference(variable, "norm")

    def begin_step(self, learning_rate: Any) -> Any:
        """Return the step size, which all Variables share."""
        return apply(_step_size, (learning_rate, self.beta_1, self.iterations))

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Make one step of Adamax."""
        average, norm = self.state_of(variable, "momentum"), self.state_of(variable, "norm")
        constants = (1.0 - self.beta_1, self.beta_2, self.epsilon)
        operands = (variable, gradient, average, norm, self.step_values, *constants)
        new_value, new_average, new_norm = apply(_updated, operands)
        average.assign(new_average)
        norm.assign(new_norm)
        variable.assign(new_value)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments as plain values."""
        return super().get_config() | {
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
        }


def _step_size(rate: Any, beta_1: Any, iterations: Any) -> Any:
    t = cast_to(add(iterations, 1), float64)
    return divide(cast_to(rate, float64), subtract(1.0, pow(beta_1, t)))


def _updated(
    w: Any, g: Any, m: Any, u: Any, step_size: Any, rate_1: Any, beta_2: Any, epsilon: Any
) -> tuple[Any, ...]:
    m = add(m, multiply(subtract(g, m), rate_1))
    u = maximum(multiply(beta_2, u), absolute(g))
    moved = divide(multiply(cast_to(step_size, g.dtype), m), add(u, epsilon))
    return subtract(cast_to(w, g.dtype), moved), m, u
