"""Random ``@njit`` programs with a buffer that is made before the loop over rows that uses it."""

from __future__ import annotations

import itertools
import random

import numpy as np

from random_njit import compiled_program

HEADER = "import numba\nimport numpy as np\n\n@numba.njit\n"
_numbers = itertools.count()


class _Buffers:
    """The text of a program with matrices `a`, `b` and a buffer `w` of the length of a row, or one for each row."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._row = "i, " if self._random.random() < 0.25 else ""

    def _place(self, counter: str, spread: int = 1) -> str:
        offset = self._random.choice((0, 0, 0, *range(-spread, 1)))
        row = self._row if self._random.random() < 0.9 else self._row and "0, "
        return f"{row}{counter}{offset or ''}".replace("-", " - ")

    def _value(self, counter: str) -> str:
        return self._random.choice(
            (f"a[i, {counter}] * b[i, {counter}]", f"np.sin(a[i, {counter}])", f"0.5 * b[i, {counter}] + s")
        )

    def _write(self, indent: str, counter: str) -> list[str]:
        sign = self._random.choice(("", "", "", "+"))
        return [f"{indent}w[{self._place(counter, 0)}] {sign}= {self._value(counter)}"]

    def _read(self, indent: str, counter: str) -> list[str]:
        lines = [f"s = 0.3 * s + w[{self._place(counter)}] * a[i, {counter}]"]
        condition = self._random.choice(
            ("", f"if {counter} > 0:", f"if {counter} >= 1:", f"if {counter} != 0:")
        )
        if not condition:
            return [indent + lines[0]]
        other = (
            [f"{indent}else:", *self._write(indent + "    ", counter)] if self._random.random() < 0.3 else []
        )
        inner = self._write(indent + "    ", counter) if self._random.random() < 0.5 else []
        return [indent + condition, indent + "    " + lines[0], *inner, *other]

    def _loop(self) -> list[str]:
        start = self._random.choice(("0", "0", "0", "1"))
        bounds = self._random.choice((f"{start}, n", f"{start}, n", "n - 1", "n - 1, -1, -1"))
        lines = [f"        for j in range({bounds}):"]
        for _ in range(self._random.randint(1, 3)):
            lines += self._random.choice((self._read, self._write, self._write))("            ", "j")
        return lines

    def text(self) -> str:
        """Return the program."""
        made = self._random.choice(("np.zeros({})", "np.ones({})"))
        size = "(a.shape[0], n)" if self._row else "n"
        lines = [
            "def program(a, b):",
            "    n = a.shape[1]",
            f"    w = {made.format(size)}",
            "    total = 0.0",
            "    for i in range(a.shape[0]):",
            "        s = 0.1",
        ]
        for _ in range(self._random.randint(1, 3)):
            lines += self._loop()
        lines += [
            self._random.choice(
                ("        total += s * s", "        total += s", "        total -= s * w[n - 1]")
            )
        ]
        if self._row:
            lines[-1] = lines[-1].replace("w[n - 1]", "w[i, n - 1]")
        after = self._random.choice(("", "", "", " + w[0]"))
        return "\n".join(
            [*lines, f"    return total{after.replace('[0]', '[0, 0]') if self._row else after}"]
        )


def random_buffers(seed: int):
    """Return an ``@njit`` function and its text."""
    return compiled_program(HEADER + _Buffers(seed).text(), f"<random buffers {next(_numbers)}>")


def buffer_arguments(seed: int):
    """Return two matrices."""
    return tuple(np.random.default_rng(seed).normal(size=(2, 3, 4)))
