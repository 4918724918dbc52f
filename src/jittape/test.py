"""Gradients against differences under TensorFlow's name (``jt.test``)."""

from jittape.transforms.gradient_checks import compute_gradient as compute_gradient
