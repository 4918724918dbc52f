"""Random ``@njit`` programs that write an array row by row, in place, and read other rows of it."""

from __future__ import annotations

import itertools
import random

import numpy as np

from random_njit import compiled_program

RANGES = (
    "range(i + 1, {r})",
    "range(0, i)",
    "range(i, {r})",
    "range({r})",
    "range({r} - 1, i, -1)",
    "range(2, i)",
)
TERMS = (
    "0.3 * {} * {}",
    "np.sin({} + {})",
    "p * {} - 0.2 * {}",
    "np.tanh({} * {})",
    "0.4 * {} + 0.1 * {} ** 2",
)
_numbers = itertools.count()


class _Rows:
    """The text of a program with matrices `a` and `b`, a number `p` and a number of steps."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._axis = self._random.choice((0, 0, 1))
        self._rows, self._columns = f"u.shape[{self._axis}]", f"u.shape[{1 - self._axis}]"
        self._wild = self._random.random() < 0.25

    def _element(self, row: str, column: str, name: str = "u") -> str:
        return f"{name}[{row}, {column}]" if self._axis == 0 else f"{name}[{column}, {row}]"

    def _term(self, row: str) -> str:
        first = self._element(row, "j")
        other = self._random.choice(
            (first, self._element("i", "j"), self._element("i", "j", "b"), self._element(row, "j - 1"))
        )
        return self._random.choice(TERMS).format(first, other)

    def _columns_of(self) -> str:
        low, high = self._random.choice(((0, 0), (0, 0), (1, 0), (1, 1), (0, 4)))
        return f"for j in range({low}, {self._columns} - {high}):"

    def _statement(self) -> list[str]:
        kind = self._random.random()
        operator = self._random.choice(("+=", "+=", "-=", "="))
        target = self._element("i", "j")
        if self._wild and self._random.random() < 0.4:
            target = self._element(self._random.choice(("k", "i - 1", "0")), "j")
        over_rows = f"for k in {self._random.choice(RANGES).format(r=self._rows)}:"
        if kind < 0.55:
            return [over_rows, f"    {self._columns_of()}", f"        {target} {operator} {self._term('k')}"]
        if kind < 0.75:
            target = target.replace("k", "i")
            row = self._random.choice(("i", "i", "i - 1"))
            return [self._columns_of(), f"    {target} {operator} {self._term(row)}"]
        return [
            "s = 0.0", over_rows, f"    {self._columns_of()}", f"        s += {self._term('k')}",
            f"{self._element('i', '0')} {operator} np.sin(s)",
        ]  # fmt: skip

    def text(self) -> str:
        """Return the program."""
        lines = ["def program(a, b, p, steps):", "    u = a.copy()"]
        indent = "    "
        if self._random.random() < 0.4:
            lines.append("    for _ in range(steps):")
            indent = "        "
        for _ in range(self._random.choice((1, 1, 1, 2))):
            rows = self._random.choice(
                ("range({r})", "range({r})", "range(1, {r})", "range({r} - 1, -1, -1)", "range(-1, {r} - 1)")
            )
            lines.append(f"{indent}for i in {rows.format(r=self._rows)}:")
            inner = indent + "    "
            for _ in range(self._random.randint(1, 3)):
                more = ""
                if self._random.random() < 0.2:
                    lines.append(f"{inner}if {self._element('i', '0', 'b')} > 0.0:")
                    more = "    "
                lines += [f"{inner}{more}{line}" for line in self._statement()]
        lines.append("    return np.sum(np.sin(u) * b) + 0.1 * np.sum(u * u)")
        return "\n".join(lines) + "\n"


def random_rows(seed: int):
    """Return a random ``@njit`` function and its text."""
    text = "import numba\nimport numpy as np\n\n@numba.njit\n" + _Rows(seed).text()
    return compiled_program(text, f"<random rows {seed} {next(_numbers)}>")


def rows_arguments(seed: int):
    """Return arguments of a random program: matrices with more columns than rows, or fewer."""
    rng = np.random.default_rng(seed)
    shape = (5, 6) if seed % 2 else (6, 5)
    return rng.uniform(-1, 1, shape), rng.uniform(-1, 1, shape), rng.uniform(-1, 1), 2
