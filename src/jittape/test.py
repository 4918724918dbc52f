"""``jt.test``: comparison of gradients with finite differences, under TensorFlow's name."""

from jittape.lazy_names import lazily as _lazily
from jittape.transforms.gradient_checks import compute_gradient as compute_gradient

__all__ = ["compute_gradient"]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
