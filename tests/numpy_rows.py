"""One table that compares public functions with NumPy: value, dtype, shape, and where both raise.

A `Row` is one function. `numpy_table` has what is computed element by element and reductions, `numpy_table_shape`
shapes, indexing and linear algebra, both under jittape's names; `numpy_table_protocol` has NumPy's own names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from numpy_samples import Cases

BEFORE_NUMPY_2_5 = np.lib.NumpyVersion(np.__version__) < "2.5.0"


@dataclass(frozen=True)
class Deviation:
    """Where jittape differs from the reference on purpose.

    Attributes
    ----------
    why : str
        The reason, with the contract that asks for it.
    refuses : str
        A pattern of the error with which jittape refuses what NumPy takes; empty if it refuses nothing.
    takes : callable or None
        ``takes(*args, **kwargs)`` says for which arguments jittape gives what NumPy does not give, or another value.
    """

    why: str
    refuses: str = ""
    takes: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Row:
    """How one function is compared.

    Attributes
    ----------
    name : str
        As users write it; a remark may follow in brackets.
    call, reference : callable
        Take the same arguments: tensors and arrays.
    cases : callable
        Gives the arguments.
    deviations : tuple of Deviation
        Each must be met by a case.
    rtol : float
        Further tolerance, in units of the dtype's resolution.
    signed_zeros : bool
        Whether the sign of zeros is compared.
    """

    name: str
    call: Callable[..., Any]
    reference: Callable[..., Any]
    cases: Cases
    deviations: tuple[Deviation, ...] = ()
    rtol: float = 4
    signed_zeros: bool = True

    def __str__(self) -> str:
        return self.name


NO_ORDER = Deviation("TensorFlow: complex numbers have no order", "not defined for complex")
FITS = Deviation(
    "a Python int must fit the dtype that it meets, or it is refused", r"number -?\d+ does not fit"
)
SQUARE_OF_BOOLS = Deviation(
    "int8, as the operator gives in NumPy too",
    takes=lambda x, y: type(y) is int and x.dtype == np.bool_ and y == 2,
)
NOT_BOOL = Deviation("TensorFlow: not defined for bools", "not defined for bool")
NOT_INT = Deviation(
    "TensorFlow: not defined for integers", "(not defined for|real floating dtype, got) (bool|u?int)"
)
NOT_COMPLEX = Deviation("TensorFlow: not defined for complex numbers", "(not defined for|dtype, got) complex")
BOOL_AXIS = Deviation(
    "a bool is no axis, as mostly in NumPy", "axis must be an int( or a sequence of ints)?, got True"
)
WHOLE = Deviation("a float is no count, index or width", "(must be|indices must be) (an int|int)")
BELOW = Deviation("one dimension may be -1, no other negative number", "has a negative dimension")
