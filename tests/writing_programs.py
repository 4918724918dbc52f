"""Random functions that write to their arguments, each also as the same function without writes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import jittape as jt

SIZE = 4
_FUNCTIONS = (jt.sin, jt.tanh, lambda x: x * x, lambda x: 0.5 * x, lambda x: jt.exp(0.3 * x))
_KEYS: tuple[Any, ...] = (0, -1, 2, slice(1, 3), slice(None, None, 2), slice(None), [0, 3], ...)


class _Written:
    """A tensor that is written to by ``x[key] = value``."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def write(self, key: Any, value: Any) -> None:
        self.value[key] = value

    def copied(self) -> _Written:
        return _Written(copy.copy(self.value))


class _Replaced(_Written):
    """The same without a write: another tensor takes the place of the old one."""

    def write(self, key: Any, value: Any) -> None:
        mask = np.zeros(SIZE, bool)
        mask[key] = True
        place = np.cumsum(mask) - 1
        spread = value if value.shape == () else jt.gather(value, np.clip(place, 0, value.shape[0] - 1))
        self.value = jt.where(mask, spread, self.value)

    def copied(self) -> _Replaced:
        return _Replaced(self.value)


class WritingProgram:
    """A function of ``(x, {"y": y})``, vectors, that returns a number; `seed` decides what it does.

    Called as it is, it writes to its arguments; `without_writes` is the same function of the same arguments.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        self.weights = self.rng.normal(size=(64, SIZE))
        names = ["x", "y"]
        self.statements = [self._statement(names) for _ in range(int(self.rng.integers(3, 9)))]

    def _one_of(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def _statement(self, names: list[str]) -> tuple[Any, ...]:
        kinds = (
            "write",
            "write",
            "add",
            "make",
            "copy",
            "alias",
            "branch",
            "loop",
            "compiled",
            "called",
            "sum",
        )
        kind = self._one_of(kinds)
        a, b, f = self._one_of(names), self._one_of(names), int(self.rng.integers(len(_FUNCTIONS)))
        if kind in ("make", "copy", "alias", "branch", "loop", "compiled"):
            names.append(f"t{len(names)}")
        return kind, names[-1], a, b, f, self._one_of(_KEYS), self._one_of(_KEYS)

    def __call__(self, x: Any, rest: Any) -> Any:
        return self._run(_Written, x, rest)

    def without_writes(self, x: Any, rest: Any) -> Any:
        """As a call, with new tensors in the place of writes."""
        return self._run(_Replaced, x, rest)

    def _run(self, cell: type[_Written], x: Any, rest: Any) -> Any:
        held = {"x": cell(x), "y": cell(rest["y"])}
        total = jt.reduce_sum(x * self.weights[0])
        for number, statement in enumerate(self.statements, 1):
            total = total + self._step(cell, held, *statement) * (1.0 / number)
        for number, one in enumerate({id(c): c for c in held.values()}.values(), 20):
            total = total + jt.reduce_sum(one.value * one.value * self.weights[number])
        return total

    def _step(
        self,
        cell: type[_Written],
        held: dict[str, _Written],
        kind: str,
        name: str,
        a: str,
        b: str,
        f: int,
        *keys: Any,
    ) -> Any:
        function, first, second = _FUNCTIONS[f], held[a], held[b]
        other = function(second.value)
        if kind == "write":
            first.write(keys[0], _part(other, keys[0]))
        elif kind == "add":
            first.write(keys[0], first.value[keys[0]] + _part(other, keys[0]))
        elif kind == "make":
            held[name] = cell(function(first.value) * second.value)
        elif kind == "copy":
            held[name] = first.copied()
        elif kind == "alias":
            held[name] = first
        elif kind == "called":
            _write_twice(first, other, *keys)
        elif kind == "branch":

            def branch() -> Any:
                inner = cell(first.value + 0.0)
                _write_twice(inner, other, *keys)
                return inner.value

            held[name] = cell(jt.cond(first.value[0] > second.value[1], branch, lambda: other))
        elif kind == "loop":

            def body(i: Any, value: Any) -> Any:
                inner = cell(value)
                inner.write(keys[0], _part(function(value), keys[0]))
                return inner.value

            held[name] = cell(jt.fori_loop(0, 2, body, first.value * 0.5))
        elif kind == "compiled":
            # What a jt.function writes to its arguments it writes to nobody else's.
            def compiled(value: Any, other: Any) -> Any:
                inner = cell(value)
                _write_twice(inner, other, *keys)
                return inner.value

            run = jt.function(compiled) if cell is _Written else compiled
            held[name] = cell(run(first.value, other))
        return jt.reduce_sum(first.value * second.value) if kind == "sum" else 0.0 * other[0]


def _write_twice(target: _Written, value: Any, first: Any, second: Any) -> None:
    target.write(first, _part(value, first))
    target.write(second, _part(value * target.value, second) * 0.5)


def _part(value: Any, key: Any) -> Any:
    return value[key]


def ways_to_gradients(given: tuple[Any, Any]) -> dict[str, Callable[[Callable[..., Any]], list[Any]]]:
    """What computes the value and derivatives in both arguments of a function of ``(x, {"y": y})``."""
    x, y = given
    direction = np.linspace(-1.0, 1.0, SIZE)

    def fresh() -> tuple[Any, Any]:
        return jt.constant(x), {"y": jt.constant(y)}

    def by_tape(f: Callable[..., Any]) -> list[Any]:
        u, rest = fresh()
        with jt.GradientTape(persistent=True) as tape:
            tape.watch([u, rest])
            value = f(u, rest)
        return [value, *tape.gradient(value, [u, rest["y"]], unconnected_gradients="zero")]

    def by_tape_after(f: Callable[..., Any]) -> list[Any]:
        u, rest = fresh()
        with jt.GradientTape() as outer:
            outer.watch(u)
            with jt.GradientTape() as tape:
                tape.watch([u, rest["y"]])
                value = f(u, rest)
            u[1] = 3.0
            du, dy = tape.gradient(value, [u, rest["y"]], unconnected_gradients="zero")
            slope = jt.reduce_sum(du * direction) + jt.reduce_sum(dy)
        return [du, dy, outer.gradient(slope, u, unconnected_gradients="zero")]

    def by_accumulator(f: Callable[..., Any]) -> list[Any]:
        u, rest = fresh()
        with jt.autodiff.ForwardAccumulator([u, rest], [direction, {"y": direction * 2}]) as accumulator:
            value = f(u, rest)
        return [accumulator.jvp(value)]

    def by_hand(f: Callable[..., Any]) -> list[Any]:
        first = jt.value_and_grad(f, (0, 1), unconnected_gradients="zero")(x, {"y": y})
        return [first[0], first[1][0], first[1][1]["y"]]

    def by_vectors(f: Callable[..., Any]) -> list[Any]:
        value, pullback = jt.vjp(f, x, {"y": y}, unconnected_gradients="zero")
        pulled = pullback(2.0)
        _, pushed = jt.jvp(f, [x, {"y": y}], [direction, {"y": direction}], unconnected_gradients="zero")
        return [value, pulled[0], pulled[1]["y"], pushed]

    def by_jacobians(f: Callable[..., Any]) -> list[Any]:
        jacobian = jt.jacobian(f, unconnected_gradients="zero")(x, fresh()[1])
        return [jacobian, jt.hessian(f)(x, fresh()[1]), jt.hvp(f)(x, direction, fresh()[1])]

    def in_function(f: Callable[..., Any]) -> list[Any]:
        def both(u: Any, v: Any) -> Any:
            with jt.GradientTape() as tape:
                tape.watch([u, v])
                value = f(u, {"y": v})
            return [value, *tape.gradient(value, [u, v], unconnected_gradients="zero")]

        compiled = jt.function(both)
        return [*compiled(x, y), *compiled(x, y)]

    def of_function(f: Callable[..., Any]) -> list[Any]:
        return by_tape(jt.function(f)) + by_hand(jt.function(f))

    ways = (
        by_tape,
        by_tape_after,
        by_accumulator,
        by_hand,
        by_vectors,
        by_jacobians,
        in_function,
        of_function,
    )
    return {way.__name__: way for way in ways}
