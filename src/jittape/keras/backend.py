"""``jt.keras.backend``: what programs for Keras ask of it outside of layers."""

from __future__ import annotations

from jittape.core.config import config
from jittape.core.name_scopes import clear_session as clear_session
from jittape.lazy_names import lazily

__all__ = ["clear_session", "epsilon", "floatx"]


def epsilon() -> float:
    """Return the number that layers, losses and optimizers of Keras add to what may be zero.

    Examples
    --------
    >>> jt.keras.backend.epsilon()
    1e-07
    """
    return 1e-7


def floatx() -> str:
    """Return the name of the floating dtype of new weights, that of `jt.config.default_float`.

    Examples
    --------
    >>> jt.keras.backend.floatx()
    'float32'
    """
    return str(config.default_float)


__getattr__ = lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
