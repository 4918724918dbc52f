"""Losses as objects that compare numbers: differences, hinges, divergences; under the names of ``tf.keras.losses``."""

from __future__ import annotations

from typing import Any

from jittape.core.argument_checks import POSITIVE, number
from jittape.keras.loss_base import FunctionLoss
from jittape.keras.loss_functions import (
    categorical_hinge,
    cosine_similarity,
    hinge,
    huber,
    kl_divergence,
    log_cosh,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
    poisson,
    squared_hinge,
)

__all__ = [
    "CategoricalHinge",
    "CosineSimilarity",
    "Hinge",
    "Huber",
    "KLDivergence",
    "LogCosh",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanSquaredError",
    "MeanSquaredLogarithmicError",
    "Poisson",
    "SquaredHinge",
]


class MeanSquaredError(FunctionLoss):
    """The reduced `mean_squared_error`.

    Parameters
    ----------
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> jt.keras.losses.MeanSquaredError()([[0.0], [1.0]], [[1.0], [3.0]]).numpy().item()
    2.5
    """

    function = staticmethod(mean_squared_error)


class MeanAbsoluteError(FunctionLoss):
    """The reduced `mean_absolute_error`.

    Parameters
    ----------
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.MeanAbsoluteError()
    >>> float(loss([[1.0, 0.0]], [[0.5, 0.5]]).numpy().round(4))
    0.5
    """

    function = staticmethod(mean_absolute_error)


class MeanAbsolutePercentageError(FunctionLoss):
    """The reduced `mean_absolute_percentage_error`.

    Parameters
    ----------
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.MeanAbsolutePercentageError()
    >>> float(loss([[1.0, 0.0]], [[0.5, 0.5]]).numpy().round(4))
    250000016.0
    """

    function = staticmethod(mean_absolute_percentage_error)


class MeanSquaredLogarithmicError(FunctionLoss):
    """The reduced `mean_squared_logarithmic_error`.

    Parameters
    ----------
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.MeanSquaredLogarithmicError()
    >>> float(loss([[1.0, 0.0]], [[0.5, 0.5]]).numpy().round(4))
    0.12359999865293503
    """

    function = staticmethod(mean_squared_logarithmic_error)


class LogCosh(FunctionLoss):
    """The reduced `log_cosh`.

    Parameters
    ----------
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.LogCosh()
    >>> float(loss([[1.0, 0.0]], [[0.5, 0.5]]).numpy().round(4))
    0.1200999990105629
    """

    function = staticmethod(log_cosh)


class Hinge(FunctionLoss):
    """The reduced `hinge`.

    Parameters
    ----------
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.Hinge()
    >>> float(loss([[1.0, 0.0]], [[0.5, 0.5]]).numpy().round(4))
    1.0
    """

    function = staticmethod(hinge)


class SquaredHinge(FunctionLoss):
    """The reduced `squared_hinge`.

    Parameters
    ----------
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.SquaredHinge()
    >>> float(loss([[1.0, 0.0]], [[0.5, 0.5]]).numpy().round(4))
    1.25
    """

    function = staticmethod(squared_hinge)


class CategoricalHinge(FunctionLoss):
    """The reduced `categorical_hinge`.

    Parameters
    ----------
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.CategoricalHinge()
    >>> float(loss([[1.0, 0.0]], [[0.5, 0.5]]).numpy().round(4))
    1.0
    """

    function = staticmethod(categorical_hinge)


class KLDivergence(FunctionLoss):
    """The reduced `kl_divergence`.

    Parameters
    ----------
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.KLDivergence()
    >>> float(loss([[1.0, 0.0]], [[0.5, 0.5]]).numpy().round(4))
    0.6930999755859375
    """

    function = staticmethod(kl_divergence)


class Poisson(FunctionLoss):
    """The reduced `poisson`.

    Parameters
    ----------
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.Poisson()
    >>> float(loss([[1.0, 0.0]], [[0.5, 0.5]]).numpy().round(4))
    0.8465999960899353
    """

    function = staticmethod(poisson)


class Huber(FunctionLoss):
    """The reduced `huber`, with its arguments.

    Parameters
    ----------
    delta : float
        Difference at which the loss becomes linear, in the units of the values.
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.Huber()
    >>> float(loss([[1.0, 0.0]], [[0.5, 0.5]]).numpy().round(4))
    0.125
    """

    function = staticmethod(huber)

    def __init__(
        self,
        delta: float = 1.0,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "huber_loss",
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction, name, dtype, delta=number("Huber", "delta", delta, POSITIVE))


class CosineSimilarity(FunctionLoss):
    """The reduced `cosine_similarity`, with its arguments.

    Parameters
    ----------
    axis : int
        The dimension of the vectors.
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.CosineSimilarity()
    >>> float(loss([[1.0, 0.0]], [[0.5, 0.5]]).numpy().round(4))
    -0.707099974155426
    """

    function = staticmethod(cosine_similarity)

    def __init__(
        self,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction, name, dtype, axis=axis)
