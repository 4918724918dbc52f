"""Adam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.dtypes import float64
from jittape.optimizers.base import Optimizer, zeros_like_each
from jittape.primitive import apply
from jittape.primitives.arithmetic import add, divide, multiply, square, subtract
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise import sqrt
from jittape.primitives.powers import pow
from jittape.recording.variable import Variable

__all__ = ["Adam"]


class Adam(Optimizer):
    """Adam (Kingma and Ba, ICLR 2015), in the form with the bias correction folded into the learning rate.

    Parameters
    ----------
    learning_rate : float, default 0.001
    beta_1, beta_2 : float, default 0.9 and 0.999
        How slowly the averages of the gradient and of its square change.
    epsilon : float, default 1e-7
        Added to the root of the second average.
    name : str, optional

    Examples
    --------
    >>> import jittape as jt
    >>> w = jt.Variable(1.0)
    >>> optimizer = jt.optimizers.Adam(0.1)
    >>> _ = optimizer.apply_gradients([(jt.constant(2.0), w)])
    >>> print(round(float(w), 4))
    0.9
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, name)
        for label, beta in (("beta_1", beta_1), ("beta_2", beta_2)):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"`{label}` must be at least 0 and below 1, got {beta}")
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self._first: list[Variable] = []
        self._second: list[Variable] = []
        self._step_size: Any = None

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The step count, and two averages for each Variable."""
        pairs = zip(self._first, self._second, strict=True)
        return (self.iterations, *[average for pair in pairs for average in pair])

    def build(self, variables: Sequence[Variable]) -> None:
        """Two averages of zero for each Variable."""
        self._first.extend(zeros_like_each(variables, "moment_first"))
        self._second.extend(zeros_like_each(variables, "moment_second"))

    def begin_step(self) -> None:
        """The step size is the same for all Variables."""
        self._step_size = apply(_step_size, (self.learning_rate, self.beta_1, self.beta_2, self.iterations))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_step_size": None}  # of the last step, in a compiled function perhaps

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """One step of Adam."""
        position = self.position(variable)
        first, second = self._first[position], self._second[position]
        # 1 - beta is taken in double precision: 0.999 as float32 has lost four digits of it.
        rates = (1.0 - self.beta_1, 1.0 - self.beta_2)
        operands = (variable, gradient, first, second, self._step_size, *rates, self.epsilon)
        new_value, new_first, new_second = apply(_updated, operands)
        first.assign(new_first)
        second.assign(new_second)
        variable.assign(new_value)


def _step_size(rate: Any, beta_1: Any, beta_2: Any, iterations: Any) -> Any:
    """The learning rate times ``sqrt(1 - beta_2**t) / (1 - beta_1**t)``, in double precision."""
    t = cast_to(iterations, float64)
    correction = divide(sqrt(subtract(1.0, pow(beta_2, t))), subtract(1.0, pow(beta_1, t)))
    return multiply(rate, correction)


def _updated(
    w: Any, g: Any, m: Any, v: Any, step_size: Any, rate_1: Any, rate_2: Any, epsilon: Any
) -> tuple[Any, ...]:
    g = cast_to(g, w.dtype)
    m = add(m, multiply(subtract(g, m), rate_1))
    v = add(v, multiply(subtract(square(g), v), rate_2))
    moved = divide(multiply(m, cast_to(step_size, w.dtype)), add(sqrt(v), epsilon))
    return subtract(w, moved), m, v
