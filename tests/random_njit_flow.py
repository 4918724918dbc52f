"""Statements of random ``@njit`` programs: nested `while` loops, swaps, early returns, loops without iterations."""

from __future__ import annotations

import itertools
import random

FLOW_HELPERS = """
@numba.njit
def halves(v, c):
    first, second = v[:2] * c, np.empty(2)
    for i in range(2):
        second[i] = math.sin(v[-1 - i]) * first[i]
    return first, second

@numba.njit
def first_above(v, u, level):
    for i in range(len(v)):
        for j in range(len(u)):
            if v[i] * u[j] > level:
                return v[i] + u[j], i
            u[j] = 0.9 * u[j] + 0.02 * v[i] * u[j]
            if u[j] < -0.9:
                return u[j] * level, j
    return level, 0

@numba.njit
def rotated(v, k):
    if k % 2 == 0:
        return v[0] * v[-1]
    for i in range(1, len(v)):
        v[i - 1], v[i] = v[i], v[i - 1]
        if v[i] > 0.9:
            return v[i] ** 2
    return v[0] - v[-1]

@numba.njit
def smoothed(box, c):
    a, b, n = box.shape
    for i in range(a):
        for j in range(1, b):
            for k in range(n - 1, 0, -1):
                box[i, j, k] = 0.5 * box[i, j, k] + c * box[i, j - 1, k] * box[i, j, k - 1]
    return box[-1, -1, -1]
"""

_numbers = itertools.count()


class FlowStatements:
    """Statements on the vectors `x` and `w`, the numbers `s`, `t` and `k`, and the tensor `b3` of shape (2, 3, 4)."""

    random: random.Random
    counters: list[str]
    depth: int

    def _name(self) -> str:
        return f"q{next(_numbers)}"

    def _swap(self, level: int) -> None:
        i, j, one = self.index(), self.index(), self.random.choice("xw")
        atom, name = self.atom(), self._name()
        lines = [
            f"{one}[{i}], {one}[{j}] = {one}[{j}], {one}[{i}]",
            f"{one}[{i}], {one}[{j}] = {one}[{j}] * {atom}, {one}[{i}] * {one}[{j}]",
            f"s, t = t, s * {atom}", f"s, {one}[{i}] = {one}[{i}], s",
            f"x[{i}], w[{j}], s = w[{j}], s, x[{i}] * {atom}",
            f"for {name} in range(len(x) // 2): x[{name}], x[-1 - {name}] = x[-1 - {name}], x[{name}] * w[{name}]",
            f"for {name} in range(1, len({one})): {one}[{name}], {one}[{name} - 1] = {one}[{name} - 1], {one}[{name}]",
        ]  # fmt: skip
        self.line(self.random.choice(lines))

    def _returned(self, level: int) -> None:
        atom, name, one = self.atom(), self._name(), self.random.choice("xw")
        lines = [
            f"{name}a, {name}b = halves({one}, {atom}); s += {name}a[1] * {name}b[0]",
            f"{name} = halves({one}[1:], {atom}); {one}[:2] = {name}[1]; t = {name}[0][1]",
            f"{name}a, {name}b = halves({one}[::-1], {atom}); {name}a[0] *= {name}b[1]; s -= np.sum({name}a * {name}a)",
            f"s, {name} = first_above(x, w, {atom}); k += {name}",
            f"t, k = first_above({one}[1:], x.copy(), 0.3)", f"s += rotated({one}, k) * 0.5",
            f"t = rotated({one}[1:4], {self.integer()})", f"s = 0.5 * s + rotated({one}[::-2], k + 1)",
            f"s += smoothed(b3, {atom})", f"t = smoothed(b3[:, ::-1], {atom}) + s",
            f"s -= smoothed(b3[1:], 0.3) * {atom}",
        ]  # fmt: skip
        self.line(self.random.choice(lines))

    def _chosen(self, level: int) -> None:
        atom, one, other = self.atom(), *self.random.sample(["x", "w"], 2)
        lines = [
            f"{one}[1:] = np.where({other}[:-1] > {atom}, {one}[:-1], 0.5 * {other}[1:])",
            f"{one}[::-2] = np.where({one}[:3] > 0.1, {other}[2:], {atom})",
            f"s += np.sum(np.where({one}[1:4] < {other}[4:1:-1], {one}[1:4] * {other}[1:4], 0.2 * {one}[:3]))",
            f"{one}[:] = np.where({one} > 0.0, np.sqrt(np.abs({one}) + 0.1), {one} * {atom})",
            f"b3[0] = np.where(b3[1] > {atom}, b3[0], b3[1] * t)", f"b3[:, 1:, ::2] *= {atom}",
            f"b3[:, 0] = b3[:, 1, ::-1] * {atom}", f"b3[1, :, {self.integer()} % 4] -= {one}[:3] * {atom}",
            f"s += np.sum(b3[:, 1:] * b3[:, :-1]) * 0.1 + b3[-1, {self.integer()} % 3, -2]",
        ]  # fmt: skip
        self.line(self.random.choice(lines))

    def _nest(self, level: int) -> None:
        """Write a `while` loop with jumps inside a loop whose number of iterations may be zero."""
        name, count = self._name(), self._name()
        header = self.random.choice(
            [
                f"range({self.integer()} % 3)",
                "range(n - 3)",
                "range(3, 1)",
                "range(len(x))",
                "range(2, -1, -1)",
            ]
        )
        self.line(f"for {name} in {header}:")
        self.depth += 1
        self.counters.append(name)
        self.line(f"{count} = 0")
        self.line(
            f"while {self.random.choice(['True', f'{count} < 4', f'{count} < {name} + 2 and s < 2.0'])}:"
        )
        self.depth += 1
        self.line(f"{count} += 1")
        self.line(f"if {count} > 4:")
        self.line("    break")
        for _ in range(self.random.randrange(1, 4)):
            self.block_line()
            if self.random.random() < 0.5:
                self.line(f"if {self.condition()}:")
                self.depth += 1
                self.block_line()
                self.line(
                    self.random.choice(["break", "continue", "continue", f"return {self.expression(1)}"])
                )
                self.depth -= 1
        self.depth -= 1
        if self.random.random() < 0.5:
            self.line(f"if {self.condition()}:")
            self.line(f"    {self.random.choice(['break', 'continue'])}")
        self.block_line()
        self.counters.pop()
        self.depth -= 1

    def block_line(self) -> None:
        """Write one simple statement."""
        kinds = ["assign", "update", "store", "aug", "swap", "returned", "chosen"]
        getattr(self, "_" + self.random.choice(kinds))(0)

    def _kept(self, level: int) -> None:
        """Write an inner loop that records values, in a loop that may have no iterations."""
        outer, inner, atom = self._name(), self._name(), self.atom()
        one, other = self.random.sample(["x", "w", "b3[0, 1]", "b3[:, 2, 1]"], 2)
        size = f"min(len({one}), len({other}))"
        self.line(f"for {outer} in range({self.random.choice(['n', 'k % 3', '2', '0'])}):")
        self.depth += 1
        for _ in range(self.random.randrange(1, 3)):
            header = self.random.choice(
                [f"range({size})", f"range(1, {size})", f"range({size} - 1, -1, -1)", f"range({outer}, {size})",
                 f"range({size} - 1, {outer}, -1)", f"range({size}, {outer})"]
            )  # fmt: skip
            lines = [
                f"{one}[{inner}] = math.sin({one}[{inner}]) * {other}[{inner}]",
                f"{one}[{inner}] *= {other}[{inner}] * {atom}", f"s += math.tanh({one}[{inner}] * s)",
                f"{one}[{inner}] += {other}[{inner}] * {other}[{inner} - 1]; {other}[{inner}] = {one}[{inner}] * t",
                f"k += 1; {one}[{inner}] *= 0.3 * (k % 3)", f"t = t * {one}[{inner}]; {other}[{inner}] -= t * t",
            ]  # fmt: skip
            self.line(f"for {inner} in {header}:")
            self.depth += 1
            for line in self.random.sample(lines, self.random.randrange(1, 3)):
                self.line(line)
            self.depth -= 1
        self.depth -= 1
