"""`SparsityPattern`: the elements of a matrix that may be nonzero, in the order of a sparse format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["FORMATS", "SparsityPattern"]

FORMATS = ("csr", "csc", "coo")
"""The formats of sparse matrices, as SciPy names them."""

_Integers = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class SparsityPattern:
    """The positions of the elements of a matrix that may be nonzero.

    The positions are sorted by rows, or by columns for the format ``"csc"``, and each appears once. A pattern pickles.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns of the matrix.
    rows, columns : ndarray of int32, shape (nnz,)
        Positions of the elements.
    format : {"csr", "csc", "coo"}
        Format of the matrices that the pattern makes.

    Examples
    --------
    >>> import jittape as jt
    >>> import numpy as np
    >>> pattern = jt.sparse_jacobian(lambda x: x[1:] - x[:-1]).pattern(np.ones(3))
    >>> pattern
    <SparsityPattern of a (2, 3) matrix, 4 of 6 elements, format 'csr'>
    >>> pattern.columns
    array([0, 1, 1, 2], dtype=int32)
    """

    shape: tuple[int, int]
    rows: _Integers
    columns: _Integers
    format: str = "csr"

    @staticmethod
    def of_positions(
        rows: _Integers, columns: _Integers, shape: tuple[int, int], format: str
    ) -> tuple[SparsityPattern, _Integers]:
        """Return the pattern of elements at these positions, and the number of each position in the pattern."""
        major, minor, width = (columns, rows, shape[0]) if format == "csc" else (rows, columns, shape[1])
        places, numbers = np.unique(major.astype(np.int64) * max(1, width) + minor, return_inverse=True)
        first, second = (part.astype(np.int32) for part in np.divmod(places, max(1, width)))
        rows, columns = (second, first) if format == "csc" else (first, second)
        for array in (rows, columns):
            array.flags.writeable = False
        return SparsityPattern(shape, rows, columns, format), numbers.reshape(-1)

    @property
    def nnz(self) -> int:
        """Number of elements that may be nonzero."""
        return int(self.rows.size)

    def matrix(self, data: np.ndarray[Any, Any]) -> Any:
        """Return the sparse matrix with the elements `data`, an array of SciPy in the pattern's format.

        Matrices of one pattern share their index arrays, which are read-only.
        """
        import scipy.sparse

        if self.format == "coo":
            return scipy.sparse.coo_array((data, (self.rows, self.columns)), shape=self.shape)
        template = self.__dict__.get("_template")
        if template is None or template.dtype != data.dtype:
            template = self._with_index_pointers(data)
            object.__setattr__(self, "_template", template)
        # The constructor checks the index arrays again, which takes 12 µs.
        matrix = object.__new__(type(template))
        matrix.__dict__.update(template.__dict__)
        matrix.data = data
        return matrix

    def _with_index_pointers(self, data: np.ndarray[Any, Any]) -> Any:
        import scipy.sparse

        csc = self.format == "csc"
        major, minor = (self.columns, self.rows) if csc else (self.rows, self.columns)
        counts = np.bincount(major, minlength=self.shape[1 if csc else 0])
        pointers = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        pointers.flags.writeable = False
        kind = scipy.sparse.csc_array if csc else scipy.sparse.csr_array
        matrix = kind((data, minor, pointers), shape=self.shape)
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_template"}

    def __repr__(self) -> str:
        rows, columns = self.shape
        return (
            f"<SparsityPattern of a {self.shape} matrix, {self.nnz} of {rows * columns} elements, "
            f"format {self.format!r}>"
        )
