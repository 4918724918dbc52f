"""Eigenvalues, singular values, norms and functions of matrices under jittape's names: see `numpy_rows`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jittape as jt
from numpy_protocol_samples import BOOLS, COMPLEX, CUBE, INTS, SQUARE, E, S, V, X
from numpy_rows import Row
from numpy_samples import given, numbers
from numpy_table import checked

HERMITIAN = numbers("complex64", (2, 3, 3))
MATRICES = (X, SQUARE, CUBE, V, S, E, INTS, BOOLS, COMPLEX, HERMITIAN, INTS[:, :2], np.zeros((2, 0, 0)))
MATRICES_AND_HALF = (*MATRICES, np.ones((2, 2), np.float16))


def supported(x: Any) -> Any:
    """`x`, if LAPACK supports its dtype."""
    return checked(x.dtype != np.float16 and x.dtype.kind in "fc", x)


def of_supported(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of matrices of the dtypes of LAPACK."""
    return lambda x, *args, **kwargs: function(supported(x), *args, **kwargs)


def svd(x: Any, full_matrices: Any = False, compute_uv: Any = True) -> Any:
    """NumPy's, in TensorFlow's order."""
    if not compute_uv:
        return np.linalg.svd(supported(x), compute_uv=False)
    u, s, vh = np.linalg.svd(supported(x), full_matrices)
    return s, u, np.conj(np.matrix_transpose(vh))


SPECTRA = [
    Row(
        "jt.linalg.eigh",
        jt.linalg.eigh,
        of_supported(lambda x: tuple(np.linalg.eigh(x))),
        given(*[(a,) for a in MATRICES_AND_HALF]),
    ),
    Row(
        "jt.linalg.eigvalsh",
        jt.linalg.eigvalsh,
        of_supported(lambda x: np.linalg.eigh(x)[0]),
        given(*[(a,) for a in MATRICES_AND_HALF]),
    ),
    Row(
        "jt.linalg.svd",
        jt.linalg.svd,
        svd,
        given(
            *[(a,) for a in MATRICES_AND_HALF],
            (SQUARE, True),
            (SQUARE, True, False),
            (X, False, False),
        ),
        rtol=64,
        signed_zeros=False,
    ),
    Row(
        "jt.linalg.svdvals",
        jt.linalg.svdvals,
        of_supported(np.linalg.svdvals),
        given(*[(a,) for a in MATRICES_AND_HALF]),
        rtol=64,
    ),
]

ROWS: list[Row] = [*SPECTRA]
