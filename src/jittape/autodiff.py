"""Forward mode under TensorFlow's name (``jt.autodiff``)."""

from jittape.autodiff.forward_accumulator import ForwardAccumulator as ForwardAccumulator
