"""Gradient tapes and forward accumulators; ``jt.autodiff`` has forward mode under TensorFlow's name."""

from jittape.autodiff.forward_accumulator import ForwardAccumulator as ForwardAccumulator
from jittape.autodiff.tape import GradientTape as GradientTape
from jittape.lazy_names import lazily as _lazily

__all__ = [
    "ForwardAccumulator", "GradientTape",
]  # fmt: skip

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
