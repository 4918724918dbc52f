"""Functions of ``scipy.special`` that record if an argument is followed by a derivative."""

from collections.abc import Callable as _Callable
from typing import Any as _Any

from jittape.autograd.scipy.scipy_wrapper import namespace as _namespace


def _recorders() -> dict[str, _Callable[..., _Any]]:
    from jittape.scipy import special

    return {"jn": special.jv, "yn": special.yv, "rgamma": lambda z: 1.0 / special.gamma(z)}


__getattr__ = _namespace(__name__, "special", _recorders)
