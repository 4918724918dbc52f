"""Names of ``autograd.misc``: `flatten`, optimizers and fixed points."""

from jittape.autograd.misc import fixed_points as fixed_points
from jittape.autograd.misc import optimizers as optimizers
from jittape.autograd.misc.flatten import flatten as flatten

__all__ = ["fixed_points", "flatten", "optimizers"]


def __dir__() -> list[str]:
    return __all__
