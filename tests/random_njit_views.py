"""Statements of random ``@njit`` programs on views of views, index arrays, named tuples, tensors and linear algebra."""

from __future__ import annotations

import itertools
import random

MORE_HELPERS = """
from collections import namedtuple
Box = namedtuple("Box", "a v k")

@numba.njit
def fill_until(out, v, c):
    for i in range(len(v)):
        if v[i] > 0.9:
            return i
        for j in range(i + 1):
            if out[j] * c > 1.5:
                return -1
            out[j] = 0.6 * out[j] + c * v[i]
    return len(v)

@numba.njit
def unpack(box, c):
    box.v[box.k % 5] = box.a * c + 0.1 * box.v[1]
    return Box(box.v[0] - c, box.v, box.k + 1)

@numba.njit
def halve(v, limit):
    steps = 0
    while True:
        steps += 1
        if steps > 4:
            break
        top = 0.0
        for i in range(len(v)):
            if v[i] < -limit:
                continue
            if v[i] > limit:
                v[i] *= 0.5
                break
            top += v[i] * v[i]
        if top > 0.5 * limit:
            return top
    return 0.25 * v[0]

@numba.njit
def burgers(u, out, c):
    for i in range(1, len(u) - 1):
        out[i] = 0.5 * out[i] - u[i] * (u[i + 1] - u[i - 1]) * 0.3 + c * (u[i + 1] * u[i - 1] - 0.2 * u[i])

@numba.njit
def mixing(u, v, out):
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            out[i, j] = 0.4 * u[i, j] * u[j, i] + 0.1 * math.sin(u[i, j - 1]) * v[j]

@numba.njit
def energy(u, v, c):
    total = 0.0
    for i in range(len(u)):
        weight = 0.0
        for j in range(len(v)):
            weight += math.tanh(u[i] * v[j])
        if weight > c:
            continue
        total = 0.8 * total + weight * weight + u[i] * v[i]
    return total

@numba.njit
def sweep(u, c):
    for i in range(1, u.shape[0] - 1):
        row = u[i]
        for j in range(1, u.shape[1] - 1):
            row[j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + row[j - 1] + row[j + 1]) + 0.01 * c
    return u[1, 1]
"""

_numbers = itertools.count()


class ViewStatements:
    """Statements on `x`, `w`, `y`, `m`, the tensor `c3` of shape (2, 3, 4) and the int array `idx`."""

    random: random.Random
    counters: list[str]
    scalars: list[str]
    depth: int

    def _nested(self, level: int) -> None:
        atom, one = self.atom(), self.random.choice("xw")
        lines = [
            f"part = {one}[1:][::-1]; part[1:3][0] *= {atom}; s += part[1:][1] * part[0]",
            f"q = m[1:].T[2]; q[1] += {atom}; s -= 0.2 * q[0] * q[2]",
            f"m.T[1:, ::2][{self.random.randrange(3)}, 1] = math.sin({atom})",
            f"s += m.ravel()[{self.random.randrange(25)}] * {atom}",
            f"m.reshape(25)[{self.random.randrange(25)}] *= {atom}",
            f"q = m[::-1, ::2][1]; q[:] = q * {atom}; t = q[2]", f"{one}[::-1][2] = {atom} * {one}[-2]",
            f"{one}[4:1:-1] *= {atom}", f"x[::2] = w[::-2] * {atom}", f"w[3::-1] -= 0.3 * x[1:] * {atom}",
            f"{one}[-1:-4:-1][1:] += math.cos({atom})", f"m[1:4, 1:4][::-1, ::-1][0, :] = {one}[1:4]",
            f"same = {one}; same[{self.index()}] = {atom}; s += {one}[1] * same[2]",
        ]  # fmt: skip
        self.line(self.random.choice(lines))

    def _places(self, level: int) -> None:
        atom, name = self.atom(), f"j{next(_numbers)}"
        lines = [
            f"x[idx] += 0.2 * w[1:4] * {atom}", f"s += np.sum(w[idx] * x[idx]) * {atom}", f"w[idx] = {atom}",
            f"s -= 0.1 * np.sum(m[idx] * {atom})", "t = np.sum(m[:, idx] * w[:3])", f"m[idx] *= {atom}",
            f"m[m > {self.random.choice(['0.2', 't'])}] *= 0.5", f"s += np.sum(m[m < 0.1]) * {atom}",
            f"idx[{self.random.randrange(3)}] = {self.integer()} % 5", f"x[idx[1]] -= math.sin(x[idx[0]]) * {atom}",
            f"for {name} in idx: x[{name}] = 0.5 * x[{name}] + 0.1 * w[idx[{name} % 3]] * {atom}",
            f"x[int(abs({atom}) * 3.0) % 5] *= 0.7", "s += x[np.argmin(w)] - w[np.argmax(x[::-1])]",
            "counts = np.zeros(5, np.int64); counts[idx[0]] += 2; counts[idx[2]] += 1; s *= 1.0 + 0.1 * counts[1]",
            f"x[w > {atom}] -= 0.3",
        ]  # fmt: skip
        self.line(self.random.choice(lines))

    def _boxes(self, level: int) -> None:
        atom, one = self.atom(), self.random.choice("xw")
        lines = [
            f"box = Box({atom}, {one}, k); s = 0.4 * s + box.a * box.v[2] + box.k",
            f"box = unpack(Box({atom}, {one}, {self.integer()}), t); s += 0.3 * box.a; k = box.k",
            f"box = Box(v={one}, a={atom}, k=2); box.v[box.k] *= 0.5; t = box[0] * box[1][1]",
            f"{one}[k % 5], k = {atom}, k + 1", f"x[0], w[1] = w[1], x[0] * {atom}",
            f"(s, t), k = pair({one}, {atom}), k + 1",
            f"q = (x, w)[1]; q[2] *= {atom}; s += 0.1 * q[2]",
        ]  # fmt: skip
        self.line(self.random.choice(lines))

    def _tensors(self, level: int) -> None:
        atom, i = self.atom(), self.random.choice(["0", "1", "k % 2", "-1"])
        lines = [
            f"c3[{i}, :, {self.random.randrange(4)}] = {self.vector()}[1:4] * {atom}", f"c3[{i}, 1:, ::2] *= {atom}",
            f"s += np.sum(c3[{i}].T[2]) * {atom}", "c3[..., 1] -= 0.2 * np.outer(x[:2], w[2:])",
            f"t = np.sum(c3[:, 1:, ::-1] * {atom})", f"c3 = np.tanh(c3 * {atom})", f"c3[0] = c3[1] * {atom}",
            f"s -= 0.1 * np.max(c3) - np.sum(c3[{i}], axis=0)[1]", f"c3[{i}][1][2] = {atom}",
            f"s += sweep(m[1:], {atom})", f"s += sweep(m.T, {atom})", f"s -= 0.3 * c3.T[3, 1, {i}] * {atom}",
        ]  # fmt: skip
        self.line(self.random.choice(lines))

    def _empty(self, level: int) -> None:
        atom, one, z = self.atom(), self.random.choice("xw"), self._counter()
        lines = [
            f"for {z} in range(k - k): {one}[0] = {atom}", f"for {z} in range(n, 3): s *= 2.0",
            f"e = {one}[3:3]; s += np.sum(e) * {atom}", f"{one}[2:2] = {atom}",
            f"for {z} in range(4, {self.integer()} % 3, -1 - n % 2): s = 0.5 * s + {one}[{z}] * {atom}",
            f"for {z} in range(0, 5, 1 + k % 3): {one}[{z}] -= 0.1 * {atom}", "e = np.empty(0); s -= np.sum(e)",
            f"e = {one}[{self.integer()} % 2 : 0]; s -= 0.5 * e.sum()", "e = x[x > 5.0]; s += np.sum(e * e) + len(e)",
        ]  # fmt: skip
        self.line(self.random.choice(lines))

    def _counter(self) -> str:
        return f"z{next(_numbers)}"

    def _algebra(self, level: int) -> None:
        atom = self.atom()
        regular = "np.outer(w, x) * 0.1 + 3.0 * np.eye(5)"
        definite = "m @ m.T * 0.05 + 2.0 * np.eye(5)"
        lines = [
            f"x[:] = np.linalg.solve({regular}, w * {atom})", f"s += np.sum(np.linalg.inv({regular})[1] * x)",
            f"low = np.linalg.cholesky({definite}); s += low[2, 1] * {atom}; x[:2] = low[3, :2]",
            f"t = math.log(np.linalg.det({definite}))", f"y = np.linspace({atom}, s, 5) * 0.3",
            "x[:] = np.dot(m, w) * 0.1", "m = m.T @ m * 0.1", "s += np.dot(m[1], m[:, 2])", "w[:] = w @ m * 0.2",
            f"y = np.clip(y, -0.5, {atom} + 0.6); s += y[1]", f"x[1:] = np.diff(w) * {atom}",
            "s += np.min(m[2]) - np.max(x[1:])", f"y = np.where(x > w, {atom}, w * t)",
            f"s = np.where(t > 0.2, s, {atom}) + 0.0", f"t = np.arctan2({atom}, 1.5 + s * s) + np.hypot(s, 0.5)",
            f"t = (1.5 + abs({atom})) ** (0.3 * t)", f"s = ({atom} * 3.0) % 0.7 + 0.1 * s",
            "x[:] = np.cumsum(w[::-1]) * 0.2", f"s += np.linalg.slogdet({regular})[1] * {atom}",
            f"y = np.linalg.solve({definite}, np.outer(x, w))[2]", "y = np.roll(y, 2) + np.sort(w)",
            f"s += np.interp({atom}, np.arange(5.0), w)", "s += np.fmod(3.0 * s, 0.8) - math.floor(t)",
        ]  # fmt: skip
        self.line(self.random.choice(lines))

    def _calls(self, level: int) -> None:
        atom = self.atom()
        lines = [
            f"k += fill_until(x, w, {atom})", f"s += fill_until(m[2], x[::-1], {atom}) * w[0]",
            f"t = halve(w, abs({atom}) + 0.2)", f"s -= halve(x[::2], 0.3 + {atom} * {atom})",
            f"x[fill_until(w, m[:, 1], {atom}) % 5] = t", f"s += halve(m[:, {self.random.randrange(5)}], 0.4) * x[1]",
            f"fill_until(x[1:4], w[2:], {atom})", f"w[1] -= halve(w[1:], 0.5) * {atom}",
        ]  # fmt: skip
        self.line(self.random.choice(lines))

    def _waves(self, level: int) -> None:
        """Write loops over all elements of arrays that are overwritten afterward, in a loop over steps."""
        self.line(f"for {self._counter()} in range({self.random.choice(['n', '2', 'k % 3 + 1'])}):")
        self.depth += 1
        for _ in range(self.random.randrange(1, 4)):
            one, other = self.random.sample(["x", "w", "y", "m[1]", "m[:, 2]"], 2)
            if "m" in one and "m" in other:
                one = "x"
            lines = [
                f"burgers({one}, {other}, {self.atom()})", f"s = 0.5 * s + energy({one}, {other}, {self.atom()})",
                "mixing(m, x, m2)", "mixing(m2, y, m)", f"m[:] = 0.5 * m2 * {self.atom()}", "m2[1:] -= 0.2 * m[:-1]",
                f"y[:] = 0.5 * x - w * {self.atom()}", f"x[1] = {self.atom()}", f"w[:] = np.sin(y) * {self.atom()}",
                "for j in range(len(y)): s += y[j] * y[-1 - j] * w[j]",
                "for j in range(len(x) - 1, -1, -1): w[j] = 0.6 * w[j] + x[j] * x[j - 1]",
            ]  # fmt: skip
            self.line(self.random.choice(lines))
        self.depth -= 1

    def _search(self, level: int) -> None:
        """Write nested loops with jumps out of both of them."""
        i, j = self._counter(), self._counter()
        self.line(f"for {i} in range({self.random.choice(['5', 'n', 'len(w)'])}):")
        self.depth += 1
        self.line(f"for {j} in range({self.random.choice([i, '5', f'{i} + 1'])}):")
        self.counters += [i, j]
        self.block(self.random.randrange(1, 3), 0)
        self.depth += 1
        self.line(f"if {self.condition()}:")
        jump = self.random.choice(["break", "continue", f"return {self.expression(1)}", "break"])
        self.line(f"    {jump}")
        self.line(f"m[{i} % 5, {j}] += 0.1 * {self.atom()}")
        self.depth -= 1
        self.counters.pop()
        if self.random.random() < 0.5:
            self.line(f"if {self.condition()}:")
            self.line(f"    {self.random.choice(['break', f'return {self.expression(1)}'])}")
        self.line(f"s = 0.8 * s + m[{i} % 5, 1]")
        self.counters.pop()
        self.depth -= 1

    def _stencil(self, level: int) -> None:
        """Write an inner loop whose iterations may access the same elements."""
        z = self._counter()
        header = self.random.choice(
            ["range(1, 4)", "range(3, 0, -1)", "range(1, 4, 2)", "range(n - 2, n + 1)"]
        )
        self.line(f"for {z} in {header}:")
        self.depth += 1
        places = [
            z,
            z,
            z,
            f"{z} + 1",
            f"{z} - 1",
            f"4 - {z}",
            f"{z} // 2",
            "2",
            f"idx[{z} % 3]",
            f"k % 3 + {z} % 2",
        ]
        for _ in range(self.random.randrange(1, 4)):
            i, j, h = [self.random.choice(places) for _ in range(3)]
            one, other = self.random.choice("xwy"), self.random.choice("xwy")
            lines = [
                f"{one}[{i}] = {self.atom()} * {other}[{j}] - 0.3 * {other}[{h}]", f"{one}[{i}] += {other}[{j}] * t",
                f"{one}[{i}] -= 0.2 * {other}[{j}] * {one}[{h}]", f"m[{i}, {j}] = math.sin({one}[{h}] + m[{h}, {j}])",
                f"s += {one}[{i}] * {other}[{j}]", f"s = 0.7 * s + m[{i}, {h}]", f"t = s * {one}[{i}]; s -= 0.1 * t",
                f"m[k % 5, {i}] += 0.3 * m[k % 5, {j}] * m[{h}, {i}]", f"m[{i}, 1] -= {one}[{j}] * m[{i}, 2]",
                f"s += {one}[{i}]; {other}[{j}] = 0.4 * s", f"s -= m[{i}, {j}] * t; t += 0.1 * {one}[{h}]",
                f"if {one}[{i}] > {other}[{j}]: {one}[{h}] = 0.5 * {other}[{j}]", f"v{z} = {one}[{i}] * 0.5; s += v{z}",
            ]  # fmt: skip
            self.line(self.random.choice(lines))
        self.depth -= 1

    def _endless(self, level: int) -> None:
        name = self._counter()
        self.line(f"{name} = 0")
        self.line("while True:")
        self.depth += 1
        self.line(f"{name} += 1")
        self.line(f"if {name} > {self.random.randrange(1, 5)} or {self.condition()}:")
        self.line(f"    {self.random.choice(['break', 'break', f'return {self.expression(1)}'])}")
        self.depth -= 1
        saved, self.counters = self.counters, []
        self.block(self.random.randrange(1, 3), max(level - 1, 0))
        self.counters = saved

    def _local(self, level: int) -> None:
        """Write an array that is local to an iteration, or that a branch binds."""
        atom = self.atom()
        lines = [
            f"tmp = np.zeros(3); tmp[k % 3] += {atom}; s += tmp[1] * tmp[1] + tmp[0]",
            f"tmp = np.empty_like(w); tmp[:] = w; halve(tmp, 0.4); s += tmp[0] * {atom}",
            f"row = m[{self.index()}].copy(); row[1] *= {atom}; t = row[1] * row[2]",
            f"tmp = np.full(4, {atom}); tmp[1:3] -= x[:2]; s += np.prod(tmp) * 0.1",
        ]  # fmt: skip
        if self.random.random() < 0.6:
            self.line(self.random.choice(lines))
            return
        self.line(f"if {self.condition()}:")
        self.line(f"    y = {self.random.choice(['x * t', 'w - 0.5 * x', 'm[1] * s', 'y[::-1].copy()'])}")
        self.line("else:")
        self.line(f"    y = {self.random.choice(['w * s', 'y + 0.1', 'np.sin(x)', 'y'])}")
        self.line(f"s += 0.2 * y[{self.index()}]")
