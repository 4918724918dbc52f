"""``jittape.numpy``: NumPy's names, signatures, defaults and dtypes, for tensors that record.

A program that imports it in place of NumPy computes NumPy's values in NumPy's dtypes, and a tape or `jt.grad` gives its
gradients. The namespace follows the Array API standard 2024.12.

Examples
--------
>>> import jittape as jt
>>> import jittape.numpy as np
>>> jt.grad(lambda x: np.sum(np.sin(x) ** 2))(np.array([0.0, np.pi / 4]))
<jt.Tensor: shape=(2,), dtype=float64, numpy=array([0., 1.])>
"""

from typing import Any as _Any

__array_api_version__ = "2024.12"


def __getattr__(name: str) -> _Any:
    """Find a name. The first use of one imports the functions: alone, ``import jittape.numpy`` takes 0.3 ms, not 12."""
    from jittape.numpy.public_names import NAMES, find

    return NAMES if name == "__all__" else find(name)


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))
