"""Products of SciPy's sparse matrices: ``matrix @ t`` leaves the work to the tensor, which records."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from jittape.recording.tape_exits import reflected_conversions

__all__ = ["register"]


def register(module: ModuleType) -> None:
    """Let the products of the classes of `module`, `scipy.sparse`, call the tensor's reflected operator."""
    for kind in ("array", "matrix"):
        for format in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil"):
            method: Any = getattr(getattr(module, f"{format}_{kind}"), "_matmul_dispatch", None)
            code = getattr(method, "__code__", None)
            if code is not None:
                reflected_conversions.add(id(code))
