"""Index sets as sparse matrices of truth values, with a row for each element of a value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse

from jittape.core.program import Aval, is_dynamic_dim

__all__ = [
    "MOST_ELEMENTS", "Array", "DenseSets", "Sets", "constant_sets", "placed_sets", "rows_of", "selected_sets",
]  # fmt: skip

Sets = Any
"""The sets of a value: a ``csr_array`` of bool of shape (elements of the value, elements of the argument)."""

Array = np.ndarray[Any, np.dtype[Any]]

MOST_ELEMENTS = 2**26
"""Maximum number of elements of a pattern. Its indices take 0.5 GB, its preparation five times as much."""


class DenseSets(Exception):
    """Index sets have more than `MOST_ELEMENTS` elements."""


def rows_of(aval: Aval) -> int:
    """Return the number of sets of a value; those of a stack of unknown length are united into one row."""
    return math.prod(aval.shape[1:]) if is_dynamic_dim(aval) else aval.size


def constant_sets(rows: int, width: int) -> Sets:
    """Return the sets of a constant."""
    return scipy.sparse.csr_array((rows, width), dtype=bool)


def placed_sets(sets: Sets, at: Array, size: int) -> Sets:
    """Return sets for `size` elements, with element `i` of `sets` united with element ``at[i]``."""
    count = len(at)
    ones = np.ones(count, bool)
    return scipy.sparse.csr_array((ones, (at, np.arange(count))), shape=(size, count)) @ sets


def selected_sets(sets: Sets, at: Array) -> Sets:
    """Return the sets of the elements at the positions `at`.

    Raises
    ------
    DenseSets
        If they are too many. Without this limit the system would end the process for lack of memory.
    """
    if int(np.diff(sets.indptr)[at].sum()) > MOST_ELEMENTS:
        raise DenseSets
    return sets[at]
