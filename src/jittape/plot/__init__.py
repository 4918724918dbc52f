"""Pictures of programs: their kernels, their memory, the pattern of a Jacobian, their speed."""

from typing import NoReturn as _NoReturn

from jittape.left_out import explanation as _explanation
from jittape.plot.jacobian_pattern import jacobian as jacobian
from jittape.plot.memory_use import memory as memory
from jittape.plot.program_graph import graph as graph
from jittape.plot.roofline_chart import roofline as roofline
from jittape.plot.svg_picture import Picture as Picture

__all__ = ["Picture", "graph", "jacobian", "memory", "roofline"]


def __dir__() -> list[str]:
    return list(__all__)


def __getattr__(name: str) -> _NoReturn:
    raise AttributeError(_explanation(__name__, name))
