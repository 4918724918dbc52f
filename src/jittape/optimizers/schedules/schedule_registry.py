"""Learning rate schedules: functions of the number of completed steps, in double precision.

Schedules are jittape operations on the optimizer's `iterations`, so a schedule is part of the compiled step and costs a
few scalar instructions. Formulas and argument names are those of ``tf.keras.optimizers.schedules``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jittape.optimizers.schedules.cosines import CosineDecay, CosineDecayRestarts
from jittape.optimizers.schedules.decays import (
    ExponentialDecay,
    InverseTimeDecay,
    PiecewiseConstantDecay,
    PolynomialDecay,
)
from jittape.optimizers.schedules.rates import LearningRateSchedule

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

_CLASSES: tuple[type[LearningRateSchedule], ...] = (
    CosineDecay,
    CosineDecayRestarts,
    ExponentialDecay,
    InverseTimeDecay,
    PiecewiseConstantDecay,
    PolynomialDecay,
)


def serialize(learning_rate_schedule: Any) -> dict[str, Any]:
    """Return a schedule as a dict of plain values.

    Parameters
    ----------
    learning_rate_schedule : LearningRateSchedule

    Returns
    -------
    dict
        ``{"class_name": ..., "config": ...}``

    Raises
    ------
    TypeError
        If it is not a schedule.

    Examples
    --------
    >>> schedules = jt.optimizers.schedules
    >>> stored = schedules.serialize(schedules.InverseTimeDecay(0.1, 10, 1.0))
    >>> stored["class_name"], float(schedules.deserialize(stored)(10))
    ('InverseTimeDecay', 0.05)
    """
    if not isinstance(learning_rate_schedule, LearningRateSchedule):
        raise TypeError(
            f"a {type(learning_rate_schedule).__name__} cannot be stored as a learning rate; "
            "make it a jt.optimizers.schedules.LearningRateSchedule with get_config()"
        )
    return {
        "class_name": type(learning_rate_schedule).__name__,
        "config": learning_rate_schedule.get_config(),
    }


def deserialize(
    config: Mapping[str, Any], custom_objects: Mapping[str, type[LearningRateSchedule]] | None = None
) -> LearningRateSchedule:
    """Create a schedule from the result of `serialize`.

    Parameters
    ----------
    config : dict
    custom_objects : dict, optional
        Custom classes by name.

    Raises
    ------
    ValueError
        If the class is unknown.

    Examples
    --------
    >>> schedules = jt.optimizers.schedules
    >>> config = schedules.serialize(schedules.CosineDecay(0.1, 100))
    >>> type(schedules.deserialize(config)).__name__
    'CosineDecay'
    """
    classes = {cls.__name__: cls for cls in _CLASSES} | dict(custom_objects or {})
    name = config["class_name"]
    if name not in classes:
        raise ValueError(
            f"there is no schedule {name!r}; there are {', '.join(sorted(classes))}, or give custom_objects"
        )
    return classes[name].from_config(config["config"])


def __dir__() -> list[str]:
    return __all__
