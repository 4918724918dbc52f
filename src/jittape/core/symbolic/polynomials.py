"""Polynomials of extents: their texts, floats that are exact sums of them, and texts that share their parts.

A polynomial is a sum of monomials with coefficients. A monomial is the sorted numbers of its variables and atoms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = [
    "SharedTexts",
    "Terms",
    "float_polynomial",
    "polynomial_text",
    "products",
    "reduced",
    "sums",
]

Terms = tuple[tuple[tuple[int, ...], Any], ...]
"""Pairs of a monomial and a coefficient that is not 0, in order."""

_Pairs = Iterable[tuple[tuple[int, ...], Any]]

_GRID, _MOST = 2.0**10, 2.0**40
"""Multiples of ``1 / _GRID`` below `_MOST` are added and multiplied without rounding, so the order does not matter."""
_RECENT = 4
"""Number of polynomials among which the one is sought that is next to another."""


def polynomial_text(terms: Terms, names: Sequence[str]) -> str:
    """Return the text of a polynomial; `names` are those of the variables and atoms."""
    parts = []
    for monomial, factor in terms:
        factors = [names[i] for i in monomial]
        # The factor of a float stays, and makes the product a float.
        parts.append(
            "*".join(([] if factor == 1 and factors and type(factor) is int else [str(factor)]) + factors)
        )
    return "(" + " + ".join(parts) + ")" if len(parts) > 1 else "".join(parts) or "0.0"


def sums(left: _Pairs, right: _Pairs, times: Any = 1) -> dict[tuple[int, ...], Any]:
    """Return the coefficients of ``left + times * right`` by monomial; some may be 0."""
    made = dict(left)
    for monomial, factor in right:
        made[monomial] = made.get(monomial, 0) + times * factor
    return made


def products(left: _Pairs, right: _Pairs) -> dict[tuple[int, ...], Any]:
    """Return the coefficients of a product of two polynomials by monomial; some may be 0."""
    made: dict[tuple[int, ...], Any] = {}
    for first, a in left:
        for second, b in right:
            monomial = tuple(sorted(first + second))
            made[monomial] = made.get(monomial, 0) + a * b
    return made


def reduced(polynomial: Mapping[tuple[int, ...], Any]) -> Terms:
    """Return a polynomial as terms."""
    return tuple(sorted([(monomial, factor) for monomial, factor in polynomial.items() if factor]))


def float_polynomial(symbol: str, left: Terms | None, right: Terms | None) -> Terms | None:
    """Return the sum, difference or product of two polynomials of ints, as floats; None if a value may be rounded.

    The costs of a step are such sums of fifty parts.
    """
    if left is None or right is None or not _is_exact(left) or not _is_exact(right):
        return None
    if symbol == "*":
        made = products(left, right)
    elif symbol in "+-":
        made = sums(left, right, 1 if symbol == "+" else -1)
    else:
        return None
    found = tuple([(monomial, float(factor)) for monomial, factor in reduced(made)])
    return found if _is_exact(found) else None


def _is_exact(terms: Terms) -> bool:
    return all([abs(factor) < _MOST and (factor * _GRID).is_integer() for _, factor in terms])


class SharedTexts:
    """Texts of polynomials of ints in one function: each is computed once, from one before it if that takes less.

    Parameters
    ----------
    names : sequence of str
        Names of the variables and atoms.

    Attributes
    ----------
    lines : list of str
        The assignments of the function. The caller may add more.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self.lines: list[str] = []
        self._known: dict[Terms, str] = {}

    def text(self, terms: Terms) -> str:
        """Return the text of a polynomial at this place of the function."""
        if _cost(terms) < 1:
            return polynomial_text(terms, self._names)
        known = self._known.get(terms)
        if known is None:
            text, least = polynomial_text(terms, self._names), _cost(terms)
            for before in list(self._known)[-_RECENT:]:
                rest = reduced(sums(terms, before, -1))
                if _cost(rest) + 1 < least:
                    least = _cost(rest) + 1
                    text = f"{self._known[before]} + {polynomial_text(rest, self._names)}"
            known = self._known[terms] = f"p{len(self.lines)}"
            self.lines.append(f"{known} = {text}")
        return known


def _cost(terms: Terms) -> int:
    """Return the number of sums and products of a polynomial."""
    return sum([len(monomial) + (factor != 1 or not monomial) for monomial, factor in terms]) - 1
