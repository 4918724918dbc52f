"""The types in jittape's signatures: what a function takes (`TensorLike`) and what it gives (`Tensor`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

__all__ = ["Tensor", "TensorLike"]

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from jittape.recording.operators import Operators
    from jittape.recording.tensor import Tensor

    # Operators is what Tensor and Variable have in common.
    TensorLike: TypeAlias = Operators | np.ndarray[Any, Any] | np.generic | complex | Sequence[Any]
else:
    Tensor = Any
    TensorLike = Any
