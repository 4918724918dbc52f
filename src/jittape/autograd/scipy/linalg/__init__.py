"""Functions of ``scipy.linalg`` that record if an argument is followed by a derivative."""

from collections.abc import Callable as _Callable
from typing import Any as _Any

from jittape.autograd.scipy.scipy_wrapper import namespace as _namespace


def _recorders() -> dict[str, _Callable[..., _Any]]:
    from jittape.autograd.scipy.matrix_recorders import RECORDERS

    return RECORDERS


__getattr__ = _namespace(__name__, "linalg", _recorders)
