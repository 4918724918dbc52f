"""The Padé approximant of degree 13 of the matrix exponential, which the interpreter and compiled code share.

A. Al-Mohy and N. Higham, "A new scaling and squaring algorithm for the matrix exponential" (SIAM J. Matrix Anal. Appl.
31, 2009).
"""

from __future__ import annotations

__all__ = ["COEFFICIENTS", "LARGEST", "LARGEST_EXPONENT", "LEADING_ERROR"]

COEFFICIENTS = tuple(
    c / 64764752532480000.0
    for c in (
        64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
        10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
    )
)  # fmt: skip
"""Coefficients of the numerator, from the constant term, divided by the first, so that float32 does not overflow."""
LARGEST = 4.25
"""Norm up to which the approximant is accurate to double precision without scaling."""
LEADING_ERROR = 113250775606021113483283660800000000.0
"""Reciprocal of the coefficient of ``x**27`` in the backward error of the approximant."""
LARGEST_EXPONENT = {4: 18, 8: 150}
"""Exponent of a norm up to which the sixth power of the matrix is finite, by the size of a real number in bytes."""
