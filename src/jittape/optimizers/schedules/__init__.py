"""Learning rate schedules."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.lazy_names import lazily as _lazily

if _TYPE_CHECKING:
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

__getattr__ = _lazily(
    __name__,
    {
        "jittape.optimizers.schedules.cosines": ("CosineDecay", "CosineDecayRestarts"),
        "jittape.optimizers.schedules.decays": (
            "ExponentialDecay", "InverseTimeDecay", "PiecewiseConstantDecay", "PolynomialDecay",
        ),
        "jittape.optimizers.schedules.rates": ("LearningRateSchedule",),
        "jittape.optimizers.schedules.schedule_registry": ("deserialize", "serialize"),
    },
)  # fmt: skip


def __dir__() -> list[str]:
    return __all__
