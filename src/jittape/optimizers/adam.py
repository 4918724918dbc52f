"""Adam, and AdamW, which is Adam with weight decay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from jittape.core.argument_checks import BELOW_ONE, NOT_NEGATIVE, flag, number
from jittape.core.dtypes import float64
from jittape.core.primitive import apply
from jittape.optimizers.base import Optimizer
from jittape.optimizers.options import CommonOptions, Options
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.elementwise.piecewise import maximum
from jittape.primitives.elementwise.powers import pow
from jittape.recording.variable import Variable

__all__ = ["Adam", "AdamW"]


class Adam(Optimizer):
    """Adam (Kingma and Ba, ICLR 2015), with the bias correction included in the learning rate.

    Parameters
    ----------
    learning_rate : float, Variable, LearningRateSchedule or callable, default 0.001
    beta_1, beta_2 : float, default 0.9 and 0.999
        Decay rates of the averages of the gradient and of its square.
    epsilon : float, default 1e-7
        Added to the root of the second average.
    amsgrad : bool, default False
        Use the maximum of all previous second averages (Reddi et al., ICLR 2018).
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
    >>> optimizer = jt.optimizers.Adam(0.1)
    >>> _ = optimizer.apply_gradients([(jt.constant(2.0), w)])
    >>> print(round(float(w), 4))
    0.9
    """

    _groups = (("momentum", "velocity"), ("velocity_hat",))

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        owner = type(self).__name__
        self.beta_1 = number(owner, "beta_1", beta_1, BELOW_ONE)
        self.beta_2 = number(owner, "beta_2", beta_2, BELOW_ONE)
        self.epsilon = number(owner, "epsilon", epsilon, NOT_NEGATIVE)
        self.amsgrad = flag(owner, "amsgrad", amsgrad)

    def build(self, variables: Sequence[Variable]) -> None:
        """Create averages of the gradient and of its square for each Variable, and the maximum for AMSGrad."""
        super().build(variables)
        for variable in variables:
            for name in ("momentum", "velocity", "velocity_hat")[: 2 + self.amsgrad]:
                self.add_variable_from_reference(variable, name)

    def begin_step(self, learning_rate: Any) -> Any:
        """Return the step size, which all Variables share."""
        return apply(_step_size, (learning_rate, self.beta_1, self.beta_2, self.iterations))

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Make one step of Adam."""
        first, second = self.state_of(variable, "momentum"), self.state_of(variable, "velocity")
        # 1 - beta is computed in double precision: in float32, 0.999 loses four of its digits.
        rates = (1.0 - self.beta_1, 1.0 - self.beta_2)
        operands = (variable, gradient, first, second, self.step_values, *rates, self.epsilon)
        if self.amsgrad:
            greatest = self.state_of(variable, "velocity_hat")
            new_value, new_first, new_second, new_greatest = apply(_updated_amsgrad, (*operands, greatest))
            greatest.assign(new_greatest)
        else:
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
            "amsgrad": self.amsgrad,
        }


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, ICLR 2019).

    Parameters
    ----------
    learning_rate : float, Variable, LearningRateSchedule or callable, default 0.001
    weight_decay : float or None, default 0.004
    beta_1, beta_2, epsilon, amsgrad
        As for `Adam`.
    **options
        `clipnorm`, `clipvalue`, `global_clipnorm`, `use_ema`, `ema_momentum`, `ema_overwrite_frequency`, `name`: see
        `Optimizer`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    Examples
    --------
    >>> w = jt.Variable(1.0)
    >>> _ = jt.optimizers.AdamW(0.1, weight_decay=0.5).apply_gradients([(0.0, w)])
    >>> print(round(float(w), 4))
    0.95
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        weight_decay: float | None = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Unpack[CommonOptions],
    ) -> None:
        super().__init__(
            learning_rate, beta_1, beta_2, epsilon, amsgrad, weight_decay=weight_decay, **options
        )


def _step_size(rate: Any, beta_1: Any, beta_2: Any, iterations: Any) -> Any:
    """Return the learning rate times ``sqrt(1 - beta_2**t) / (1 - beta_1**t)``, in double precision."""
    t = cast_to(add(iterations, 1), float64)
    correction = divide(sqrt(subtract(1.0, pow(beta_2, t))), subtract(1.0, pow(beta_1, t)))
    return multiply(rate, correction)


def _averages(g: Any, m: Any, v: Any, rate_1: Any, rate_2: Any) -> tuple[Any, Any]:
    return add(m, multiply(subtract(g, m), rate_1)), add(v, multiply(subtract(square(g), v), rate_2))


def _moved(w: Any, m: Any, v: Any, step_size: Any, epsilon: Any) -> Any:
    moved = divide(multiply(m, cast_to(step_size, m.dtype)), add(sqrt(v), epsilon))
    return subtract(cast_to(w, m.dtype), moved)


def _updated(
    w: Any, g: Any, m: Any, v: Any, step_size: Any, rate_1: Any, rate_2: Any, epsilon: Any
) -> tuple[Any, ...]:
    m, v = _averages(g, m, v, rate_1, rate_2)
    return _moved(w, m, v, step_size, epsilon), m, v


def _updated_amsgrad(
    w: Any, g: Any, m: Any, v: Any, step_size: Any, rate_1: Any, rate_2: Any, epsilon: Any, greatest: Any
) -> tuple[Any, ...]:
    m, v = _averages(g, m, v, rate_1, rate_2)
    greatest = maximum(greatest, v)
    return _moved(w, m, greatest, step_size, epsilon), m, v, greatest
