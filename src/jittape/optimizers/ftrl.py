"""Ftrl: follow the regularized leader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from jittape.core.argument_checks import FINITE, NOT_NEGATIVE, Interval, number
from jittape.core.primitive import apply
from jittape.optimizers.base import Optimizer
from jittape.optimizers.options import Options
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.elementwise.piecewise import clip_by_value
from jittape.primitives.elementwise.powers import pow
from jittape.recording.variable import Variable

__all__ = ["Ftrl"]

_NOT_POSITIVE = Interval("at most 0 and finite", lambda x: x <= 0.0 and FINITE.holds(x))


class Ftrl(Optimizer):
    """Follow the regularized leader, for sparse linear models (McMahan et al., KDD 2013, algorithm 1).

    With ``p = -learning_rate_power``, ``h = g + 2 * l2_shrinkage * w`` and ``n' = n + g**2``,
    ``z += h - (n'**p - n**p) / learning_rate * w``, and
    ``w = (clip(z, -l1, l1) - z) / ((beta + n'**p) / learning_rate + 2 * l2)``: zero wherever z is no greater than l1.

    Parameters
    ----------
    learning_rate : float, Variable, LearningRateSchedule or callable, default 0.001
    learning_rate_power : float, default -0.5
        At most 0; at 0 the learning rate is fixed.
    initial_accumulator_value : float, default 0.1
        Initial value of the sums of squares.
    l1_regularization_strength, l2_regularization_strength : float, default 0.0
    l2_shrinkage_regularization_strength : float, default 0.0
        A penalty on the size of the weights; `l2_regularization_strength` is a penalty on the step.
    beta : float, default 0.0
        As in the paper.
    **options
        `weight_decay`, `clipnorm`, `clipvalue`, `global_clipnorm`, `use_ema`, `ema_momentum`,
        `ema_overwrite_frequency`, `loss_scale_factor`, `gradient_accumulation_steps`, `name`: see `Optimizer`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    Examples
    --------
    >>> w = jt.Variable([0.0, 0.0])
    >>> optimizer = jt.optimizers.Ftrl(0.1, l1_regularization_strength=1.0)
    >>> _ = optimizer.apply_gradients([([0.5, -2.0], w)])
    >>> w.numpy().round(4)
    array([0.    , 0.0494], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)

        def strength(name: str, value: float) -> float:
            return number(type(self).__name__, name, value, NOT_NEGATIVE)

        self.learning_rate_power = number(
            type(self).__name__, "learning_rate_power", learning_rate_power, _NOT_POSITIVE
        )
        self.initial_accumulator_value = strength("initial_accumulator_value", initial_accumulator_value)
        self.l1_regularization_strength = strength("l1_regularization_strength", l1_regularization_strength)
        self.l2_regularization_strength = strength("l2_regularization_strength", l2_regularization_strength)
        self.l2_shrinkage_regularization_strength = strength(
            "l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength
        )
        self.beta = strength("beta", beta)

    def build(self, variables: Sequence[Variable]) -> None:
        """Create a sum of squares and a linear term for each Variable."""
        super().build(variables)
        for variable in variables:
            self.add_variable_from_reference(variable, "accumulator", self.initial_accumulator_value)
            self.add_variable_from_reference(variable, "linear")

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Make one step of Ftrl."""
        total, linear = self.state_of(variable, "accumulator"), self.state_of(variable, "linear")
        constants = (
            learning_rate,
            -self.learning_rate_power,
            self.l1_regularization_strength,
            2.0 * self.l2_regularization_strength,
            2.0 * self.l2_shrinkage_regularization_strength,
            self.beta,
        )
        operands = (variable, gradient, total, linear, *constants)
        new_value, new_total, new_linear = apply(_updated, operands, (self.learning_rate_power == -0.5,))
        total.assign(new_total)
        linear.assign(new_linear)
        variable.assign(new_value)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments as plain values."""
        return super().get_config() | {
            "learning_rate_power": self.learning_rate_power,
            "initial_accumulator_value": self.initial_accumulator_value,
            "l1_regularization_strength": self.l1_regularization_strength,
            "l2_regularization_strength": self.l2_regularization_strength,
            "l2_shrinkage_regularization_strength": self.l2_shrinkage_regularization_strength,
            "beta": self.beta,
        }


def _updated(
    w: Any,
    g: Any,
    total: Any,
    linear: Any,
    rate: Any,
    power: Any,
    l1: Any,
    twice_l2: Any,
    twice_shrinkage: Any,
    beta: Any,
    is_root: bool,
) -> tuple[Any, ...]:
    w, rate, l1 = (cast_to(x, g.dtype) for x in (w, rate, l1))

    def powered(x: Any) -> Any:
        return sqrt(x) if is_root else pow(x, power)

    new_total = add(total, square(g))
    damping = powered(new_total)
    shrunk = add(g, multiply(twice_shrinkage, w))
    linear = add(linear, subtract(shrunk, multiply(divide(subtract(damping, powered(total)), rate), w)))
    clipped = clip_by_value(linear, subtract(0.0, l1), l1)
    quadratic = add(divide(add(damping, beta), rate), twice_l2)
    return divide(subtract(clipped, linear), quadratic), new_total, linear
