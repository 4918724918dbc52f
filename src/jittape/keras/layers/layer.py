"""`Layer`: a function with weights that are created when the first input is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from jittape.core.argument_checks import unknown_argument
from jittape.core.config import config
from jittape.core.dtypes import as_dtype, is_floating
from jittape.core.name_scopes import default_name, numbered
from jittape.execution import init_scope
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, with_foreign_names
from jittape.keras import initializers, regularizers
from jittape.keras.layers.layer_losses import Losses, Penalty, calls, in_own_path, numbers, penalize
from jittape.keras.layers.mask_passing import (
    mask_arguments,
    masks_of,
    named_training,
    parameters_of_call,
    pass_masks,
)
from jittape.keras.layers.symbolic_outputs import (
    HAVE_VALUES,
    InGraphs,
    call_symbolically,
    is_symbolic,
    keep_values,
    runs_on_examples,
)
from jittape.keras.metrics.metric_base import Metric
from jittape.keras.saving.built_shapes import BuiltShapes, noted, shapes_of
from jittape.keras.saving.object_configs import serialize_keras_object
from jittape.keras.saving.serializable import Serializable
from jittape.keras.tensor_masks import MASKS, mask_of, set_mask
from jittape.module import Module, parts_of
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.random.generator import Generator
from jittape.recording.convert import convert_to_tensor
from jittape.recording.nested import flatten
from jittape.recording.operators import Operators
from jittape.recording.user_line import layer_calls
from jittape.recording.variable import Variable

__all__ = ["Layer"]


@with_foreign_names(ATTRIBUTES_LEFT_OUT["keras.layers.Layer"])
class Layer(InGraphs, BuiltShapes, Serializable, Module):
    """Base class of layers.

    A subclass creates its weights in `build` with `add_weight`, at the first call, and computes in `call`.

    Parameters
    ----------
    trainable : bool, default True
        Whether `trainable_variables` contains the weights.
    dtype : dtype, optional
        Of the weights; `jt.config.default_float` if not given.
    name : str, optional
        By default that of the class and a number, as ``dense_1``; `keras.utils.clear_session` begins anew.
    activity_regularizer : callable, optional
        Function of each result of a call; its value divided by the number of examples is a loss of the call.
    input_shape : sequence of int, optional
        For the first layer of a `Sequential`: the same as an `Input` of this shape before it.

    Raises
    ------
    TypeError
        For an argument that the layer does not have.

    Examples
    --------
    >>> class Scale(jt.keras.layers.Layer):
    ...     def build(self, input_shape):
    ...         self.factor = self.add_weight(shape=(input_shape[-1],), initializer="ones")
    ...
    ...     def call(self, inputs):
    ...         return self.factor * inputs
    >>> layer = Scale()
    >>> layer([[1.0, 2.0]]).numpy()
    array([[1., 2.]], dtype=float32)
    >>> layer.count_params()
    2
    """

    takes_floats: ClassVar[bool] = False
    """Whether integers and bools among the inputs are cast to the dtype of the layer, too."""

    supports_masking: bool = False
    """Whether results get a mask: that of `compute_mask`, by default the mask of the inputs."""

    _makes_masks: ClassVar[bool] = False
    _keeps_order = True
    _namespace = "keras.layers"
    _base_arguments = "name trainable dtype"
    _left_out = "activity_regularizer input_shape"

    def __init__(
        self,
        *,
        trainable: bool = True,
        dtype: Any = None,
        name: str | None = None,
        activity_regularizer: Any = None,
        input_shape: Sequence[int] | None = None,
        **unknown: Any,
    ) -> None:
        super().__init__()
        if (size := unknown.pop("input_dim", None)) is not None:  # in Keras, another word for input_shape
            input_shape = (size,)
        if unknown:
            raise unknown_argument(type(self), Layer, next(iter(unknown)))
        self._input_shape = None if input_shape is None else tuple(input_shape)
        self._name = default_name(type(self)) if name is None else name  # any text
        self.built = False
        self._dtype = None if dtype is None else as_dtype(dtype)
        self._is_trainable = bool(trainable)
        self._losses = Losses()
        self._activity_regularizer = regularizers.get(activity_regularizer)

    @property
    def activity_regularizer(self) -> Any:
        """The function whose value for the result is a loss of each call; None without one."""
        return self._activity_regularizer

    @activity_regularizer.setter
    def activity_regularizer(self, regularizer: Any) -> None:
        self._activity_regularizer = regularizers.get(regularizer)

    # ---- weights -----------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the weights."""
        return as_dtype(config.default_float) if self._dtype is None else self._dtype

    @property
    def compute_dtype(self) -> str:
        """Name of the dtype of computations, which is that of the weights."""
        return self.dtype.name

    variable_dtype = compute_dtype

    def add_weight(
        self,
        shape: Any = None,
        initializer: Any = None,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        regularizer: Any = None,
        constraint: Any = None,
        aggregation: str = "none",
        overwrite_with_gradient: bool = False,
        name: str | None = None,
    ) -> Variable:
        """Create a weight. Keep it in an attribute: the weights of a layer are those in its attributes.

        Parameters
        ----------
        shape : sequence of int
        initializer : str or callable, optional
            See `jt.keras.initializers`; ``"glorot_uniform"`` by default.
        dtype : dtype, optional
            That of the layer if not given.
        trainable : bool
        regularizer : str or callable, optional
            Its value is one of the `losses`.
        constraint : callable, optional
            Applied to the weight after each update.
        autocast, aggregation
            Accepted for compatibility with TensorFlow.
        overwrite_with_gradient : bool
            Only False is accepted.
        name : str, optional
        """
        if overwrite_with_gradient:
            raise ValueError(
                "[add_weight] overwrite_with_gradient must be False: assign to the weight instead"
            )
        extents = () if shape is None else tuple(shape)
        owners = [layer.name for layer in calls.layers if layer is not self]
        name = numbered("variable") if name is None else name
        wanted = self.dtype if dtype is None else as_dtype(dtype)
        initial = initializers.get("glorot_uniform" if initializer is None else initializer)
        with init_scope():  # the first call may be that of a function that is traced
            weight = Variable(
                convert_to_tensor(initial(extents, wanted), wanted),
                trainable=trainable and self._is_trainable,
                constraint=constraint,
                name=name,
            )
        weight.name, weight._path = name.rpartition("/")[2], "/".join([*owners, self.name, name])
        penalty = regularizers.get(regularizer)
        if penalty is not None:
            self._losses.penalties.append(Penalty(weight, penalty))
        return weight

    @property
    def variables(self) -> list[Variable]:  # type: ignore[override]
        """All Variables of this layer and those within it but the sums of metrics, as in Keras."""
        parts = list(parts_of(self))
        sums = {id(v) for part in parts if isinstance(part, Metric) for v in part.variables}
        return [part for part in parts if isinstance(part, Variable) and id(part) not in sums]

    @property
    def weights(self) -> list[Variable]:
        """All Variables but the states of random generators; in each layer, the trainable ones come first."""
        states = {id(part.state) for part in parts_of(self) if isinstance(part, Generator)}
        return [variable for variable in self.variables if id(variable) not in states]

    @property
    def trainable_weights(self) -> list[Variable]:
        """The Variables that are trained."""
        return self.trainable_variables

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The Variables that are not trained, without the states of random generators."""
        trained = {id(variable) for variable in self.trainable_variables}
        return [variable for variable in self.weights if id(variable) not in trained]

    @property
    def trainable(self) -> bool:
        """Whether `trainable_variables` contains the weights of this layer and of the layers within it."""
        return self._is_trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._is_trainable = bool(value)
        for part in self.submodules:
            if isinstance(part, Layer):
                part._is_trainable = bool(value)

    @property
    def trainable_variables(self) -> list[Variable]:  # type: ignore[override]
        """The Variables that are trainable and do not belong to a layer with ``trainable=False``."""
        parts = list(parts_of(self))
        frozen = {
            id(variable)
            for part in parts
            if isinstance(part, Layer) and not part._is_trainable
            for variable in part.variables
        }
        return [v for v in parts if isinstance(v, Variable) and v.trainable and id(v) not in frozen]

    @property
    def non_trainable_variables(self) -> list[Variable]:  # type: ignore[override]
        """The Variables that are not in `trainable_variables`."""
        trained = {id(variable) for variable in self.trainable_variables}
        return [v for v in self.variables if id(v) not in trained]

    def count_params(self) -> int:
        """Return the number of numbers in all weights."""
        return sum(variable.size for variable in self.weights)

    def get_weights(self) -> list[np.ndarray[Any, Any]]:
        """Return the values of `weights` as arrays."""
        return [variable.numpy() for variable in self.weights]

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Assign values to `weights`.

        Raises
        ------
        ValueError
            If the number of values or a shape differs. Nothing is changed in this case.
        """
        arrays = [np.asarray(weight) for weight in weights]
        variables = self.weights
        found, shapes = [a.shape for a in arrays], [tuple(v.shape) for v in variables]
        if found != shapes:
            raise ValueError(f"layer {self.name!r} has weights of the shapes {shapes}, got {found}")
        for variable, array in zip(variables, arrays, strict=True):
            variable.assign(array)

    def _config_of(self, home: type) -> dict[str, Any]:
        config = super()._config_of(home)
        regularizer = serialize_keras_object(self._activity_regularizer)
        return config if regularizer is None else config | {"activity_regularizer": regularizer}

    # ---- losses ------------------------------------------------------------------------------------------------------

    def add_loss(self, loss: Any) -> None:
        """Add a scalar to the `losses` of the current call."""
        number = next(numbers) if calls.number < 0 else calls.number
        self._losses.added.append((number, loss))

    @property
    def losses(self) -> list[Any]:
        """Penalties of the weights, and losses that the last call added, also of the layers within this one."""
        layers = [part for part in (self, *self.submodules) if isinstance(part, Layer)]
        # A layer that the last call of this one left out may have losses of an earlier call.
        since = self._losses.call
        found = [loss for layer in layers for number, loss in layer._losses.added if number >= since]
        return [*found, *[p.regularizer(p.weight) for layer in layers for p in layer._losses.penalties]]

    # ---- calls -------------------------------------------------------------------------------------------------------

    def __init_subclass__(cls, **options: Any) -> None:
        """Make the `build` of a subclass note that the layer is built, also if the user calls it."""
        super().__init_subclass__(**options)
        build = vars(cls).get("build")
        if build is not None:
            cls.build = noted(in_own_path(build))  # type: ignore[method-assign]
        if "compute_mask" in vars(cls):
            cls.supports_masking = cls._makes_masks = True

    def build(self, input_shape: Any) -> None:
        """Create the weights for inputs of this shape, or of these shapes."""
        self.built = True

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result for the inputs. Subclasses must define this method."""
        raise NotImplementedError(f"{type(self).__name__} must define call(inputs)")

    def compute_mask(self, inputs: Any, previous_mask: Any) -> Any:
        """Return the mask of the result, or None, given the mask of the inputs."""
        return previous_mask

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result for the inputs; the first call builds the layer.

        Floating inputs are cast to the dtype of the layer. A layer whose `call` takes `training` inherits it from the
        layer that calls it. One that takes `mask` gets the mask of its inputs.

        Raises
        ------
        ValueError, DTypeError
            If the shape or dtype of an input does not fit the layer.
        """
        if "_losses" not in vars(self):
            raise RuntimeError(
                f"__init__ of {type(self).__name__} must call super().__init__() before anything else"
            )
        if not (args and args[0].__class__ in HAVE_VALUES) and is_symbolic(args, kwargs):
            return call_symbolically(self, args, kwargs)
        if args:
            args = (self._as_inputs(args[0]), *args[1:])
            if args[0] is None and type(self).__module__.startswith("jittape."):
                raise ValueError(
                    f"layer {self.name!r} was given None as its inputs: the function that made them returned nothing"
                )
        kind: Any = type(self)
        if len(args) > 1:
            args, kwargs = named_training(kind, args, kwargs)
        if MASKS:
            kwargs |= mask_arguments(self, args, kwargs)
        training = kwargs.pop("training", None)
        if training is None:
            training = calls.training
        if training is not None and parameters_of_call(kind) & {"training", "**"}:
            kwargs["training"] = training
        before = calls.number, calls.training
        calls.number, calls.training = next(numbers) if before[0] < 0 else before[0], training
        self._losses.begin(calls.number)
        calls.layers.append(self)
        try:
            if not self.built:
                self._build(args, kwargs)
                if runs_on_examples():
                    keep_values(self)
            result = self.call(*args, **kwargs)
            if self._activity_regularizer is not None:
                penalize(self, self._activity_regularizer, result)
            if MASKS or self._makes_masks or "mask" in kwargs:
                mask = kwargs.get("mask")
                inputs = args[0] if args else None
                pass_masks(self, inputs, masks_of(inputs) if mask is None else mask, result)
        finally:
            calls.number, calls.training = before
            del calls.layers[-1]
        return result

    def _build(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.build(shapes_of(args[0] if args else next(iter(kwargs.values()), None)))

    def _as_inputs(self, inputs: Any) -> Any:
        """Return `inputs` as tensors, those of a floating dtype in the dtype of the layer."""
        if isinstance(inputs, Operators):
            return self._as_input(inputs)
        if isinstance(inputs, (tuple, dict)) or (
            isinstance(inputs, list) and any(hasattr(x, "shape") for x in inputs)
        ):
            leaves, rebuild = flatten(inputs)
            return rebuild([None if x is None else self._as_input(x) for x in leaves])
        return None if inputs is None else self._as_input(inputs)

    def _as_input(self, x: Any) -> Any:
        if not isinstance(x, Operators):
            if isinstance(x, Module):
                raise TypeError(f"[{type(self).__name__}] inputs must be tensors, got a {type(x).__name__}")
            try:
                x = convert_to_tensor(x)
            except (TypeError, ValueError) as error:
                label = f"[{type(self).__name__}] "
                error.args = (str(error).replace(label, f"{label}inputs: ", 1),)
                raise
        found = x.aval.dtype
        casts = is_floating(found) or (self.takes_floats and found.kind in "biu")
        if not casts or found == self.dtype:
            return x
        result = cast(x, self.dtype)
        set_mask(result, mask_of(x))
        return result


layer_calls.add(Layer.__call__.__code__)
