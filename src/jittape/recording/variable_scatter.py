"""The ``gather_`` and ``scatter_`` methods of Variables, which read and assign rows or elements."""

from __future__ import annotations

from typing import Any, Self

from jittape.core.tensor_shape import TensorShape
from jittape.primitives import indexing
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor
from jittape.value_classes import NamedTuple

__all__ = ["IndexedSlices", "Scattering"]


class IndexedSlices(NamedTuple):
    """Rows of a larger value: ``values[i]`` belongs at ``indices[i]`` along the first axis.

    Parameters
    ----------
    values : tensor_like of shape (rows, ...)
        The rows.
    indices : tensor_like of int, shape (rows,)
        Their positions.
    dense_shape : sequence of int, optional
        Shape of the larger value.

    Examples
    --------
    >>> delta = jt.IndexedSlices(jt.constant([[1.0, 1.0]]), jt.constant([2]))
    >>> v = jt.Variable(jt.zeros([3, 2]))
    >>> v.scatter_add(delta).numpy()
    array([[0., 0.],
           [0., 0.],
           [1., 1.]], dtype=float32)
    """

    values: Any
    indices: Any
    dense_shape: Any = None

    @property
    def shape(self) -> TensorShape:
        """The shape of the larger value; unknown if `dense_shape` is None."""
        return TensorShape(self.dense_shape)

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self.values.dtype


class Scattering(Operators):
    """The base of `Variable` with methods that read and assign rows and elements by index."""

    __slots__ = ()

    def _assign_result(self, tensor: Tensor) -> Self:
        raise NotImplementedError

    # ---- rows --------------------------------------------------------------------------------------------------

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Return the rows at `indices`, as `jt.gather` does."""
        return indexing.gather.gather(self, indices)

    def scatter_add(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Self:
        """Add ``sparse_delta.values`` to the rows at ``sparse_delta.indices``; repeated rows add up."""
        return self._assign_result(indexing.scatter.scatter_add(self, *_rows(sparse_delta)))

    def scatter_sub(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Self:
        """Subtract ``sparse_delta.values`` from the rows at ``sparse_delta.indices``."""
        return self._assign_result(indexing.scatter.scatter_sub(self, *_rows(sparse_delta)))

    def scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Self:
        """Replace the rows at ``sparse_delta.indices``; of several for one row, the last one wins."""
        return self._assign_result(indexing.scatter.scatter_update(self, *_rows(sparse_delta)))

    def batch_scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Self:
        """Replace rows of each member of a batch: ``v[b, indices[b, i]] = values[b, i]``.

        All dimensions of ``sparse_delta.indices`` but the last are dimensions of the batch, and the first of the
        Variable and of ``sparse_delta.values`` as well.

        Examples
        --------
        >>> import jittape as jt
        >>> v = jt.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> v.batch_scatter_update(jt.IndexedSlices([[-1.0], [-2.0]], [[0], [2]])).numpy()
        array([[-1.,  2.,  3.],
               [ 4.,  5., -2.]], dtype=float32)
        """
        return self._assign_result(indexing.scatter.batch_scatter_update(self, *_rows(sparse_delta)))

    def scatter_mul(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Self:
        """Multiply the rows at ``sparse_delta.indices`` by ``sparse_delta.values``."""
        return self._assign_result(indexing.scatter.scatter_combine(self, *_rows(sparse_delta), "mul"))

    def scatter_div(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Self:
        """Divide the rows at ``sparse_delta.indices`` by ``sparse_delta.values``."""
        return self._assign_result(indexing.scatter.scatter_combine(self, *_rows(sparse_delta), "div"))

    def scatter_max(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Self:
        """Replace the rows at ``sparse_delta.indices`` by the greater of them and ``sparse_delta.values``."""
        return self._assign_result(indexing.scatter.scatter_extremum(self, *_rows(sparse_delta), "max"))

    def scatter_min(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Self:
        """Replace the rows at ``sparse_delta.indices`` by the less of them and ``sparse_delta.values``."""
        return self._assign_result(indexing.scatter.scatter_extremum(self, *_rows(sparse_delta), "min"))

    # ---- elements ----------------------------------------------------------------------------------------------

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """Return the elements or slices at the coordinates in `indices`, as `jt.gather_nd` does."""
        return indexing.gather.gather_nd(self, indices)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Self:
        """Add `updates` at `indices`, as `jt.tensor_scatter_nd_add` does."""
        return self._assign_result(indexing.scatter.tensor_scatter_nd_add(self, indices, updates))

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Self:
        """Subtract `updates` at `indices`."""
        return self._assign_result(indexing.scatter.tensor_scatter_nd_sub(self, indices, updates))

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Self:
        """Assign `updates` at `indices`."""
        return self._assign_result(indexing.scatter.tensor_scatter_nd_update(self, indices, updates))

    def scatter_nd_max(self, indices: Any, updates: Any, name: str | None = None) -> Self:
        """Assign the elementwise maximum of the current values and `updates` at `indices`.

        Examples
        --------
        >>> import jittape as jt
        >>> v = jt.Variable([1.0, 5.0, 3.0])
        >>> v.scatter_nd_max([[0], [1]], [2.0, 4.0]).numpy()
        array([2., 5., 3.], dtype=float32)
        """
        return self._assign_result(indexing.scatter.tensor_scatter_nd_max(self, indices, updates))

    def scatter_nd_min(self, indices: Any, updates: Any, name: str | None = None) -> Self:
        """Assign the elementwise minimum of the current values and `updates` at `indices`."""
        return self._assign_result(indexing.scatter.tensor_scatter_nd_min(self, indices, updates))


def _rows(delta: IndexedSlices) -> tuple[Any, Any]:
    """Return the indices and values of the argument of a `scatter_` method."""
    if not isinstance(delta, IndexedSlices):
        raise TypeError(
            f"sparse_delta is not IndexedSlices: {delta!r}; write jt.IndexedSlices(values, indices)"
        )
    return delta.indices, delta.values
