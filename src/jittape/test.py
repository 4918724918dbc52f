"""Gradients against differences under TensorFlow's name (``jt.test``)."""

from jittape.transforms.checks import compute_gradient as compute_gradient
