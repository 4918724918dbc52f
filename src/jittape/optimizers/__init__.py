"""Optimizers, written in jittape operations: an update is recorded and runs with the step that it belongs to."""

from jittape.optimizers.adam import Adam as Adam
from jittape.optimizers.base import Optimizer as Optimizer
from jittape.optimizers.sgd import SGD as SGD
