"""``jt.keras.metrics``: sums over the batches of an epoch.

The sums are Variables, so a metric that is updated inside a `jt.function` is part of its compiled step.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.lazy_names import lazily as _lazily

if _TYPE_CHECKING:
    from jittape.keras.losses import KLD as KLD
    from jittape.keras.losses import MAE as MAE
    from jittape.keras.losses import MAPE as MAPE
    from jittape.keras.losses import MSE as MSE
    from jittape.keras.losses import MSLE as MSLE
    from jittape.keras.losses import binary_crossentropy as binary_crossentropy
    from jittape.keras.losses import binary_focal_crossentropy as binary_focal_crossentropy
    from jittape.keras.losses import categorical_crossentropy as categorical_crossentropy
    from jittape.keras.losses import categorical_focal_crossentropy as categorical_focal_crossentropy
    from jittape.keras.losses import categorical_hinge as categorical_hinge
    from jittape.keras.losses import hinge as hinge
    from jittape.keras.losses import huber as huber
    from jittape.keras.losses import kl_divergence as kl_divergence
    from jittape.keras.losses import kld as kld
    from jittape.keras.losses import kullback_leibler_divergence as kullback_leibler_divergence
    from jittape.keras.losses import log_cosh as logcosh
    from jittape.keras.losses import mae as mae
    from jittape.keras.losses import mape as mape
    from jittape.keras.losses import mean_absolute_error as mean_absolute_error
    from jittape.keras.losses import mean_absolute_percentage_error as mean_absolute_percentage_error
    from jittape.keras.losses import mean_squared_error as mean_squared_error
    from jittape.keras.losses import mean_squared_logarithmic_error as mean_squared_logarithmic_error
    from jittape.keras.losses import mse as mse
    from jittape.keras.losses import msle as msle
    from jittape.keras.losses import poisson as poisson
    from jittape.keras.losses import sparse_categorical_crossentropy as sparse_categorical_crossentropy
    from jittape.keras.losses import squared_hinge as squared_hinge
    from jittape.keras.metrics.accuracy_metrics import Accuracy as Accuracy
    from jittape.keras.metrics.accuracy_metrics import BinaryAccuracy as BinaryAccuracy
    from jittape.keras.metrics.accuracy_metrics import CategoricalAccuracy as CategoricalAccuracy
    from jittape.keras.metrics.accuracy_metrics import SparseCategoricalAccuracy as SparseCategoricalAccuracy
    from jittape.keras.metrics.accuracy_metrics import (
        SparseTopKCategoricalAccuracy as SparseTopKCategoricalAccuracy,
    )
    from jittape.keras.metrics.accuracy_metrics import TopKCategoricalAccuracy as TopKCategoricalAccuracy
    from jittape.keras.metrics.accuracy_metrics import binary_accuracy as binary_accuracy
    from jittape.keras.metrics.accuracy_metrics import categorical_accuracy as categorical_accuracy
    from jittape.keras.metrics.accuracy_metrics import (
        sparse_categorical_accuracy as sparse_categorical_accuracy,
    )
    from jittape.keras.metrics.accuracy_metrics import (
        sparse_top_k_categorical_accuracy as sparse_top_k_categorical_accuracy,
    )
    from jittape.keras.metrics.accuracy_metrics import (
        top_k_categorical_accuracy as top_k_categorical_accuracy,
    )
    from jittape.keras.metrics.confusion_metrics import FalseNegatives as FalseNegatives
    from jittape.keras.metrics.confusion_metrics import FalsePositives as FalsePositives
    from jittape.keras.metrics.confusion_metrics import Precision as Precision
    from jittape.keras.metrics.confusion_metrics import Recall as Recall
    from jittape.keras.metrics.confusion_metrics import TrueNegatives as TrueNegatives
    from jittape.keras.metrics.confusion_metrics import TruePositives as TruePositives
    from jittape.keras.metrics.curve_metrics import AUC as AUC
    from jittape.keras.metrics.f_scores import F1Score as F1Score
    from jittape.keras.metrics.f_scores import FBetaScore as FBetaScore
    from jittape.keras.metrics.loss_metrics import BinaryCrossentropy as BinaryCrossentropy
    from jittape.keras.metrics.loss_metrics import CategoricalCrossentropy as CategoricalCrossentropy
    from jittape.keras.metrics.loss_metrics import CategoricalHinge as CategoricalHinge
    from jittape.keras.metrics.loss_metrics import CosineSimilarity as CosineSimilarity
    from jittape.keras.metrics.loss_metrics import Hinge as Hinge
    from jittape.keras.metrics.loss_metrics import KLDivergence as KLDivergence
    from jittape.keras.metrics.loss_metrics import LogCoshError as LogCoshError
    from jittape.keras.metrics.loss_metrics import MeanAbsoluteError as MeanAbsoluteError
    from jittape.keras.metrics.loss_metrics import MeanAbsolutePercentageError as MeanAbsolutePercentageError
    from jittape.keras.metrics.loss_metrics import MeanSquaredError as MeanSquaredError
    from jittape.keras.metrics.loss_metrics import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
    from jittape.keras.metrics.loss_metrics import Poisson as Poisson
    from jittape.keras.metrics.loss_metrics import RootMeanSquaredError as RootMeanSquaredError
    from jittape.keras.metrics.loss_metrics import (
        SparseCategoricalCrossentropy as SparseCategoricalCrossentropy,
    )
    from jittape.keras.metrics.loss_metrics import SquaredHinge as SquaredHinge
    from jittape.keras.metrics.metric_base import Mean as Mean
    from jittape.keras.metrics.metric_base import MeanMetricWrapper as MeanMetricWrapper
    from jittape.keras.metrics.metric_base import Metric as Metric
    from jittape.keras.metrics.metric_base import Sum as Sum
    from jittape.keras.metrics.metric_registry import deserialize as deserialize
    from jittape.keras.metrics.metric_registry import get as get
    from jittape.keras.metrics.operating_points import PrecisionAtRecall as PrecisionAtRecall
    from jittape.keras.metrics.operating_points import RecallAtPrecision as RecallAtPrecision
    from jittape.keras.metrics.operating_points import SensitivityAtSpecificity as SensitivityAtSpecificity
    from jittape.keras.metrics.operating_points import SpecificityAtSensitivity as SpecificityAtSensitivity
    from jittape.keras.metrics.overlap_metrics import BinaryIoU as BinaryIoU
    from jittape.keras.metrics.overlap_metrics import IoU as IoU
    from jittape.keras.metrics.overlap_metrics import MeanIoU as MeanIoU
    from jittape.keras.metrics.overlap_metrics import OneHotIoU as OneHotIoU
    from jittape.keras.metrics.overlap_metrics import OneHotMeanIoU as OneHotMeanIoU
    from jittape.keras.metrics.regression_metrics import ConcordanceCorrelation as ConcordanceCorrelation
    from jittape.keras.metrics.regression_metrics import PearsonCorrelation as PearsonCorrelation
    from jittape.keras.metrics.regression_metrics import R2Score as R2Score
    from jittape.keras.metrics.regression_metrics import concordance_correlation as concordance_correlation
    from jittape.keras.metrics.regression_metrics import pearson_correlation as pearson_correlation
    from jittape.keras.saving.object_configs import serialize_keras_object as serialize

__all__ = [
    "AUC",
    "KLD",
    "MAE",
    "MAPE",
    "MSE",
    "MSLE",
    "Accuracy",
    "BinaryAccuracy",
    "BinaryCrossentropy",
    "BinaryIoU",
    "CategoricalAccuracy",
    "CategoricalCrossentropy",
    "CategoricalHinge",
    "ConcordanceCorrelation",
    "CosineSimilarity",
    "F1Score",
    "FBetaScore",
    "FalseNegatives",
    "FalsePositives",
    "Hinge",
    "IoU",
    "KLDivergence",
    "LogCoshError",
    "Mean",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanIoU",
    "MeanMetricWrapper",
    "MeanSquaredError",
    "MeanSquaredLogarithmicError",
    "Metric",
    "OneHotIoU",
    "OneHotMeanIoU",
    "PearsonCorrelation",
    "Poisson",
    "Precision",
    "PrecisionAtRecall",
    "R2Score",
    "Recall",
    "RecallAtPrecision",
    "RootMeanSquaredError",
    "SensitivityAtSpecificity",
    "SparseCategoricalAccuracy",
    "SparseCategoricalCrossentropy",
    "SparseTopKCategoricalAccuracy",
    "SpecificityAtSensitivity",
    "SquaredHinge",
    "Sum",
    "TopKCategoricalAccuracy",
    "TrueNegatives",
    "TruePositives",
    "binary_accuracy",
    "binary_crossentropy",
    "binary_focal_crossentropy",
    "categorical_accuracy",
    "categorical_crossentropy",
    "categorical_focal_crossentropy",
    "categorical_hinge",
    "concordance_correlation",
    "deserialize",
    "get",
    "hinge",
    "huber",
    "kl_divergence",
    "kld",
    "kullback_leibler_divergence",
    "logcosh",
    "mae",
    "mape",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_error",
    "mean_squared_logarithmic_error",
    "mse",
    "msle",
    "pearson_correlation",
    "poisson",
    "serialize",
    "sparse_categorical_accuracy",
    "sparse_categorical_crossentropy",
    "sparse_top_k_categorical_accuracy",
    "squared_hinge",
    "top_k_categorical_accuracy",
]  # fmt: skip

__getattr__ = _lazily(
    __name__,
    {
        "jittape.keras.losses": {
            "KLD": "KLD", "MAE": "MAE", "MAPE": "MAPE", "MSE": "MSE", "MSLE": "MSLE",
            "binary_crossentropy": "binary_crossentropy",
            "binary_focal_crossentropy": "binary_focal_crossentropy",
            "categorical_crossentropy": "categorical_crossentropy",
            "categorical_focal_crossentropy": "categorical_focal_crossentropy",
            "categorical_hinge": "categorical_hinge", "hinge": "hinge", "huber": "huber",
            "kl_divergence": "kl_divergence", "kld": "kld",
            "kullback_leibler_divergence": "kullback_leibler_divergence", "logcosh": "log_cosh", "mae": "mae",
            "mape": "mape", "mean_absolute_error": "mean_absolute_error",
            "mean_absolute_percentage_error": "mean_absolute_percentage_error",
            "mean_squared_error": "mean_squared_error",
            "mean_squared_logarithmic_error": "mean_squared_logarithmic_error", "mse": "mse", "msle": "msle",
            "poisson": "poisson", "sparse_categorical_crossentropy": "sparse_categorical_crossentropy",
            "squared_hinge": "squared_hinge",
        },
        "jittape.keras.metrics.accuracy_metrics": (
            "Accuracy", "BinaryAccuracy", "CategoricalAccuracy", "SparseCategoricalAccuracy",
            "SparseTopKCategoricalAccuracy", "TopKCategoricalAccuracy", "binary_accuracy",
            "categorical_accuracy", "sparse_categorical_accuracy", "sparse_top_k_categorical_accuracy",
            "top_k_categorical_accuracy",
        ),
        "jittape.keras.metrics.confusion_metrics": (
            "FalseNegatives", "FalsePositives", "Precision", "Recall", "TrueNegatives", "TruePositives",
        ),
        "jittape.keras.metrics.curve_metrics": ("AUC",),
        "jittape.keras.metrics.f_scores": ("F1Score", "FBetaScore"),
        "jittape.keras.metrics.loss_metrics": (
            "BinaryCrossentropy", "CategoricalCrossentropy", "CategoricalHinge", "CosineSimilarity", "Hinge",
            "KLDivergence", "LogCoshError", "MeanAbsoluteError", "MeanAbsolutePercentageError",
            "MeanSquaredError", "MeanSquaredLogarithmicError", "Poisson", "RootMeanSquaredError",
            "SparseCategoricalCrossentropy", "SquaredHinge",
        ),
        "jittape.keras.metrics.metric_base": ("Mean", "MeanMetricWrapper", "Metric", "Sum"),
        "jittape.keras.metrics.metric_registry": ("deserialize", "get"),
        "jittape.keras.metrics.operating_points": (
            "PrecisionAtRecall", "RecallAtPrecision", "SensitivityAtSpecificity", "SpecificityAtSensitivity",
        ),
        "jittape.keras.metrics.overlap_metrics": (
            "BinaryIoU", "IoU", "MeanIoU", "OneHotIoU", "OneHotMeanIoU",
        ),
        "jittape.keras.metrics.regression_metrics": (
            "ConcordanceCorrelation", "PearsonCorrelation", "R2Score", "concordance_correlation",
            "pearson_correlation",
        ),
        "jittape.keras.saving.object_configs": {"serialize": "serialize_keras_object"},
    },
)  # fmt: skip


def __dir__() -> list[str]:
    return __all__
