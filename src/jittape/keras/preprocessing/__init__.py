"""``jt.keras.preprocessing``: `sequence` alone."""

from jittape.keras.preprocessing import sequence as sequence
from jittape.lazy_names import lazily as _lazily

__all__ = ["sequence"]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
