"""``jt.keras.models``: layers with a training loop."""

from __future__ import annotations

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


def clone_model(model: Model) -> Sequential:
    """Return a model with layers like those of `model` and new weights.

    Parameters
    ----------
    model : Sequential

    Raises
    ------
    TypeError
        If `model` is not a `Sequential`.

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
    layers = [clone_model(one) if isinstance(one, Sequential) else unbuilt(one) for one in model.layers]
    return Sequential(layers if model._input is None else [model._input, *layers], model.name)


__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
