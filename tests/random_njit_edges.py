"""Statements of random ``@njit`` programs: aliased arguments, overlapping views, tuples of arrays, computed ints."""

from __future__ import annotations

from random_njit import Generator, compiled_program
from random_njit_arrays import HELPERS
from random_njit_flow import FLOW_HELPERS
from random_njit_loops import LoopStatements
from random_njit_views import MORE_HELPERS

EDGE_HELPERS = """
SCALE, ORDER = 0.7, 2

@numba.njit
def two_outputs(u, v, c):
    for i in range(min(len(u), len(v))):
        u[i], v[i] = 0.6 * v[i] * c + 0.1, u[i] - 0.3 * v[-1 - i]
    u[0] += 0.2 * v[-1]
    return v

@numba.njit
def chained(u, v):
    for i in range(1, min(len(u), len(v))):
        if -0.8 < u[i] <= v[i - 1] < 2.0:
            u[i] = 0.5 * u[i] * v[i - 1] + 0.3 * v[i]
        else:
            v[i] -= 0.2 * u[i - 1]
    return u[1:]

@numba.njit
def weighted(a, b=0.4, c=1.5, power=2):
    return SCALE * a * b + math.sin(c) ** power * a - b ** ORDER

@numba.njit
def first_exit(u, v, level):
    i, total = 0, 0.0
    while i < len(u):
        i += 1
        for j in range(len(v)):
            if u[i - 1] > level and v[j] < 0.1:
                return total + v[j], u[j:]
            if v[j] > 0.9:
                break
            total = 0.8 * total + u[i - 1] * v[j]
        else:
            if total > 1.2:
                return total * level, u[1:]
            continue
        v[i % len(v)] *= 0.7
        if total < -1.0:
            break
    else:
        total *= 0.5
    return total, v[::-1]

def scaled_by(factor, shift):
    @numba.njit
    def scaled(u, c):
        for i in range(len(u)):
            u[i] = math.tanh(factor * u[i] + shift * c)
        return u[len(u) // 2]
    return scaled

half_scaled, grown = scaled_by(0.5, 0.1), scaled_by(1.3, -0.2)
"""


class EdgeGenerator(LoopStatements, Generator):
    """Writes programs that mix the statements of all generators with those of this module."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.with_arrays = self.with_views = self.with_flow = True
        self.lines = [
            "@numba.njit",
            "def program(x, w, p, n):",
            "    s = 0.5 * p",
            "    t = 0.25",
            "    k = 0",
            "    y = x - w",
            "    m = np.outer(w, x) * p",
            "    c3 = np.ones((2, 3, 4)) * t",
            "    c3[1] = np.outer(w[:3], x[1:])",
            "    b3 = 0.5 * c3",
            "    idx = np.array([1, 3, 1])",
            "    m2 = 0.5 * m",
            "    f = (m * 0.3).T",
            "    ks = np.array([2, 0, 4, 1])",
        ]
        self.plain = self.random.random() < 0.3

    def statement(self, level: int) -> None:
        kinds = [
            "ints",
            "broadcast",
            "sequence",
            "picked",
            "aliases",
            "group",
            "overlap",
            "turned",
            "keyword",
        ]
        kinds += ["local_sizes", "flags"]
        if level > 0:
            kinds += [
                "ends",
                "ends",
                "exits",
                "steps",
                "steps",
                "grid",
                "grid",
                "rows",
                "solved",
                "buffers",
                "deep",
                "below_zero",
                "below_zero",
            ]
        if self.counters:
            kinds += ["jump"]
        if self.plain or self.random.random() < 0.7:
            getattr(self, "_" + self.random.choice(kinds))(level)
        else:
            super().statement(level)

    def _ints(self, level: int) -> None:
        atom, i = self.atom(), self.integer()
        self._one(
            [
                f"k = int(abs({atom}) * 7.0) % 5", f"k = (k * 3 - {i}) % 7 - 2", "k //= 2", "k = -k // 3 + n",
                f"x[({i} * {i} + 1) % 5] *= {atom}", "s += x[(k >> 1) % 5] * (2 ** (abs(k) % 3)) * 0.3",
                f"ks[{i} % 4] = (ks[{i} % 4] + k) % 5\nw[ks[{i} % 3]] += 0.2 * {atom}",
                f"t = 0.5 * t + x[ks[{i} % 4]] * (k % 3 - 1)", f"k = round(s * 2.0) % 5\ns -= x[k - 5] * {atom}",
                f"s += ({atom} * 5.0) % 1.5 + 0.1 * (({atom} * 3.0) // 1.0) * x[1]", f"k += int({atom} > x[2])",
                "for j in ks: s = 0.9 * s + x[j] * 0.1", f"ks[1:3] = ks[:2]\nx[ks[1]] = {atom}",
                f"q, r = divmod({atom} * 2.0, 0.7)\ns += 0.1 * q * w[0] + r", f"k ^= {i} & 3",
                f"s += {atom} ** (k % 3) + x[{i} % 5] ** abs(k % 4)",
            ]
        )  # fmt: skip

    def _flags(self, level: int) -> None:
        atom, other = self.atom(), self.atom()
        self._one(
            [
                f"ok = {atom} < {other}\nif ok and not k % 3 == 1: s += {atom}",
                f"if -0.5 < s <= 0.7 < {atom} + 1.0: t *= 0.5\nelif s < t < 2.0: s -= {other}",
                f"ok = 0.0 < {atom}\nt = (t if ok else -t) * 0.5 + ok * {other}", f"s += ({atom} > 0.1) * {other}",
                f"ok = x > {atom}\nx[ok] *= 0.5\ns += np.sum(w[ok]) * np.sum(ok)",
                f"ok = (x < {atom}) | (w > 0.2)\nw[:] = np.where(ok, x * w, np.where(x > 0.0, {other}, w))",
                "ok = np.zeros(5, dtype=np.bool_)\nfor j in range(5): ok[j] = x[j] > w[j] or j == k\nx[ok] += 0.2 * t",
                f"x[0] = x[1]\ns += max(x[0], x[1], {atom}) - min(x[0], x[1]) * abs(x[0] - x[1])",
                f"y[:] = np.maximum(x, {atom}) - np.minimum(w, x[::-1])", "np.minimum(x, w, x)",
                f"m[m > {atom}] = {other}", "x[:] = np.clip(x, -0.5, 0.5) + 0.1 * x",
            ]
        )  # fmt: skip

    def _broadcast(self, level: int) -> None:
        atom, i = self.atom(), self.integer()
        self._one(
            [
                "m += 0.2 * x", "m *= np.cos(w)[:, None]", f"m[1:] = x * {atom}", f"m[:, 1:4] -= w[:3] * {atom}",
                f"m[{i} % 3 : ] *= {atom}", f"c3 += x[:4] * {atom}", "c3[:, 1:] = w[1:]", "c3 *= m[:3, :4]",
                f"c3[{i} % 2] -= x[2:, None] * {atom}", "f -= 0.3 * x", "f[1:3] = m[2]", "f *= w[None, :]",
                f"m2[:] = m[{i} % 5]", f"y = np.sum(m * x, axis=1) + {atom}", "m -= np.sum(m, axis=0) * 0.1",
                "s += np.mean(c3[:, 1] * x[:4]) + np.sum(f[:, 2] * w)", f"f[:, {i} % 5] += m[{i} % 5] * {atom}",
            ]
        )  # fmt: skip

    def _sequence(self, level: int) -> None:
        atom, one = self.atom(), self.random.choice(["x", "w", "y", "m[2]", "m[:, 1]", "f[3]"])
        self._one(
            [
                f"{one}[:] = np.cumsum({one}) * 0.4", f"{one}[::-1] = np.cumprod({one})",
                f"{one}[1:] = np.diff({one})", f"{one}[1:4] = np.cumsum({one}[2:]) * {atom}",
                f"{one}[:] = np.roll({one}, 1) * {atom}", f"{one}[:] = np.sort({one})",
                f"x[:] = np.cumsum({one}[::-1] * w)", f"{one}[:3] = np.cumprod(x[::2])",
                f"s += np.sum(np.convolve({one}, x[:2]))", f"y = np.concatenate(({one}[2:], x[:2])) * {atom}",
                f"s += np.interp({atom}, np.arange(5.0), {one})",
            ]
        )  # fmt: skip

    def _picked(self, level: int) -> None:
        atom, one, other = self.atom(), *self.random.sample(["x", "w", "y"], 2)
        self._one(
            [
                f"{one}[np.argmin({other})] = {atom}", f"s += {one}[np.argmax({one})] * {other}[np.argmin({one})]",
                f"order = np.argsort({one})\n{other}[order[1]] *= {one}[order[-1]]",
                f"order = np.argsort({one})\nfor j in range(4): {one}[order[j]] -= 0.3 * {other}[order[j + 1]]",
                f"{other}[:] = {one}[np.argsort({other})]", f"m[np.argmin({one}), np.argmax({other})] = {atom}",
                f"s -= np.min(m[1:] * {atom}) * np.max({one})", f"k = np.searchsorted(np.sort({one}), {atom}) % 5",
                f"{one}[{one} == np.max({one})] *= {atom}", f"s += np.median({one}) * {other}[k % 5]",
                f"{one}[ks] += 0.2 * {other}[:4]", f"{one}[ks[::2]] = {other}[ks[1::2]] * {atom}",
            ]
        )  # fmt: skip

    def _aliases(self, level: int) -> None:
        atom, name, i = self.atom(), self._new(), self.integer()
        one, other = self.random.choice(
            [("x", "x"), ("x[1:]", "x[:-1]"), ("x[::-1]", "x"), ("w[:3]", "w[2:]"), ("m[1]", "m[:, 1]"), ("w", "x"),
             ("f[0]", "m[0]"), ("x[::2]", "x[1:4]"), ("m[2, ::-1]", "m[2]"), (f"x[{i} % 3 : {i} % 3 + 3]", "x[:3]"),
             (f"m[{i} % 5]", f"m[{i} % 4]"), ("c3[0, 1]", "c3[1, 2]")]
        )  # fmt: skip
        self._one(
            [
                f"relax({one}, {other}, {atom})", f"two_outputs({one}, {other}, {atom})[1] *= 0.5",
                f"{name} = chained({one}, {other})\n{name}[0] *= {atom}\ns += {name}[-1]",
                f"s += first_exit({one}, {other}, {atom})[0]", f"t = half_scaled({one}, {atom}) + grown({other}, t)",
                f"{name}, {name}v = first_exit({one}, {other}, 0.3)\nif len({name}v): {name}v[0] = {atom}\ns -= {name}",
                f"{name} = chained({one}, {other})\n{name}b = {name}[::-1]\n{name}b[:] = {name} * {atom}",
                f"burgers({one}, {other}, {atom})", f"s = 0.5 * s + energy({one}, {other}, {atom})",
            ]
        )  # fmt: skip

    def _group(self, level: int) -> None:
        atom, name, i = self.atom(), self._new(), self.integer()
        self._one(
            [
                f"{name} = (x, w[::-1], m[1])\nfor {name}a in {name}: {name}a[{i} % 3] *= {atom}",
                f"{name} = (x[1:], (w, 2))\n{name}[1][0][{name}[1][1]] = {name}[0][1] * {atom}",
                f"{name}, {name}b = x, w\n{name}[0], {name}b[0] = {name}b[1], {name}[1] * {atom}",
                f"{name} = Box(v=m[{i} % 5], a={atom}, k=2)\n{name}.v[1:] = {name}.v[:-1] * {name}.a\ns += {name}.v[2]",
                f"{name} = unpack(Box({atom}, x[::-1], {i}), t)\ns += {name}.a * {name}.v[{name}.k % 5]",
                f"{name} = x, x[2:]\n{name}[1][:] = {name}[0][:3]\ns -= {name}[1][1]",
                f"{name} = halves(x, {atom}) + (w,)\ns += np.sum({name}[1] * {name}[2][:2])",
                f"{name} = (m, m.T)\n{name}[1][1] *= {atom}\ns += {name}[0][2, 1]",
            ]
        )  # fmt: skip

    def _overlap(self, level: int) -> None:
        atom, i = self.atom(), self.integer()
        one = self.random.choice(["x", "w", "y", "m[3]", "m[:, 3]", "f[1]", "m.ravel()[3:8]"])
        self._one(
            [
                f"{one}[1:] = {one}[:-1]", f"{one}[:-2] = {one}[2:] * {atom}", f"{one}[::-1] = {one}",
                f"{one}[3:0:-1] = {one}[1:4]", f"{one}[{i} % 3 : {i} % 3 + 2] = {one}[1:3]", "m[1:] = m[:-1]",
                f"{one}[:4:2] = {one}[-1:-4:-2]", f"{one}[1:4] = 0.5 * {one}[:3] - {one}[2:] * {atom}", "m[:] = m.T",
                "m[:, 1:] = m[:, :-1] * 0.5", "m[::-1, 1:4] = m[:, :3]", f"{one}[{i} % 4 : 3] *= {atom}",
                f"m[1:4, 1:4] = 0.3 * (m[:-2, 1:4] + m[2:, 1:4] - m[1:4, :-2] * {atom})", "c3[1] = c3[0, ::-1, ::-1]",
                f"{one}[-2:] = {one}[:2][::-1]", f"{one}[::2][::-1][1:] = {one}[1:3] * {atom}", f"f[:] = m * {atom}",
            ]
        )  # fmt: skip

    def _turned(self, level: int) -> None:
        atom, name, i = self.atom(), self._new(), self.integer()
        self._one(
            [
                f"{name} = m.reshape(-1)\n{name}[3:7] = {name}[4:8]\n{name}[{i} % 25] = {atom}",
                f"{name} = m.T[1:].T\n{name}[0] *= {atom}", f"{name} = c3.reshape(6, 4)\n{name}[1:5:2] -= {atom}",
                f"{name} = c3.reshape((4, 6)).T\n{name}[2, 1] = {atom}\nc3[1, 0, 0] *= {name}[2, 2]",
                f"{name} = c3.transpose((2, 0, 1))\n{name}[1:3] *= {atom}", f"np.swapaxes(c3, 0, 2)[1] += {atom}",
                f"{name} = np.flipud(m)[1]\n{name}[2:] = {name}[:3]", f"{name} = x.reshape(5, 1) * m\nm[:] = {name}",
                f"{name} = f.T.ravel()\n{name}[2] = {atom}\ns += f[1, 1]",
                f"{name} = m.T.copy().ravel()\n{name}[1] *= {atom}\ns -= {name}[1]",
                f"{name} = np.expand_dims(x, 1)\n{name}[1:3, 0] = w[2:4] * {atom}", "np.fill_diagonal(m, x[1] * t)",
                f"{name} = np.ascontiguousarray(f.T)\n{name}[1] = {atom}\ns += m[1, 1] + {name}[1, 2]",
                f"{name} = m[1:3].ravel()\n{name}[4:6] = {atom}\ns += m[2, 0]",
                f"{name} = m[:, 2]\n{name}[{i} % 5] *= {atom}",
            ]
        )  # fmt: skip

    def _keyword(self, level: int) -> None:
        atom, other, i = self.atom(), self.atom(), self.integer()
        self._one(
            [
                f"s += weighted({atom})", f"t = weighted({atom}, c={other})",
                f"s -= weighted(b={atom}, a={other}, power=3)",
                f"w[{i} % 5] = weighted({atom}, {other}, power={i} % 3 + 1)", f"s = SCALE * s + {atom} ** ORDER",
            ]
        )  # fmt: skip

    def _below_zero(self, level: int) -> None:
        """Write a loop whose counter, or an index computed from it, passes zero."""
        name, place, atom = self._new(), self._new(), self.atom()
        header = self.random.choice(["range(-3, 3)", "range(2, -4, -1)", "range(-3, n, 2)", "range(-n, 0)"])
        before = self.depth
        self.line(f"for {name} in range({self.random.choice(['2', 'n'])}):")
        self.depth += 1
        self.line(f"for {place} in {header}:")
        self.depth += 1
        if self.random.random() < 0.7:
            test = self.random.choice(
                [f"{place} != 0", f"{place} >= -1", f"not {place} == 0", f"{place} < 2"]
            )
            self.line(f"if {test}:")
            self.depth += 1
        places = [
            place,
            f"{place} + 2",
            f"{place} - 2",
            f"{place} + 1",
            f"{place} - 1",
            f"({place} + 5) % 5",
            name,
        ]
        for _ in range(self.random.randrange(2, 4)):
            i, j, h = [self.random.choice(places) for _ in range(3)]
            one, other = self.random.choices(["x", "w", "y", "m[1]"], k=2)
            lines = [
                f"s = 0.7 * s + {one}[{i}] * {one}[{i}]", f"s += {one}[{i}] * {other}[{j}] * {atom}",
                f"{one}[{i}] = math.tanh(s) * {other}[{j}]", f"{one}[{i}] *= {other}[{j}]",
                f"m[{i}, {j}] = 0.4 * m[{h}, {i}] * {atom}", f"t = 0.5 * t + m[{i}, {name}] * {other}[{j}]",
            ]  # fmt: skip
            self.line(self.random.choice(lines))
        self.depth = before

    def _local_sizes(self, level: int) -> None:
        atom, name, i = self.atom(), self._new(), self.integer()
        self._one(
            [
                f"{name} = np.zeros({i} % 4 + 1)\n{name}[-1] = {atom}\n{name} += x[0]\ns += np.sum({name} ** 2)",
                f"{name} = x[{i} % 5 : 3] * {atom}\ns += np.sum({name}) + len({name})",
                f"{name} = np.ones(({i} % 3 + 1, 2)) * {atom}\n{name}[:, 1] = w[1]\ns -= np.sum({name} * {name})",
                f"{name} = np.linspace({atom}, x[1], {i} % 3 + 2)\ns += {name}[-1] * {name}[0]",
                f"{name} = np.empty_like(f)\n{name}[:] = f * {atom}\n{name}[1] = x\ns += np.sum({name}[:, 1] * x)",
                f"{name} = x[5:]\n{name}[:] = {atom}\ns += np.sum({name}) * 2.0",
                f"{name} = w[:{i} % 3 + 1].copy()\nfor j in range(len({name})): {name}[j] *= {name}[-j]\nt = {name}[0]",
            ]
        )  # fmt: skip

    def text(self) -> str:
        for _ in range(self.random.randrange(2, 6)):
            self.statement(2)
        self.line(
            "return s + 0.5 * t + np.sum(x * x) + 0.3 * w[1] + 0.1 * np.sum(y * m[2]) + np.sum(f * m2 + m) * 0.2"
        )
        return self.with_helpers(HELPERS + MORE_HELPERS + FLOW_HELPERS + EDGE_HELPERS)


def random_edges(seed: int):
    """Return a random ``@njit`` function and its text."""
    return compiled_program(EdgeGenerator(seed).text(), f"<random njit edges {seed}>")
