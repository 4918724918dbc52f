"""Adadelta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from jittape.core.argument_checks import NOT_NEGATIVE, UNIT, number
from jittape.core.primitive import apply
from jittape.optimizers.base import Optimizer
from jittape.optimizers.options import Options
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import sqrt
from jittape.recording.variable import Variable

__all__ = ["Adadelta"]


class Adadelta(Optimizer):
    """Steps in proportion to the previous steps, relative to the previous gradients (Zeiler 2012, arXiv:1212.5701).

    ``a = rho * a + (1 - rho) * g**2; d = g * sqrt(b + epsilon) / sqrt(a + epsilon)``, then
    ``b = rho * b + (1 - rho) * d**2; w -= learning_rate * d``. In the paper (algorithm 1) the learning rate is 1.

    Parameters
    ----------
    learning_rate : float, Variable, LearningRateSchedule or callable, default 0.001
    rho : float, default 0.95
        Between 0 and 1.
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
    >>> _ = jt.optimizers.Adadelta(1.0, rho=0.75, epsilon=1.0).apply_gradients([(2.0, w)])
    >>> print(round(float(w), 4))
    -0.4142
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.95,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        owner = type(self).__name__
        self.rho = number(owner, "rho", rho, UNIT)
        self.epsilon = number(owner, "epsilon", epsilon, NOT_NEGATIVE)

    def build(self, variables: Sequence[Variable]) -> None:
        """Create two mean squares per Variable: of its gradients and of its steps."""
        super().build(variables)
        for variable in variables:
            self.add_variable_from_reference(variable, "accumulated_grad")
            self.add_variable_from_reference(variable, "accumulated_delta_var")

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Make one step of Adadelta."""
        of_gradients = self.state_of(variable, "accumulated_grad")
        of_steps = self.state_of(variable, "accumulated_delta_var")
        constants = (learning_rate, self.rho, 1.0 - self.rho, self.epsilon)
        operands = (variable, gradient, of_gradients, of_steps, *constants)
        new_value, new_of_gradients, new_of_steps = apply(_updated, operands)
        of_gradients.assign(new_of_gradients)
        of_steps.assign(new_of_steps)
        variable.assign(new_value)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments as plain values."""
        return super().get_config() | {"rho": self.rho, "epsilon": self.epsilon}


def _updated(
    w: Any, g: Any, of_gradients: Any, of_steps: Any, rate: Any, rho: Any, rest: Any, epsilon: Any
) -> tuple[Any, ...]:
    of_gradients = add(multiply(rho, of_gradients), multiply(rest, square(g)))
    step = divide(multiply(sqrt(add(of_steps, epsilon)), g), sqrt(add(of_gradients, epsilon)))
    of_steps = add(multiply(rho, of_steps), multiply(rest, square(step)))
    return subtract(cast_to(w, g.dtype), multiply(cast_to(rate, g.dtype), step)), of_gradients, of_steps
