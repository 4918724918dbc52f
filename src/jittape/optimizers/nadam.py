"""Nadam: Adam with Nesterov's momentum."""

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
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.elementwise.powers import pow
from jittape.recording.variable import Variable

__all__ = ["Nadam"]


class Nadam(Optimizer):
    """Adam with Nesterov's momentum (Dozat, ICLR workshop 2016).

    In step t, with ``mu(t) = beta_1 * (1 - 0.96**t / 2)`` and M the product of ``mu(1)`` to ``mu(t)``, the averages m
    and v of `Adam` are corrected to ``mu(t + 1) * m / (1 - M * mu(t + 1)) + (1 - mu(t)) * g / (1 - M)`` and
    ``v / (1 - beta_2**t)``.

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
    >>> w = jt.Variable(1.0)
    >>> optimizer = jt.optimizers.Nadam(0.1)
    >>> for _ in range(3):
    ...     _ = optimizer.apply_gradients([(2.0, w)])
    >>> print(round(float(w), 4))
    0.7452
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
        """Create the product of the momenta, and two averages for each Variable."""
        super().build(variables)
        self.add_variable((), 1.0, float64, name="momentum_product")
        for variable in variables:
            self.add_variable_from_reference(variable, "momentum")
            self.add_variable_from_reference(variable, "velocity")

    def begin_step(self, learning_rate: Any) -> Any:
        """Return the factors of the average, the gradient and the mean square, which all Variables share."""
        product = self.add_variable(name="momentum_product")
        operands = (learning_rate, self.beta_1, self.beta_2, self.iterations, product)
        new_product, *factors = apply(_factors, operands)
        product.assign(new_product)
        return factors

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Make one step of Nadam."""
        first, second = self.state_of(variable, "momentum"), self.state_of(variable, "velocity")
        constants = (1.0 - self.beta_1, 1.0 - self.beta_2, self.epsilon)
        operands = (variable, gradient, first, second, *self.step_values, *constants)
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


def _factors(rate: Any, beta_1: Any, beta_2: Any, iterations: Any, product: Any) -> tuple[Any, ...]:
    t, rate, beta_1 = (cast_to(x, float64) for x in (add(iterations, 1), rate, beta_1))

    def momentum(t: Any) -> Any:
        return multiply(beta_1, subtract(1.0, multiply(0.5, pow(0.96, t))))

    now, following = momentum(t), momentum(add(t, 1.0))
    product = multiply(product, now)
    of_average = divide(multiply(rate, following), subtract(1.0, multiply(product, following)))
    of_gradient = divide(multiply(rate, subtract(1.0, now)), subtract(1.0, product))
    return product, of_average, of_gradient, divide(1.0, subtract(1.0, pow(beta_2, t)))


def _updated(
    w: Any,
    g: Any,
    m: Any,
    v: Any,
    of_average: Any,
    of_gradient: Any,
    of_square: Any,
    rate_1: Any,
    rate_2: Any,
    epsilon: Any,
) -> tuple[Any, ...]:
    of_average, of_gradient, of_square = (cast_to(x, g.dtype) for x in (of_average, of_gradient, of_square))
    m = add(m, multiply(subtract(g, m), rate_1))
    v = add(v, multiply(subtract(square(g), v), rate_2))
    ahead = add(multiply(of_average, m), multiply(of_gradient, g))
    moved = divide(ahead, add(sqrt(multiply(v, of_square)), epsilon))
    return subtract(cast_to(w, g.dtype), moved), m, v
