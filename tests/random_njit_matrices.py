"""Statements of random ``@njit`` programs on matrices whose sizes they do not know, on their rows and columns."""

from __future__ import annotations

from typing import Any


class MatrixStatements:
    """Statements on the matrices `a`, `b` and `d`, and the vectors `u`, `v` and `q`; a generator adds the rest."""

    rows: list[str]
    one: Any
    line: Any
    pick: Any
    new: Any
    row: Any
    column: Any
    matrix: Any
    vector: Any
    tall: Any
    atom: Any
    expression: Any
    condition: Any
    part: Any

    def _whole(self, level: int) -> None:
        one, other, atom = self.matrix(), self.matrix(), self.atom()
        target = self.pick("a", "b", "d")
        self.one(
            f"{target}[:] = 0.5 * {one} - {other} * {atom}", f"{target} *= np.cos({one})",
            f"{target} += {self.vector()} * {atom}",
            f"d = np.where({one} > {atom}, {other}, {one} * t)", f"{target} -= {self.tall()}[:, None] * 0.3",
            f"d = {one} * {other}", f"d = np.tanh({one} + {self.vector()})", f"{target}[:] = {one}",
            f"d = {one}.copy()",
            f"{target}[:, :] = {self.vector()} * {self.tall()}[:, None]",
            f"d = np.zeros((r, c)) + {atom}", f"d = np.outer({self.tall()}, {self.vector()}) * 0.5",
            # Numba's order for arrays that overlap depends on their layouts, which copies of arguments do not have.
            f"np.multiply({one} + t, 0.5, {target})",
            f"d = np.maximum({one}, {atom}) - np.minimum({other}, t)",
        )  # fmt: skip

    def _sliced(self, level: int) -> None:
        target, one, atom = self.pick("a", "b", "d"), self.pick("a", "b", "d"), self.atom()
        rows, columns = self.part(), self.part()
        operator = self.pick("=", "+=", "-=", "*=")
        self.one(
            f"{target}[{rows}, {columns}] {operator} 0.5 * {one}[{rows}, {columns}] * {atom}",
            f"{target}[1:] {operator} {one}[:-1] * {atom}", f"{target}[:, 1:] {operator} {one}[:, :-1]",
            f"{target}[{rows}] {operator} {self.vector()} * {atom}", f"{target}[:, {columns}] {operator} {atom}",
            f"{target}[1:, :-1] {operator} {one}[:-1, 1:] * {atom}",
            f"{target}[{rows}][:, {columns}] {operator} {atom}",
            f"{target}.T[{columns}, {rows}] {operator} {one}.T[{columns}, {rows}] * {atom}",
            f"u[{columns}] {operator} v[{columns}] * {atom}", f"v[1:] {operator} v[:-1] * {self.vector()}[1:]",
            f"q[{rows}] {operator} {self.tall()}[{rows}] * {atom}",
            f"{target}[1:-1, 1:-1] {operator} 0.2 * ({one}[2:, 1:-1] + {one}[:-2, 1:-1])",
        )  # fmt: skip

    def _sums(self, level: int) -> None:
        one, other, atom = self.matrix(), self.matrix(), self.atom()
        self.one(
            f"s += 0.1 * np.sum({one} * {other})", f"v = np.sum({one}, axis=0) * {atom}",
            f"q[:] = np.sum({one} * {other}, axis=1)",
            f"q = {one} @ {self.vector()} * 0.3", f"v[:] = np.dot({self.tall()}, {one}) * 0.3",
            f"t = 0.2 * np.dot(u, {self.vector()})",
            f"s -= np.sum(np.where({one} > 0.0, {other}, {atom})) * 0.1",
            f"v = {one}.sum(axis=0) + {self.vector()}",
            f"if r > 0 and c > 0: s += np.max({one}) - np.min({other})",
            f"if c > 0: t = np.max({self.vector()}) * {atom}",
            f"s += np.sum({one}[{self.part()}, {self.part()}])", f"q += row_sums({one}) * {atom}",
            f"u[:] = np.cumsum({self.vector()}) * 0.4",
            f"s += np.sum({self.vector()} * {self.vector()}) + np.sum(q * {self.tall()}) * {atom}",
            f"v = np.dot({one}.T, q) * 0.3",
            f"if c > 1: s += np.std({self.vector()} + np.arange(c))",
        )  # fmt: skip

    def _called(self, level: int) -> None:
        one, name, atom = self.matrix(), self.new(), self.atom()
        self.one(
            f"s += leaf({self.vector()}, {atom})", f"t = middle({self.vector()}, {self.tall()}, {atom})",
            f"s, {name} = outermost({one}, {atom})\ns += 0.1 * np.sum({name} * {name})",
            f"{name} = outermost({one}[{self.part()}, 1:], 0.4)[1]\n{name} *= {atom}\ns += np.sum({name})",
            f"{name}, {name}b = ends({self.vector()}, u)\n{name} *= {atom}\ns += np.sum({name}b * 0.3)",
            f"blur({one}, {self.matrix()}, {atom})", f"blur(d[1:], d[:-1], {atom})", f"q[:] = row_sums({one})",
            f"s -= middle({self.vector()}[1:], {self.vector()}[:-1], {atom})", f"leaf({self.tall()}, t)",
            f"leaf(q[{self.part()}], {atom})",
        )  # fmt: skip

    def _aliased(self, level: int) -> None:
        name, atom, vector = self.new(), self.atom(), self.vector()
        self.one(
            f"{name} = {vector}\n{name} *= {name}\ns += np.sum({name})",
            f"{name} = {vector}[1:]\n{name} -= {vector}[:-1] * {atom}",
            f"{name} = {self.matrix()}[1:]\n{name}[:, ::2] *= {atom}\n{name} += {self.vector()}",
            f"{name} = {vector}\n{name}b = {name}[::-1]\n{name}b += {name} * {atom}\n{name}[1:] = {name}b[1:]",
            f"{name} = a.T\n{name} *= {atom}\n{name}[1:, 1:] = {name}[:-1, :-1]",
            f"{name} = {self.tall()}\n{name}[:] = q[::-1]\n{name} *= {atom}",
            f"{name} = {vector}.copy()\n{name}[::-1] = {vector}\ns += np.sum({name} * {self.vector()})",
            f"{name} = ({vector}, q)\n{name}[0][:1] = {atom}\n{name}[1][1:] *= 0.5",
        )  # fmt: skip

    def _tupled(self, level: int) -> None:
        name, atom = self.new(), self.atom()
        self.one(
            f"{name}, {name}b = {self.vector()}, {self.tall()}\n{name}[:1] = {atom}\ns += np.sum({name}b) * 0.2",
            "v, u[:] = u * 0.5, v", f"d, {name} = {self.matrix()} * 0.5, d\ns += np.sum({name}) * {atom}",
            f"{name} = (d, {atom}, k)\n{name}[0][:, 1:] *= {name}[1]\nk = {name}[2] + 1",
            f"{name} = ends(u, v) + (q,)\n{name}[0][:] = {atom}\ns += np.sum({name}[2]) - np.sum({name}[1])",
        )  # fmt: skip

    def _mixed(self, level: int) -> None:
        """Write an int and a slice in one subscript."""
        if not self.rows:
            self._sliced(level)
            return
        target, one, atom = self.pick("a", "b", "d"), self.pick("a", "b", "d"), self.atom()
        i, j = self.row(), self.row()
        part, operator = self.part(), self.pick("=", "+=", "*=")
        self.one(
            f"{target}[{i}, {part}] {operator} {one}[{j}, {part}] * {atom}",
            f"{target}[{i}][{part}] {operator} {atom}",
            f"{target}[{i}, 1:] {operator} {target}[{i}, :-1] * {atom}",
            f"{target}[{i} :, ::-1][:1] {operator} {one}[{j}] * {atom}",
            f"{target}[{i}, ::-1] {operator} {target}[{j}]", f"{target}[{i}] = {self.vector()}",
            f"d[{i}, {part}] -= {one}[::-1][{j}, {part}] * {target}[{i}, {part}]",
        )  # fmt: skip

    def _rowwise(self, level: int) -> None:
        i, j, atom = self.row(), self.row(), self.atom()
        target, one = self.pick("a", "b", "d"), self.pick("a", "b", "d")
        self.one(
            f"q[{i}] = np.sum({target}[{j}] * {self.vector()})",
            f"{target}[{i}] = 0.5 * {one}[{j}] * {self.vector()}",
            f"q[{i}] += q[{j}] * {atom}", f"{target}[{i}] -= {self.vector()} * q[{j}]",
            f"q[{i}] *= np.dot({self.vector()}, {self.vector()})",
            f"{target}[{i}] = np.where({one}[{j}] > {atom}, {one}[{j}], {self.vector()})",
            f"s += leaf({target}[{i}], {atom})",
            f"{target}[{i}], {one}[{j}, 1:] = {one}[{j}] * 0.5, {target}[{i}, :-1] * 0.3",
        )  # fmt: skip

    def _element(self, level: int) -> None:
        i, j, h, w = self.row(), self.column(), self.row(), self.column()
        target, one, atom = self.pick("a", "b", "d"), self.pick("a", "b", "d"), self.atom()
        self.one(
            f"{target}[{i}, {j}] = {self.expression()}", f"{target}[{i}, {j}] += 0.3 * {one}[{h}, {w}] * {atom}",
            f"{target}[{i}, {j}] *= {one}[{h}, {w}]", f"q[{i}] += {one}[{h}, {w}] * u[{j}]",
            f"u[{j}] -= 0.2 * {one}[{i}, {w}] * q[{h}]",
            f"{target}[{i}, {j}], {one}[{h}, {w}] = {one}[{h}, {w}] * 0.5, {target}[{i}, {j}]",
            f"s = 0.8 * s + {target}[{i}, {j}] * {atom}",
            f"{target}[{i}][{j}] = math.sin({self.expression()})", f"{target}.T[{j}, {i}] -= {self.expression()}",
            f"if {self.condition()}: {target}[{i}, {j}] = 0.5 * {one}[{h}, {w}]",
            f"v[{j}] = 0.3 * v[{w}] * {target}[{i}, {j}]",
        )  # fmt: skip

    def _squared(self, level: int) -> None:
        one, other, atom = self.matrix(), self.matrix(), self.atom()
        target = self.pick("a", "b", "d")
        self.one(
            f"d = {one} @ {other} * 0.3", f"{target}[:] = {one}.T * {atom}", f"{target} += 0.2 * {target}.T",
            f"{target}[1:, 1:] = {one}.T[:-1, :-1]",
            f"v[:] = np.diag({one}) * {atom}", f"s += np.trace({one}) * 0.3",
            f"np.fill_diagonal({target}, {atom})",
            f"d = np.linalg.solve(np.eye(r) * 3.0 + 0.2 * {one}, {other})",
            f"q[:] = np.linalg.solve(np.eye(r) * 3.0 + 0.2 * {one}, u)",
            f"s += 0.01 * np.linalg.det(np.eye(r) * 2.0 + {one} * 0.2)", f"u[:] = {one} @ (v * {atom}) * 0.2",
        )  # fmt: skip

    def _iterate(self, level: int) -> None:
        name, atom = self.new(), self.atom()
        self.one(
            f"for {name} in {self.matrix()}: {name}[1:] *= {name}[:-1]",
            f"for {name}, {name}b in zip(a, d): {name} += {name}b * {atom}",
            f"for {name}i, {name} in enumerate({self.vector()}): u[{name}i - 1] += {name} * {atom}",
            f"for {name} in a.T:\n    if r > 2: continue\n    {name}[::-1] = {name}\n    s += np.sum({name})",
            f"for {name} in q:\n    s = 0.5 * s + {name} * {atom}\n    if s > 0.8: break",
            f"for i in range(1, r):\n    {name} = d[i - 1 : i + 1]\n    {name}[:, 1:] = {name}[::-1, :-1] * {atom}",
            f"for i in range(r):\n    {name} = np.empty(c)\n    {name}[:] = d[i] * u\n    d[i] = {name}[::-1]",
        )  # fmt: skip
