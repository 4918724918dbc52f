"""Random ``@njit`` stencils: loop nests that read neighbors of elements and write other arrays, or the same one."""

from __future__ import annotations

import itertools
import random

import numpy as np

from random_njit import compiled_program

HEADER = "import numba\nimport numpy as np\n\n@numba.njit\n"
SCALES = ("0.5 * {}", "p * {}", "{} * c[{}]", "np.sin({})", "-{}", "{}", "{}", "{}", "{}")
_numbers = itertools.count()


class _Stencils:
    """The text of a program with arrays `a`, `b`, `c` of `rank` dimensions, a number `p` and a number of steps."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.rank = self._random.choice((1, 1, 2, 2, 3))
        self._rims = [(self._random.randint(0, 2), self._random.randint(0, 2)) for _ in range(self.rank)]

    def _indices(self, near: bool) -> str:
        offsets = [self._random.randint(-low, high) if near else 0 for low, high in self._rims]
        return ", ".join(f"{x} + {k}".replace(" + -", " - ") for x, k in zip("ijk", offsets, strict=False))

    def _sum(self, sources: str) -> str:
        terms = []
        for _ in range(self._random.randint(1, 6)):
            element = f"{self._random.choice(sources)}[{self._indices(True)}]"
            terms.append(self._random.choice(SCALES).format(element, self._indices(False)))
        text = terms[0] + "".join(f" {self._random.choice('++-')} {term}" for term in terms[1:])
        return self._random.choice(("{}", "0.3 * ({})", "(p * 0.2) * ({})", "np.tanh({})")).format(text)

    def _nest(self, indent: str) -> list[str]:
        lines = []
        for k, (low, high) in enumerate(self._rims):
            lines.append(f"{indent}for {'ijk'[k]} in range({low}, a.shape[{k}] - {high}):")
            indent += "    "
        target = self._random.choice("abc")
        sources = "abc" if self._random.random() < 0.15 else "abc".replace(target, "")
        value = self._sum(sources)
        if self._random.random() < 0.2:
            lines += [f"{indent}v = {value}", f"{indent}if v > 0.1:", f"{indent}    v = v * v"]
            value = f"v + {self._sum(sources)}"
        operator = self._random.choice(("=", "=", "+=", "-="))
        return [
            *lines,
            f"{indent}{target}[{self._indices(self._random.random() < 0.2)}] {operator} {value}",
        ]

    def text(self) -> str:
        """Return the program."""
        lines = ["def program(a, b, c, p, steps):", "    a, b, c = a.copy(), b.copy(), c.copy()"]
        indent = "    "
        if self._random.random() < 0.6:
            lines.append("    for _ in range(steps):")
            indent = "        "
        for _ in range(self._random.randint(1, 3)):
            lines += self._nest(indent)
        return "\n".join([*lines, "    return np.sum(a * a) + np.sum(b * c)"])


def random_stencils(seed: int):
    """Return an ``@njit`` function and its text."""
    return compiled_program(HEADER + _Stencils(seed).text(), f"<random stencils {next(_numbers)}>")


def stencil_arguments(seed: int):
    """Return arguments: sometimes the arrays are smaller than the stencil."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(1 if seed % 3 == 0 else 4, 7, size=_Stencils(seed).rank)
    a, b, c = 0.7 * rng.normal(size=(3, *shape))
    return a, b, c, 0.4, 2
