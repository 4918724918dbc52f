"""Optimizers, written in jittape operations: an update is recorded and runs with the rest of its step."""

from jittape.lazy_names import lazily as _lazily
from jittape.optimizers import schedules as schedules
from jittape.optimizers.adadelta import Adadelta as Adadelta
from jittape.optimizers.adafactor import Adafactor as Adafactor
from jittape.optimizers.adagrad import Adagrad as Adagrad
from jittape.optimizers.adam import Adam as Adam
from jittape.optimizers.adam import AdamW as AdamW
from jittape.optimizers.adamax import Adamax as Adamax
from jittape.optimizers.base import Optimizer as Optimizer
from jittape.optimizers.ftrl import Ftrl as Ftrl
from jittape.optimizers.lamb import Lamb as Lamb
from jittape.optimizers.lion import Lion as Lion
from jittape.optimizers.muon import Muon as Muon
from jittape.optimizers.nadam import Nadam as Nadam
from jittape.optimizers.optimizer_registry import deserialize as deserialize
from jittape.optimizers.optimizer_registry import get as get
from jittape.optimizers.optimizer_registry import serialize as serialize
from jittape.optimizers.rmsprop import RMSprop as RMSprop
from jittape.optimizers.sgd import SGD as SGD

__all__ = [
    "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Lamb", "Lion", "Muon", "Nadam",
    "Optimizer", "RMSprop", "deserialize", "get", "schedules", "serialize",
]  # fmt: skip

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
