"""Statements of random programs with blocks inside: loops, branches, functions that are mapped or recomputed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy_namespace
from program_nodes import PLAIN, Block, Branch, Loop, names_of
from program_writer import Writer, tame


def loop(w: Writer) -> None:
    start = [
        n for n in (w.pick(lambda v: 0 < v.size <= 12) for _ in range(w.rng.randint(1, 3))) if n is not None
    ]
    if not start:
        return
    trips, counter = w.rng.randint(0, 4), w.fresh("i")
    own = f"jt.{np.dtype(w.dtype).name}"
    carried = [w.fresh("c") for _ in start]
    body = w.inner([])
    body.values = {**w.values, **{c: w.values[s] for c, s in zip(carried, start, strict=True)}, counter: 1}
    results = []
    for c in carried:
        if w.rng.random() < 0.15:
            results.append(w.rng.choice([r for r in carried if body.values[r].shape == body.values[c].shape]))
            continue
        for _ in range(w.rng.randint(0, 2)):
            body.step()
        scaled = body.append(f"{c} * (1.0 - 0.1 * jt.cast({counter}, {own}))") if w.rng.random() < 0.4 else c
        result = body.mixed(scaled or c)
        results.append(result or c)
    if len(results) > 1 and w.rng.random() < 0.3:  # equal outputs
        for j in range(1, len(results)):
            if body.values[results[j]].shape == body.values[results[0]].shape:
                results[j] = results[0]
    kind = w.rng.choice(["fori_loop", "fori_loop", "while_loop"])
    option = ""
    if kind == "fori_loop" and w.rng.random() < 0.2:
        option = f", checkpoint={w.rng.choice([1, 2, repr('sqrt')])}"
    names = [w.fresh("v") for _ in start]
    _keep(w, Loop(names, trips, counter, carried, start, body.nodes, results, kind, option), names)


def branch(w: Writer) -> None:
    x, y = w.pick(), w.pick(lambda v: v.size <= 12)
    if x is None or y is None or w.values[x].size == 0:
        return
    predicate = f"jt.reduce_sum({x}) > {round(w.rng.uniform(-1, 1), 3)}"
    total, bound = predicate.split(" > ")
    if not w.clear_of_zero(f"{total} - {bound}"):
        return
    blocks, results = [], []
    for _ in range(2):
        block = w.inner([])
        for _ in range(w.rng.randint(0, 2)):
            block.step()
        results.append(block.mixed(y) or y)
        blocks.append(block.nodes)
    name = w.fresh("v")
    _keep(w, Branch(name, w.counts["v"], predicate, (blocks[0], blocks[1]), (results[0], results[1])), [name])


def block(w: Writer) -> None:
    """A function: called, recomputed for its gradient, or mapped over the rows of its arguments."""
    mapped = w.rng.random() < 0.5
    x = w.pick(lambda v: (v.ndim > 0 and v.shape[0] > 0) if mapped else True)
    if x is None:
        return
    p = w.fresh("p")
    inner = w.inner([])
    inner.values = {**w.values, p: w.values[x][0] if mapped else w.values[x]}
    for _ in range(w.rng.randint(1, 3)):
        inner.step()
    result = inner.mixed(p) or p
    name = w.fresh("v")
    wrapper = w.rng.choice(
        ["jt.map_fn({function}, {arguments})", "jt.vectorized_map({function}, {arguments})"]
        if mapped
        else ["jt.recompute_grad({function})({arguments})", "{function}({arguments})"]
    )
    _keep(w, Block(name, w.counts["v"], [p], [x], inner.nodes, result, wrapper), [name])


def scanned(w: Writer) -> None:
    x = w.pick(lambda v: v.ndim > 0 and v.shape[0] > 0)
    if x is None:
        return
    a, e = w.fresh("p"), w.fresh("p")
    inner = w.inner([])
    inner.values = {**w.values, a: w.values[x][0] * 0.5, e: w.values[x][0]}
    inner.step()
    result = inner.append(f"0.5 * {a} + 0.25 * jt.sin({inner.mixed(e) or e})")
    if result is None:
        return
    name = w.fresh("v")
    wrapper = "jt.scan({function}, {arguments}, " + f"{x}[0] * 0.5)"
    _keep(w, Block(name, w.counts["v"], [a, e], [x], inner.nodes, result, wrapper), [name])


def _keep(w: Writer, node: Any, names: list[str]) -> None:
    """Append a statement with blocks if all that it does stays tame, whichever way it goes."""
    states = {n: np.array(v.value) for n, v in w.values.items() if isinstance(v, numpy_namespace.Variable)}
    scope = {**names_of(numpy_namespace), **w.constants, **w.values}
    with np.errstate(all="ignore"):
        exec("\n".join(node.lines(PLAIN)), scope)
    assert all(np.array_equal(w.values[n].value, before) for n, before in states.items())
    found = {name: np.asarray(scope[name]) for name in names}
    if all(tame(value) and value.dtype == w.dtype for value in found.values()):
        w.nodes.append(node)
        w.values.update(found)
