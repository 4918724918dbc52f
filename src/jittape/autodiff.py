"""Forward mode under TensorFlow's name (``jt.autodiff``)."""

from jittape.recording.accumulator import ForwardAccumulator as ForwardAccumulator
