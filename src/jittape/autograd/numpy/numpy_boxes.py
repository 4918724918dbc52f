"""`ArrayBox`, the class of arrays and numbers that a derivative follows."""

from __future__ import annotations

from jittape.autograd.tracer import Box

__all__ = ["ArrayBox"]


class ArrayBox(Box):
    """The class of arrays and numbers that a derivative follows: ``isinstance(x, ArrayBox)`` asks whether `x` is one.

    Examples
    --------
    >>> from jittape.autograd.numpy.numpy_boxes import ArrayBox
    >>> isinstance(1.0, ArrayBox)
    False
    """


def __dir__() -> list[str]:
    return sorted(__all__)
