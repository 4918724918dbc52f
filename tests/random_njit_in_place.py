"""Random ``@njit`` programs that overwrite elements of vectors in loops, and read elements near them."""

from __future__ import annotations

import itertools
import random

from random_njit import compiled_program

PLACES = (
    "{i}",
    "{i}",
    "{i} - 1",
    "{i} + 1",
    "{i} - 2",
    "0",
    "len({v}) - 1",
    "-1",
    "{i} - {i}",
    "places[{i} % 5]",
)
TERMS = (
    "0.7 * {} * (1.0 - {})",
    "np.sin({} + {})",
    "p * {} - 0.2 * {} * q",
    "{} / (1.5 + {} ** 2)",
    "0.4 * {} + 0.1 * {} ** 2",
    "max({}, {}) * 0.9",
)
RANGES = (
    "range(2, len(u) - 1)",
    "range(2, len(u) - 1)",
    "range(len(u) - 2, 1, -1)",
    "range(-2, 3)",
    "range(1, 4, 2)",
)
_numbers = itertools.count()


class _InPlace:
    """The text of a program with vectors `a` and `b`, a number `p` and a number of steps."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._vectors = ["u", "u", "b"] if self._random.random() < 0.3 else ["u"]
        self._known = [*self._vectors, "b", *(["w"] if self._random.random() < 0.2 else [])]
        self._depth = 0

    def _element(self, names: list[str], counters: list[str]) -> str:
        name, i = self._random.choice(names), self._random.choice(counters)
        # The view begins one element later.
        place = self._random.choice(PLACES[:3] if name == "w" else PLACES).format(i=i, v=name)
        return f"{name}[{place}]"

    def _term(self, counters: list[str]) -> str:
        term = self._random.choice(TERMS)
        return term.format(*[self._element(self._known, counters) for _ in range(2)])

    def _statements(self, counters: list[str], count: int) -> list[str]:
        return [line for _ in range(count) for line in self._statement(counters)]

    def _statement(self, counters: list[str]) -> list[str]:
        kind = self._random.random()
        if kind < 0.6:
            operator = self._random.choice(("=", "=", "=", "+=", "*="))
            return [f"{self._element(self._vectors, counters)} {operator} {self._term(counters)}"]
        if kind < 0.67:
            return [f"q = {self._term(counters)}"]
        if kind < 0.78 or len(counters) > 2:
            condition = f"{self._element(self._known, counters)} > {self._element(self._known, counters)}"
            lines = [f"if {condition}:", *self._indented(counters, self._random.randint(1, 2))]
            if self._random.random() < 0.6:
                lines += ["else:", *self._indented(counters, 1)]
            return lines
        if kind < 0.82:
            return [
                f"if {self._element(self._known, counters)} > 0.9:",
                f"    {self._random.choice(('break', 'continue'))}",
            ]
        return self._loop(counters)

    def _indented(self, counters: list[str], count: int) -> list[str]:
        return [f"    {line}" for line in self._statements(counters, count)]

    def _loop(self, counters: list[str]) -> list[str]:
        counter = "ijk"[len(counters)]
        inner = [*counters, counter]
        body = self._indented(inner, self._random.randint(1, 3))
        if self._random.random() < 0.15:
            return [f"{counter} = 1", f"while {counter} < 3:", f"    {counter} += 1", *body]
        return [f"for {counter} in {self._random.choice(RANGES)}:", *body]

    def text(self) -> str:
        """Return the program."""
        lines = ["def program(a, b, p, steps):", "    q = 0.5", "    places = np.array([2, 0, 3, 2, 1])"]
        lines.append(f"    u = a{self._random.choice(('', '', '.copy()'))}")
        lines.append("    w = u[1:]")
        indent = "    "
        if self._random.random() < 0.5:
            lines.append("    for _ in range(steps):")
            indent = "        "
        for _ in range(self._random.choice((1, 1, 2))):
            lines += [indent + line for line in self._loop([])]
        if self._random.random() < 0.2:
            lines.append("    u[2] = q * u[1]")
        lines.append("    return np.sum(np.sin(u) * b) + 0.1 * np.sum(u * u) + q")
        return "\n".join(lines) + "\n"


def random_in_place(seed: int):
    """Return a random ``@njit`` function and its text; its arguments are those of `random_arguments`."""
    text = "import numba\nimport numpy as np\n\n@numba.njit\n" + _InPlace(seed).text()
    return compiled_program(text, f"<random updates {seed} {next(_numbers)}>")
