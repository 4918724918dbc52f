"""Names of ``autograd.misc``: `flatten`, optimizers and fixed points."""

from jittape.autograd.misc.flattening import flatten as flatten
from jittape.autograd.misc.flattening import flatten_func as flatten_func

__all__ = ["flatten", "flatten_func"]
