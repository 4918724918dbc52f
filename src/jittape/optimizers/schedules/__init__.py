"""Learning rate schedules."""

from jittape.lazy_names import lazily as _lazily
from jittape.optimizers.schedules.cosines import CosineDecay as CosineDecay
from jittape.optimizers.schedules.cosines import CosineDecayRestarts as CosineDecayRestarts
from jittape.optimizers.schedules.decays import ExponentialDecay as ExponentialDecay
from jittape.optimizers.schedules.decays import InverseTimeDecay as InverseTimeDecay
from jittape.optimizers.schedules.decays import PiecewiseConstantDecay as PiecewiseConstantDecay
from jittape.optimizers.schedules.decays import PolynomialDecay as PolynomialDecay
from jittape.optimizers.schedules.rates import LearningRateSchedule as LearningRateSchedule
from jittape.optimizers.schedules.schedule_registry import deserialize as deserialize
from jittape.optimizers.schedules.schedule_registry import serialize as serialize

__all__ = [
    "CosineDecay",
    "CosineDecayRestarts",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LearningRateSchedule",
    "PiecewiseConstantDecay",
    "PolynomialDecay",
    "deserialize",
    "serialize",
]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
