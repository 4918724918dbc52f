"""Random Python functions of numbers, to be compared decorated and undecorated."""

from __future__ import annotations

import enum
import math
import random
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

import jittape as jt

INTS = (0, 1, 2, 3, -1, -2, 5, 7, 100, 2**31, -(2**31) - 1, 2**40, 2**63, -(2**63), 10**30, 10**400)
FLOATS = (0.0, -0.0, 0.5, 1.0, -1.5, 3.0, 1e-3, 1e200, 1e308, math.inf, -math.inf, math.nan)
BOOLS = (True, False)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Flags(enum.IntFlag):
    A = 1
    B = 2


class Meters(int):
    """A subclass of int with nothing of its own."""


SCOPE = {
    "jt": jt, "np": np, "math": math, "Level": Level, "Flags": Flags, "Meters": Meters, "Fraction": Fraction,
    "Decimal": Decimal, "TABLE": {0: 5, 1: 6, Level.HIGH: 7, 3: 8},
}  # fmt: skip

_BINARY = ("+", "-", "*", "//", "%", "/", "&", "|", "^")
_COMPARE = ("==", "!=", "<", "<=", ">", ">=")
_UNARY = """
-{0}; +{0}; ~{0}; abs({0}); int({0}); float({0}); bool({0}); round({0}); math.floor({0}); math.ceil({0})
math.trunc({0}); math.sqrt({0}); math.isqrt({0}); math.exp({0}); ({0}).real; ({0}).imag
({0}).bit_length(); ({0}).numerator; ({0}).is_integer(); len(format({0})); len('%s %r' % ({0}, {0}))
len(str({0})); hash({0} if {0} == {0} else 1); len([7] * min({0}, 9)); math.gcd({0}, 12)
math.copysign(1, {0}); round({0}, 1); 1 << min({0}, 50); ({0}) >> 2; pow({0}, 3, 7); Meters(3) * {0}
TABLE.get({0}, 9); TABLE[{0}]; (not {0}); sum([{0}, 1]); np.float32(0.5) * {0}; np.int64(3) - {0}
np.maximum({0}, 2); 2.0 ** {0}; ({0}) ** 2; ({0}) ** -1; ({0}) ** 0.5; complex({0}).real
json_dumps({0}); len([*range(min({0}, 9))]); float(Fraction(1, 3) * {0}); float({0} + Decimal(2))
({0} + Level.HIGH); (Flags.B & {0}); ({0} | Flags.A); divmod({0}, 3)[1]; divmod(7, {0})[0]
"""
_TEST = """
isinstance({0}, int); isinstance({0}, float); isinstance({0}, bool); {0} in (1, Level.HIGH, 5)
{0} in {{0, 2, 7}}; {0} in TABLE; {0} == Level.LOW; Level.HIGH == {0}; {0} == Fraction(1, 2)
Decimal('1.5') < {0}; {0} == 'a'; {0} is None; {0} != None; 0 < {0} < 4; {0} in [1.0, 3]
math.isfinite({0}); hasattr({0}, 'shape'); {0}; not {0}; {0} in range(4)
"""
_TENSOR = """
{t} * {0}; {0} - {t}; {t} ** {0}; {t} / {0}; jt.where({t} > {0}, {t}, {0}); {t} + jt.constant({0})
{t}[{0}]; {t}[{0}:]; {t}[:{0}]; jt.maximum({t}, {0}); jt.reduce_sum({t} * {0}); jt.roll({t}, {0}, 0)
jt.cast({0}, jt.float64) * jt.cast({t}, jt.float64); jt.range(min(max({0}, -9), 5), 5); {t} // {0}; {t} % {0}
jt.fill([2], {0}); jt.reduce_sum({t}, axis={0}); {t} * Level.HIGH * {0}; np.add({t}, {0})
jt.stack([{0}, 1])
"""


def _listed(text: str) -> list[str]:
    return [part for line in text.strip().splitlines() for part in line.split("; ")]


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = self.random.choice(
            (["i"], ["i", "j"], ["i", "b"], ["i", "j", "b"], ["i", "a"], ["a"], ["i", "b", "a"])
        )

    def number(self, depth: int) -> str:
        pick = self.random
        roll = pick.random()
        if depth <= 0 or roll < 0.2:
            return pick.choice([*self.names, *self.names, str(pick.choice((0, 1, 2, 3, -2, 0.5, True)))])
        if roll < 0.5:
            return f"({self.number(depth - 1)} {pick.choice(_BINARY)} {self.number(depth - 1)})"
        if roll < 0.85:
            return "(" + pick.choice(_listed(_UNARY)).format(self.number(depth - 1)) + ")"
        if roll < 0.93:
            return f"({self.number(depth - 1)} if {self.test(depth - 1)} else {self.number(depth - 1)})"
        return f"({self.test(depth - 1)})"

    def test(self, depth: int) -> str:
        pick = self.random
        roll = pick.random()
        if roll < 0.35:
            return f"{self.number(depth)} {pick.choice(_COMPARE)} {self.number(depth)}"
        if roll < 0.8 or depth <= 0:
            return pick.choice(_listed(_TEST)).format(self.number(min(depth, 1)))
        return f"({self.test(depth - 1)} {pick.choice(('and', 'or'))} {self.test(depth - 1)})"

    def tensor(self, depth: int) -> str:
        return self.random.choice(_listed(_TENSOR)).format(self.number(depth), t=self.random.choice("xxn"))

    def block(self, depth: int) -> list[str]:
        pick = self.random
        lines: list[str] = []
        for _ in range(pick.randint(1, 2)):
            roll = pick.random()
            if roll < 0.2:
                lines.append(f"{pick.choice(self.names)} = {self.number(2)}")
            elif roll < 0.3:
                lines.append(self.number(2))
            elif roll < 0.6 and depth:
                lines += [
                    f"if {self.test(2)}:",
                    *_indented(self.block(depth - 1)),
                    "else:",
                    *_indented(self.block(depth - 1)),
                ]
            elif roll < 0.7 and depth:
                lines += [
                    "try:",
                    *_indented(self.block(depth - 1)),
                    "except (ArithmeticError, ValueError):",
                    *_indented(self.block(depth - 1)),
                ]
            elif roll < 0.8 and depth:
                lines.append(f"match {self.number(1)}:")
                for pattern in (
                    "Level.LOW",
                    pick.choice(("0 | 3", "2.0", "True", "None")),
                    pick.choice(("int()", "float()", "bool()", "int(n0) if n0 > 3")),
                    "_",
                ):
                    lines += _indented([f"case {pattern}:", *_indented(self.block(depth - 1))])
            else:
                lines.append(f"x = {self.tensor(2)} if {self.test(1)} else {self.tensor(1)}")
        return lines


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def program(seed: int) -> tuple[str, list[str]]:
    """The text of a function ``f(x, n, ...)`` and the names of its numbers."""
    writer = _Writer(seed)
    result = writer.random.choice((writer.tensor(2), writer.number(2), "x", f"(x, {writer.number(2)})"))
    lines = [*writer.block(2), f"return {result}"]
    return "\n".join([f"def f(x, n, {', '.join(writer.names)}):", *_indented(lines)]), writer.names


def calls(seed: int, names: list[str], count: int) -> list[tuple[Any, ...]]:
    """Arguments for the numbers, with some that come again."""
    pick = random.Random(seed)
    pools = {"i": INTS, "j": INTS, "a": FLOATS, "b": BOOLS}
    small = {"i": INTS[:8], "j": INTS[:8], "a": FLOATS[:8], "b": BOOLS}
    found = [
        tuple([pick.choice((small if pick.random() < 0.75 else pools)[name]) for name in names])
        for _ in range(count)
    ]
    return found + found[: count // 2]


def outcome(function: Callable[..., Any], numbers: tuple[Any, ...]) -> Any:
    """The result of a call with tensors of both kinds, or the type of its error."""
    x, n = jt.constant(np.float32([1.5, -2.0, 0.5])), jt.constant(np.int32([1, -2, 3]))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = function(x, n, *numbers)
            return _plain(result)
        except Exception as error:
            return type(error)


def _plain(result: Any) -> Any:
    if isinstance(result, tuple):
        return [_plain(part) for part in result]
    result = converted(result)
    return (type(result), result.numpy()) if isinstance(result, jt.Tensor) else (type(result), result)


def converted(result: Any) -> Any:
    """Return a number or an array as the tensor that a decorated function returns."""
    numeric = type(result) in (bool, int, float, complex) or isinstance(result, (np.generic, np.ndarray))
    return jt.constant(result) if numeric else result


def same(a: Any, b: Any, scale: float = 0.0) -> bool:
    """Whether two outcomes agree: types, dtypes, and values but for rounding."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(p, q, scale) for p, q in zip(a, b, strict=True))
    if isinstance(a, tuple) and isinstance(b, tuple):
        if a[0] is not b[0]:
            return False
        if isinstance(a[1], np.ndarray):
            if a[1].dtype != b[1].dtype or a[1].shape != b[1].shape:
                return False
            if a[1].dtype.kind in "iub":
                return bool(np.array_equal(a[1], b[1]))
            # A difference of large float32 numbers has few digits.
            return (
                bool(np.allclose(a[1], b[1], rtol=1e-5, atol=1e-5, equal_nan=True))
                or float(abs(a[1] - b[1]).max()) < 1e-6 * scale
            )
        return repr(a[1]) == repr(b[1])
    return a is b


def mismatch(seed: int, count: int = 6) -> str:
    """The first difference between the function of `seed` decorated and undecorated; empty if there is none."""
    import json

    text, names = program(seed)
    scope: dict[str, Any] = {**SCOPE, "json_dumps": lambda v: len(json.dumps([v]))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, f"<number program {seed}>", "exec"), scope)
    python = scope["f"]
    traced = jt.function(python)
    for numbers in calls(seed, names, count):
        wanted, found = outcome(python, numbers), outcome(traced, numbers)
        scale = max([float(abs(v)) for v in numbers if abs(v) < 1e300], default=0.0)
        if not same(wanted, found, scale):
            given = dict(zip(names, numbers, strict=True))
            return f"seed {seed}, {given}: {wanted} undecorated, {found} decorated\n{text}"
    return ""
