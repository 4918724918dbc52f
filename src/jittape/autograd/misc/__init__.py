"""Names of ``autograd.misc``: `flatten`, `const_graph`, optimizers and fixed points."""

from jittape.autograd.misc import fixed_points as fixed_points
from jittape.autograd.misc import optimizers as optimizers
from jittape.autograd.misc.flatten import flatten as flatten
from jittape.autograd.misc.tracers import const_graph as const_graph

__all__ = ["const_graph", "fixed_points", "flatten", "optimizers"]


def __dir__() -> list[str]:
    return __all__
