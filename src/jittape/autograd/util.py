"""Names of ``autograd.util``: `subval` and `subvals`."""

from jittape.autograd.containers import subval as subval
from jittape.autograd.containers import subvals as subvals

__all__ = ["subval", "subvals"]


def __dir__() -> list[str]:
    return __all__
