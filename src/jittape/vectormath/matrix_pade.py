"""Padé approximants of the matrix exponential and logarithm, which the interpreter and compiled code share.

The exponential has one of degree 13, and one of degree 7 in compiled code: A. Al-Mohy and N. Higham, "A new scaling and
squaring algorithm for the matrix exponential" (SIAM J. Matrix Anal. Appl. 31, 2009). That of the logarithm is of degree
7, in partial fractions: N. Higham, "Functions of Matrices" (SIAM 2008), algorithm 11.9.
"""

from __future__ import annotations

from functools import cache

import numpy as np

__all__ = [
    "COEFFICIENTS",
    "COEFFICIENTS_OF_7",
    "FEW_HALVINGS",
    "LARGEST",
    "LARGEST_EXPONENT",
    "LARGEST_OF_7",
    "LEADING_ERROR",
    "LOGARITHM_RADIUS",
    "MOST_ROOTS",
    "logarithm_nodes_and_weights",
]

COEFFICIENTS = tuple(
    c / 64764752532480000.0
    for c in (
        64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
        10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
    )
)  # fmt: skip
"""Coefficients of the numerator, from the constant term, divided by the first, so that float32 does not overflow."""
COEFFICIENTS_OF_7 = tuple(
    c / 17297280.0 for c in (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
)
"""The same for the approximant of degree 7, which takes one product instead of three."""
LARGEST_OF_7 = 0.9504178996162932
"""Norm up to which the approximant of degree 7 is accurate to double precision."""
LARGEST = 4.25
"""Norm up to which the approximant is accurate to double precision without scaling."""
FEW_HALVINGS = 2
"""Number of halvings up to which the norms of the eighth and tenth power, two more products, are not computed."""
LEADING_ERROR = 113250775606021113483283660800000000.0
"""Reciprocal of the coefficient of ``x**27`` in the backward error of the approximant."""
LARGEST_EXPONENT = {4: 18, 8: 150}
"""Exponent of a norm up to which the sixth power of the matrix is finite, by the size of a real number in bytes."""

# ---- logarithm -------------------------------------------------------------------------------------------------------

LOGARITHM_RADIUS = 0.264
"""Norm of ``t - 1`` up to which the approximant is accurate to double precision."""
MOST_ROOTS = 100
"""Maximum number of square roots that a logarithm takes."""


@cache
def logarithm_nodes_and_weights() -> tuple[tuple[float, float], ...]:
    """Return the nodes and weights of Gauss's rule for the interval from 0 to 1, which take 74 µs to compute."""
    nodes, weights = np.polynomial.legendre.leggauss(7)
    return tuple(zip(((nodes + 1) / 2).tolist(), (weights / 2).tolist(), strict=True))
