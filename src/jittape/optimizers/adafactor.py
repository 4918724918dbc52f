"""Adafactor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from jittape.core.argument_checks import NOT_NEGATIVE, POSITIVE, Interval, flag, number
from jittape.core.dtypes import float64
from jittape.core.primitive import apply
from jittape.optimizers.base import Optimizer
from jittape.optimizers.options import Options
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.elementwise.piecewise import maximum, minimum
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.reduce.reductions import reduce_mean
from jittape.primitives.shape.reshaping import expand_dims
from jittape.recording.variable import Variable

__all__ = ["Adafactor"]

_NEGATIVE = Interval("at most 0 and finite", lambda x: -float("inf") < x <= 0.0)


class Adafactor(Optimizer):
    """Steps divided by the root of an average that is kept by rows and columns (Shazeer and Stern 2018).

    The average of the squared gradient of a matrix is stored as the averages of its rows and of its columns, so the
    state of an m x n matrix has m + n numbers: arXiv:1804.04235, algorithms 4 and 5. The Variable's own root mean
    square scales the step.

    Parameters
    ----------
    learning_rate : float, Variable, LearningRateSchedule or callable, default 0.001
    beta_2_decay : float, default -0.8
        Step t has the decay rate ``1 - t ** beta_2_decay``; at most 0.
    epsilon_1 : float, default 1e-30
        Added to the square of the gradient.
    epsilon_2 : float, default 1e-3
        Lower limit of the root mean square of a Variable.
    clip_threshold : float, default 1.0
        Upper limit of the root mean square of a step, before it is scaled.
    relative_step : bool, default True
        Limit the learning rate to ``1 / sqrt(t)``.
    **options
        `weight_decay`, `clipnorm`, `clipvalue`, `global_clipnorm`, `use_ema`, `ema_momentum`,
        `ema_overwrite_frequency`, `loss_scale_factor`, `gradient_accumulation_steps`, `name`: see `Optimizer`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    Examples
    --------
    >>> w = jt.Variable([[1.0, 1.0], [1.0, 1.0]])
    >>> _ = jt.optimizers.Adafactor(0.5).apply_gradients([([[1.0, 2.0], [2.0, 4.0]], w)])
    >>> w.numpy()
    array([[0.5, 0.5],
           [0.5, 0.5]], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_2_decay: float = -0.8,
        epsilon_1: float = 1e-30,
        epsilon_2: float = 1e-3,
        clip_threshold: float = 1.0,
        relative_step: bool = True,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        owner = type(self).__name__
        self.beta_2_decay = number(owner, "beta_2_decay", beta_2_decay, _NEGATIVE)
        self.epsilon_1 = number(owner, "epsilon_1", epsilon_1, NOT_NEGATIVE)
        self.epsilon_2 = number(owner, "epsilon_2", epsilon_2, NOT_NEGATIVE)
        self.clip_threshold = number(owner, "clip_threshold", clip_threshold, POSITIVE)
        self.relative_step = flag(owner, "relative_step", relative_step)

    def build(self, variables: Sequence[Variable]) -> None:
        """Create the averages of rows and of columns, or of the elements of a scalar or vector."""
        super().build(variables)
        for variable in variables:
            shape = variable.aval.shape
            if len(shape) < 2:
                self.add_variable_from_reference(variable, "velocity")
            else:
                self.add_variable_from_reference(variable, "rows", shape=shape[:-1])
                self.add_variable_from_reference(variable, "columns", shape=(*shape[:-2], shape[-1]))

    def begin_step(self, learning_rate: Any) -> Any:
        """Return the size of the step and the decay rate, which all Variables share."""
        return apply(_sizes, (learning_rate, self.iterations, self.beta_2_decay), (self.relative_step,))

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Make one step of Adafactor."""
        names = ("velocity",) if len(variable.aval.shape) < 2 else ("rows", "columns")
        averages = [self.state_of(variable, name) for name in names]
        constants = (self.epsilon_1, self.epsilon_2, self.clip_threshold)
        new_value, *new_averages = apply(
            _updated, (variable, gradient, *self.step_values, *constants, *averages)
        )
        for average, new in zip(averages, new_averages, strict=True):
            average.assign(new)
        variable.assign(new_value)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments as plain values."""
        return super().get_config() | {
            "beta_2_decay": self.beta_2_decay,
            "epsilon_1": self.epsilon_1,
            "epsilon_2": self.epsilon_2,
            "clip_threshold": self.clip_threshold,
            "relative_step": self.relative_step,
        }


def _sizes(rate: Any, iterations: Any, decay: Any, relative: bool) -> tuple[Any, Any]:
    """Return the relative size of the step and ``t ** decay``, in double precision."""
    t = cast_to(add(iterations, 1), float64)
    rate = cast_to(rate, float64)
    return minimum(rate, divide(1.0, sqrt(t))) if relative else rate, pow(t, decay)


def _root_mean_square(x: Any) -> Any:
    return sqrt(reduce_mean(square(x)))


def _updated(
    w: Any, g: Any, size: Any, rest: Any, epsilon_1: Any, epsilon_2: Any, threshold: Any, *averages: Any
) -> tuple[Any, ...]:
    w, size, rest = (cast_to(x, g.dtype) for x in (w, size, rest))
    squares = add(square(g), epsilon_1)
    means = (squares,) if len(averages) == 1 else (reduce_mean(squares, -1), reduce_mean(squares, -2))
    averages = tuple(
        [add(old, multiply(subtract(new, old), rest)) for old, new in zip(averages, means, strict=True)]
    )
    if len(averages) == 1:
        (second,) = averages
    else:
        rows, columns = averages
        second = multiply(
            expand_dims(divide(rows, reduce_mean(rows, -1, keepdims=True)), -1), expand_dims(columns, -2)
        )
    step = divide(g, sqrt(second))
    step = divide(step, maximum(1, divide(_root_mean_square(step), threshold)))
    size = multiply(size, maximum(epsilon_2, _root_mean_square(w)))
    return subtract(w, multiply(size, step)), *averages
