"""Loops of random ``@njit`` programs: `else`, several ways out, uncommon ranges, grids, rows, buffers."""

from __future__ import annotations

import itertools
import random
from typing import Any

_numbers = itertools.count()


class LoopStatements:
    """Loops over the vectors `x`, `w` and `y`, the matrices `m`, `m2` and `f`, and the tensor `c3`.

    A generator adds the other statements.
    """

    random: random.Random
    counters: list[str]
    depth: int
    line: Any
    block: Any
    statement: Any
    condition: Any
    atom: Any
    index: Any
    integer: Any
    expression: Any
    _jump: Any

    def _new(self) -> str:
        return f"loop{next(_numbers)}"

    def _one(self, lines: list[str]) -> None:
        """Write one of these statements."""
        for line in self.random.choice(lines).split("\n"):
            self.line(line)

    def _place(self, z: str) -> str:
        """Return an index that a loop with the counter `z` uses."""
        if self.random.random() < 0.5:
            return self.random.choice([z, f"{z} - 1", "-1", "2"])
        places = [
            z,
            z,
            f"{z} + 1",
            f"{z} - 1",
            f"2 * {z} % 5",
            f"-{z}",
            f"{z} * {z} % 5",
            f"{z} // 2",
            f"ks[{z} % 4]",
        ]
        places += [f"4 - {z}", f"-1 - {z}", f"({z} + k) % 5", "k % 5", f"{z} - 2"]
        return f"({self.random.choice(places)}) % 5"

    def _ends(self, level: int) -> None:
        """Write loops with `else`, and jumps in both parts."""
        name = self._new()
        is_for = self.random.random() < 0.6
        if is_for:
            header = self.random.choice(["range(5)", "range(n)", "range(k % 3)", "range(3, 0, -1)"])
            self.line(f"for {name} in {header}:")
            self.counters.append(name)
        else:
            self.line(f"{name} = 0")
            self.line(f"while {name} < {self.random.randrange(1, 5)}:")
            self.line(f"    {name} += 1")
        outer = self.counters
        self.counters = outer if is_for else [f"({name} - 1)"]
        self.block(self.random.randrange(0, 2), level - 1)
        self.depth += 1
        self.line(f"if {self.condition()}:")
        self.line(f"    {self.random.choice(['break', 'break', 'continue', 's *= 0.9'])}")
        self.depth -= 1
        self.block(self.random.randrange(1, 3), level - 1)
        self.counters = outer
        if is_for:
            self.counters.pop()
        self.line("else:")
        self.block(self.random.randrange(1, 3), level - 1)
        if self.counters and self.random.random() < 0.4:
            self.depth += 1
            self._jump(level)
            self.depth -= 1

    def _exits(self, level: int) -> None:
        """Write a `while` loop with several ways out."""
        name = self._new()
        self.line(f"{name} = {self.integer()} % 2")
        self.line(
            f"while {self.random.choice(['True', f'{name} < 6', f's < 3.0 or {name} < 2', f'x[{name} % 5] < 2.0'])}:"
        )
        self.depth += 1
        self.line(f"{name} += {self.random.choice(['1', '2', '1 + k % 2'])}")
        self.line(f"if {name} > 5: break")
        saved, self.counters = self.counters, []
        for _ in range(self.random.randrange(1, 4)):
            self.statement(max(level - 1, 0) if self.random.random() < 0.5 else 0)
            if self.random.random() < 0.6:
                self.line(f"if {self.condition()}:")
                self.line(
                    f"    {self.random.choice(['break', 'continue', f'return {self.expression(1)}', 'k += 1'])}"
                )
        self.counters = saved
        self.depth -= 1

    def _steps(self, level: int) -> None:
        """Write a loop over an uncommon range, whose iterations access elements at uncommon places."""
        z, a = self._new(), self.integer()
        header = self.random.choice(
            [f"range({a} % 3, 5, 1 + {a} % 2)", f"range(4, -1, -1 - {a} % 2)", "range(1, 4, 2)", "range(3, -3, -2)",
             f"range(-{a} % 3, 4)", "range(len(x) - 1)", f"numba.prange({a} % 5)", f"range({a} % 4, {a} % 3)"]
        )  # fmt: skip
        self.line(f"for {z} in {header}:")
        self.depth += 1
        if self.random.random() < 0.15:
            self.line(f"{z} = {z} * 2 % 5")
        for _ in range(self.random.randrange(1, 4)):
            i, j, h = [self._place(z) for _ in range(3)]
            one = self.random.choice(["x", "w", "y", "m[1]", "f[2]"])
            other = self.random.choice(["x", "w", "m[:, 1]"])
            self._one(
                [
                    f"{one}[{i}] = 0.5 * {other}[{j}] * {one}[{h}]", f"{one}[{i}] += {other}[{j}] * t",
                    f"{one}[{i}], {other}[{j}] = {other}[{j}] * 0.5, {one}[{i}]",
                    f"s = 0.6 * s + {one}[{i}] * {other}[{j}]", f"m[{i}, {j}] = math.sin({one}[{h}] + m[{j}, {h}])",
                    f"m[{i}, {j}] -= 0.3 * m[{h}, {i}] * {one}[{i}]", f"f[{i}, {j}] = 0.4 * f[{j}, {i}] + {one}[{h}]",
                    f"t = 0.3 * t + m[{i}, {j}]; {one}[{h}] = t * s",
                    f"if {one}[{i}] > {other}[{h}]: {one}[{j}] *= 0.5; k += 1", f"m[{i}][{j}] *= {one}[{h}]",
                    f"{one}[{i}] *= {one}[{i}]; {other}[{j}] -= {one}[{i}]", f"m.T[{i}, {j}] += s * {other}[{h}]",
                    f"{one}[{z} % 3 : {z} % 3 + 2] = {other}[1:3] * {one}[{j}]", f"x[::-1][{i}] = x[{j}] * w[{h}]",
                    f"part = {one}[{z} % 3 :]; part[0] -= 0.2 * {other}[{j}]",
                    f"s += {one}[{i}] ** 2; {one}[{i}] = 0.5",
                    f"c3[{z} % 2, {z} % 3] = 0.5 * c3[{z} % 2, {z} % 3 - 1] * {other}[{j}]",
                ]
            )  # fmt: skip
        self.depth -= 1

    def _grid(self, level: int) -> None:
        """Write nested loops over a matrix, in a loop over steps."""
        i, j, q = self._new(), self._new(), self._new()
        self.line(f"for {q} in range({self.random.choice(['n', '2', 'k % 3', '1'])}):")
        self.depth += 1
        rows = self.random.choice(
            ["range(1, 4)", "range(5)", "range(4, 0, -1)", "range(0, 5, 2)", f"range({q}, 4)"]
        )
        columns = self.random.choice(["range(1, 4)", f"range({i})", f"range({i}, 5)", f"range({i} + 1, 5)",
                                      f"range(4, {i}, -1)",
                                      "range(3, 0, -1)", "range(1, 5, 3)", f"range(1 + {i} % 2, 4, 2)"])  # fmt: skip
        self.line(f"for {i} in {rows}:")
        self.depth += 1
        self.line(self.random.choice([f"g = 0.1 * {i}", f"g = 0.3 * w[{i}]", f"g = m[{i}, {i} - 1] * 0.5"]))
        self.line(self.random.choice([f"x[{i}] = 0.5 * m[{i}, 1]", "g += 0.1", f"s = 0.9 * s + m[{i}, 2]"]))
        self.line(f"for {j} in {columns}:")
        self.depth += 1
        near = [
            f"{i}, {j}",
            f"{i} - 1, {j}",
            f"{i}, {j} - 1",
            f"{j}, {i}",
            f"{i} - 1, {j} - 1",
            f"{i}, {j} - 2",
            f"{i}, {i}",
            f"{j} - 1, {j}",
            f"{i}, 2",
        ]
        for _ in range(self.random.randrange(1, 3)):
            a, b, c = [self.random.choice(near) for _ in range(3)]
            one, other = self.random.choice(["m", "m2", "f"]), self.random.choice(["m", "m2", "f", "m"])
            self._one(
                [
                    f"{one}[{a}] = 0.3 * {other}[{b}] * {other}[{c}] + 0.1 * g",
                    f"{one}[{a}] += 0.2 * {other}[{b}] - 0.1 * {one}[{c}]", f"g += {one}[{a}] * {other}[{b}]",
                    f"{one}[{a}] *= {other}[{b}]", f"g = 0.5 * g + {one}[{a}]; {other}[{b}] = g",
                    f"{one}[{a}], {other}[{b}] = {other}[{b}], {one}[{c}] * 0.5",
                    f"if {one}[{a}] > {other}[{b}]: {other}[{c}] = 0.5 * {one}[{a}]",
                    f"x[{j}] = 0.4 * x[{j} - 1] + {one}[{a}] * w[{i}]",
                    f"s += {one}[{a}] * 0.1; {other}[{b}] -= 0.1 * s", f"if {one}[{a}] < -0.6: break",
                    f"if {one}[{a}] < -0.2: continue", f"{one}[{a}] = math.sin({other}[{b}] - {other}[{c}])",
                ]
            )  # fmt: skip
        self.depth -= 1
        self.line(
            self.random.choice(
                [f"m[{i}, 0] = g", "s += 0.2 * g", f"w[{i}] -= 0.1 * g * w[{i}]", f"x[{i}] = m2[{i}, 1] * g"]
            )
        )
        self.depth -= 1
        if self.random.random() < 0.4:
            self._one(
                [
                    "m, m2 = m2, m * 0.5",
                    "m[:] = m2",
                    "m2[:] = m",
                    "m2[1:-1] = m[2:]",
                    "m = 0.5 * m2 + 0.1 * m",
                ]
            )
        self.depth -= 1

    def _rows(self, level: int) -> None:
        name, atom = self._new(), self.atom()
        self._one(
            [
                f"for {name} in m: {name}[1:] = {name}[:-1] * {atom}", f"for {name} in m.T: {name}[2] *= {name}[1]",
                f"for {name}, {name}x in zip(m[::-1], x): {name}[1] = {name}x * {name}[0] + {atom}",
                f"for {name}i, {name} in enumerate(f): {name}[{name}i] -= {name}[{name}i - 1] * {atom}",
                f"for {name} in x:\n    s = 0.7 * s + {name}\n    x[k % 5] *= 0.8\n    k += 1",
                f"for {name} in c3:\n    for v in {name}:\n        s += v[1] * {atom}\n        v[2] = s",
                f"for {name}, {name}b in zip(x[1:], w[::-1]):\n    if {name} > {name}b: break\n    w[1] += {name}",
                f"for {name} in (0, 2, 4): x[{name}] -= 0.2 * w[{name}] * x[{name} - 1]",
            ]
        )  # fmt: skip

    def _solved(self, level: int) -> None:
        name, atom = self._new(), self.atom()
        self.line(f"for {name} in range({self.random.choice(['2', 'n - 1', 'k % 3'])}):")
        self.depth += 1
        self.line(
            f"d3 = 3.0 * np.eye(3) + 0.2 * {self.random.choice(['m[:3, :3]', 'c3[0, :, :3]', 'm[1:4, 2:]'])}"
        )
        for _ in range(self.random.randrange(1, 3)):
            self._one(
                [
                    "x[:3] = np.linalg.solve(d3, w[:3])", "s += 0.01 * np.linalg.det(d3)",
                    "m[1:4, 1:4] = np.linalg.inv(d3)", "d3[:] = d3 @ d3.T\ns += np.linalg.cholesky(d3)[2, 1]",
                    f"d3[1, 1] += abs({atom})", "w[2:] = d3 @ w[2:] * 0.2", "x[1:4] = np.dot(d3, x[1:4]) * 0.2",
                    f"if s > {atom}: break", "m[:3] = d3 @ m[:3] * 0.2",
                ]
            )  # fmt: skip
        self.depth -= 1

    def _buffers(self, level: int) -> None:
        """Write a loop over steps that swaps arrays or binds them again."""
        name, atom, a, b = self._new(), self.atom(), self._new(), self._new()
        self.line(
            f"{a}, {b} = {self.random.choice(['x.copy(), w * t', 'x * w, x + w', 'm[1].copy(), m[2] * 0.5'])}"
        )
        self.line(f"for {name} in range({self.random.choice(['3', 'n', 'k % 4', '2'])}):")
        self.depth += 1
        self._one(
            [
                f"for j in range(1, 4): {b}[j] = 0.4 * {a}[j - 1] * {a}[j + 1] + {atom} * {a}[j]\n{a}[:] = {b}",
                f"{a} = {a} * 0.5 + {b} * {atom}\n{b} = np.sin({a}) * w", f"{a}, {b} = {b}, {a} * {atom}",
                f"{a}, {b} = 0.5 * {b} + x, {a}", f"{b} = {a} - 0.3 * {b}\nif s > {atom}: continue\n{a} = {b} * {b}",
                f"if s > {atom}:\n    {a} = {b} * 0.5\nelse:\n    {a} = {a} + w",
                f"{a} = np.tanh({a} + {b})\ns += {a}[k % 5]",
                f"for j in range(5):\n    {a}[j] = {b}[j] * {a}[j - 1]\n    {b}[j] *= 0.5\n    if {a}[j] > 0.8: break",
            ]
        )  # fmt: skip
        self.depth -= 1
        self.line(f"s += 0.3 * {a}[{self.index()}] * {b}[1]")

    def _deep(self, level: int) -> None:
        """Write three loops with a return from the innermost one."""
        a, b, c = self._new(), self._new(), self._new()
        self.line(f"for {a} in range({self.random.choice(['2', 'n', 'k % 3'])}):")
        self.line(f"    for {b} in {self.random.choice(['range(2)', f'range({a} + 1)', 'range(3, 0, -2)'])}:")
        self.depth += 2
        self.counters += [a, b]
        if self.random.random() < 0.5:
            self.statement(0)
        self.line(f"for {c} in range({self.random.choice([b, '3', f'{a} + 2'])}):")
        self.counters.append(c)
        self.block(self.random.randrange(1, 3), 0)
        self.depth += 1
        self._jump(level)
        self.depth -= 1
        self.counters.pop()
        if self.random.random() < 0.5:
            self._jump(level)
        self.statement(0)
        self.counters.pop()
        self.depth -= 1
        if self.random.random() < 0.5:
            self._jump(level)
        self.counters.pop()
        self.depth -= 1
