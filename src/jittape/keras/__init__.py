"""``jt.keras``: the part of ``tf.keras`` that custom training loops use."""

from jittape import optimizers as optimizers
from jittape.keras import activations as activations
from jittape.keras import initializers as initializers
from jittape.keras import layers as layers
from jittape.keras import regularizers as regularizers
from jittape.keras.layers import Sequential as Sequential

__all__ = ["Sequential", "activations", "initializers", "layers", "optimizers", "regularizers"]


def __dir__() -> list[str]:
    return __all__
