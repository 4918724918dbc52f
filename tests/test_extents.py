"""Arithmetic with extents: the functions that compute everything again for other numbers."""

import operator
import random
from typing import Any

import pytest

from jittape.core.symbolic.extent_functions import never_negative, whole_quotient
from jittape.core.symbolic.extents import Extent, Extents

BINARY = [operator.add, operator.sub, operator.floordiv, operator.mod, operator.truediv]
BINARY += [lambda a, b: a * (b % 50), max, min, lambda a, b: a << b % 5, operator.and_]
BINARY += [lambda a, b: a // (abs(b) + 1) * (abs(b) + 1) + a % (abs(b) + 1)]
UNARY = [operator.neg, abs, lambda a: a**2, lambda a: a.bit_length(), lambda a: a * 3 - 6, lambda a: a // 3]
COMPARED = [operator.lt, operator.eq, operator.ge]


def random_expression(rng: random.Random) -> Any:
    """Return a function of two ints that computes several numbers, with branches."""
    steps = []
    for made in range(2, 12):
        pick = rng.randrange(3)
        if pick == 0:
            steps.append((rng.choice(UNARY), [rng.randrange(made)], None))
        else:
            constant = rng.choice([None, None, 2, 3, 7, 100])
            operands = [rng.randrange(made), rng.randrange(made)]
            steps.append((rng.choice(BINARY), operands, constant))
    branch = rng.choice(COMPARED), rng.randrange(12), rng.randrange(12)

    def function(n: Any, m: Any) -> Any:
        values = [n, m]
        for call, operands, constant in steps:
            given = [values[i] for i in operands]
            if constant is not None:
                given[rng_side(constant)] = constant
            try:
                values.append(call(*given))
            except (ZeroDivisionError, ValueError, TypeError, AttributeError, OverflowError):
                values.append(given[0])  # floats have no bits, and shifts no negative counts
        compare, i, j = branch
        return tuple(values) if compare(values[i], values[j]) else tuple(values[:6])

    return function


def rng_side(constant: int) -> int:
    return constant % 2


@pytest.mark.parametrize("seed", range(40))
def test_random_expressions_give_the_numbers_of_python(seed):
    """A function of extents returns what Python computes, or None where a guard fails; it holds for its own numbers."""
    rng = random.Random(seed)
    held = 0
    for _ in range(10):
        function = random_expression(rng)
        hints = [rng.randrange(3, 60), rng.randrange(3, 60)]
        extents = Extents(hints)
        result = function(*extents.variables)
        again = extents.function(result)
        extents.close()
        for n, m in [hints, *[[rng.randrange(1, 90), rng.randrange(1, 90)] for _ in range(8)]]:
            found = again(n, m)
            if found is not None:
                assert found == function(n, m), (hints, n, m)
                assert not any(isinstance(value, Extent) for value in found)
                held += 1
            else:
                assert [n, m] != hints
    assert held > 20


def test_an_answer_for_all_lengths_does_not_depend_on_the_present_one():
    for hint in (2, 3, 50, 5000):
        extents = Extents([hint, 7])
        n, m = extents.variables
        answers = [never_negative(x) for x in (n - 2, 3 * n - 7, 100 - n, n - 100, n * m - 4, n - m, n // 2)]
        assert answers == [True, False, False, False, True, False, True]
        assert extents.function(0)(5, 9) == 0
        extents.close()
        assert not never_negative(-1)
        assert never_negative(0)


@pytest.mark.parametrize("seed", range(5))
def test_guards_of_one_variable_hold_in_the_largest_range_around_it(seed):
    """One range stands for all comparisons of polynomials; only equalities make holes in it."""
    rng = random.Random(seed)
    for _ in range(30):
        hint = rng.randrange(1, 60)
        decisions = random_decisions(rng)
        extents = Extents([hint])
        expected = decisions(extents.variables[0])
        holds = extents.function(())
        extents.close()
        for n in range(150):
            assert (holds(n) is not None) == (decisions(n) == expected), (hint, n)
        assert holds(-1) is None or decisions(-1) == expected


def random_decisions(rng: random.Random) -> Any:
    """Return a function of a number that compares six polynomials of it with limits."""
    rows = [
        ([rng.choice([0, 1, -1, 4, -9]) for _ in range(3)], rng.choice(COMPARED), rng.randrange(0, 5000))
        for _ in range(6)
    ]
    return lambda n: [bool(compare(a * n * n + b * n + c, limit)) for (a, b, c), compare, limit in rows]


def test_costs_are_sums_that_are_computed_at_once():
    """They are floats, as in Python, without the steps in between."""
    extents = Extents([5])
    n = extents.variables[0]
    cost = 0.0 + 10.0 * n
    for _ in range(40):
        cost = cost + 1.5 * (4 * n) + 0.5
    rounded = 0.1 * (3 * n)
    at = extents.function((cost, rounded, cost - cost, n * 0.0))
    extents.close()
    assert at(7) == (0.0 + 10.0 * 7 + 40 * (1.5 * 28 + 0.5), 0.1 * 21, 0.0, 0.0)
    assert [type(value) for value in at(7)] == [float] * 4
    assert "1.5" not in str(at.__code__.co_consts)


def test_a_whole_quotient_exists_for_divisors_only():
    extents = Extents([6])
    (n,) = extents.variables
    extents.close()
    assert [whole_quotient(6, divisor) for divisor in (0, 1, 3, 4)] == [None, 6, 2, None]
    assert whole_quotient(n, 0) is None
