"""Optimizers of ``autograd.misc.optimizers``: loops over a gradient function."""

from jittape.autograd.misc.optimizer_loops import adam as adam
from jittape.autograd.misc.optimizer_loops import rmsprop as rmsprop
from jittape.autograd.misc.optimizer_loops import sgd as sgd

__all__ = ["adam", "rmsprop", "sgd"]
