"""`Guards`: the decisions of one run with extents. Those that depend on one variable are joined to a range of it.

The schedule of an attention layer has 70 guards such as ``1.5 * (9224 + 1648*n + 80*n*n) > 1048576``. For lengths in a
range around the present one all of them hold, so two comparisons replace them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from jittape.core.symbolic.polynomials import Terms, polynomial_text
from jittape.value_classes import NamedTuple

__all__ = ["Guards", "Sign", "may_coincide", "position_tests"]

_LARGEST = 2**40
"""Largest value of a variable in a range."""


_LARGEST_SPECIAL = 2
"""Largest number that has a meaning of its own as an extent or offset: nothing, no loop, a pair."""


def may_coincide(number: int) -> bool:
    """Return whether an extent that equals `number` may be treated as another extent, which only costs time."""
    return number > _LARGEST_SPECIAL


class Sign(NamedTuple):
    """A guard on the sign of a polynomial.

    Attributes
    ----------
    terms : Terms
        The polynomial.
    symbol : str
        ``"<"``, ``"<="`` or ``"=="``: how it compares to 0.
    """

    terms: Terms
    symbol: str


class _Test(NamedTuple):
    """A test of one variable: `coefficients` are those of its powers, from the highest."""

    text: str
    coefficients: list[float]
    symbol: str
    holds: bool

    def at(self, value: int) -> bool:
        sign = _value(self.coefficients, value)
        found = sign < 0 if self.symbol == "<" else sign <= 0 if self.symbol == "<=" else sign == 0
        return found == self.holds


class Guards:
    """Decisions that must be the same for other values of the variables."""

    def __init__(self) -> None:
        self._holds: dict[str, bool] = {}
        self._preferences: dict[str, Callable[[float], tuple[str, Sign | None]]] = {}
        self._signs: dict[str, Sign] = {}
        self._coincidences: dict[str, None] = {}

    def add(self, text: str, holds: bool, sign: Sign | None = None) -> bool:
        """Add a condition; return whether it holds."""
        self._holds.setdefault(text, holds)
        if sign is not None:
            self._signs[text] = sign
        return holds

    def prefer(self, key: str, condition: Callable[[float], tuple[str, Sign | None]]) -> None:
        """Add a decision about speed. ``condition(slack)`` returns its guard, as text and sign, for such a slack."""
        self._preferences.setdefault(key, condition)

    def differ(self, text: str, sign: Sign) -> bool:
        """Add an equality that does not hold, and on which only the speed depends where it does; return False."""
        self._coincidences.setdefault(text)
        self._signs[text] = sign
        return False

    def tests(self, slack: float, names: Sequence[str], hints: Sequence[Any]) -> list[str]:
        """Return conditions that imply all guards.

        Parameters
        ----------
        slack : float
            Factor by which decisions about speed may be wrong; they are exact if it is 1.
        names : sequence of str
            Names of the variables.
        hints : sequence of int
            Present values of the variables.
        """
        found = [text if holds else f"not {text}" for text, holds in self._holds.items()]
        if slack == 1:
            found += [f"not {text}" for text in self._coincidences if text not in self._holds]
        preferred = dict([condition(slack) for condition in self._preferences.values()])
        signs = {text: sign for text, sign in preferred.items() if sign is not None}
        return _with_ranges([*found, *preferred], {**self._signs, **signs}, names, hints)


def position_tests(hashed: Mapping[Terms, Any], names: Sequence[str]) -> list[str]:
    """Return the conditions that polynomials, with their present values, are in general position."""
    tests = []
    for kind in (int, float):
        keys = [polynomial_text(terms, names) for terms, hint in hashed.items() if type(hint) is kind]
        if keys:
            apart = f"len(hashed := {{{', '.join(keys)}}}) == {len(keys)}"
            tests.append(f"({apart} and constants.isdisjoint(hashed))")
    return tests


def _with_ranges(
    tests: Sequence[str], signs: Mapping[str, Sign], names: Sequence[str], hints: Sequence[Any]
) -> list[str]:
    """Return tests that imply `tests`, with one range for each variable in place of those that depend on it only."""
    kept: list[str] = []
    of_variable: dict[int, list[_Test]] = {}
    for text in tests:
        sign = signs.get(text.removeprefix("not "))
        variables = set() if sign is None else {i for monomial, _ in sign.terms for i in monomial}
        number = variables.pop() if len(variables) == 1 else -1
        if (
            sign is None
            or variables
            or not 0 <= number < len(names)
            or type(hints[number]) is not int
            or hints[number] < 1
        ):
            kept.append(text)
            continue
        test = _Test(text, _coefficients(sign), sign.symbol, not text.startswith("not "))
        if (
            _changes_of_sign(test.coefficients) > 1
            or (test.symbol == "==" and test.holds)
            or not test.at(hints[number])
        ):
            kept.append(text)
        else:
            of_variable.setdefault(number, []).append(test)
    ranges: list[str] = []
    for number, own in of_variable.items():
        low, high = _range_of(own, hints[number])
        ranges.append(f"{low} <= {names[number]} <= {high}")
        kept += [test.text for test in own if test.symbol == "==" and _may_be_zero(test, low, high)]
    return ranges + kept


def _range_of(tests: Sequence[_Test], hint: int) -> tuple[int, int]:
    """Return a range around `hint` in which all tests hold that are no equalities.

    The polynomials change their sign at most once for values from 1 on (Descartes), so a test that holds at both ends
    holds between them.
    """
    low, high = 1, _LARGEST
    for test in tests:
        if test.symbol == "==":
            continue
        if not test.at(low):
            low = _last(test, hint, low)
        if not test.at(high):
            high = _last(test, hint, high)
    return (0 if low == 1 and all([test.at(0) for test in tests]) else low), high


def _last(test: _Test, inside: int, outside: int) -> int:
    """Return the last value on the way from `inside`, where the test holds, to `outside`, where it does not."""
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        if test.at(middle):
            inside = middle
        else:
            outside = middle
    return inside


def _may_be_zero(test: _Test, low: int, high: int) -> bool:
    ends = _value(test.coefficients, low), _value(test.coefficients, high)
    return not (max(ends) < 0 or min(ends) > 0)


def _coefficients(sign: Sign) -> list[float]:
    powers = {len(monomial): factor for monomial, factor in sign.terms}
    return [powers.get(power, 0) for power in range(max(powers), -1, -1)]


def _changes_of_sign(coefficients: Sequence[float]) -> int:
    signs = [factor > 0 for factor in coefficients if factor]
    return sum([a != b for a, b in pairwise(signs)])


def _value(coefficients: Sequence[float], value: int) -> float:
    result: float = 0
    for factor in coefficients:
        result = result * value + factor
    return result
