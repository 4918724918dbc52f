"""``jt.keras.layers``, also ``jt.nn.layers``: layers of neural networks, with TensorFlow's names and arguments."""

from jittape.keras.layers.dense import Dense as Dense
from jittape.keras.layers.layer import Layer as Layer
from jittape.keras.layers.sequential import Sequential as Sequential

__all__ = ["Dense", "Layer", "Sequential"]


def __dir__() -> list[str]:
    return __all__
