"""Statements of random ``@njit`` programs on arrays: slices, matrices, tuples, callees, names bound again."""

from __future__ import annotations

import itertools
import random

HELPERS = """
@numba.njit
def bump(v, c):
    v[1] += 0.3 * math.sin(c) * v[0]
    if v[1] > 0.8:
        return v[0] * c
    v[0] -= 0.1 * c
    return v[1]

@numba.njit
def search(v, level):
    for i in range(len(v)):
        if v[i] > level:
            return v[i] * level
        v[i] = 0.9 * v[i] + 0.05 * level
        if v[i] < -0.7:
            break
    return v[0] - level

@numba.njit
def pair(v, c):
    if c > 0.2:
        return v[2] * c, v[0] - c
    return c, v[1] * v[3]

@numba.njit
def tail(v):
    return v[1:]

@numba.njit
def mixed(u, v, c):
    out = np.empty_like(u)
    for i in range(len(u)):
        out[i] = u[i] * c + v[-1 - i] * v[i]
    return out

@numba.njit
def settle(v, c):
    steps = 0
    while steps < 6 and np.sum(v * v) > 0.4:
        v *= 0.8 + 0.1 * math.cos(c)
        steps += 1
    return steps
"""

_numbers = itertools.count()


class ArrayStatements:
    """Statements on the vectors `x`, `w` and `y`, whose name is bound again, and on the matrix `m`."""

    random: random.Random
    counters: list[str]
    depth: int

    def integer(self) -> str:
        """Return an int from 0 on."""
        return self.random.choice(["k", "n", *self.counters, *self.counters])

    def vector(self) -> str:
        return self.random.choice(["x", "w", "x", "w", "y", "m[1]", "m[:, 2]"])

    def _slices(self, level: int) -> None:
        at, size = self.integer(), self.random.randrange(1, 3)
        places = [f"{at} % 3 : {at} % 3 + {size}", f"-{size} - 1 : -1", f"{3 - size} : 3", f"{at} % 2 : : 4"]
        one = self.random.choice(places)
        target, source = self.random.choice(["xw", "wx"])
        if "4" in one:
            value = f"{source}[1:3][::-1] * {self.atom()}"
        else:
            value = f"{source}[{self.random.choice(places[:3])}] * {self.atom()}"
        if "4" in one:
            one = f"{self.integer()} % 1 : : 4"
        self.line(f"{target}[{one}] {self.random.choice(['=', '+=', '-=', '*='])} {value}")
        self.line(f"s += 0.2 * np.sum({target}[{at} % 4 :]) - 0.1 * np.max(w[: {self.integer()} % 4 + 1])")

    def _matrix(self, level: int) -> None:
        i, j = self.random.choice([0, 1, -1, *self.counters]), self.random.randrange(5)
        lines = [
            f"m[{i}, {j}] = math.sin({self.expression(1)})", f"m[{j}] = {self.vector()} * {self.atom()}",
            f"m[:, {j}] += 0.3 * {self.vector()}", f"m[{i}, 1:3] *= {self.atom()}", "m = 0.5 * m + 0.1 * m.T",
            f"s += np.sum(m[{j}] * {self.vector()})", "x[:] = np.tanh(m @ w)", "w += 0.1 * np.sum(m, axis=0)",
            f"t = m[{i}, {j}] * m[{j}, 0]", "m[1:, 1:] -= 0.2 * np.outer(x[1:], w[:-1])",
            f"m[{j}, :] = x", "s -= 0.1 * np.max(m)", "m[::2] = np.cos(m[::2])", "np.fill_diagonal(m, t)",
            "s += 0.1 * np.trace(m)", "w[:] = np.diag(m) * 0.5",
        ]  # fmt: skip
        self.line(self.random.choice(lines))

    def _tuples(self, level: int) -> None:
        one, other = self.random.choice(["st", "ts"])
        lines = [
            f"{one}, {other} = {other}, {self.expression(1)}", f"s, t = pair({self.vector()}, {self.atom()})",
            f"q = ({self.expression(1)}, s, w[1]); s = q[0] - 0.5 * q[-1]; t = q[1]",
            f"x[0], x[1] = x[1], {self.atom()}", f"t = pair(w, {self.atom()})[1] * s",
        ]  # fmt: skip
        self.line(self.random.choice(lines))

    def _callee(self, level: int) -> None:
        lines = [
            f"s += bump(x, {self.atom()}) * x[1]", f"s = x[0] * 0.5 + bump(x, {self.atom()}) - x[0]",
            f"x[1] += bump(x, {self.atom()})", f"w[0] *= bump(w, {self.atom()})", f"t = search(w, {self.atom()})",
            f"s = s * search(x[1:], {self.atom()}) - x[2]", "part = tail(x); part[1] *= t; s += part[0]",
            f"y = mixed({self.vector()}, w, {self.atom()})", f"k += settle(x, {self.atom()})",
            f"x[settle(w, {self.atom()}) % 5] += {self.atom()}", f"s -= bump(m[{self.random.randrange(5)}], t)",
            f"search(m[:, {self.random.randrange(5)}], {self.atom()})", f"x[k % 5] -= search(x, {self.atom()})",
        ]  # fmt: skip
        self.line(self.random.choice(lines))

    def _rebind(self, level: int) -> None:
        lines = [
            f"y = 0.5 * y + {self.vector()} * {self.atom()}", f"y = {self.vector()}.copy()",
            "y = np.concatenate((y[1:], y[:1]))", "y = np.where(y > 0.1, x, 0.5 * y)", "y = np.cumsum(y) * 0.3",
            f"y = np.sin(y); s += y[{self.index()}]", f"y = m @ y * 0.2; t -= y[{self.index()}]",
            f"s += np.dot(y, w) * {self.atom()}", f"last, y = y, y + 0.1 * x; s += last[{self.index()}] * y[0]",
        ]  # fmt: skip
        self.line(self.random.choice(lines))

    def _reduced(self, level: int) -> None:
        one = self.vector()
        lines = [
            f"s += 0.3 * np.prod({one})", f"t = np.mean({one}) - np.min({one})", f"s -= {one}[np.argmax(w)]",
            f"t += 0.1 * np.cumsum({one})[{self.index()}]", f"s += {one}.sum() * {self.atom()}",
            f"t = np.std({one} + np.arange(5.0))", f"s += np.linalg.norm({one} + 2.0)", f"s += np.sort({one})[1]",
            f"x[w > {self.random.choice(['0.2', '-0.1'])}] = {self.random.choice(['0.3', 't', 's'])}",
            f"x[{one} < 0.4] *= t", f"w[np.array([3, 1])] += 0.2 * {one}[2:4]", f"s += np.var({one}) * t",
        ]  # fmt: skip
        self.line(self.random.choice(lines))

    def _iterate(self, level: int) -> None:
        name = f"v{next(_numbers)}"
        one = self.vector()
        kind = self.random.randrange(3)
        if kind == 0:
            self.line(f"for {name} in {one}:")
        elif kind == 1:
            self.line(f"for j{name}, {name} in enumerate({one}):")
        else:
            self.line(f"for {name}, u{name} in zip({one}, {self.vector()}):")
        self.scalars.append(name)
        jumps, self.counters = self.counters, [f"j{name}"] if kind == 1 else self.counters
        self.depth += 1
        self.line(f"s = 0.7 * s + math.sin({name}) * {self.atom()}")
        self.depth -= 1
        self.block(self.random.randrange(0, 3), level - 1)
        self.scalars.remove(name)
        self.counters = jumps

    def _approach(self, level: int) -> None:
        name, i = f"steps{next(_numbers)}", self.index()
        self.line(f"{name} = 0")
        self.line(f"while x[{i}] < {self.atom()} and {name} < 3:")
        self.depth += 1
        self.line(f"x[{i}] += 0.2 + 0.1 * math.cos({self.atom()})")
        self.line(f"{name} += 1")
        if self.random.random() < 0.4:
            self.line(f"if {self.condition()}:")
            self.line(f"    {self.random.choice(['break', 'continue', f'return {self.expression(1)}'])}")
            self.line(f"s -= 0.2 * x[{i}]")
        self.depth -= 1
