"""`Extent`: an integer that stands for an extent, and remembers what was computed from it and decided about it.

A program that meets arrays of another length needs other numbers in its tables, but mostly the same decisions. To find
both, jittape runs its passes once with extents in place of some numbers. Arithmetic on an extent gives an extent, whose
expression is kept. A comparison gives an ordinary bool, and becomes a *guard*: the decision must be the same for the
numbers of another call. `Extents.function` returns the compiled expressions with their guards.

An `Extent` is not an `int`. Code that needs a plain integer (``range``, NumPy, a format) asks for `__index__` or a
text, which adds the guard that the extent has its present value. So a number never escapes unnoticed: code that has not
been written for extents makes the result less general, never wrong. A text that is only printed is ``None``.

Extents hash by their expression, so two of them are the same key of a dictionary only if they are always equal. The
last guard, *general position*, requires that expressions that were hashed differ from each other and from the constants
of the program. Numbers that are equal by accident, such as a batch of 3 rows of 3 numbers, do not pass it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from jittape.core.program import Body, bodies_of_thread
from jittape.core.symbolic.expression_writer import COMPARISONS, OPERATORS, ExpressionWriter, guarded_function
from jittape.core.symbolic.guard_ranges import Guards, Sign, may_coincide, position_tests
from jittape.core.symbolic.memo_keys import is_memo_key
from jittape.core.symbolic.polynomials import (
    SharedTexts,
    Terms,
    float_polynomial,
    polynomial_text,
    products,
    reduced,
    sums,
)

__all__ = ["Extent", "Extents", "applied", "hint_of", "open_extents", "plain_of", "terms_of"]

open_extents: list[Extents] = []
"""The runs that go on. If there is none, all shapes consist of plain ints."""


class Extents:
    """The variables of one run with extents, the atoms computed from them, and the guards.

    Parameters
    ----------
    hints : sequence of int or float
        The present values of the variables.
    line : callable
        Returns the running line of the user's code.

    Attributes
    ----------
    variables : list of Extent
        One for each hint.
    is_open : bool
        Whether the run goes on. Afterwards extents, which caches or Python code may hold, are like their values.
    pinned_at
        The line that first needed the value of an extent, as `line` returns it; None if none did.
    ignores_coincidences : bool
        Whether results hold where expressions are equal by accident, too, as a schedule does that tells them apart.
    hashed : dict
        Expressions that were keys of dictionaries, with their present values.
    guards : Guards
    """

    def __init__(self, hints: Sequence[Any], line: Callable[[], Any] = str) -> None:
        self.line = line
        self.pinned_at: Any = None
        self._atoms: list[str] = [f"v{i}" for i in range(len(hints))]
        self._numbered: dict[Any, Extent] = {}
        self._forms: dict[Terms, Terms | None] = {}
        self.guards = Guards()
        self.hashed: dict[Terms, Any] = {}
        self.ignores_coincidences = False
        self._lines: list[str] = []
        self._functions: dict[str, Callable[..., Any]] = {}
        self._arguments: dict[str, Any] = {}
        self._constants: frozenset[int] = frozenset()
        self._bodies: dict[Any, Body] = {}
        self.is_open = self.hashes_by_value = True
        open_extents.append(self)
        self.variables = [Extent(self, (((i,), 1),), hint) for i, hint in enumerate(hints)]

    @contextmanager
    def hashed_by_expression(self) -> Iterator[None]:
        """Let extents be keys of dictionaries by their expressions, in code that only jittape's own passes run."""
        before = self.hashes_by_value, bodies_of_thread.table
        self.hashes_by_value, bodies_of_thread.table = False, self._bodies
        try:
            yield
        finally:
            self.hashes_by_value, bodies_of_thread.table = before

    def close(self) -> None:
        """End the run."""
        self.is_open = False
        open_extents.remove(self)

    def is_general(self, constants: Iterable[int]) -> bool:
        """Return whether the present values are in general position among `constants`; other values must be, too."""
        self._constants = frozenset(constants)
        values = {(type(hint), hint) for hint in self.hashed.values()}
        apart = len(values) == len(self.hashed) and self._constants.isdisjoint(self.hashed.values())
        return apart and self.pinned_at is None

    def function(self, result: Any, hashed: Any = None, slack: float = 1.0) -> Callable[..., Any]:
        """Return a function of the values of the variables: `result` for these values; None if a guard fails.

        The guards require the expressions in `hashed`, by default all hashed ones, to be in general position. Decisions
        about speed may be wrong by the factor `slack`; if it is not 1, coincidences may be ignored. Tuples,
        dictionaries and dataclasses with extents are built anew; all else is shared.
        """
        variables = self._atoms[: len(self.variables)]
        tests = self.guards.tests(slack, variables, [variable._hint for variable in self.variables])
        if slack == 1 or not self.ignores_coincidences:
            tests += position_tests(self.hashed if hashed is None else hashed, self._atoms)
        shared = SharedTexts(self._atoms)
        writer = ExpressionWriter(
            lambda v: shared.text(v._terms) if v.__class__ is Extent else None, shared.lines
        )
        value = writer.text(result)
        results = [*shared.lines, value]
        names = {**self._functions, **self._arguments, **writer.constants, "constants": self._constants}
        of_extents = {name: partial(applied, function) for name, function in self._functions.items()}
        return guarded_function(variables, self._lines, tests, results, names, Extent, of_extents)

    def _atom(self, key: Any, text: str, hint: Any) -> Extent:
        if (known := self._numbered.get(key)) is None:
            number = len(self._atoms)
            self._atoms.append(f"t{number}")
            self._lines.append(f"t{number} = {text}")
            known = self._numbered[key] = Extent(self, (((number,), 1),), hint)
        return known

    def _polynomial(self, terms: dict[tuple[int, ...], int], hint: Any) -> Any:
        kept = reduced(terms)
        if not kept or kept[-1][0] == ():
            return kept[0][1] if kept else 0
        return Extent(self, kept, hint)

    def _form(self, value: Any) -> Terms | None:
        is_atom = value.__class__ is Extent and type(value._hint) is float
        return self._forms.get(value._terms) if is_atom else terms_of(value)

    def _computed(self, function: Callable[..., Any], *arguments: Any) -> Extent:
        name = f"f{id(function)}"
        self._functions[name] = function
        keys: list[Any] = []
        texts = []
        for argument in arguments:
            if argument.__class__ is Extent:
                keys.append(argument._terms)
                texts.append(argument._source)
            else:
                texts.append(f"k{id(argument)}")
                keys.append(texts[-1])
                self._arguments[texts[-1]] = argument
        return self._atom((name, *keys), f"{name}({', '.join(texts)})", function(*map(hint_of, arguments)))


def applied(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return ``function(*arguments)``; recomputed for other values of those arguments that are extents."""
    extent = next((a for a in arguments if a.__class__ is Extent), None)
    return function(*arguments) if extent is None else extent.computed(function, *arguments)


def terms_of(value: Any) -> Terms:
    """Return the polynomial of an extent, or of a number."""
    return value._terms if value.__class__ is Extent else (((), value),)


class Extent:
    """An integer (or a number computed from integers) that is a variable or an expression: see the module."""

    __slots__ = ("_hint", "_owner", "_terms")

    def __init__(self, owner: Extents, terms: Terms, hint: Any) -> None:
        self._owner = owner
        self._terms = terms
        self._hint = hint

    @property
    def _source(self) -> str:
        return polynomial_text(self._terms, self._owner._atoms)

    # ---- arithmetic ----------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        if not _are_integers(self, other):
            return _operation("+", self, other)
        return self._owner._polynomial(sums(self._terms, terms_of(other)), self._hint + hint_of(other))

    def __radd__(self, other: Any) -> Any:
        return self + other if _are_integers(self, other) else _operation("+", other, self)

    def __mul__(self, other: Any) -> Any:
        if not _are_integers(self, other):
            return _operation("*", self, other)
        return self._owner._polynomial(products(self._terms, terms_of(other)), self._hint * hint_of(other))

    def __rmul__(self, other: Any) -> Any:
        return self * other if _are_integers(self, other) else _operation("*", other, self)

    def __neg__(self) -> Any:
        return self * -1

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def __sub__(self, other: Any) -> Any:
        return self + -1 * other if _are_integers(self, other) else _operation("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other if _are_integers(self, other) else _operation("-", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._quotient(other) if _are_integers(self, other) else _operation("//", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _operation("//", other, self)

    def __mod__(self, other: Any) -> Any:
        if not _are_integers(self, other):
            return _operation("%", self, other)
        if self._is_divided(other):
            return dict(self._terms).get((), 0) % other
        # No atom: quotient * divisor + remainder is the expression of `self` again.
        return self - self // other * other

    def __rmod__(self, other: Any) -> Any:
        return _operation("%", other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __truediv__(self, other: Any) -> Any:
        return _operation("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _operation("/", other, self)

    def __pow__(self, other: Any) -> Any:
        return _operation("**", self, other)

    def __lshift__(self, other: Any) -> Any:
        return _operation("<<", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _operation("<<", other, self)

    def __rshift__(self, other: Any) -> Any:
        return _operation(">>", self, other)

    def __and__(self, other: Any) -> Any:
        return _operation("&", self, other)

    __rand__ = __and__

    def bit_length(self) -> Any:
        """Return the number of bits, as `int.bit_length`."""
        return self.computed(int.bit_length, self)

    def __trunc__(self) -> Any:
        return self.computed(int, self)

    def _as_extent(self) -> Extent:
        return self

    def _quotient(self, other: Any) -> Any:
        """Return ``self // other``, without an atom if the division has no remainder for all values."""
        if self._is_divided(other):
            parts = {monomial: factor // other for monomial, factor in self._terms}
            return self._owner._polynomial(parts, self._hint // other)
        if other.__class__ is Extent and len(self._terms) == len(other._terms) == 1 and other != 0:
            (mine, a), (its, b) = self._terms[0], other._terms[0]
            rest = list(mine)
            if a % b == 0 and all([mine.count(i) >= its.count(i) for i in its]):
                for i in its:
                    rest.remove(i)
                return self._owner._polynomial({tuple(rest): a // b}, self._hint // other._hint)
        return _operation("//", self, other)

    def _is_divided(self, other: Any) -> bool:
        """Return whether `other` is a number that divides all coefficients except the constant."""
        if type(other) is not int or not other:
            return False
        return all([factor % other == 0 for monomial, factor in self._terms if monomial])

    # ---- decisions -----------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return self is other or _compared("==", self, other)

    def __lt__(self, other: Any) -> bool:
        return _compared("<", self, other)

    def __le__(self, other: Any) -> bool:
        return _compared("<=", self, other)

    def __gt__(self, other: Any) -> bool:
        return not _compared("<=", self, other)

    def __ge__(self, other: Any) -> bool:
        return not _compared("<", self, other)

    def __bool__(self) -> bool:
        return not _compared("==", self, 0)

    def __hash__(self) -> int:
        if self._owner.hashes_by_value or not self._owner.is_open:
            return hash(self.plain())
        if not is_memo_key():
            self._owner.hashed.setdefault(self._terms, self._hint)
        return hash((id(self._owner), self._terms))

    # ---- escapes: the value becomes plain --------------------------------------------------------------------------

    def computed(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return ``function(*arguments)``, one of which is the extent; it is recomputed for other values."""
        if function is int and type(self._hint) is int:
            return self
        owner = self._owner
        return owner._computed(function, *arguments) if owner.is_open else function(*map(hint_of, arguments))

    def plain(self) -> Any:
        """Return the present value, and add the guard that the extent has it."""
        if self._owner.is_open:
            self._owner.pinned_at = self._owner.pinned_at or self._owner.line()
            _compared("==", self, self._hint)
        return self._hint

    def __index__(self) -> int:
        return operator.index(self.plain())

    def __int__(self) -> int:
        return int(self.plain())

    def __float__(self) -> float:
        return float(self.plain())

    def __repr__(self) -> str:
        from jittape.core.symbolic.printed_text import is_only_printed  # most programs print no extents

        return "None" if self._owner.is_open and is_only_printed() else repr(self.plain())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.plain(), dtype)

    def __reduce__(self) -> Any:
        raise TypeError("an extent belongs to one run of the passes and cannot be copied or stored")


def hint_of(value: Any) -> Any:
    """Return the present value of an extent; another value as it is."""
    return value._hint if value.__class__ is Extent else value


def plain_of(value: Any) -> Any:
    """Return the value of an extent, guarded as by `Extent.plain`; another value as it is."""
    return value.plain() if value.__class__ is Extent else value


def _are_integers(extent: Extent, other: Any) -> bool:
    return type(extent._hint) is int and type(hint_of(other)) in (int, bool) and extent._owner.is_open


def _operation(symbol: str, left: Any, right: Any) -> Any:
    """Return an atom for the result of an operator that a polynomial does not express."""
    extent: Extent = left if left.__class__ is Extent else right
    if not extent._owner.is_open:
        return OPERATORS[symbol](hint_of(left), hint_of(right))
    for value in (left, right):
        if value.__class__ is Extent:
            if value._owner is not extent._owner:
                raise TypeError("extents of different runs")
        elif type(value) not in (int, bool, float):
            return NotImplemented
    texts = [f"({v._source if v.__class__ is Extent else repr(v)})" for v in (left, right)]
    key = (symbol, *[v._terms if v.__class__ is Extent else (type(v), v) for v in (left, right)])
    try:
        hint = OPERATORS[symbol](hint_of(left), hint_of(right))
    except (ArithmeticError, ValueError):  # such as a division by zero; other values may give none
        plain_of(left), plain_of(right)
        raise
    owner = extent._owner
    form = float_polynomial(symbol, owner._form(left), owner._form(right)) if type(hint) is float else None
    text = f"{texts[0]} {symbol} {texts[1]}" if form is None else polynomial_text(form, owner._atoms)
    atom = owner._atom(key, text, hint)
    owner._forms[atom._terms] = form
    return atom


def _compared(symbol: str, extent: Extent, other: Any) -> Any:
    """Compare with the present values, and guard the result."""
    owner = extent._owner
    if not owner.is_open:
        return COMPARISONS[symbol](extent._hint, hint_of(other))
    if other.__class__ is Extent:
        if other._owner is not owner:
            return False
    elif type(other) not in (int, bool, float):
        return NotImplemented
    if _are_integers(extent, other):
        difference = extent - other
        if difference.__class__ is not Extent:
            return COMPARISONS[symbol](difference, 0)
        holds = COMPARISONS[symbol](difference._hint, 0)
        text, sign = f"{difference._source} {symbol} 0", Sign(difference._terms, symbol)
        if holds is False and symbol == "==" and owner.ignores_coincidences and may_coincide(hint_of(other)):
            return owner.guards.differ(text, sign)
        return owner.guards.add(text, holds, sign)
    right = other._source if other.__class__ is Extent else f"({other!r})"
    holds = COMPARISONS[symbol](extent._hint, hint_of(other))
    return owner.guards.add(f"{extent._source} {symbol} {right}", holds)
