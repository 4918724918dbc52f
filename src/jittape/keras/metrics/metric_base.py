"""`Metric`, and the metrics that are weighted sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from jittape.core.config import config
from jittape.core.dtypes import as_dtype
from jittape.core.name_scopes import default_name
from jittape.execution import init_scope
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, with_foreign_names
from jittape.keras import initializers
from jittape.keras.saving.object_configs import is_builtin, serialize_keras_object
from jittape.keras.saving.serializable import Serializable
from jittape.keras.tensor_masks import as_mask, mask_of, weights_with_mask
from jittape.keras.true_and_predicted import as_tensor
from jittape.module import Module, snake_case
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.elementwise.comparison import where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide_no_nan
from jittape.primitives.reduce.reductions import reduce_mean, reduce_sum
from jittape.primitives.shape.reshaping import broadcast_to, squeeze
from jittape.recording.convert import constant
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = ["Mean", "MeanMetricWrapper", "Metric", "Sum"]


_NUMBERED = frozenset(
    (
        "Metric", "Counts", "AUC", "IoU", "BinaryIoU", "MeanIoU", "OneHotIoU", "OneHotMeanIoU", "MeanMetricWrapper",
        "FalseNegatives", "FalsePositives", "TrueNegatives", "TruePositives", "Precision", "Recall",
        "PrecisionAtRecall", "RecallAtPrecision", "SensitivityAtSpecificity", "SpecificityAtSensitivity",
    )
)  # fmt: skip
"""Classes whose objects get numbered names in Keras, as do those of classes that inherit from them."""


def _default_name(kind: type) -> str:
    """Return the name of a new metric that was given none: ``mean``, but ``auc`` and then ``auc_1``."""
    home = next(base for base in kind.__mro__ if is_builtin(base))
    return default_name(kind) if home.__name__ in _NUMBERED else snake_case(home.__name__)


@with_foreign_names(ATTRIBUTES_LEFT_OUT["keras.metrics.Metric"])
class Metric(Serializable, Module):
    """Base class of metrics.

    A subclass creates its sums with `add_weight` and defines `update_state` and `result`.

    Parameters
    ----------
    dtype : dtype, optional
        `jt.config.default_float` if not given.
    name : str, optional
        By default the name of the class in snake case.

    Attributes
    ----------
    direction : "up", "down" or None
        Whether greater or smaller values are better, for callbacks.

    Examples
    --------
    >>> class Count(jt.keras.metrics.Metric):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.count = self.add_weight(name="count")
    ...
    ...     def update_state(self, y_true, y_pred, sample_weight=None):
    ...         self.count.assign_add(float(len(y_true)))
    ...
    ...     def result(self):
    ...         return self.count.value()
    >>> metric = Count()
    >>> metric.update_state([1, 2], [1, 3])
    >>> metric.result().numpy().item()
    2.0
    """

    direction: ClassVar[str | None] = None

    _keeps_order = True
    _namespace = "keras.metrics"
    _base_arguments = "name dtype"

    def __init__(self, dtype: Any = None, name: str | None = None) -> None:
        super().__init__()
        self._name = _default_name(type(self)) if name is None else name  # any text
        self.dtype = as_dtype(config.default_float if dtype is None else dtype)

    def add_variable(
        self,
        shape: Any = (),
        initializer: Any = None,
        dtype: Any = None,
        aggregation: str = "sum",
        name: str | None = None,
    ) -> Variable:
        """Create a sum, which is not trainable; `add_weight` does the same.

        Parameters
        ----------
        shape : sequence of int
        initializer : str or callable, optional
            Of the first value, zeros by default; `reset_state` assigns zeros.
        dtype : dtype, optional
            That of the metric if not given.
        aggregation : str
            Accepted for compatibility with TensorFlow.
        name : str, optional
        """
        extents, wanted = tuple(shape), self.dtype if dtype is None else as_dtype(dtype)
        initial = initializers.get("zeros" if initializer is None else initializer)
        with init_scope():  # the first batch may come while a function is traced
            value = np.asarray(initial(extents, wanted), wanted)
        name = "variable" if name is None else name
        variable = Variable(value, trainable=False)
        variable.name, variable._path = name, f"{self.name}/{name}"
        return variable

    def add_weight(
        self, shape: Any = (), initializer: Any = None, dtype: Any = None, name: str | None = None
    ) -> Variable:
        """Create a sum, which is not trainable; see `add_variable`."""
        return self.add_variable(shape, initializer, dtype, name=name)

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch. Subclasses must define this method."""
        raise NotImplementedError(f"{type(self).__name__} must define update_state")

    def result(self) -> Any:
        """Return the value of the metric. Subclasses must define this method."""
        raise NotImplementedError(f"{type(self).__name__} must define result")

    def reset_state(self) -> None:
        """Begin again."""
        for variable in self.variables:
            variable.assign(np.zeros(variable.shape, variable.dtype))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch and return the value.

        Raises
        ------
        ValueError, DTypeError
            If shapes do not fit, or the metric is not defined for the dtype.
        """
        self.update_state(*args, **kwargs)
        return self.result()


class _Reduction(Metric):
    """A weighted sum; `reduce` makes one value of those of an example."""

    reduce: ClassVar[Callable[..., Any]]

    def __init__(self, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(dtype, name)
        self.total = self.add_weight(name="total")
        self.count = self.add_weight(name="count")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Add values, each times its weight if there are weights; the first dimension counts the values.

        As in Keras, the mask of the values matters if there are weights.
        """
        given, values = values, cast(as_tensor(values), self.dtype)
        if sample_weight is None:
            self._add(values, constant(len(values) if values.shape else 1.0, self.dtype))
            return
        weights = cast(as_tensor(sample_weight), self.dtype)
        if (mask := mask_of(given)) is not None:
            weights = weights_with_mask(weights, mask, self.dtype)
        if weights.ndim == values.ndim + 1 and weights.shape[-1] == 1:
            weights = squeeze(weights, -1)
        if weights.ndim < values.ndim:
            values = self.reduce(values, list(range(weights.ndim, values.ndim)))
        weights = broadcast_to(weights, values.shape)
        self._add(multiply(values, weights), reduce_sum(self._by_example(weights)))

    def _by_example(self, values: Any) -> Any:
        """Return one value for each element of the first dimension."""
        ndim = values.ndim
        return self.reduce(values, list(range(1, ndim))) if ndim > 1 else values

    def _add(self, values: Any, count: Any) -> None:
        self.total.assign_add(reduce_sum(self._by_example(values)))
        self.count.assign_add(count)


class Mean(_Reduction):
    """The mean of all values.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> metric = jt.keras.metrics.Mean()
    >>> metric.update_state([1.0, 3.0])
    >>> metric.update_state(5.0)
    >>> metric.result().numpy().item()
    3.0
    """

    reduce = staticmethod(reduce_mean)

    def result(self) -> Tensor:
        """Return the mean; 0 if there are no values."""
        return divide_no_nan(self.total, self.count)


class Sum(_Reduction):
    """The sum of all values.

    Parameters
    ----------
    name : str, optional
        Name in logs.
    dtype : dtype, optional
        Dtype of the sums; the default float.

    Examples
    --------
    >>> jt.keras.metrics.Sum()([1.0, 3.0]).numpy().item()
    4.0
    """

    reduce = staticmethod(reduce_sum)

    def result(self) -> Tensor:
        """Return the sum."""
        return self.total.value()


class MeanMetricWrapper(Mean):
    """The mean of a function of true and predicted values.

    Parameters
    ----------
    fn : callable
        ``fn(y_true, y_pred, **kwargs)`` returns a value for each example.
    name, dtype
        As for `Metric`.
    **kwargs
        Further arguments of `fn`.

    Examples
    --------
    >>> metric = jt.keras.metrics.MeanMetricWrapper(jt.keras.losses.mean_squared_error, name="mse")
    >>> metric([[0.0], [1.0]], [[1.0], [3.0]]).numpy().item()
    2.5
    """

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(name, dtype)
        self._fn, self._arguments = fn, kwargs

    def _config_of(self, home: type) -> dict[str, Any]:
        config = super()._config_of(home)
        return (
            config | serialize_keras_object({"fn": self._fn} | self._arguments) if "fn" in config else config
        )

    def _value_of(self, name: str) -> Any:
        return serialize_keras_object(self._fn) if name == "fn" else super()._value_of(name)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        """Add a batch of true and predicted values; where the mask of `y_pred` is False, they do not count."""
        values = self._fn(as_tensor(y_true), as_tensor(y_pred), **self._arguments)
        mask = mask_of(y_pred)
        if mask is not None:
            mask = as_mask(type(self).__name__, mask, values.shape)
            values = where(mask, values, 0)
            sample_weight = weights_with_mask(sample_weight, mask, self.dtype)
        super().update_state(values, sample_weight)
