"""`Model`: a layer with a training loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jittape import optimizers
from jittape.autodiff.tape import GradientTape
from jittape.core.signatures import takes_keyword
from jittape.core.user_calls import as_int
from jittape.data import Dataset
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, with_foreign_names
from jittape.functions import function
from jittape.keras.callback_base import CallbackList, History
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.mask_passing import with_masks
from jittape.keras.layers.symbolic_outputs import on_examples
from jittape.keras.training.compiled_metrics import CompiledMetrics, metrics_of
from jittape.keras.training.compiled_outputs import compiled_loss, compiled_parts
from jittape.keras.training.epochs import finish_line, run_batches, warn_of_nan
from jittape.keras.training.functional_graph import FunctionalGraph
from jittape.keras.training.model_parts import CompileArguments, ModelParts
from jittape.keras.training.single_batches import SingleBatches
from jittape.keras.training.training_data import (
    batch_size_of,
    count_of,
    joined,
    some_batches,
    split_rows,
    training_batches,
    unpack_x_y_sample_weight,
    validation_of,
)
from jittape.primitives.elementwise.arithmetic import add, multiply

__all__ = ["Model"]


@with_foreign_names(ATTRIBUTES_LEFT_OUT["keras.Model"])
class Model(ModelParts, SingleBatches, Layer):
    """A layer that can be trained with `fit`: a subclass with layers and `call`, or all between symbolic tensors.

    Parameters
    ----------
    inputs : Input, or nested structure of them, optional
    outputs : symbolic output of a layer, or nested structure of them, optional
        What layers return that were called with `inputs` or with such outputs.
    **options : those of `Layer`

    Raises
    ------
    TypeError, ValueError
        If only one of `inputs` and `outputs` is given, or the outputs depend on something else.

    Examples
    --------
    >>> class Line(jt.keras.Model):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.dense = jt.keras.layers.Dense(1)
    ...
    ...     def call(self, x):
    ...         return self.dense(x)
    >>> x = np.linspace(-1, 1, 64, dtype="float32").reshape(-1, 1)
    >>> model = Line()
    >>> model.compile(jt.keras.optimizers.SGD(0.5), "mse")
    >>> history = model.fit(x, 3 * x + 1, epochs=100, verbose=0)
    >>> model.predict([[2.0]], verbose=0).round(2)
    array([[7.]], dtype=float32)
    """

    def __init__(self, inputs: Any = None, outputs: Any = None, **options: Any) -> None:
        if (inputs is None) != (outputs is None):
            raise TypeError(
                "[Model] give both inputs and outputs, or neither of them in a subclass with call()"
            )
        super().__init__(**options)
        if inputs is not None:
            self._graph = FunctionalGraph(inputs, outputs)
            self._graph_layers = self._graph.layers
            self.built = True
        self.stop_training = False
        self.optimizer: Any = None
        self.loss: Any = None
        self._factor: float | None = None
        self._metrics = CompiledMetrics()
        self._steps: dict[str, Callable[..., Any]] = {}
        self._orders: dict[tuple[str, ...], list[str]] = {}
        self._eagerly = False

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        """Return the outputs of a functional model for the inputs. Other subclasses must define this method."""
        if self._graph is None:
            return super().call(inputs)
        return self._graph.run(self, with_masks(inputs, mask))

    def _as_inputs(self, inputs: Any) -> Any:
        """Return `inputs` in the dtype of the model, or as they are for a graph, which casts each."""
        return super()._as_inputs(inputs) if self._graph is None else inputs

    # ---- settings ----------------------------------------------------------------------------------------------------

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        loss_weights: Any = None,
        metrics: Sequence[Any] | None = None,
        weighted_metrics: Sequence[Any] | None = None,
        run_eagerly: bool = False,
        steps_per_execution: int = 1,
        jit_compile: Any = "auto",
        auto_scale_loss: bool = True,
    ) -> None:
        """Set what `fit` uses.

        Parameters
        ----------
        optimizer : str or Optimizer
        loss : str, callable or Loss, optional
            A function of true and predicted values; `losses` of the layers are added. For several outputs of a
            functional model: one for all, a list with one for each, or a dict by the names of their layers.
        loss_weights : float or list of one float, optional
            Factor of the loss; those of layers have none. For several outputs: a list or dict, as for `loss`.
        metrics : sequence of str, callable or Metric, optional
            For several outputs: a list or dict of such sequences.
            ``"accuracy"`` is the accuracy that fits the shapes of labels and predictions. All rows count
            alike.
        weighted_metrics : sequence, optional
            Metrics of rows with the weights `sample_weight` and `class_weight`.
        run_eagerly : bool
            Run steps as Python code, and not as a `jt.function`.
        steps_per_execution, jit_compile, auto_scale_loss : optional
            Accepted for compatibility with TensorFlow.

        Raises
        ------
        ValueError
            If a name is unknown, or there are losses or weights of several outputs. Nothing is changed.
        """
        chosen = optimizers.get(optimizer)
        compiled = compiled_parts(self._output_names(), loss, loss_weights, metrics, weighted_metrics)
        self.optimizer, (self.loss, self._factor, self._metrics) = chosen, compiled
        self._eagerly = bool(run_eagerly)
        self._compile_arguments = CompileArguments(
            optimizer=chosen, loss=loss, loss_weights=loss_weights, metrics=metrics, weighted_metrics=weighted_metrics,
            run_eagerly=self._eagerly, steps_per_execution=steps_per_execution, jit_compile=jit_compile is True,
        )  # fmt: skip
        self._steps, self._orders = {}, {}

    @property
    def metrics(self) -> list[Any]:
        """The mean of the loss, all metrics of `compile` as one, means of losses of several outputs, and attributes."""
        compiled = [self._metrics.mean] if self.optimizer is not None else []
        given = [self._metrics] if self._metrics else []
        return [*compiled, *given, *self._metrics.losses, *metrics_of(self)]

    # ---- steps -------------------------------------------------------------------------------------------------------

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Any:
        """Return the loss of a batch with the `losses` of the layers."""
        terms = list(self.losses)
        if self.loss is not None:
            if y is None:
                raise ValueError(
                    f"model {self.name!r} was compiled with a loss, which needs y: give y, or batches (x, y)"
                )
            found = compiled_loss(self.loss, self._metrics, y, y_pred, sample_weight)
            if found is not None:
                terms.insert(0, found if self._factor is None else multiply(found, self._factor))
        if not terms:
            raise ValueError(
                f"model {self.name!r} has no loss: call compile(loss=...) or add_loss in a layer"
            )
        total = terms[0]
        for term in terms[1:]:
            total = add(total, term)
        return total

    def _loss_of(self, x: Any, y: Any, y_pred: Any, weight: Any, training: bool) -> Any:
        """Call `compute_loss` by keywords, as Keras does; one that a subclass defines may take fewer of them."""
        options = {"training": training} if takes_keyword(self.compute_loss, "training") else {}
        return self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=weight, **options)

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Any]:
        """Update the metrics with a batch, and return their values by name."""
        self._metrics.update_state(y, y_pred, sample_weight)
        return self.get_metrics_result()

    def train_step(self, data: Any) -> dict[str, Any]:
        """Make one step of training; override it for another one.

        Parameters
        ----------
        data : tensor or tuple
            As in Keras: from `fit` ``(x, y, sample_weight)``, ``(x, y)``, or `x` without true values, in a tuple if it
            is one; from `train_on_batch` always all three, with None; an element of a dataset as it is.

        Returns
        -------
        dict
            Losses and metrics by name.
        """
        x, y, weight = unpack_x_y_sample_weight(data)
        with GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self._loss_of(x, y, y_pred, weight, True)
            scaled = self.optimizer.scale_loss(loss) if self.optimizer.loss_scale_factor else loss
        variables = self.trainable_variables
        if variables:
            self.optimizer.apply_gradients(zip(tape.gradient(scaled, variables), variables, strict=True))
        self._metrics.mean.update_state(loss, batch_size_of(x))
        return self.compute_metrics(x, y, y_pred, sample_weight=weight)

    def test_step(self, data: Any) -> dict[str, Any]:
        """Evaluate a batch; override it for another evaluation. Arguments and result as for `train_step`."""
        x, y, weight = unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False)
        self._metrics.mean.update_state(self._loss_of(x, y, y_pred, weight, False), batch_size_of(x))
        return self.compute_metrics(x, y, y_pred, sample_weight=weight)

    def predict_step(self, data: Any) -> Any:
        """Return the predictions for a batch."""
        return self(unpack_x_y_sample_weight(data)[0], training=False)

    def _step(self, name: str) -> Callable[..., Any]:
        """Return a step as a compiled function."""
        if name not in self._steps:
            method = getattr(self, name)
            self._steps[name] = method if self._eagerly else function(method)
        return self._steps[name]

    def _begin(self, data: Any) -> None:
        """Build the model with the first batch, and choose the accuracy that fits."""
        x, y, _ = unpack_x_y_sample_weight(data)
        is_ready = self.built and self.variables and not self._metrics.is_open
        if is_ready or type(self).train_step is not Model.train_step:
            return  # a step of the user's may call the model with other inputs, or never
        with on_examples(self):
            predicted = self(x, training=False)
        if self._metrics.is_open:
            self._metrics.choose_accuracy(y, predicted)

    # ---- loops -------------------------------------------------------------------------------------------------------

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: Sequence[Any] | None = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: int | Sequence[int] = 1,
    ) -> History:
        """Train the model.

        Parameters
        ----------
        x : arrays, Dataset or generator
            Inputs, or batches ``(x, y)`` or ``(x, y, sample_weight)``. A generator goes on in the next epoch.
        y : arrays, optional
        batch_size, epochs, initial_epoch : int, default 32, 1 and 0
        verbose : int or "auto"
            0 prints nothing, 1 a line that grows with each batch, 2 a line for each epoch. "auto" is 1.
        callbacks : sequence of Callback, optional
            See `jt.keras.callbacks`; one may set ``model.stop_training = True``.
        validation_split : float
            Fraction of the arrays, from their end, that is not trained with but evaluated; unused with validation_data.
        validation_data : tuple or Dataset, optional
            Data to evaluate after each epoch.
        shuffle : bool, default True
            Whether the rows of arrays are in another order in each epoch.
        class_weight : dict, optional
            Weight of the rows of each class, by its number; 1 for others.
        sample_weight : array, optional
            Weight of each row in the loss and the weighted metrics.
        steps_per_epoch : int, optional
            Number of batches of an epoch, which continues where the last epoch stopped. If the data ends within an
            epoch, so does the epoch, with a warning, and the next one begins with the first batch.
        validation_steps, validation_batch_size : int, optional
            Number of batches to evaluate, by default all, and their size, by default `batch_size`.
        validation_freq : int or sequence of int, default 1
            The epochs that end with an evaluation: every so many, or these, counted from 1.

        Returns
        -------
        History

        Raises
        ------
        ValueError
            Before `compile`, or if there are no batches.
        """
        self._require_compiled("fit")
        epochs, initial_epoch = as_int("epochs", epochs), as_int("initial_epoch", initial_epoch)
        data, held_out = split_rows((x, y, sample_weight), validation_data, validation_split)
        batches = training_batches(data, batch_size, shuffle, class_weight, steps_per_epoch)
        size = validation_batch_size or batch_size
        validation = validation_of(held_out, size, validation_steps, validation_freq)
        history = History()
        given = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []
        calls = CallbackList([*given, history], self, epochs=epochs, steps=count_of(batches), verbose=verbose)
        self.stop_training = False
        logs: dict[str, float] = {}
        calls.call("on_train_begin", {})
        for epoch in range(initial_epoch, epochs):
            calls.call("on_epoch_begin", epoch, {})
            logs = run_batches(self, "train", batches, calls, verbose, f"Epoch {epoch + 1}/{epochs}")
            if (rows_of_epoch := validation(epoch + 1)) is not None:
                found = self._evaluated(rows_of_epoch, calls)
                logs |= {f"val_{name}": found[name] for name in sorted(found)}
            finish_line(logs, verbose)
            calls.call("on_epoch_end", epoch, logs)
            if self.stop_training:
                break
        if epochs > 0:  # as in Keras, the weights become their averages if the optimizer has use_ema
            self.optimizer.finalize_variable_values(
                [v for v in self.trainable_variables if self.optimizer.knows(v)]
            )
        calls.call("on_train_end", logs)
        if not self.stop_training:
            warn_of_nan(logs.get("loss", 0.0))
        self.history = history
        return history

    def _evaluated(
        self, batches: Dataset, callbacks: CallbackList, verbose: Any = 0, title: str = ""
    ) -> dict[str, float]:
        """Return the loss and the metrics of batches."""
        callbacks.call("on_test_begin", {})
        logs = run_batches(self, "test", batches, callbacks, verbose, title)
        callbacks.call("on_test_end", logs)
        return logs

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
    ) -> Any:
        """Return the loss and the metrics of data.

        Parameters
        ----------
        x, y, batch_size, verbose, sample_weight, callbacks
            As for `fit`.
        steps : int, optional
            Number of batches, by default all.
        return_dict : bool
            Return the values by name instead of a list; without metrics the list is only the loss.

        Raises
        ------
        ValueError, DTypeError
            If arrays have different numbers of rows, or do not fit the model.
        """
        self._require_compiled("evaluate")
        batches = some_batches((x, y, sample_weight), batch_size, "evaluate", steps)
        calls = CallbackList(callbacks, self, epochs=1, steps=count_of(batches), verbose=verbose)
        logs = self._evaluated(batches, calls, verbose, "Evaluation")
        finish_line(logs, verbose)
        return self._results(logs, return_dict)

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: Any = "auto",
        steps: int | None = None,
        callbacks: Any = None,
    ) -> Any:
        """Return the predictions for data, or for their first `steps` batches, as an array for each output.

        Raises
        ------
        ValueError
            If there are no batches.
        """
        batches = some_batches((x, None, None), batch_size, "predict", steps)
        calls = CallbackList(callbacks, self, epochs=1, steps=count_of(batches), verbose=verbose)
        calls.call("on_predict_begin", {})
        found: list[Any] = []
        for batch in batches:
            calls.call("on_predict_batch_begin", len(found), {})
            found.append(self._step("predict_step")(batch))
            calls.call("on_predict_batch_end", len(found) - 1, {"outputs": found[-1]})
        if not found:
            raise ValueError(f"model {self.name!r} was given no batches")
        calls.call("on_predict_end", {})
        return joined(found)

    def _require_compiled(self, method: str) -> None:
        if self.optimizer is None:
            raise ValueError(
                f"model {self.name!r} must be compiled before {method}: call model.compile(optimizer, loss)"
            )
