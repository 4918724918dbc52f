"""RMSprop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from jittape.core.argument_checks import NOT_NEGATIVE, UNIT, flag, number
from jittape.core.primitive import apply
from jittape.optimizers.base import Optimizer
from jittape.optimizers.options import Options
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import sqrt
from jittape.recording.variable import Variable

__all__ = ["RMSprop"]


class RMSprop(Optimizer):
    """Gradient descent divided by the root of a moving mean of squares (Hinton's Coursera lecture 6e, 2012).

    ``v = rho * v + (1 - rho) * g**2; w -= learning_rate * g / sqrt(v + epsilon)``

    Parameters
    ----------
    learning_rate : float, Variable, LearningRateSchedule or callable, default 0.001
    rho : float, default 0.9
        Between 0 and 1.
    momentum : float, default 0.0
        The update becomes ``m = momentum * m + update; w -= m``.
    epsilon : float, default 1e-7
    centered : bool, default False
        Divide by an estimate of the variance: subtract the square of a moving mean of g from v (Graves 2013,
        arXiv:1308.0850, equations 38 to 45).
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
    >>> _ = jt.optimizers.RMSprop(0.1, rho=0.75).apply_gradients([(2.0, w)])
    >>> print(round(float(w), 4))
    0.8
    """

    _groups = (("velocity",), ("momentum",), ("average_gradient",))

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        owner = type(self).__name__
        self.rho = number(owner, "rho", rho, UNIT)
        self.momentum = number(owner, "momentum", momentum, UNIT)
        self.epsilon = number(owner, "epsilon", epsilon, NOT_NEGATIVE)
        self.centered = flag(owner, "centered", centered)

    def _names(self) -> list[str]:
        """Names of the state of each Variable."""
        momentum = ["momentum"] if self.momentum else []
        return ["velocity", *momentum, *(["average_gradient"] if self.centered else [])]

    def build(self, variables: Sequence[Variable]) -> None:
        """Create a mean square for each Variable, and the momentum and the mean if they are enabled."""
        super().build(variables)
        for variable in variables:
            for name in self._names():
                self.add_variable_from_reference(variable, name)

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Make one step of RMSprop."""
        state = [self.state_of(variable, name) for name in self._names()]
        constants = (learning_rate, self.rho, 1.0 - self.rho, self.momentum, self.epsilon)
        static = (self.momentum != 0.0, self.centered)
        new_value, *new_state = apply(_updated, (variable, gradient, *constants, *state), static)
        for kept, value in zip(state, new_state, strict=True):
            kept.assign(value)
        variable.assign(new_value)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments as plain values."""
        return super().get_config() | {
            "rho": self.rho,
            "momentum": self.momentum,
            "epsilon": self.epsilon,
            "centered": self.centered,
        }


def _updated(
    w: Any, g: Any, rate: Any, rho: Any, rest: Any, momentum: Any, epsilon: Any, *others: Any
) -> Any:
    *state, with_momentum, centered = others
    velocity = add(multiply(rho, state[0]), multiply(rest, square(g)))
    new_state, spread = [velocity], velocity
    if centered:
        mean = add(multiply(rho, state[-1]), multiply(rest, g))
        spread = subtract(velocity, square(mean))
        new_state = [velocity, mean]
    step = divide(multiply(cast_to(rate, g.dtype), g), sqrt(add(spread, epsilon)))
    if with_momentum:
        step = add(multiply(momentum, state[1]), step)
        new_state.insert(1, step)
    return (subtract(cast_to(w, g.dtype), step), *new_state)
