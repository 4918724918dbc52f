"""``jt.keras.losses``: losses as functions and as objects that average over a batch."""

from __future__ import annotations

from typing import Any

from jittape.keras import loss_functions
from jittape.keras.label_losses import (
    CategoricalGeneralizedCrossEntropy,
    Circle,
    categorical_generalized_cross_entropy,
    circle,
)
from jittape.keras.loss_base import FunctionLoss, Loss
from jittape.keras.loss_functions import (
    binary_crossentropy,
    binary_focal_crossentropy,
    categorical_crossentropy,
    categorical_focal_crossentropy,
    categorical_hinge,
    cosine_similarity,
    dice,
    hinge,
    huber,
    kl_divergence,
    log_cosh,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
    poisson,
    sparse_categorical_crossentropy,
    squared_hinge,
    tversky,
)
from jittape.keras.true_and_predicted import as_tensor
from jittape.lazy_names import lazily as _lazily
from jittape.primitives.elementwise.comparison import not_equal

__all__ = [
    "KLD", "MAE", "MAPE", "MSE", "MSLE", "BinaryCrossentropy", "BinaryFocalCrossentropy",
    "CategoricalCrossentropy", "CategoricalFocalCrossentropy", "CategoricalGeneralizedCrossEntropy",
    "CategoricalHinge", "Circle", "CosineSimilarity", "Dice", "Hinge", "Huber", "KLDivergence", "LogCosh",
    "Loss", "MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanSquaredError",
    "MeanSquaredLogarithmicError", "Poisson", "SparseCategoricalCrossentropy", "SquaredHinge", "Tversky",
    "binary_crossentropy", "binary_focal_crossentropy", "categorical_crossentropy",
    "categorical_focal_crossentropy", "categorical_generalized_cross_entropy", "categorical_hinge", "circle",
    "cosine_similarity", "dice", "get", "hinge", "huber", "kl_divergence", "kld", "kullback_leibler_divergence",
    "log_cosh", "logcosh", "mae", "mape", "mean_absolute_error", "mean_absolute_percentage_error",
    "mean_squared_error", "mean_squared_logarithmic_error", "mse", "msle", "poisson",
    "sparse_categorical_crossentropy", "squared_hinge", "tversky",
]  # fmt: skip


class MeanSquaredError(FunctionLoss):
    """The reduced `mean_squared_error`.

    Examples
    --------
    >>> jt.keras.losses.MeanSquaredError()([[0.0], [1.0]], [[1.0], [3.0]]).numpy().item()
    2.5
    """

    function = staticmethod(mean_squared_error)


class MeanAbsoluteError(FunctionLoss):
    """The reduced `mean_absolute_error`."""

    function = staticmethod(mean_absolute_error)


class MeanAbsolutePercentageError(FunctionLoss):
    """The reduced `mean_absolute_percentage_error`."""

    function = staticmethod(mean_absolute_percentage_error)


class MeanSquaredLogarithmicError(FunctionLoss):
    """The reduced `mean_squared_logarithmic_error`."""

    function = staticmethod(mean_squared_logarithmic_error)


class LogCosh(FunctionLoss):
    """The reduced `log_cosh`."""

    function = staticmethod(log_cosh)


class Hinge(FunctionLoss):
    """The reduced `hinge`."""

    function = staticmethod(hinge)


class SquaredHinge(FunctionLoss):
    """The reduced `squared_hinge`."""

    function = staticmethod(squared_hinge)


class CategoricalHinge(FunctionLoss):
    """The reduced `categorical_hinge`."""

    function = staticmethod(categorical_hinge)


class KLDivergence(FunctionLoss):
    """The reduced `kl_divergence`."""

    function = staticmethod(kl_divergence)


class Poisson(FunctionLoss):
    """The reduced `poisson`."""

    function = staticmethod(poisson)


class Huber(FunctionLoss):
    """The reduced `huber`, with its arguments."""

    function = staticmethod(huber)

    def __init__(
        self,
        delta: float = 1.0,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            reduction,
            name,
            dtype,
            delta=delta,
        )


class CosineSimilarity(FunctionLoss):
    """The reduced `cosine_similarity`, with its arguments."""

    function = staticmethod(cosine_similarity)

    def __init__(
        self,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            reduction,
            name,
            dtype,
            axis=axis,
        )


class BinaryCrossentropy(FunctionLoss):
    """The reduced `binary_crossentropy`, with its arguments.

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
            reduction,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class BinaryFocalCrossentropy(FunctionLoss):
    """The reduced `binary_focal_crossentropy`, with its arguments."""

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
    """The reduced `categorical_crossentropy`, with its arguments."""

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
            reduction,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class CategoricalFocalCrossentropy(FunctionLoss):
    """The reduced `categorical_focal_crossentropy`, with its arguments."""

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
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            reduction,
            name,
            dtype,
            from_logits=from_logits,
            ignore_class=ignore_class,
            axis=axis,
        )

    def counted(self, y_true: Any, losses: Any) -> Any:
        """Return which examples are not of `ignore_class`."""
        ignored = self._arguments["ignore_class"]
        return None if ignored is None else not_equal(as_tensor(y_true), ignored)


class Dice(FunctionLoss):
    """The reduced `dice`, with its arguments."""

    function = staticmethod(dice)

    def __init__(
        self,
        axis: Any = None,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            reduction,
            name,
            dtype,
            axis=axis,
        )


class Tversky(FunctionLoss):
    """The reduced `tversky`, with its arguments."""

    function = staticmethod(tversky)

    def __init__(
        self,
        alpha: float = 0.5,
        beta: float = 0.5,
        axis: Any = None,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            reduction,
            name,
            dtype,
            alpha=alpha,
            beta=beta,
            axis=axis,
        )


_ALIASES = {
    "mse": "mean_squared_error",
    "mae": "mean_absolute_error",
    "mape": "mean_absolute_percentage_error",
    "msle": "mean_squared_logarithmic_error",
    "bce": "binary_crossentropy",
    "logcosh": "log_cosh",
    "kld": "kl_divergence",
}


def get(identifier: Any) -> Any:
    """Return the loss with this name: a function such as ``"mse"``, or an object such as ``"MeanSquaredError"``.

    A callable is returned as it is.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> jt.keras.losses.get("mse")([1.0], [3.0]).numpy().item()
    4.0
    """
    if callable(identifier):
        return identifier
    if isinstance(identifier, str):
        name = _ALIASES.get(identifier.lower(), identifier)
        if name in loss_functions.__all__:
            return getattr(loss_functions, name)
        found = globals().get(name) if name in __all__ else None
        if isinstance(found, type) and issubclass(found, FunctionLoss):
            return found()
    raise ValueError(
        f"there is no loss {identifier!r}; there are {', '.join(loss_functions.__all__)}, or give a function"
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


__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
