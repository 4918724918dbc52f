"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.optimizers.base import Optimizer, zeros_like_each
from jittape.primitive import apply
from jittape.primitives.arithmetic import add, multiply, subtract
from jittape.primitives.broadcast import cast_to
from jittape.recording.variable import Variable

__all__ = ["SGD"]


class SGD(Optimizer):
    """Gradient descent: ``w -= learning_rate * g``; with momentum ``v = momentum * v - learning_rate * g; w += v``.

    Parameters
    ----------
    learning_rate : float, default 0.01
    momentum : float, default 0.0
    nesterov : bool, default False
        Nesterov's form of the momentum: ``w += momentum * v - learning_rate * g`` (Sutskever et al., ICML 2013).
    name : str, optional

    Raises
    ------
    ValueError
        If `momentum` is not in [0, 1].

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
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, name)
        if not 0.0 <= momentum <= 1.0:
            raise ValueError(f"`momentum` must be between 0 and 1, got {momentum}")
        self.momentum = momentum
        self.nesterov = nesterov
        self._velocities: list[Variable] = []

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The step count, and with momentum a velocity for each Variable."""
        return (self.iterations, *self._velocities)

    def build(self, variables: Sequence[Variable]) -> None:
        """Velocities of zero, where there is momentum."""
        if self.momentum:
            self._velocities.extend(zeros_like_each(variables, "velocity"))

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """One step down the gradient."""
        if not self.momentum:
            variable.assign(apply(_descended, (variable, gradient, learning_rate)))
            return
        velocity = self._velocities[self.position(variable)]
        new_value, new_velocity = apply(
            _descended_with_momentum,
            (variable, gradient, velocity, learning_rate, self.momentum),
            (self.nesterov,),
        )
        velocity.assign(new_velocity)
        variable.assign(new_value)


def _descended(w: Any, g: Any, rate: Any) -> Any:
    return subtract(w, multiply(cast_to(rate, w.dtype), cast_to(g, w.dtype)))


def _descended_with_momentum(
    w: Any, g: Any, v: Any, rate: Any, momentum: Any, nesterov: bool
) -> tuple[Any, Any]:
    step = multiply(cast_to(rate, w.dtype), cast_to(g, w.dtype))
    velocity = subtract(multiply(momentum, v), step)
    if nesterov:
        return add(w, subtract(multiply(momentum, velocity), step)), velocity
    return add(w, velocity), velocity
