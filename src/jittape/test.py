"""Gradients against differences under TensorFlow's name (``jt.test``)."""

from jittape.transforms.gradient_checks import compute_gradient as compute_gradient

__all__ = ["compute_gradient"]


def __dir__() -> list[str]:
    return __all__
