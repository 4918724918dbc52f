"""``jt.keras.models``: models that can be trained."""

from jittape.keras.model import Model as Model
from jittape.keras.model import Sequential as Sequential
from jittape.lazy_names import lazily as _lazily

__all__ = ["Model", "Sequential"]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
