"""Losses and metrics compared with those of TensorFlow 2.21, recorded in `keras_loss_values.json`.

``python tests/keras_loss_rows.py`` runs the rows under TensorFlow and writes the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

VALUES = Path(__file__).with_name("keras_loss_values.json")

RNG = np.random.default_rng(0)
REAL = RNG.normal(size=(5, 4)), RNG.normal(size=(5, 4))
POSITIVE = np.abs(REAL[0]), np.abs(REAL[1])
BINARY = (RNG.integers(0, 2, (5, 4)).astype(float), RNG.uniform(0.05, 0.95, (5, 4)))
LOGITS = BINARY[0], REAL[1]
CLASSES = np.eye(4)[RNG.integers(0, 4, 5)], RNG.dirichlet(np.ones(4), 5)
CLASS_LOGITS = CLASSES[0], REAL[1]
NUMBERS = CLASSES[0].argmax(1), CLASSES[1]
NUMBER_LOGITS = NUMBERS[0], REAL[1]
WEIGHTS = np.array([1.0, 0.5, 2.0, 0.0, 1.5])
LABELS = RNG.integers(0, 2, 60), RNG.uniform(0, 1, 60).round(3)

EMBEDDINGS = (
    np.array([0, 1, 0, 1, 0]),
    np.stack([np.cos(np.arange(5) * 0.9), np.sin(np.arange(5) * 0.9)], 1),
)

LOSSES: dict[str, tuple[str, dict[str, Any], tuple[Any, Any]]] = {
    "squared": ("MeanSquaredError", {}, REAL),
    "squared, a column": ("MeanSquaredError", {}, (REAL[0][:, 0], REAL[1][:, :1])),
    "huber, a column of labels": ("Huber", {}, (REAL[0][:, :1], REAL[1][:, 0])),
    "binary, a column": ("BinaryCrossentropy", {}, (BINARY[0][:, 0], BINARY[1][:, :1])),
    "absolute": ("MeanAbsoluteError", {}, REAL),
    "percentage": ("MeanAbsolutePercentageError", {}, REAL),
    "logarithmic": ("MeanSquaredLogarithmicError", {}, POSITIVE),
    "log cosh": ("LogCosh", {}, REAL),
    "huber": ("Huber", {"delta": 0.7}, REAL),
    "cosine": ("CosineSimilarity", {}, REAL),
    "hinge": ("Hinge", {}, LOGITS),
    "hinge of signs": ("Hinge", {}, (2 * BINARY[0] - 1, REAL[1])),
    "squared hinge": ("SquaredHinge", {}, LOGITS),
    "categorical hinge": ("CategoricalHinge", {}, CLASS_LOGITS),
    "divergence": ("KLDivergence", {}, (RNG.dirichlet(np.ones(4), 5), CLASSES[1])),
    "poisson": ("Poisson", {}, POSITIVE),
    "binary": ("BinaryCrossentropy", {}, BINARY),
    "binary of logits": ("BinaryCrossentropy", {"from_logits": True, "label_smoothing": 0.2}, LOGITS),
    "binary focal": ("BinaryFocalCrossentropy", {"gamma": 1.5}, BINARY),
    "binary focal, balanced": (
        "BinaryFocalCrossentropy", {"apply_class_balancing": True, "from_logits": True}, LOGITS,
    ),
    "categorical": ("CategoricalCrossentropy", {}, CLASSES),
    "categorical of logits": ("CategoricalCrossentropy", {"from_logits": True, "label_smoothing": 0.1}, CLASS_LOGITS),
    "categorical focal": ("CategoricalFocalCrossentropy", {}, CLASSES),
    "sparse": ("SparseCategoricalCrossentropy", {}, NUMBERS),
    "sparse of logits": ("SparseCategoricalCrossentropy", {"from_logits": True}, NUMBER_LOGITS),
    "sparse, ignored": ("SparseCategoricalCrossentropy", {"from_logits": True, "ignore_class": 2}, NUMBER_LOGITS),
    "dice": ("Dice", {}, BINARY),
    "tversky": ("Tversky", {"alpha": 0.3, "beta": 0.7}, BINARY),
    "generalized": ("CategoricalGeneralizedCrossEntropy", {"q": 0.7}, NUMBERS),
    "circle": ("Circle", {"gamma": 8.0, "margin": 0.3}, EMBEDDINGS),
}  # fmt: skip

METRICS: dict[str, tuple[str, dict[str, Any], tuple[Any, Any]]] = {
    "accuracy": ("Accuracy", {}, (NUMBERS[0], np.array([0, 1, 2, 3, 1]))),
    "binary accuracy": ("BinaryAccuracy", {"threshold": 0.4}, BINARY),
    "categorical accuracy": ("CategoricalAccuracy", {}, CLASSES),
    "sparse accuracy": ("SparseCategoricalAccuracy", {}, NUMBERS),
    "top k": (
        "SparseTopKCategoricalAccuracy",
        {"k": 2, "dtype": "float32"},
        (NUMBERS[0], NUMBERS[1].astype("float32")),
    ),
    "squared": ("MeanSquaredError", {}, REAL),
    "squared, a column": ("MeanSquaredError", {}, (REAL[0][:, 0], REAL[1][:, :1])),
    "binary accuracy, a column": ("BinaryAccuracy", {}, (BINARY[0][:, 0], BINARY[1][:, :1])),
    "root": ("RootMeanSquaredError", {}, REAL),
    "absolute": ("MeanAbsoluteError", {}, REAL),
    "binary": ("BinaryCrossentropy", {"from_logits": True}, LOGITS),
    "sparse": ("SparseCategoricalCrossentropy", {}, NUMBERS),
    "precision": ("Precision", {}, LABELS),
    "recall": ("Recall", {"thresholds": [0.2, 0.7]}, LABELS),
    "true positives": ("TruePositives", {}, LABELS),
    "false positives": ("FalsePositives", {"thresholds": [0.2, 0.7]}, LABELS),
    "true negatives": ("TrueNegatives", {}, LABELS),
    "false negatives": ("FalseNegatives", {}, LABELS),
    "top k of one-hot rows": (
        "TopKCategoricalAccuracy",
        {"k": 2, "dtype": "float32"},
        (CLASSES[0].astype("float32"), CLASSES[1].astype("float32")),
    ),
    "auc": ("AUC", {}, LABELS),
    "auc, precision and recall": ("AUC", {"curve": "PR", "num_thresholds": 50}, LABELS),
    "auc, majoring": ("AUC", {"summation_method": "majoring", "thresholds": [0.7, 0.2, 0.5]}, LABELS),
    "auc, minoring": ("AUC", {"summation_method": "minoring", "curve": "PR"}, LABELS),
    "auc of labels": ("AUC", {"multi_label": True, "label_weights": [0.1, 0.2, 0.3, 0.4]}, BINARY),
    "auc, weighted labels": ("AUC", {"label_weights": [0.1, 0.2, 0.3, 0.4]}, BINARY),
    "auc of rows": ("AUC", {}, BINARY),
    "precision of the best": ("Precision", {"top_k": 2}, CLASSES),
    "recall of a class": ("Recall", {"class_id": 1, "thresholds": [0.1, 0.4]}, CLASSES),
    "recall of the best, a class": ("Recall", {"class_id": 3, "top_k": 1}, CLASSES),
    "sparse, ignored": ("SparseCategoricalCrossentropy", {"ignore_class": 2}, NUMBERS),
    "percentage": ("MeanAbsolutePercentageError", {}, REAL),
    "logarithmic": ("MeanSquaredLogarithmicError", {}, POSITIVE),
    "log cosh": ("LogCoshError", {}, REAL),
    "cosine": ("CosineSimilarity", {}, REAL),
    "cosine along an axis": ("CosineSimilarity", {"axis": 1}, (REAL[0][:, :, None], REAL[1][:, :, None])),
    "hinge": ("Hinge", {}, LOGITS),
    "squared hinge": ("SquaredHinge", {}, LOGITS),
    "categorical hinge": ("CategoricalHinge", {}, CLASS_LOGITS),
    "divergence": ("KLDivergence", {}, CLASSES),
    "poisson": ("Poisson", {}, POSITIVE),
    "categorical": ("CategoricalCrossentropy", {"label_smoothing": 0.1}, CLASSES),
    "determination": ("R2Score", {}, REAL),
    "determination, weighted": ("R2Score", {"class_aggregation": "variance_weighted_average"}, REAL),
    "determination of outputs": ("R2Score", {"class_aggregation": None}, REAL),
    "determination, adjusted": ("R2Score", {"num_regressors": 2, "dtype": "float32"}, REAL),
    "correlation": ("PearsonCorrelation", {}, REAL),
    "concordance": ("ConcordanceCorrelation", {}, REAL),
    "f1": ("F1Score", {}, CLASSES),
    "f1, threshold": ("F1Score", {"threshold": 0.5, "average": "weighted"}, BINARY),
    "f1, micro": ("F1Score", {"average": "micro", "threshold": 0.4}, BINARY),
    "f beta, macro": ("FBetaScore", {"average": "macro", "beta": 2.0}, CLASSES),
    "sensitivity": ("SensitivityAtSpecificity", {"specificity": 0.6}, LABELS),
    "specificity": ("SpecificityAtSensitivity", {"sensitivity": 0.6, "num_thresholds": 50}, LABELS),
    "precision at recall": ("PrecisionAtRecall", {"recall": 0.5, "num_thresholds": 1}, LABELS),
    "recall at precision": ("RecallAtPrecision", {"precision": 0.4, "class_id": 2}, BINARY),
    "overlap": (
        "IoU",
        {"num_classes": 4, "target_class_ids": [0, 3]},
        (NUMBERS[0], np.array([0, 1, 2, 3, 1])),
    ),
    "overlap, counted": (
        "MeanIoU",
        {"num_classes": 4, "dtype": None, "ignore_class": 1},
        (NUMBERS[0], np.where(np.arange(5) == 3, 7, NUMBERS[0])),
    ),
    "overlap, binary": ("BinaryIoU", {"threshold": 0.4}, (LABELS[0], LABELS[1])),
    "overlap, one-hot": ("OneHotIoU", {"num_classes": 4, "target_class_ids": [1, 2, 3]}, CLASSES),
    "overlap, one-hot, all": ("OneHotMeanIoU", {"num_classes": 4}, CLASSES),
    "top k, sorted": (
        "SparseTopKCategoricalAccuracy",
        {"k": 2, "from_sorted_ids": True},
        (NUMBERS[0], np.argsort(-NUMBERS[1], 1)),
    ),
}


def loss_values(tf: Any, row: tuple[str, dict[str, Any], tuple[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Return the loss by all reductions, weighted, and its gradient with respect to the predictions."""
    kind, options, (y_true, y_pred) = row
    make = getattr(tf.keras.losses, kind)
    found = [
        make(**options, reduction=r, dtype="float64")(y_true, y_pred)
        for r in ("sum_over_batch_size", "sum", "none")
    ]
    if kind not in ("Dice", "Tversky"):
        for reduction, weights in (
            ("sum_over_batch_size", WEIGHTS),
            ("mean_with_sample_weight", WEIGHTS),
            ("none", WEIGHTS[:, None]),
        ):
            loss = make(**options, reduction=reduction, dtype="float64")
            found.append(loss(y_true, y_pred, sample_weight=weights))
    x = tf.constant(y_pred)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = make(**options, dtype="float64")(y_true, x)
    return [np.asarray(f) for f in (*found, tape.gradient(loss, x))]


def metric_values(tf: Any, row: tuple[str, dict[str, Any], tuple[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Return the metric after one batch, after a second one with weights, and after a reset."""
    kind, options, (y_true, y_pred) = row
    metric = getattr(tf.keras.metrics, kind)(**{"dtype": "float64", **options})
    found = []
    for weights in (None, np.resize(WEIGHTS, len(y_true))):
        metric.update_state(y_true, y_pred, sample_weight=weights)
        found.append(np.asarray(metric.result()))
    metric.reset_state()
    return [*found, np.asarray(metric.result())]


if __name__ == "__main__":
    import tensorflow

    def digits(arrays: list[np.ndarray[Any, Any]]) -> list[list[float]]:
        return [[float(f"{x:.12g}") for x in np.ravel(array)] for array in arrays]

    recorded = {
        "tensorflow": tensorflow.__version__,
        "losses": {name: digits(loss_values(tensorflow, row)) for name, row in LOSSES.items()},
        "metrics": {name: digits(metric_values(tensorflow, row)) for name, row in METRICS.items()},
    }
    VALUES.write_text(json.dumps(recorded) + "\n", encoding="utf-8")
