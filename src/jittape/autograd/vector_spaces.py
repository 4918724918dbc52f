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

    Parameters
    ----------
    value : number, array or container
        An element of the space.

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
        self._zero = mapped(_zero_like, value)
        if isinstance(value, (list, tuple, dict)):
            self.shape: Any = _spaces_of(value)
            self.dtype: np.dtype[Any] | None = None
        else:
            self.shape = np.shape(self._zero)
            self.dtype = self._zero.dtype
        self.iscomplex = self.dtype is not None and self.dtype.kind == "c"

    @property
    def ndim(self) -> int:
        """The number of dimensions of an array."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of real dimensions: a complex number has two."""
        return sum([(1 + np.iscomplexobj(z)) * np.size(z) for z in leaves_of_value(self._zero)])

    def zeros(self) -> Any:
        """Return the zero of the space."""
        return mapped(lambda z: z.copy(), self._zero)

    def ones(self) -> Any:
        """Return the sum of the basis vectors: ones, or ``1 + 1j`` for complex numbers."""
        return mapped(lambda z: z + z.dtype.type(1 + 1j if np.iscomplexobj(z) else 1), self._zero)

    def randn(self) -> Any:
        """Return a normally distributed vector."""
        generator = np.random.default_rng()

        def drawn(z: Any) -> Any:
            number = generator.standard_normal(np.shape(z))
            if np.iscomplexobj(z):
                number = number + 1j * generator.standard_normal(np.shape(z))
            return z + np.asarray(number).astype(z.dtype)

        return mapped(drawn, self._zero)

    def standard_basis(self) -> Iterator[Any]:
        """Yield the basis vectors."""
        zeros = leaves_of_value(self._zero)
        for i, z in enumerate(zeros):
            for index in np.ndindex(*np.shape(z)):
                for unit in (1, 1j) if np.iscomplexobj(z) else (1,):
                    leaves = [np.array(other) for other in zeros]
                    leaves[i][index] = unit
                    yield like(self._zero, [leaf[()] for leaf in leaves])

    def add(self, x: Any, y: Any) -> Any:
        """Return the sum of two vectors."""
        pairs = zip(leaves_of_value(x), leaves_of_value(y), strict=True)
        return like(self._zero, [a + b for a, b in pairs])

    mut_add = add

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """Return the product of a vector with a real number."""
        return like(self._zero, [leaf * a for leaf in leaves_of_value(x)])

    def covector(self, x: Any) -> Any:
        """Return the complex conjugate, which turns a vector into a covector."""
        return mapped(lambda leaf: leaf.conj() if hasattr(leaf, "conj") else leaf.conjugate(), x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """Return the real inner product of two vectors."""
        pairs = zip(leaves_of_value(self.covector(x)), leaves_of_value(y), strict=True)
        return sum([_sum_of_real(a * b) for a, b in pairs])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VSpace):
            return False
        return bool(self.shape == other.shape and self.dtype == other.dtype)

    def __hash__(self) -> int:
        return hash(tuple([(np.shape(z), z.dtype) for z in leaves_of_value(self._zero)]))

    def __repr__(self) -> str:
        return f"VSpace({self.shape}" + (")" if self.dtype is None else f", {self.dtype})")


def _zero_like(leaf: Any) -> Any:
    aval = as_tensor(leaf).aval
    return np.zeros(aval.shape, aval.dtype)[()]


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
