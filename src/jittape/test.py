"""``jt.test``: comparison of gradients with finite differences, under TensorFlow's name."""

from jittape.transforms.gradient_checks import compute_gradient as compute_gradient

__all__ = ["compute_gradient"]


def __dir__() -> list[str]:
    return __all__
