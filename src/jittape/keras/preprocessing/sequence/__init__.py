"""``jt.keras.preprocessing.sequence``: arrays of sequences; `jt.keras.utils` has the function, too."""

from jittape.keras.sequence_data import pad_sequences as pad_sequences
from jittape.lazy_names import lazily as _lazily

__all__ = ["pad_sequences"]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
