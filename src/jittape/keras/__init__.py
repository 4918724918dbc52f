"""``jt.keras``: the part of ``tf.keras`` that custom training loops use."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.lazy_names import lazily as _lazily

if _TYPE_CHECKING:
    from jittape import optimizers as optimizers
    from jittape.keras import activations as activations
    from jittape.keras import backend as backend
    from jittape.keras import callbacks as callbacks
    from jittape.keras import constraints as constraints
    from jittape.keras import initializers as initializers
    from jittape.keras import layers as layers
    from jittape.keras import losses as losses
    from jittape.keras import metrics as metrics
    from jittape.keras import models as models
    from jittape.keras import ops as ops
    from jittape.keras import preprocessing as preprocessing
    from jittape.keras import random as random
    from jittape.keras import regularizers as regularizers
    from jittape.keras import saving as saving
    from jittape.keras import utils as utils
    from jittape.keras.initializers import Initializer as Initializer
    from jittape.keras.layers import Input as Input
    from jittape.keras.layers import Layer as Layer
    from jittape.keras.losses import Loss as Loss
    from jittape.keras.metrics import Metric as Metric
    from jittape.keras.model import Model as Model
    from jittape.keras.models import Sequential as Sequential
    from jittape.keras.regularizers import Regularizer as Regularizer
    from jittape.optimizers import Optimizer as Optimizer
    from jittape.recording.variable import Variable as Variable

__all__ = [
    "Initializer", "Input", "Layer", "Loss", "Metric", "Model", "Optimizer", "Regularizer", "Sequential",
    "Variable", "activations", "backend", "callbacks", "constraints", "initializers", "layers", "losses", "metrics",
    "models", "ops", "optimizers", "preprocessing", "random", "regularizers", "saving", "utils",
]  # fmt: skip

_MODULES = (
    "activations",
    "backend",
    "callbacks",
    "constraints",
    "ops",
    "preprocessing",
    "random",
    "saving",
    "utils",
)
__getattr__ = _lazily(
    __name__,
    {
        **{f"jittape.keras.{name}": {name: ""} for name in _MODULES},
        "jittape.optimizers": {"optimizers": "", "Optimizer": "Optimizer"},
        "jittape.keras.initializers": {"initializers": "", "Initializer": "Initializer"},
        "jittape.keras.layers": {"layers": "", "Input": "Input", "Layer": "Layer"},
        "jittape.keras.losses": {"losses": "", "Loss": "Loss"},
        "jittape.keras.metrics": {"metrics": "", "Metric": "Metric"},
        "jittape.keras.model": ("Model",),
        "jittape.keras.models": {"models": "", "Sequential": "Sequential"},
        "jittape.keras.regularizers": {"regularizers": "", "Regularizer": "Regularizer"},
        "jittape.recording.variable": ("Variable",),
    },
)


def __dir__() -> list[str]:
    return __all__
