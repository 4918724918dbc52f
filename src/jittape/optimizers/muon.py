"""Muon."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Unpack

from jittape.core.argument_checks import (
    FINITE,
    NOT_NEGATIVE,
    UNIT,
    flag,
    number,
    optional_number,
    optional_whole_number,
)
from jittape.core.primitive import apply
from jittape.optimizers.adam import Adam
from jittape.optimizers.options import CommonOptions
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.division import divide
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.shape.reshaping import matrix_transpose
from jittape.primitives.spectra.norms import reduce_euclidean_norm
from jittape.recording.variable import Variable

__all__ = ["Muon"]

_TINY = 1e-7
"""Added to the norm of a gradient that is divided by it."""


class Muon(Adam):
    """Momentum with orthogonal steps for matrices, and Adam for all other Variables (Jordan et al. 2024).

    A quintic Newton-Schulz iteration makes the singular values of a matrix's step nearly equal. The scale of the step
    is that of Liu et al. 2025 (arXiv:2502.16982), so learning rates of Adam can be used.

    Parameters
    ----------
    learning_rate : float, Variable, LearningRateSchedule or callable, default 0.001
    adam_beta_1, adam_beta_2 : float, default 0.9 and 0.999
        Decay rates of the averages of Adam.
    adam_weight_decay : float, optional
        Weight decay of the Variables that Adam updates; 0.004 by default.
    epsilon : float, default 1e-7
        As for `Adam`.
    weight_decay : float, optional
        Weight decay of matrices; 0.004 by default.
    exclude_layers : sequence of str, optional
        Regular expressions: Adam updates the matrices in whose name one is found, usually those of the last layer.
    exclude_embeddings : bool, default True
        Adam updates matrices with "embedding" in their name.
    muon_a, muon_b, muon_c : float, default 3.4445, -4.775 and 2.0315
        Coefficients of the iteration ``a x + b (x x^T) x + c (x x^T)^2 x``.
    adam_lr_ratio : float, default 1
        Ratio of Adam's learning rate to `learning_rate`.
    momentum : float, default 0.95
    ns_steps : int, default 5
        Number of iterations.
    nesterov : bool, default True
    rms_rate : float or None, default 0.2
        The step of an m x n matrix is multiplied by ``rms_rate * sqrt(max(m, n))``; None leaves it as it is.
    **options
        `clipnorm`, `clipvalue`, `global_clipnorm`, `use_ema`, `ema_momentum`, `ema_overwrite_frequency`, `name`: see
        `Optimizer`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    Examples
    --------
    >>> w = jt.Variable([[1.0, 0.0], [0.0, 1.0]])
    >>> _ = jt.optimizers.Muon(0.1).apply_gradients([([[4.0, 0.0], [0.0, 0.25]], w)])
    >>> bool(w[0, 0] < 1.0), bool(w[1, 1] < 1.0)
    (True, True)
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        adam_beta_1: float = 0.9,
        adam_beta_2: float = 0.999,
        adam_weight_decay: float | None = 0.004,
        epsilon: float = 1e-7,
        weight_decay: float | None = 0.004,
        exclude_layers: Sequence[str] | None = None,
        exclude_embeddings: bool = True,
        muon_a: float = 3.4445,
        muon_b: float = -4.7750,
        muon_c: float = 2.0315,
        adam_lr_ratio: float = 1.0,
        momentum: float = 0.95,
        ns_steps: int = 5,
        nesterov: bool = True,
        rms_rate: float | None = 0.2,
        **options: Unpack[CommonOptions],
    ) -> None:
        super().__init__(
            learning_rate, adam_beta_1, adam_beta_2, epsilon, weight_decay=weight_decay, **options
        )
        owner = type(self).__name__
        self.adam_weight_decay = optional_number(owner, "adam_weight_decay", adam_weight_decay, NOT_NEGATIVE)
        self.exclude_layers = [re.compile(pattern).pattern for pattern in exclude_layers or ()]
        self.exclude_embeddings = flag(owner, "exclude_embeddings", exclude_embeddings)
        self.muon_a = number(owner, "muon_a", muon_a, FINITE)
        self.muon_b = number(owner, "muon_b", muon_b, FINITE)
        self.muon_c = number(owner, "muon_c", muon_c, FINITE)
        self.adam_lr_ratio = number(owner, "adam_lr_ratio", adam_lr_ratio, NOT_NEGATIVE)
        self.momentum = number(owner, "momentum", momentum, UNIT)
        self.ns_steps = optional_whole_number(owner, "ns_steps", ns_steps) or 5
        self.nesterov = flag(owner, "nesterov", nesterov)
        self.rms_rate = optional_number(owner, "rms_rate", rms_rate, NOT_NEGATIVE)

    recorded_at_once = False
    """Which update a Variable gets depends on its name."""

    def _uses_adam(self, variable: Variable) -> bool:
        name = variable._label
        return (
            len(variable.aval.shape) != 2
            or (self.exclude_embeddings and "embedding" in name.lower())
            or any(re.search(pattern, name) for pattern in self.exclude_layers)
        )

    def build(self, variables: Sequence[Variable]) -> None:
        """Create the momentum of matrices, and the averages of Adam for all other Variables."""
        matrices = [variable for variable in variables if not self._uses_adam(variable)]
        self._register(variables)
        super().build([variable for variable in variables if self._uses_adam(variable)])
        self.add_optimizer_variables(matrices, "momentum")

    def weight_decay_of(self, variable: Variable) -> float | None:
        """Return the weight decay of matrices or of the Variables that Adam updates."""
        return self.adam_weight_decay if self._uses_adam(variable) else self.weight_decay

    def begin_step(self, learning_rate: Any) -> Any:
        """Return the step size of Adam."""
        return super().begin_step(multiply(learning_rate, self.adam_lr_ratio))

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Make one step of Muon, or of Adam."""
        if self._uses_adam(variable):
            super().update_step(gradient, variable, learning_rate)
            return
        momentum = self.state_of(variable, "momentum")
        coefficients = (self.muon_a, self.muon_b, self.muon_c)
        scale = 1.0 if self.rms_rate is None else self.rms_rate * max(variable.aval.shape) ** 0.5
        operands = (variable, gradient, momentum, learning_rate, self.momentum, scale, *coefficients)
        new_value, new_momentum = apply(_updated, operands, (self.nesterov, self.ns_steps))
        momentum.assign(new_momentum)
        variable.assign(new_value)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments as plain values."""
        config = super().get_config()
        config["adam_beta_1"], config["adam_beta_2"] = config.pop("beta_1"), config.pop("beta_2")
        del config["amsgrad"]
        return config | {
            "adam_weight_decay": self.adam_weight_decay,
            "exclude_layers": self.exclude_layers,
            "exclude_embeddings": self.exclude_embeddings,
            "muon_a": self.muon_a,
            "muon_b": self.muon_b,
            "muon_c": self.muon_c,
            "adam_lr_ratio": self.adam_lr_ratio,
            "momentum": self.momentum,
            "ns_steps": self.ns_steps,
            "nesterov": self.nesterov,
            "rms_rate": self.rms_rate,
        }


def _updated(
    w: Any,
    g: Any,
    m: Any,
    rate: Any,
    beta: Any,
    scale: Any,
    a: Any,
    b: Any,
    c: Any,
    nesterov: bool,
    steps: int,
) -> tuple[Any, Any]:
    m = add(multiply(beta, m), g)
    step = _orthogonalized(add(g, multiply(beta, m)) if nesterov else m, a, b, c, steps)
    return subtract(cast_to(w, g.dtype), multiply(multiply(cast_to(rate, g.dtype), scale), step)), m


def _orthogonalized(x: Any, a: Any, b: Any, c: Any, steps: int) -> Any:
    """Return `x` with singular values near 1, by a quintic Newton-Schulz iteration."""
    tall = x.shape[0] > x.shape[1]
    x = matrix_transpose(x) if tall else x
    x = divide(x, add(reduce_euclidean_norm(x), _TINY))
    for _ in range(steps):
        gram = matmul(x, matrix_transpose(x))
        x = add(multiply(a, x), matmul(add(multiply(b, gram), multiply(c, matmul(gram, gram))), x))
    return matrix_transpose(x) if tall else x
