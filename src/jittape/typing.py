"""Types in jittape's signatures: `TensorLike` for arguments and `Tensor` for results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

__all__ = ["Tensor", "TensorLike"]

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from jittape.recording.operators import Operators
    from jittape.recording.tensor import Tensor

    # Operators is the common base class of Tensor and Variable.
    TensorLike: TypeAlias = Operators | np.ndarray[Any, Any] | np.generic | complex | Sequence[Any]
else:
    Tensor = Any
    TensorLike = Any
