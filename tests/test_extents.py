"""Arithmetic with extents: the functions that compute everything again for other numbers."""

import operator
import random
from typing import Any

import pytest

from jittape.core.symbolic.extent_functions import never_negative
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
