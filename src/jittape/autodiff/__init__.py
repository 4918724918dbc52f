"""Gradient tapes and forward accumulators; ``jt.autodiff`` has forward mode under TensorFlow's name."""

from jittape.autodiff.forward_accumulator import ForwardAccumulator as ForwardAccumulator

__all__ = ["ForwardAccumulator"]


def __dir__() -> list[str]:
    return __all__
