"""Random ``@njit`` programs: loops, branches, `break`, early return, in-place updates, views and callees."""

from __future__ import annotations

import itertools
import linecache
import random
import re

import numpy as np

from random_njit_arrays import HELPERS, ArrayStatements
from random_njit_flow import FLOW_HELPERS, FlowStatements
from random_njit_views import MORE_HELPERS, ViewStatements

HEADER = """
import math
import numba
import numpy as np

@numba.njit
def blend(u, v):
    if u > v:
        return 0.7 * u + math.sin(v)
    return u * v - 0.2

@numba.njit
def relax(source, target, c):
    for i in range(1, len(source) - 1):
        target[i] = target[i] * 0.5 + c * (source[i - 1] - source[i + 1]) + 0.1 * source[i] * target[i - 1]

"""

_numbers = itertools.count()


class Generator(ArrayStatements, ViewStatements, FlowStatements):
    """Writes the lines of one program; `x` and `w` are vectors of five elements, `p` is a number.

    In half of the programs, statements also use the vector `y` and the matrix `m`; half of these have statements on
    views of views, index arrays, named tuples, tensors and linear algebra too. Programs of odd seeds have more control
    flow.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines = [
            "@numba.njit",
            "def program(x, w, p, n):",
            "    s = 0.5 * p",
            "    t = 0.25",
            "    k = 0",
        ]
        self.with_arrays = self.random.random() < 0.5
        if self.with_arrays:
            self.lines += ["    y = x - w", "    m = np.outer(w, x) * p"]
        self.with_views = self.with_arrays and self.random.random() < 0.5
        if self.with_views:
            self.lines += [
                "    c3 = np.ones((2, 3, 4)) * t",
                "    c3[1] = np.outer(w[:3], x[1:])",
                "    idx = np.array([1, 3, 1])",
                "    m2 = 0.5 * m",
            ]
        self.with_flow = seed % 2 == 1
        if self.with_flow:
            self.lines.append("    b3 = np.ones((2, 3, 4)) * t; b3[1] = np.outer(w[:3], x[1:])")
        self.depth = 1
        self.scalars = ["s", "t", "p"]
        self.counters: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def index(self) -> str:
        choice = self.random.random()
        if self.counters and choice < 0.6:
            name = self.random.choice(self.counters)
            return self.random.choice([name, f"({name} + {self.random.randrange(3)}) % 5", f"{name} - 1"])
        return str(self.random.randrange(-2, 5))

    def atom(self) -> str:
        if self.random.random() < 0.5:
            return self.random.choice(self.scalars)
        return f"{self.random.choice('xw')}[{self.index()}]"

    def expression(self, depth: int = 2) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return self.atom()
        one, other = self.expression(depth - 1), self.expression(depth - 1)
        forms = [
            f"({one} + {other})", f"({one} - 0.5 * {other})", f"0.3 * {one} * {other}", f"math.sin({one})",
            f"math.tanh({one} * {other})", f"{one} / (2.0 + {other} ** 2)", f"math.exp(-({one}) ** 2)",
            f"max({one}, {other})", f"np.sqrt(1.0 + {one} ** 2)", f"blend({one}, {other})",
            f"({one} if {self.condition()} else {other})", f"np.cos({one})", f"abs({one})",
        ]  # fmt: skip
        return self.random.choice(forms)

    def condition(self) -> str:
        tests = [f"{self.atom()} > {self.atom()}", f"{self.atom()} < 0.4", "k % 2 == 0", "n > 2"]
        if self.counters:
            tests.append(f"{self.random.choice(self.counters)} != 0")
        one = self.random.choice(tests)
        if self.random.random() < 0.2:
            return f"{one} {self.random.choice(['and', 'or'])} {self.random.choice(tests)}"
        return one

    def block(self, count: int, level: int) -> None:
        self.depth += 1
        for _ in range(count):
            self.statement(level)
        self.depth -= 1

    def statement(self, level: int) -> None:
        kinds = ["assign", "assign", "update", "store", "store", "aug", "arrays", "view", "call"]
        if self.with_arrays:
            kinds += ["slices", "matrix", "tuples", "callee", "rebind", "reduced"]
            kinds += ["iterate", "approach"] * (level > 0)
        if self.with_views:
            kinds += [
                "nested",
                "places",
                "boxes",
                "tensors",
                "empty",
                "algebra",
                "calls",
                "local",
                "stencil",
            ] * 2
            kinds += ["stencil", "stencil", "waves", "waves", "waves"]
            kinds += ["search", "endless"] * (level > 0)
        if self.with_flow:
            kinds += ["swap", "returned", "chosen"] * 2 + ["nest", "kept"] * 2 * (level > 0)
        kinds += ["if", "for", "while"] * (level > 0)
        kinds += ["jump"] * (bool(self.counters))
        getattr(self, "_" + self.random.choice(kinds))(level)

    def _assign(self, level: int) -> None:
        self.line(f"{self.random.choice('st')} = {self.expression()}")
        self.line("k += 1")

    def _update(self, level: int) -> None:
        self.line(f"{self.random.choice('st')} {self.random.choice(['+=', '-='])} {self.expression(1)}")

    def _store(self, level: int) -> None:
        self.line(f"{self.random.choice('xw')}[{self.index()}] = math.tanh({self.expression()})")

    def _aug(self, level: int) -> None:
        operator = self.random.choice(["+=", "-=", "*="])
        self.line(f"{self.random.choice('xw')}[{self.index()}] {operator} math.cos({self.expression(1)})")

    def _arrays(self, level: int) -> None:
        self.line(
            self.random.choice(
                [
                    "x[1:] = 0.5 * x[:-1] + w[1:] * t", "w[:] = np.sin(x) * w", "x += 0.1 * w", "w *= np.cos(x)",
                    "s += np.sum(x * w)", "t = np.dot(x, w) * 0.1", "s -= 0.1 * np.max(x)",
                    "x[:] = np.where(w > 0.3, x, 0.5 * w)", "w[1:-1] = w[2:] - x[:-2]",
                ]
            )
        )  # fmt: skip

    def _view(self, level: int) -> None:
        self.line(f"part = {self.random.choice('xw')}[{self.random.choice(['1:', ':-1', '::2', '::-1'])}]")
        self.line(f"part[{self.random.randrange(2)}] *= {self.atom()}")
        self.line("s = s * 0.5 + part[1] * part[0]")

    def _call(self, level: int) -> None:
        self.line(f"relax({self.random.choice(['x, w', 'w, x'])}, {self.atom()})")

    def _if(self, level: int) -> None:
        self.line(f"if {self.condition()}:")
        self.block(self.random.randrange(1, 3), level - 1)
        if self.random.random() < 0.6:
            self.line("else:")
            self.block(self.random.randrange(1, 3), level - 1)

    def _for(self, level: int) -> None:
        name = f"i{next(_numbers)}"
        header = self.random.choice(
            ["range(5)", "range(1, 4)", "range(4, -1, -1)", "range(0, 5, 2)", "range(n)"]
        )
        self.line(f"for {name} in {header}:")
        self.counters.append(name)
        self.block(self.random.randrange(1, 4), level - 1)
        self.counters.pop()

    def _while(self, level: int) -> None:
        name = f"k{next(_numbers)}"
        self.line(f"{name} = {self.random.randrange(3)}")
        self.line(f"while {name} < 4 and ({self.condition()}):")
        self.depth += 1
        self.line(f"{name} += 1")
        self.depth -= 1
        saved, self.counters = self.counters, []
        self.block(self.random.randrange(1, 3), level - 1)
        self.counters = saved

    def _jump(self, level: int) -> None:
        self.line(f"if {self.condition()}:")
        self.depth += 1
        self.line(self.random.choice(["break", "continue", f"return {self.expression(1)}"]))
        self.depth -= 1

    def _sums(self) -> None:
        """Write loops that add to a total; most of them run forward and backward in one pass."""
        self.line("total = s")
        for _ in range(self.random.randrange(1, 3)):
            self._sum(2)
        self.line(
            self.random.choice(["return 0.5 * total - t", "return (s - total) / n", "return total * s"])
        )

    def _sum(self, level: int) -> None:
        name = f"i{next(_numbers)}"
        header = self.random.choice(["range(5)", "range(n)", "range(3, 0, -1)"])
        self.line(f"for {name} in {header}:")
        self.counters.append(name)
        self.depth += 1
        for _ in range(self.random.randrange(1, 4)):
            kind = self.random.choice(
                [
                    "add",
                    "add",
                    "if",
                    "local",
                    "call",
                    "running",
                    *["sum", "inner", "mean"] * level,
                    "jump",
                    "odd",
                ]
            )
            if kind == "add":
                self.line(f"total {self.random.choice(['+=', '-='])} {self.expression()}")
            elif kind == "if":
                self.line(f"if {self.condition()}:")
                self.line(f"    total += {self.expression()}")
            elif kind == "running":
                lines = [f"s += 0.3 * {self.atom()}", f"total -= s * {self.atom()}"]
                for line in self.random.sample(lines, 2):
                    self.line(line)
            elif kind == "local":
                self.line(f"d = x * {self.atom()} - {self.random.choice(['w', 'x[::-1]'])}")
                self.line("total -= math.sqrt(0.1 + np.sum(d * d)) + d[1] / math.sqrt(1.0 + d[0] ** 2)")
            elif kind == "call":
                self.line("v = w.copy()")
                self.line(f"relax(x, v, {self.atom()})")
                self.line("total += np.sum(v)")
            elif kind == "sum":
                self._sum(level - 1)
            elif kind == "mean":
                self.line(f"u = np.sum(x) * {self.atom()}")
                self.line("for j in range(5):")
                self.line("    total += (x[j] - u) ** 2")
            elif kind == "inner":
                self.line("u = 0.0")
                self.line(f"for j in range({self.random.randrange(3)}, 5):")
                self.line(f"    u += {self.expression()} * x[j]")
                self.line("total += math.tanh(u)")
            elif kind == "jump":
                self.line(f"if {self.condition()}:")
                self.line(f"    {self.random.choice(['break', 'continue'])}")
            else:
                self.line(
                    self.random.choice(
                        [
                            "total *= 0.9",
                            "x[1] += 0.1 * total",
                            "t = total",
                            "total = max(total, w[2])",
                            "k += 2",
                        ]
                    )
                )
        self.depth -= 1
        self.counters.pop()

    def text(self) -> str:
        for _ in range(self.random.randrange(3, 7)):
            self.statement(3)
        if self.random.random() < 0.5:
            self._sums()
        else:
            more = " + 0.1 * np.sum(y * m[2])" if self.with_arrays else ""
            self.line(f"return s + 0.5 * t + np.sum(x * x) + 0.3 * w[1]{more}")
        helpers = HELPERS * self.with_arrays + MORE_HELPERS * self.with_views + FLOW_HELPERS * self.with_flow
        return self.with_helpers(helpers)

    def with_helpers(self, helpers: str) -> str:
        """Return the text of the program and of the functions that it calls."""
        return HEADER + helpers + "\n" + "\n".join(self.lines) + "\n"


def random_program(seed: int):
    """Return a random ``@njit`` function and its text."""
    return compiled_program(Generator(seed).text(), f"<random njit program {seed}>")


def compiled_program(text: str, file: str):
    """Return the ``@njit`` function `program` of a text, and the text."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, object] = {}
    exec(compile(text, file, "exec"), namespace)
    return namespace["program"], text


def without_numba(text: str):
    """Return a random program as a Python function that calls Python functions: nothing is compiled."""
    namespace: dict[str, object] = {}
    exec(re.sub(r" *@numba.njit\n", "", text), namespace)
    return namespace["program"]


def random_arguments(seed: int):
    """Return arguments of a random program."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, 5), rng.uniform(-1, 1, 5), rng.uniform(-1, 1), 3


def special_arguments(seed: int):
    """Return arguments of a random program whose elements are small whole numbers and halves."""
    rng = np.random.default_rng(seed)
    numbers = np.array([0.0, 0.5, 1.0, 1.0, 2.0, -1.0])
    return rng.choice(numbers, 5), rng.choice(numbers, 5), float(rng.choice(numbers)), 3


def directional_difference(python, arguments, directions, step):
    """Return the central difference along `directions`, and whether the two sides take different paths near here."""

    def at(h):
        shifted = [a + h * d if d is not None else a for a, d in zip(arguments, directions, strict=True)]
        return python(*shifted)

    coarse = (at(step) - at(-step)) / (2 * step)
    fine = (at(step / 4) - at(-step / 4)) / (step / 2)
    forward, backward = (at(step) - at(0.0)) / step, (at(0.0) - at(-step)) / step
    scale = 1 + abs(coarse)
    smooth = abs(coarse - fine) < 1e-5 * scale and abs(forward - backward) < 1e-3 * scale
    return fine, smooth
