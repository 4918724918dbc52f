"""Random ``@njit`` programs on matrices of any layout and size: empty, one row or column, Fortran order, strided.

No statement depends on a size, so that each program runs with all of them.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np

from random_njit import compiled_program
from random_njit_matrices import MatrixStatements

HELPERS = """
import math
import numba
import numpy as np

@numba.njit
def leaf(z, c):
    for i in range(len(z) - 1, 0, -1):
        if z[i] > 0.9:
            return z[i] * c
        z[i] = 0.6 * z[i] * c + 0.2 * z[i - 1] * z[i]
    return c

@numba.njit
def middle(z, y, c):
    total = leaf(z[::-1], c)
    for i in range(min(len(z), len(y))):
        if y[i] < -0.8:
            continue
        z[i] -= 0.3 * y[i] * total
        if z[i] > 1.1:
            break
        total += leaf(y[i:], z[i])
    return total

@numba.njit
def outermost(g, c):
    total = 0.0
    for i in range(g.shape[0]):
        for j in range(g.shape[1]):
            if g[i, j] > 1.3:
                return total * g[i, j], g[i:, j]
        total = 0.5 * total + middle(g[i, 1:], g[i - 1, ::-1], c)
    return total, g[:, :1].copy().ravel()

@numba.njit
def ends(z, y):
    if len(z) == 0:
        return y, y * 0.5
    return z[1:], z * z[0]

@numba.njit
def blur(g, h, c):
    for i in range(1, g.shape[0]):
        g[i, :] = 0.5 * g[i - 1, ::-1] + c * h[i, :]
        h[i - 1, 1:] *= g[i, :-1]

@numba.njit
def row_sums(g):
    out = np.zeros(g.shape[0])
    for i, row in enumerate(g):
        for z in row:
            out[i] += z * z
    return out

"""

_ROWS = ("range(r)", "range(r)", "range(1, r)", "range(r - 1, -1, -1)", "range(0, r, 2)", "range(min(n, r))")
_numbers = itertools.count()


class _Program(MatrixStatements):
    """Writes a program on matrices `a`, `b` and `d` of r by c elements, vectors `u` and `v` of c, and `q` of r.

    Every third program is for square matrices, and has products and transposes, too.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.square = seed % 3 == 0
        self.rows: list[str] = []
        self.columns: list[str] = []
        self.loops = 0
        self.depth = 1
        self.lines = [
            "@numba.njit", "def program(a, b, u, p, n):", "    s, t, k = 0.5 * p, 0.25, 0", "    r, c = a.shape",
            "    d = a * 0.5 + b", "    v = u * p", "    q = np.sum(b, axis=1)",
        ]  # fmt: skip

    def line(self, text: str) -> None:
        self.lines += ["    " * self.depth + one for one in text.split("\n")]

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def one(self, *lines: str) -> None:
        """Write one of these statements."""
        self.line(self.random.choice(lines))

    def new(self) -> str:
        return f"e{next(_numbers)}"

    def row(self) -> str:
        """Return a row index that is valid in the loops that are open."""
        one = self.random.choice(self.rows)
        return self.pick(one, one, f"{one} - 1", f"r - 1 - {one}", f"({one} + k) % r", f"-1 - {one}")

    def column(self) -> str:
        one = self.random.choice(self.columns)
        return self.pick(one, one, f"{one} - 1", f"c - 1 - {one}", f"({one} * 2) % c", f"-1 - {one}")

    def matrix(self) -> str:
        names = ["a", "b", "d", "a", "b", "d[::-1]", "a[:, ::-1]", "b[::-1, ::-1]"]
        return self.random.choice(names + ["a.T", "b.T", "d.T[::-1]"] * self.square)

    def vector(self) -> str:
        """Return a vector of c elements."""
        names = ["u", "v", "u[::-1]", "v"]
        if self.rows:
            i, own = self.row(), self.pick("a", "b", "d")
            names += [f"{self.matrix()}[{self.row()}]", f"{own}[{i}, :]", f"a[{self.row()}, ::-1]"]
        if self.square:
            names += ["q"]
        return self.random.choice(names)

    def tall(self) -> str:
        """Return a vector of r elements."""
        names = ["q", "q[::-1]", "q"]
        if self.columns:
            j, own = self.column(), self.pick("a", "b", "d")
            names += [f"{own}[:, {j}]", f"b[::-1, {self.column()}]", f"d.T[{j}]"]
        return self.random.choice(names)

    def atom(self) -> str:
        names = ["s", "t", "p", "0.4"]
        if self.rows:
            names += [f"q[{self.row()}]"] * 2
        if self.columns:
            names += [f"{self.pick('u', 'v')}[{self.column()}]"] * 2
        if self.rows and self.columns:
            names += [f"{self.pick('a', 'b', 'd')}[{self.row()}, {self.column()}]"] * 4
        return self.random.choice(names)

    def expression(self) -> str:
        one, other = self.atom(), self.atom()
        return self.pick(
            one, f"{one} * {other}", f"math.sin({one}) * {other}", f"({one} - 0.5 * {other})",
            f"math.tanh({one} + {other})", f"max({one}, {other})", f"{one} / (1.5 + {other} ** 2)",
            f"({one} if {self.condition()} else {other})", f"abs({one})",
        )  # fmt: skip

    def condition(self) -> str:
        tests = [
            f"{self.atom()} > {self.atom()}",
            f"{self.atom()} < 0.3",
            "k % 2 == 0",
            "r > 1",
            "c > n",
            "s < t",
        ]
        one = self.random.choice(tests)
        if self.random.random() < 0.2:
            return f"{one} {self.pick('and', 'or')} {self.random.choice(tests)}"
        return one

    def part(self) -> str:
        """Return a slice of an axis of any size."""
        return self.pick("1:", ":-1", "::2", "::-1", "1:-1", ":2", "-2:", "k % 2 :", ":n", "::-2")

    def statement(self, level: int) -> None:
        kinds = ["whole", "sliced", "sums", "called", "aliased", "scalar", "tupled", "mixed"]
        if self.rows and self.columns:
            kinds += ["element"] * 4
        elif self.rows:
            kinds += ["rowwise"] * 3
        if self.square:
            kinds += ["squared"]
        if level > 0:
            kinds += [
                "row_loop",
                "row_loop",
                "column_loop",
                "column_loop",
                "steps",
                "iterate",
                "branch",
                "search",
            ]
        if self.loops:
            kinds += ["jump"]
        getattr(self, "_" + self.random.choice(kinds))(level)

    def block(self, level: int) -> None:
        self.depth += 1
        for _ in range(self.random.randrange(1, 4)):
            self.statement(level)
        self.depth -= 1

    def _scalar(self, level: int) -> None:
        self.one(
            f"s = 0.6 * s + {self.expression()}", f"t = {self.expression()} * 0.7", f"s -= {self.expression()}",
            "k += 1",
            f"s, t = t, s * {self.atom()}", f"q += {self.atom()}", f"v[:] = {self.atom()}", f"d *= {self.atom()}",
        )  # fmt: skip

    def _row_loop(self, level: int) -> None:
        i = self.new()
        header = self.random.choice(_ROWS)
        if self.rows and self.random.random() < 0.5:
            outer = self.rows[-1]
            header = self.pick(f"range({outer})", f"range({outer}, r)", f"range(r - 1, {outer}, -1)")
        self.line(f"for {i} in {header}:")
        self._body(self.rows, i, level)

    def _column_loop(self, level: int) -> None:
        j = self.new()
        header = self.random.choice(_ROWS).replace("r)", "c)").replace("(r ", "(c ")
        self.line(f"for {j} in {header}:")
        self._body(self.columns, j, level)

    def _body(self, names: list[str], name: str, level: int) -> None:
        names.append(name)
        self.loops += 1
        self.block(level - 1)
        self.loops -= 1
        names.pop()

    def _steps(self, level: int) -> None:
        name = self.new()
        if self.random.random() < 0.5:
            self.line(f"for {name} in range({self.pick('n', '2', 'k % 3')}):")
            self.loops += 1
            self.block(level - 1)
        else:
            self.line(f"{name} = 0\nwhile {name} < 4 and ({self.condition()}):\n    {name} += 1")
            self.loops += 1
            self.block(level - 1)
            if self.random.random() < 0.5:
                self.line(
                    f"    if {self.condition()}: {self.pick('break', 'continue', f'return {self.atom()}')}"
                )
                self.block(0)
        self.loops -= 1

    def _branch(self, level: int) -> None:
        self.line(f"if {self.condition()}:")
        self.block(level - 1)
        if self.random.random() < 0.6:
            self.line("else:")
            self.block(level - 1)

    def _search(self, level: int) -> None:
        """Write nested loops with jumps, one of which may leave the program."""
        i, j = self.new(), self.new()
        header = self.pick("range(c)", "range(c - 1, -1, -1)", f"range(min(c, {i} + 1))")
        self.line(f"for {i} in range(r):\n    for {j} in {header}:")
        self.rows.append(i)
        self.columns.append(j)
        self.loops += 1
        self.depth += 1
        self.block(0)
        self.line(f"    if {self.condition()}: {self.pick('break', 'continue', f'return s + {self.atom()}')}")
        self.line(f"    a[{i}, {j}] = 0.5 * {self.expression()}")
        self.columns.pop()
        if self.random.random() < 0.5:
            self.line(f"if {self.condition()}: {self.pick('break', 'continue', f'return s * {self.atom()}')}")
        self.line(f"s += 0.2 * q[{i}]\nb[{i}] *= u")
        self.depth -= 1
        self.loops -= 1
        self.rows.pop()

    def _jump(self, level: int) -> None:
        self.line(f"if {self.condition()}: {self.pick('break', 'continue', f'return {self.expression()}')}")

    def text(self) -> str:
        for _ in range(self.random.randrange(2, 6)):
            self.statement(3)
        self.line(
            "return s + 0.5 * t + np.sum(a * a) + 0.3 * np.sum(b * d) + 0.2 * np.sum(u * v) + 0.1 * np.sum(q)"
        )
        return HELPERS + "\n".join(self.lines) + "\n"


def random_layouts(seed: int):
    """Return a random ``@njit`` function and its text."""
    return compiled_program(_Program(seed).text(), f"<random njit layouts {seed}>")


def in_layout(x: Any, kind: int) -> Any:
    """Return a copy of an array in C order, in Fortran order, or with other strides."""
    if kind == 0:
        return np.ascontiguousarray(x)
    if kind == 1:
        return np.asfortranarray(x)
    step = (2, -2, -1)[kind - 2]
    larger = np.full([abs(step) * size for size in x.shape], np.nan)
    view = larger[(slice(None, None, step),) * x.ndim]
    view[...] = x
    return view


def layout_arguments(seed: int):
    """Return arguments of a random program: two matrices and a vector in random layouts and sizes."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.choice([0, 1, 2, 3, 4, 4], 2)
    if seed % 3 == 0:
        columns = rows
    a, b, u = (
        rng.uniform(-1, 1, (rows, columns)),
        rng.uniform(-1, 1, (rows, columns)),
        rng.uniform(-1, 1, columns),
    )
    kinds = [int(rng.integers(5)) for _ in range(3)]
    return *[in_layout(x, kind) for x, kind in zip((a, b, u), kinds, strict=True)], rng.uniform(-1, 1), 3
