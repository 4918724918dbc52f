"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from jittape.core.argument_checks import UNIT, flag, number
from jittape.core.primitive import apply
from jittape.optimizers.base import Optimizer
from jittape.optimizers.options import Options
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.recording.variable import Variable

__all__ = ["SGD"]


class SGD(Optimizer):
    """Gradient descent: ``w -= learning_rate * g``; with momentum ``v = momentum * v - learning_rate * g; w += v``.

    Parameters
    ----------
    learning_rate : float, Variable, LearningRateSchedule or callable, default 0.01
    momentum : float, default 0.0
        Between 0 and 1.
    nesterov : bool, default False
        Nesterov's form of the momentum: ``w += momentum * v - learning_rate * g`` (Sutskever et al., ICML 2013).
    **options
        `weight_decay`, `clipnorm`, `clipvalue`, `global_clipnorm`, `use_ema`, `ema_momentum`,
        `ema_overwrite_frequency`, `loss_scale_factor`, `gradient_accumulation_steps`, `name`: see `Optimizer`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    Examples
    --------
    >>> import jittape as jt
    >>> w = jt.Variable(1.0)
    >>> optimizer = jt.optimizers.SGD(0.1)
    >>> _ = optimizer.apply_gradients([(jt.constant(2.0), w)])
    >>> print(round(float(w), 6))
    0.8
    """

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        owner = type(self).__name__
        self.momentum = number(owner, "momentum", momentum, UNIT)
        self.nesterov = flag(owner, "nesterov", nesterov)

    def build(self, variables: Sequence[Variable]) -> None:
        """Create velocities if there is momentum."""
        super().build(variables)
        if self.momentum:
            self.add_optimizer_variables(variables, "momentum")

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Make one step down the gradient."""
        if not self.momentum:
            variable.assign(apply(_descended, (variable, gradient, learning_rate)))
            return
        velocity = self.state_of(variable, "momentum")
        operands = (variable, gradient, velocity, learning_rate, self.momentum)
        new_value, new_velocity = apply(_descended_with_momentum, operands, (self.nesterov,))
        velocity.assign(new_velocity)
        variable.assign(new_value)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments as plain values."""
        return super().get_config() | {"momentum": self.momentum, "nesterov": self.nesterov}


def _descended(w: Any, g: Any, rate: Any) -> Any:
    return subtract(cast_to(w, g.dtype), multiply(cast_to(rate, g.dtype), g))


def _descended_with_momentum(
    w: Any, g: Any, v: Any, rate: Any, momentum: Any, nesterov: bool
) -> tuple[Any, Any]:
    w = cast_to(w, g.dtype)
    step = multiply(cast_to(rate, g.dtype), g)
    velocity = subtract(multiply(momentum, v), step)
    if nesterov:
        return add(w, subtract(multiply(momentum, velocity), step)), velocity
    return add(w, velocity), velocity
