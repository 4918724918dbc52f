"""``jt.keras.models``: layers with a training loop."""

from __future__ import annotations

from jittape.keras.layers.sequential import Sequential as SequentialLayers
from jittape.keras.model import Model
from jittape.lazy_names import lazily as _lazily

__all__ = ["Model", "Sequential"]


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


__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
