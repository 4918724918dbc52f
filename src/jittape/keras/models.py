"""``jt.keras.models``: layers with a training loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jittape.keras.layers.sequential import Sequential as SequentialLayers
from jittape.keras.layers.wrapper_layers import unbuilt
from jittape.keras.model import Model
from jittape.lazy_names import lazily as _lazily

__all__ = ["Model", "Sequential", "clone_model"]


class Sequential(SequentialLayers, Model):
    """Layers applied one after another, that can be trained with `fit`.

    Parameters
    ----------
    layers : sequence of callables
        If the first is an `Input`, all layers are built at once.
    name : str, optional

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 2)).astype("float32")
    >>> y = (x[:, 0] > x[:, 1]).astype("int64")
    >>> jt.random.set_seed(0)
    >>> model = jt.keras.Sequential([jt.keras.layers.Dense(16, "relu"), jt.keras.layers.Dense(2)])
    >>> loss = jt.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    >>> model.compile(jt.keras.optimizers.Adam(0.02), loss, metrics=["accuracy"])
    >>> history = model.fit(x, y, epochs=10, verbose=0)
    >>> model.evaluate(x, y, verbose=0)[1] > 0.95
    True
    """


def clone_model(
    model: Model,
    input_tensors: None = None,
    clone_function: Callable[[Any], Any] | None = None,
    call_function: None = None,
    recursive: bool = False,
) -> Sequential:
    """Return a model with layers like those of `model` and new weights.

    Parameters
    ----------
    model : Sequential
    input_tensors, call_function : None
        Arguments of TensorFlow for functional models, which are not cloned.
    clone_function : callable, optional
        Function of a layer that returns the layer of the new model; by default a copy without weights.
    recursive : bool
        Whether `clone_function` gets the layers of a `Sequential` within the model, and not that model.

    Raises
    ------
    TypeError
        If `model` is not a `Sequential`, or a layer or function is not callable.
    ValueError
        If `input_tensors` or `call_function` is given.

    Examples
    --------
    >>> layers = jt.keras.layers
    >>> model = jt.keras.Sequential([layers.Input((3,)), layers.Dense(2)])
    >>> target = jt.keras.models.clone_model(model)
    >>> target.set_weights(model.get_weights())
    >>> model.layers[0].kernel is target.layers[0].kernel
    False
    """
    if not isinstance(model, Sequential):
        raise TypeError(
            f"[clone_model] model must be a jt.keras.Sequential, got {type(model).__name__}: call the class of the "
            "model once more"
        )
    if input_tensors is not None or call_function is not None:
        raise ValueError(
            "[clone_model] input_tensors and call_function must be None: functional models are not cloned; call the "
            "function that makes the model once more"
        )
    if clone_function is not None and not callable(clone_function):
        raise TypeError(f"[clone_model] clone_function must be callable, got {clone_function!r}")
    layers = []
    for one in model.layers:
        if isinstance(one, Sequential) and (recursive or clone_function is None):
            layers.append(clone_model(one, clone_function=clone_function, recursive=recursive))
        else:
            layers.append(unbuilt(one) if clone_function is None else clone_function(one))
    return Sequential(layers if model._input is None else [model._input, *layers], model.name)


__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
