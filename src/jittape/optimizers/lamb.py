"""Lamb."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from jittape.core.argument_checks import BELOW_ONE, NOT_NEGATIVE, number
from jittape.core.dtypes import float64
from jittape.core.primitive import apply
from jittape.optimizers.base import Optimizer
from jittape.optimizers.options import Options
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.comparison import greater, logical_and, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.spectra.norms import reduce_euclidean_norm
from jittape.recording.variable import Variable

__all__ = ["Lamb"]


class Lamb(Optimizer):
    """Adam with the length of each Variable's step in proportion to its norm (You et al., ICLR 2020, algorithm 2).

    Parameters
    ----------
    learning_rate : float, Variable, LearningRateSchedule or callable, default 0.001
    beta_1, beta_2 : float, default 0.9 and 0.999
        Decay rates of the averages of the gradient and of its square.
    epsilon : float, default 1e-7
        Added to the root of the second average.
    **options
        `weight_decay`, `clipnorm`, `clipvalue`, `global_clipnorm`, `use_ema`, `ema_momentum`,
        `ema_overwrite_frequency`, `loss_scale_factor`, `gradient_accumulation_steps`, `name`: see `Optimizer`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    Examples
    --------
    >>> w = jt.Variable([3.0, 4.0])
    >>> _ = jt.optimizers.Lamb(0.1).apply_gradients([([1.0, 1.0], w)])
    >>> w.numpy().round(4)
    array([2.6464, 3.6464], dtype=float32)
    """

    _groups = (("momentum", "velocity"),)

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
        """Create averages of the gradient and of its square for each Variable."""
        super().build(variables)
        self.add_optimizer_variables(variables, "momentum")
        self.add_optimizer_variables(variables, "velocity")

    def begin_step(self, learning_rate: Any) -> Any:
        """Return the factors of the bias correction, which all Variables share."""
        return apply(_corrections, (self.beta_1, self.beta_2, self.iterations))

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Make one step of Lamb."""
        first, second = self.state_of(variable, "momentum"), self.state_of(variable, "velocity")
        rates = (1.0 - self.beta_1, 1.0 - self.beta_2)
        operands = (variable, gradient, first, second, learning_rate, *rates, *self.step_values, self.epsilon)
        new_value, new_first, new_second = apply(_updated, operands)
        first.assign(new_first)
        second.assign(new_second)
        variable.assign(new_value)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments as plain values."""
        return super().get_config() | {
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
        }


def _corrections(beta_1: Any, beta_2: Any, iterations: Any) -> tuple[Any, Any]:
    """Return ``1 / (1 - beta**t)`` of both averages, in double precision."""
    t = cast_to(add(iterations, 1), float64)
    return divide(1.0, subtract(1.0, pow(beta_1, t))), divide(1.0, subtract(1.0, pow(beta_2, t)))


def _updated(
    w: Any,
    g: Any,
    m: Any,
    v: Any,
    rate: Any,
    rate_1: Any,
    rate_2: Any,
    correction_1: Any,
    correction_2: Any,
    epsilon: Any,
) -> tuple[Any, ...]:
    w = cast_to(w, g.dtype)
    m = add(m, multiply(subtract(g, m), rate_1))
    v = add(v, multiply(subtract(square(g), v), rate_2))
    root = sqrt(multiply(v, cast_to(correction_2, v.dtype)))
    step = divide(multiply(m, cast_to(correction_1, m.dtype)), add(root, epsilon))
    norm, length = reduce_euclidean_norm(w), reduce_euclidean_norm(step)
    both = logical_and(greater(norm, 0), greater(length, 0))
    trust = where(both, divide(norm, where(both, length, 1)), 1)
    return subtract(w, multiply(step, multiply(trust, cast_to(rate, g.dtype)))), m, v
