"""Programs with loops and branches: each runs interpreted and compiled, and is differentiated three times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import jittape as jt

Array = np.ndarray[Any, Any]

RNG = np.random.default_rng(4)
MATRIX = 0.4 * RNG.normal(size=(3, 3))
ROWS = RNG.normal(size=(5, 3))


@dataclass(frozen=True)
class Case:
    """A function of one float64 array, by jittape's control flow and by Python's.

    `smooth` is how often its derivative is to be compared with differences.
    """

    name: str
    function: Callable[[Any], Any]
    reference: Callable[[Array], Any]
    x: Array
    smooth: int = 3

    def __str__(self) -> str:
        return self.name


def fori(n: int, **options: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        return jt.fori_loop(
            0, n, lambda i, s: jt.sin(s) * 0.9 + 0.1 * jt.cast(i, jt.float64) * x, x, **options
        )

    return f


def fori_reference(n: int) -> Callable[[Array], Array]:
    def f(x: Array) -> Array:
        s = x
        for i in range(n):
            s = np.sin(s) * 0.9 + 0.1 * i * x
        return s

    return f


def scan_rnn(x: Any) -> Any:
    def step(state: Any, row: Any) -> Any:
        return jt.tanh(jt.tensordot(jt.constant(MATRIX), state, 1) + row * x)

    return jt.scan(step, jt.constant(ROWS), initializer=x)


def rnn_reference(x: Array) -> Array:
    state, out = x, []
    for row in ROWS:
        state = np.tanh(MATRIX @ state + row * x)
        out.append(state)
    return np.array(out)


def weights(x: Any) -> Any:
    """A captured matrix is what is differentiated."""
    w = jt.reshape(x, (3, 3))
    return jt.foldl(
        lambda s, row: jt.tanh(jt.linalg.matvec(w, s) + row), jt.constant(ROWS), jt.constant(np.ones(3))
    )


def weights_reference(x: Array) -> Array:
    s = np.ones(3)
    for row in ROWS:
        s = np.tanh(x.reshape(3, 3) @ s + row)
    return s


def pair(x: Any) -> Any:
    """Carries that change places, one that stays, one that nobody needs, and an int."""
    start = {"a": x, "b": x * x, "still": x + 1.0, "unused": x, "n": jt.constant(0)}

    def body(i: Any, s: Any) -> Any:
        return {
            "a": s["b"],
            "b": jt.sin(s["a"]) + s["b"] * s["still"] * 0.1,
            "still": s["still"],
            "unused": jt.exp(s["unused"]),
            "n": s["n"] + 1,
        }

    out = jt.fori_loop(0, 4, body, start)
    return out["a"] * jt.cast(out["n"], jt.float64) + out["still"]


def pair_reference(x: Array) -> Array:
    a, b, still = x, x * x, x + 1
    for _ in range(4):
        a, b = b, np.sin(a) + b * still * 0.1
    return a * 4 + still


def nested(x: Any) -> Any:
    """A scan in a scan, the inner one over what the outer one gives it."""

    def outer(state: Any, row: Any) -> Any:
        inner = jt.scan(
            lambda s, e: s * 0.5 + jt.sin(e), row * state, initializer=jt.constant(0.0, jt.float64)
        )
        return state * 0.3 + inner

    return jt.scan(outer, jt.constant(ROWS), initializer=x)


def nested_reference(x: Array) -> Array:
    state, out = x, []
    for row in ROWS:
        s, inner = 0.0, []
        for e in row * state:
            s = s * 0.5 + np.sin(e)
            inner.append(s)
        state = state * 0.3 + np.array(inner)
        out.append(state)
    return np.array(out)


def growing(x: Any) -> Any:
    """As often as it takes."""
    y, n = jt.while_loop(
        lambda y, n: jt.reduce_sum(y * y) < 50.0,
        lambda y, n: (y * 1.3 + jt.sin(y * x), n + 1),
        (x, jt.constant(0)),
    )
    return y + jt.cast(n, jt.float64)


def growing_reference(x: Array) -> Array:
    y, n = x, 0
    while (y * y).sum() < 50:
        y, n = y * 1.3 + np.sin(y * x), n + 1
    return y + n


def limited(x: Any, **options: Any) -> Any:
    return jt.while_loop(
        lambda y: jt.reduce_sum(y) < 1e9,
        lambda y: (jt.cos(y) + x * y,),
        (x,),
        maximum_iterations=5,
        **options,
    )[0]


def limited_reference(x: Array) -> Array:
    y = x
    for _ in range(5):
        y = np.cos(y) + x * y
    return y


def cond_in_while(x: Any) -> Any:
    def body(y: Any, n: Any) -> Any:
        y = jt.cond(jt.equal(jt.math.floormod(n, 2), 0), lambda: y * x + 0.5, lambda: jt.sin(y))
        return y, n + 1

    return jt.while_loop(lambda y, n: n < 6, body, (x, jt.constant(0)))[0]


def cond_in_while_reference(x: Array) -> Array:
    y = x
    for n in range(6):
        y = y * x + 0.5 if n % 2 == 0 else np.sin(y)
    return y


def while_in_scan(x: Any) -> Any:
    """Loops of unknown length in each iteration of another."""

    def step(state: Any, row: Any) -> Any:
        y = jt.while_loop(
            lambda y: jt.reduce_max(jt.abs(y)) < 2.0,
            lambda y: (y * 1.5 + 0.1 * jt.sin(x * y),),
            (state + row * row,),
        )[0]
        return y * 0.2

    return jt.scan(step, jt.constant(ROWS), initializer=x)


def while_in_scan_reference(x: Array) -> Array:
    state, out = x, []
    for row in ROWS:
        y = state + row * row
        while np.abs(y).max() < 2:
            y = y * 1.5 + 0.1 * np.sin(x * y)
        state = y * 0.2
        out.append(state)
    return np.array(out)


def scan_in_cond(x: Any) -> Any:
    def long() -> Any:
        return jt.foldl(lambda s, row: s * 0.5 + jt.sin(row * x), jt.constant(ROWS), x)

    return jt.cond(jt.reduce_sum(x) > 0, long, lambda: x) + jt.cond(jt.reduce_sum(x) < 0, long, lambda: x * x)


def scan_in_cond_reference(x: Array) -> Array:
    s = x
    for row in ROWS:
        s = s * 0.5 + np.sin(row * x)
    return s + x * x


def switched(x: Any) -> Any:
    parts = [
        jt.switch_case(jt.constant(i), [lambda: x, lambda: x * x, lambda: jt.sin(x)], default=lambda: x * 3.0)
        for i in (0, 1, 2, 3, -1)
    ]
    return sum(parts, jt.zeros_like(x))


def mapped(x: Any) -> Any:
    out = jt.map_fn(
        lambda pair: (pair[0] * pair[1], jt.reduce_sum(pair[1])),
        (x, jt.constant(ROWS[:3])),
        fn_output_signature=None,
    )
    return jt.reduce_sum(out[0], 1) * out[1]


def reduced(x: Any) -> Any:
    """Sums within the body."""
    return jt.fori_loop(0, 6, lambda i, s: s / jt.reduce_sum(s * s) + 0.3 * x, x)


def reduced_reference(x: Array) -> Array:
    s = x
    for _ in range(6):
        s = s / (s * s).sum() + 0.3 * x
    return s


def backwards(x: Any) -> Any:
    return jt.scan(lambda s, row: s * 0.5 + jt.cos(row * s), jt.constant(ROWS), initializer=x, reverse=True)


def backwards_reference(x: Array) -> Array:
    s, out = x, []
    for row in ROWS[::-1]:
        s = s * 0.5 + np.cos(row * s)
        out.append(s)
    return np.array(out[::-1])


def elements(x: Any) -> Any:
    """The stack is what is differentiated; without an initializer."""
    rows = jt.constant(ROWS) * x
    return jt.foldr(lambda s, row: jt.sin(s) * row, rows) + jt.scan(lambda s, row: s * row + 1.0, rows)[-1]


def elements_reference(x: Array) -> Array:
    rows = ROWS * x
    s = rows[-1]
    for row in rows[-2::-1]:
        s = np.sin(s) * row
    t = rows[0]
    for row in rows[1:]:
        t = t * row + 1
    return s + t


def hosted(x: Any) -> Any:
    """A body with a step that NumPy does."""
    return jt.fori_loop(0, 3, lambda i, s: jt.cumsum(jt.sin(s)) * x, x)


def hosted_reference(x: Array) -> Array:
    s = x
    for _ in range(3):
        s = np.cumsum(np.sin(s)) * x
    return s


def hosted_while(x: Any) -> Any:
    return jt.while_loop(
        lambda y, n: n < 4, lambda y, n: (jt.cumsum(jt.sin(y)) * x, n + 1), (x, jt.constant(0))
    )[0]


def hosted_while_reference(x: Array) -> Array:
    s = x
    for _ in range(4):
        s = np.cumsum(np.sin(s)) * x
    return s


def by_tensor_bounds(x: Any) -> Any:
    return jt.fori_loop(jt.constant(1), jt.constant(5), lambda i, s: jt.sin(s) * jt.cast(i, jt.float64), x)


def by_tensor_bounds_reference(x: Array) -> Array:
    s = x
    for i in range(1, 5):
        s = np.sin(s) * i
    return s


def own_gradient(x: Any) -> Any:
    """A custom gradient in the body, which uses what the function has computed."""

    @jt.custom_gradient
    def softplus(z: Any) -> Any:
        e = jt.exp(z)
        return jt.math.log(1.0 + e), lambda upstream: upstream * (1.0 - 1.0 / (1.0 + e))

    return jt.fori_loop(0, 4, lambda i, s: softplus(s * x) - 0.5, x)


def own_gradient_reference(x: Array) -> Array:
    s = x
    for _ in range(4):
        s = np.log1p(np.exp(s * x)) - 0.5
    return s


def inner_tape(x: Any) -> Any:
    """Steps of gradient descent: a tape in the body."""

    def step(i: Any, s: Any) -> Any:
        with jt.GradientTape() as tape:
            tape.watch(s)
            loss = jt.reduce_sum(jt.sin(s) * s * x)
        return s - 0.1 * tape.gradient(loss, s)

    return jt.fori_loop(0, 4, step, x)


def inner_tape_reference(x: Array) -> Array:
    s = x
    for _ in range(4):
        s = s - 0.1 * x * (np.cos(s) * s + np.sin(s))
    return s


def joined(x: Any) -> Any:
    """Ops without a form of their own: concat, roll, an assigned part."""

    def step(i: Any, s: Any) -> Any:
        s = jt.concat([s[1:], jt.sin(s[:1])], 0) + jt.roll(s, 1, 0) * x
        t = s * 0.5
        t[1:] = s[:-1] * t[1:]
        return t

    return jt.fori_loop(0, 4, step, x)


def joined_reference(x: Array) -> Array:
    s = x
    for _ in range(4):
        s = np.concatenate([s[1:], np.sin(s[:1])]) + np.roll(s, 1) * x
        t = s * 0.5
        t[1:] = s[:-1] * t[1:]
        s = t
    return s


X = np.array([0.3, 0.7, 1.1])

CASES = [
    *[Case(f"fori {n}", fori(n), fori_reference(n), X) for n in (0, 1, 2, 3, 8)],
    Case("fori in segments", fori(8, checkpoint=3), fori_reference(8), X),
    Case("fori in sqrt segments", fori(8, checkpoint="sqrt"), fori_reference(8), X),
    Case("rnn", scan_rnn, rnn_reference, X),
    Case("weights", weights, weights_reference, 0.5 * RNG.normal(size=9)),
    Case("pair", pair, pair_reference, X),
    Case("nested", nested, nested_reference, X),
    Case("growing", growing, growing_reference, X),
    Case("limited", limited, limited_reference, X),
    Case("limited in segments", lambda x: limited(x, checkpoint=2), limited_reference, X),
    Case("limited in sqrt segments", lambda x: limited(x, checkpoint="sqrt"), limited_reference, X),
    Case("cond in while", cond_in_while, cond_in_while_reference, X),
    Case("while in scan", while_in_scan, while_in_scan_reference, X),
    Case("scan in cond", scan_in_cond, scan_in_cond_reference, X),
    Case("switched", switched, lambda x: x + x * x + np.sin(x) + 6 * x, X),
    Case("mapped", mapped, lambda x: (x[:, None] * ROWS[:3]).sum(1) * ROWS[:3].sum(1), X),
    Case("reduced", reduced, reduced_reference, X),
    Case("backwards", backwards, backwards_reference, X),
    Case("elements", elements, elements_reference, X),
    Case("hosted", hosted, hosted_reference, X),
    Case("hosted while", hosted_while, hosted_while_reference, X),
    Case("own gradient", own_gradient, own_gradient_reference, X),
    Case("inner tape", inner_tape, inner_tape_reference, X),
    Case("joined", joined, joined_reference, X),
    Case("by tensor bounds", by_tensor_bounds, by_tensor_bounds_reference, X),
]
