"""The types in jittape's signatures: what a function takes (`TensorLike`) and what it gives (`Tensor`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Tensor", "TensorLike"]

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from jittape.recording.tensor import Tensor
    from jittape.recording.variable import Variable

    TensorLike = Tensor | Variable | np.ndarray[Any, Any] | np.generic | complex | Sequence[Any]
else:
    Tensor = Any
    TensorLike = Any
