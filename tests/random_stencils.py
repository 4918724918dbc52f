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


class _Sweeps(_Stencils):
    """Sweeps over vectors that write one array from a sum of neighbors in another, and statements between them."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.rank, self._rims = 1, [(self._random.randint(1, 2), self._random.randint(1, 2))]
        self._arrays = self._random.sample("abc", 2)

    def _nest(self, indent: str) -> list[str]:
        target, source, *_ = self._arrays
        self._arrays.reverse()
        low, high = self._rims[0]
        if self._random.random() < 0.1:
            low += 1
        offsets = self._random.choices(
            range(-self._rims[0][0], self._rims[0][1] + 1), k=self._random.randint(2, 4)
        )
        total = " + ".join([f"{source}[i + {k}]".replace("+ -", "- ") for k in offsets])
        shift = self._random.choice((0, 0, 0, -1, 1))
        lines = [
            f"{indent}for i in range({low}, len(a) - {high}):",
            f"{indent}    {target}[i + {shift}] = 0.3 * ({total})".replace("+ -", "- "),
        ]
        if self._random.random() < 0.4:
            more = self._random.choice(
                [
                    f"{target}[2] += p * {source}[1]",
                    f"{source}[-2] = {source}[1] * {target}[1]",
                    f"if {source}[1] > 0.1: {source}[1] = 0.5 * {target}[3]",
                    f"p = p + 0.1 * {source}[2]",
                    f"{target}[1:] *= 0.9",
                    f"v = {source}[::-1]; v[1] = 0.7 * v[2]",
                    f"{target}, {source} = {source}, {target}",
                ]
            )
            lines.append(indent + more)
        return lines


def random_sweeps(seed: int):
    """Return a random ``@njit`` function of sweeps over vectors, and its text."""
    return compiled_program(HEADER + _Sweeps(seed).text(), f"<sweeps {seed}>")


def sweep_arguments(seed: int):
    """Return three vectors, a number and a number of steps."""
    generator = np.random.default_rng(seed)
    return *generator.normal(size=(3, int(generator.integers(4, 9)))), float(generator.normal()), seed % 3
