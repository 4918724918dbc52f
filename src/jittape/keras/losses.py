"""``jt.keras.losses``: losses as functions and as objects that average over a batch."""

from __future__ import annotations

from typing import Any

from jittape.keras import loss_functions, probability_losses
from jittape.keras.difference_losses import (
    CategoricalHinge,
    CosineSimilarity,
    Hinge,
    Huber,
    KLDivergence,
    LogCosh,
    MeanAbsoluteError,
    MeanAbsolutePercentageError,
    MeanSquaredError,
    MeanSquaredLogarithmicError,
    Poisson,
    SquaredHinge,
)
from jittape.keras.label_losses import (
    CategoricalGeneralizedCrossEntropy,
    Circle,
    categorical_generalized_cross_entropy,
    circle,
)
from jittape.keras.loss_base import FunctionLoss, Loss
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
from jittape.keras.probability_losses import (
    binary_crossentropy,
    binary_focal_crossentropy,
    categorical_crossentropy,
    categorical_focal_crossentropy,
    dice,
    sparse_categorical_crossentropy,
    tversky,
)
from jittape.keras.saving.named_objects import deserializer
from jittape.keras.saving.object_configs import identified
from jittape.keras.saving.object_configs import serialize_keras_object as serialize
from jittape.keras.saving.registered_objects import BUILTIN_FUNCTIONS
from jittape.keras.true_and_predicted import as_tensor
from jittape.lazy_names import lazily as _lazily
from jittape.primitives.elementwise.comparison import not_equal

__all__ = [
    "KLD", "MAE", "MAPE", "MSE", "MSLE", "BinaryCrossentropy", "BinaryFocalCrossentropy",
    "CategoricalCrossentropy", "CategoricalFocalCrossentropy", "CategoricalGeneralizedCrossEntropy",
    "CategoricalHinge", "Circle", "CosineSimilarity", "Dice", "Hinge", "Huber", "KLDivergence", "LogCosh", "Loss",
    "MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanSquaredError", "MeanSquaredLogarithmicError",
    "Poisson", "SparseCategoricalCrossentropy", "SquaredHinge", "Tversky", "binary_crossentropy",
    "binary_focal_crossentropy", "categorical_crossentropy", "categorical_focal_crossentropy",
    "categorical_generalized_cross_entropy", "categorical_hinge", "circle", "cosine_similarity", "deserialize",
    "dice", "get", "hinge", "huber", "kl_divergence", "kld", "kullback_leibler_divergence", "log_cosh", "logcosh",
    "mae", "mape", "mean_absolute_error", "mean_absolute_percentage_error", "mean_squared_error",
    "mean_squared_logarithmic_error", "mse", "msle", "poisson", "serialize", "sparse_categorical_crossentropy",
    "squared_hinge", "tversky",
]  # fmt: skip


class BinaryCrossentropy(FunctionLoss):
    """The reduced `binary_crossentropy`, with its arguments.

    Parameters
    ----------
    from_logits : bool
        `y_pred` contains scores instead of probabilities.
    label_smoothing : float
        Fraction by which labels move toward equal probabilities.
    axis : int
        The dimension of the classes.
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.BinaryCrossentropy(from_logits=True)
    >>> loss([[0.0], [1.0]], [[0.0], [0.0]]).numpy().item()
    0.6931471824645996
    """

    function = staticmethod(binary_crossentropy)

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            reduction, name, dtype, from_logits=from_logits, label_smoothing=label_smoothing, axis=axis
        )


class BinaryFocalCrossentropy(FunctionLoss):
    """The reduced `binary_focal_crossentropy`, with its arguments.

    Parameters
    ----------
    apply_class_balancing : bool
        Weight class 1 with `alpha` and class 0 with ``1 - alpha``.
    alpha, gamma : float
        Weight, and exponent of ``1 - p``, where p is the probability of the true class.
    from_logits : bool
        `y_pred` contains scores instead of probabilities.
    label_smoothing : float
        Fraction by which labels move toward equal probabilities.
    axis : int
        The dimension of the classes.
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.BinaryFocalCrossentropy()
    >>> float(loss([[1.0]], [[0.9]]).numpy().round(6))
    0.001053999993018806
    """

    function = staticmethod(binary_focal_crossentropy)

    def __init__(
        self,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            reduction,
            name,
            dtype,
            apply_class_balancing=apply_class_balancing,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class CategoricalCrossentropy(FunctionLoss):
    """The reduced `categorical_crossentropy`, with its arguments.

    Parameters
    ----------
    from_logits : bool
        `y_pred` contains scores instead of probabilities.
    label_smoothing : float
        Fraction by which labels move toward equal probabilities.
    axis : int
        The dimension of the classes.
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.CategoricalCrossentropy()
    >>> float(loss([[0.0, 1.0]], [[0.5, 0.5]]).numpy().round(4))
    0.6930999755859375
    """

    function = staticmethod(categorical_crossentropy)

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            reduction, name, dtype, from_logits=from_logits, label_smoothing=label_smoothing, axis=axis
        )


class CategoricalFocalCrossentropy(FunctionLoss):
    """The reduced `categorical_focal_crossentropy`, with its arguments.

    Parameters
    ----------
    alpha, gamma : float
        Weight, and exponent of ``1 - p``, where p is the probability of the true class.
    from_logits : bool
        `y_pred` contains scores instead of probabilities.
    label_smoothing : float
        Fraction by which labels move toward equal probabilities.
    axis : int
        The dimension of the classes.
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.CategoricalFocalCrossentropy()
    >>> float(loss([[0.0, 1.0]], [[0.1, 0.9]]).numpy().round(6))
    0.0002629999944474548
    """

    function = staticmethod(categorical_focal_crossentropy)

    def __init__(
        self,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            reduction,
            name,
            dtype,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class SparseCategoricalCrossentropy(FunctionLoss):
    """The reduced `sparse_categorical_crossentropy`, with its arguments.

    Parameters
    ----------
    from_logits : bool
        `y_pred` contains scores instead of probabilities.
    ignore_class : int, optional
        Class whose examples do not count.
    axis : int
        The dimension of the classes.
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    >>> loss([1, 0], [[0.0, 0.0], [0.0, 0.0]]).numpy().item()
    0.6931471824645996
    """

    function = staticmethod(sparse_categorical_crossentropy)

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        axis: int = -1,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            reduction, name, dtype, from_logits=from_logits, ignore_class=ignore_class, axis=axis
        )

    def counted(self, y_true: Any, losses: Any) -> Any:
        """Return which examples are not of `ignore_class`."""
        ignored = self._arguments["ignore_class"]
        return None if ignored is None else not_equal(as_tensor(y_true), ignored)


class Dice(FunctionLoss):
    """The reduced `dice`, with its arguments.

    Parameters
    ----------
    axis : int or sequence of int, optional
        The dimensions to sum over; all of them by default.
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.Dice()
    >>> float(loss([[0.0, 1.0]], [[0.0, 0.5]]).numpy().round(4))
    0.33329999446868896
    """

    function = staticmethod(dice)

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        axis: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction, name, dtype, axis=axis)


class Tversky(FunctionLoss):
    """The reduced `tversky`, with its arguments.

    Parameters
    ----------
    alpha, beta : float
        Weights of wrong and of missed labels.
    axis : int or sequence of int, optional
        The dimensions to sum over; all of them by default.
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.Tversky()
    >>> float(loss([[0.0, 1.0]], [[0.0, 0.5]]).numpy().round(4))
    0.33329999446868896
    """

    function = staticmethod(tversky)

    def __init__(
        self,
        alpha: float = 0.5,
        beta: float = 0.5,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        axis: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction, name, dtype, alpha=alpha, beta=beta, axis=axis)


_ALIASES = {
    "mse": "mean_squared_error",
    "mae": "mean_absolute_error",
    "mape": "mean_absolute_percentage_error",
    "msle": "mean_squared_logarithmic_error",
    "bce": "binary_crossentropy",
    "logcosh": "log_cosh",
    "kld": "kl_divergence",
}


_FUNCTIONS = sorted([*loss_functions.__all__, *probability_losses.__all__])


def get(identifier: Any) -> Any:
    """Return the loss with this name: a function such as ``"mse"``, or an object such as ``"MeanSquaredError"``.

    A callable is returned as it is.

    Parameters
    ----------
    identifier : str or callable
        Name of a loss, or a function.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> jt.keras.losses.get("mse")([1.0], [3.0]).numpy().item()
    4.0
    """
    identifier = identified(identifier)
    if callable(identifier):
        return identifier
    if isinstance(identifier, str):
        name = _ALIASES.get(identifier.lower(), identifier)
        if name in _FUNCTIONS:
            return globals()[name]
        found = globals().get(name) if name in __all__ else None
        if isinstance(found, type) and issubclass(found, FunctionLoss):
            return found()
    raise ValueError(
        f"there is no loss {identifier!r}; there are {', '.join(_FUNCTIONS)}, or give a function"
    )


KLD = kl_divergence
MAE = mean_absolute_error
MAPE = mean_absolute_percentage_error
MSE = mean_squared_error
MSLE = mean_squared_logarithmic_error
kld = kl_divergence
kullback_leibler_divergence = kl_divergence
logcosh = log_cosh
mae = mean_absolute_error
mape = mean_absolute_percentage_error
mse = mean_squared_error
msle = mean_squared_logarithmic_error

BUILTIN_FUNCTIONS |= {name: globals()[name] for name in _FUNCTIONS}

deserialize = deserializer(get)


__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
