"""`vspace`: zeros, ones and bases of the values that derivatives follow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from jittape.autograd.containers import as_tensor, leaves_of_value, like, mapped
from jittape.numpy_api.numpy_functions import FUNCTIONS

__all__ = ["VSpace", "vspace"]


class VSpace:
    """The vector space of a number, an array or a container of them.

    Attributes
    ----------
    shape : tuple or container of VSpace
        Shape of an array; for a container, the spaces of its entries.
    dtype : dtype or None
        Dtype of an array; None for a container.
    size : int
        Number of real dimensions.
    iscomplex : bool
        Whether the values are complex arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from jittape.autograd.extend import vspace
    >>> vspace(np.array([1.0, 2.0])).zeros()
    array([0., 0.])
    """

    def __init__(self, value: Any) -> None:
        is_container = isinstance(value, (list, tuple, dict))
        self._avals = mapped(lambda leaf: as_tensor(leaf).aval, value)
        self.shape: Any = _spaces_of(value) if is_container else self._avals.shape
        self.dtype = None if is_container else self._avals.dtype
        self.iscomplex = not is_container and self._avals.dtype.kind == "c"

    @property
    def ndim(self) -> int:
        """The number of dimensions of an array."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of real dimensions: a complex number has two."""
        return sum([(1 + (a.dtype.kind == "c")) * a.size for a in leaves_of_value(self._avals)])

    def zeros(self) -> Any:
        """Return the zero of the space."""
        return mapped(lambda a: np.zeros(a.shape, a.dtype)[()], self._avals)

    def ones(self) -> Any:
        """Return the sum of the basis vectors: ones, or ``1 + 1j`` for complex numbers."""
        return mapped(
            lambda a: np.full(a.shape, 1 + 1j if a.dtype.kind == "c" else 1, a.dtype)[()], self._avals
        )

    def randn(self) -> Any:
        """Return a normally distributed vector, drawn from NumPy's global generator."""

        def drawn(a: Any) -> Any:
            real = np.asarray(np.random.randn(*a.shape))
            imaginary = np.asarray(np.random.randn(*a.shape)) if a.dtype.kind == "c" else 0
            return (real + 1j * imaginary if a.dtype.kind == "c" else real).astype(a.dtype)[()]

        return mapped(drawn, self._avals)

    def standard_basis(self) -> Iterator[Any]:
        """Yield the basis vectors."""
        avals = leaves_of_value(self._avals)
        for i, a in enumerate(avals):
            for index in np.ndindex(*a.shape):
                for unit in (1, 1j) if a.dtype.kind == "c" else (1,):
                    leaves = [np.zeros(b.shape, b.dtype) for b in avals]
                    leaves[i][index] = unit
                    yield like(self._avals, [leaf[()] for leaf in leaves])

    def add(self, x: Any, y: Any) -> Any:
        """Return the sum of two vectors."""
        pairs = zip(leaves_of_value(x), leaves_of_value(y), strict=True)
        return like(self._avals, [a + b for a, b in pairs])

    mut_add = add

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """Return the product of a vector with a real number."""
        return like(self._avals, [leaf * a for leaf in leaves_of_value(x)])

    def covector(self, x: Any) -> Any:
        """Return the complex conjugate, which turns a vector into a covector."""
        return mapped(lambda leaf: leaf.conj() if hasattr(leaf, "conj") else leaf.conjugate(), x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """Return the real inner product of two vectors."""
        pairs = zip(leaves_of_value(self.covector(x)), leaves_of_value(y), strict=True)
        return sum([_sum_of_real(a * b) for a, b in pairs])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VSpace) and self._avals == other._avals

    def __hash__(self) -> int:
        return hash(tuple(leaves_of_value(self._avals)))

    def __repr__(self) -> str:
        return f"VSpace({self._avals})"


def _sum_of_real(product: Any) -> Any:
    return np.sum(np.real(product)) if not hasattr(product, "aval") else FUNCTIONS[np.sum](product.real)


def _spaces_of(value: Any) -> Any:
    """Return the container `value` with the vector spaces of its entries."""
    if isinstance(value, dict):
        return {key: VSpace(v) for key, v in value.items()}
    return tuple([VSpace(v) for v in value]) if isinstance(value, tuple) else [VSpace(v) for v in value]


def vspace(value: Any) -> VSpace:
    """Return the vector space of a number, an array or a container of them.

    Parameters
    ----------
    value : float, complex, ndarray, tensor or nested container of them

    Raises
    ------
    TypeError
        If a leaf is not a number.

    Examples
    --------
    >>> from jittape.autograd.extend import vspace
    >>> vspace({"a": 1.0, "b": [2.0, 3.0 + 1.0j]}).size
    4
    """
    return VSpace(value)
