"""Optimizers by name and as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jittape.optimizers.adadelta import Adadelta
from jittape.optimizers.adafactor import Adafactor
from jittape.optimizers.adagrad import Adagrad
from jittape.optimizers.adam import Adam, AdamW
from jittape.optimizers.adamax import Adamax
from jittape.optimizers.base import Optimizer
from jittape.optimizers.ftrl import Ftrl
from jittape.optimizers.lamb import Lamb
from jittape.optimizers.lion import Lion
from jittape.optimizers.muon import Muon
from jittape.optimizers.nadam import Nadam
from jittape.optimizers.rmsprop import RMSprop
from jittape.optimizers.sgd import SGD

__all__ = ["deserialize", "get", "serialize"]

_CLASSES: dict[str, type[Optimizer]] = {
    cls.__name__: cls
    for cls in (
        Adadelta,
        Adafactor,
        Adagrad,
        Adam,
        AdamW,
        Adamax,
        Ftrl,
        Lamb,
        Lion,
        Muon,
        Nadam,
        RMSprop,
        SGD,
    )
}


def serialize(optimizer: Optimizer) -> dict[str, Any]:
    """Return the constructor arguments of an optimizer as a dict of plain values, without its state.

    Parameters
    ----------
    optimizer : Optimizer

    Returns
    -------
    dict
        The module, name and config of the class, as in Keras.

    Examples
    --------
    >>> stored = jt.optimizers.serialize(jt.optimizers.SGD(0.5, momentum=0.25))
    >>> stored["class_name"], stored["config"]["momentum"]
    ('SGD', 0.25)
    """
    kind = type(optimizer)
    is_own = kind.__module__.startswith("jittape.")
    stored = {"module": "keras.optimizers" if is_own else kind.__module__, "class_name": kind.__name__}
    return stored | {"config": optimizer.get_config(), "registered_name": None if is_own else kind.__name__}


def deserialize(config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Optimizer:
    """Create an optimizer from the result of `serialize`.

    Parameters
    ----------
    config : dict
        The name of the class is not case-sensitive.
    custom_objects : dict, optional
        Custom optimizers and schedules by the name of their class.

    Raises
    ------
    ValueError
        If the class is unknown, or the dict does not describe an optimizer.

    Examples
    --------
    >>> stored = jt.optimizers.serialize(jt.optimizers.SGD(0.5, momentum=0.25))
    >>> jt.optimizers.deserialize(stored).momentum
    0.25
    """
    name = config.get("class_name")
    if not isinstance(name, str):
        raise ValueError(
            f"an optimizer is stored as {{'class_name': ..., 'config': ...}}, got {dict(config)!r}"
        )
    classes = _CLASSES | dict(custom_objects or {})
    found = next((cls for known, cls in classes.items() if known.lower() == name.lower()), None)
    if found is None:
        raise ValueError(f"there is no optimizer {name!r}; there are {', '.join(sorted(classes))}")
    made: Optimizer = found.from_config(config.get("config", {}), custom_objects)
    return made


def get(identifier: Any) -> Optimizer | None:
    """Return the optimizer that `identifier` describes.

    Parameters
    ----------
    identifier : str, dict, Optimizer or None
        The name of a class (not case-sensitive), a result of `serialize`, or an optimizer, which is returned. None
        gives None.

    Raises
    ------
    ValueError
        If it has another type, or the optimizer is unknown.

    Examples
    --------
    >>> type(jt.optimizers.get("adam")).__name__
    'Adam'
    """
    if identifier is None or isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier})
    if isinstance(identifier, Mapping):
        return deserialize(identifier)
    raise ValueError(
        f"Could not interpret optimizer identifier: {identifier!r}; give a name, a dict or an optimizer"
    )
