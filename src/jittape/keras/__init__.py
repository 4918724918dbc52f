"""``jt.keras``: the part of ``tf.keras`` that custom training loops use."""

from jittape import optimizers as optimizers
from jittape.keras import activations as activations
from jittape.keras import initializers as initializers
from jittape.keras import layers as layers
from jittape.keras import losses as losses
from jittape.keras import metrics as metrics
from jittape.keras import regularizers as regularizers
from jittape.keras.layers import Input as Input
from jittape.keras.model import Model as Model
from jittape.keras.model import Sequential as Sequential

__all__ = [
    "Input", "Model", "Sequential", "activations", "initializers", "layers", "losses", "metrics", "optimizers",
    "regularizers",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
