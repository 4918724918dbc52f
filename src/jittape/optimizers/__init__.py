"""Optimizers, written in jittape operations: an update is recorded and runs with the rest of its step."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.lazy_names import lazily as _lazily

if _TYPE_CHECKING:
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

__getattr__ = _lazily(
    __name__,
    {
        "jittape.optimizers.schedules": {"schedules": ""},
        "jittape.optimizers.adadelta": ("Adadelta",),
        "jittape.optimizers.adafactor": ("Adafactor",),
        "jittape.optimizers.adagrad": ("Adagrad",),
        "jittape.optimizers.adam": ("Adam", "AdamW"),
        "jittape.optimizers.adamax": ("Adamax",),
        "jittape.optimizers.base": ("Optimizer",),
        "jittape.optimizers.ftrl": ("Ftrl",),
        "jittape.optimizers.lamb": ("Lamb",),
        "jittape.optimizers.lion": ("Lion",),
        "jittape.optimizers.muon": ("Muon",),
        "jittape.optimizers.nadam": ("Nadam",),
        "jittape.optimizers.optimizer_registry": ("deserialize", "get", "serialize"),
        "jittape.optimizers.rmsprop": ("RMSprop",),
        "jittape.optimizers.sgd": ("SGD",),
    },
)  # fmt: skip


def __dir__() -> list[str]:
    return __all__
