"""Nodes of the trie are no work for the garbage collector, and garbage that it finds once the trie drops them."""

import gc
import weakref

import numpy as np
import pytest

import jittape as jt
from jittape.core.program import Op
from jittape.primitives.elementwise.trigonometric import sin_op
from jittape.recording.trie import Node, _latest, trie
from jittape.recording.trie_insertion import _untrack_plain
from jittape.runtime.counters import counters

pytestmark = pytest.mark.skipif(not hasattr(gc, "freeze"), reason="another implementation of Python")


class Content:
    """An object that a test finds again by a weak reference."""


def step(n: int) -> float:
    return float(jt.reduce_sum(jt.tanh(jt.constant(np.ones(n, "float32")) * 2.0) + 1.0))


def derived_nodes() -> list[Node]:
    return [node for node in trie._walk() if node.derivation is not None]


@pytest.fixture(autouse=True)
def lengths():
    trie.clear()
    for n in range(50, 70):
        step(n)
    assert len(derived_nodes()) > 40
    yield
    trie.clear()


def test_the_collector_does_not_visit_nodes_of_derived_paths():
    nodes = derived_nodes()
    assert not any(map(gc.is_tracked, nodes))
    inner = [node for node in nodes if node.children]
    assert inner
    assert not any(gc.is_tracked(node.children) for node in inner)


def test_a_new_length_leaves_few_objects_to_the_collector():
    lengths = [4001 + 2 * i for i in range(40)]
    for n in lengths[:20]:
        step(n)
    gc.collect()
    before = len(gc.get_objects())
    for n in lengths[20:]:
        step(n)
    gc.collect()
    assert (len(gc.get_objects()) - before) / 20 < 1


def test_the_collector_visits_them_again_when_all_paths_are_dropped():
    nodes = derived_nodes()
    trie.clear()
    assert all(map(gc.is_tracked, nodes))
    assert all(gc.is_tracked(node.children) for node in nodes if node.children)


def test_pruned_nodes_are_collected():
    seen = []
    for node in derived_nodes():
        content = node.notes = Content()
        node.shortcuts = {"cycle": node}
        seen.append(weakref.ref(content))
    del node, content
    before = jt.config.max_trie_nodes
    try:
        jt.config.max_trie_nodes = 10
        for i in range(30):
            float(jt.reduce_sum(jt.constant(np.ones(2)) * float(i)))
            step(1000 + i)
    finally:
        jt.config.max_trie_nodes = before
    gc.collect()
    assert sum(ref() is not None for ref in seen) <= 3


def drop_all_paths() -> None:
    """Drop all paths and what refers to the latest one, and collect them."""
    trie.clear()
    float(jt.constant(1.0) + 1.0)
    _latest.paths = []
    gc.collect()


def test_a_general_path_is_collected_when_all_paths_are_dropped():
    path = weakref.ref(derived_nodes()[0].derivation[0])
    for n in (60, 61, 60):  # the second visit of a length keeps its executable
        step(n)
    drop_all_paths()
    assert path() is None


def test_the_collector_frees_an_executable_that_refers_to_its_path():
    step(65)
    kept = weakref.ref(counters.last)
    assert kept().compiled is not None
    drop_all_paths()
    assert kept() is None


# ---- recorded nodes --------------------------------------------------------------------------------------------------


def recorded_nodes() -> list[Node]:
    return [node for node in trie._walk() if node.derivation is None]


def unrolled(n: int) -> float:
    """Run a program of its own for each `n`, with keys, inputs and a gradient of every kind."""
    x = jt.Variable(1.0)
    with jt.GradientTape() as tape:
        y = x
        for _ in range(n):
            y = jt.sin(y) * 1.5 + jt.reshape(y, ())
    return float(tape.gradient(y, x))


def test_the_collector_does_not_visit_recorded_nodes():
    unrolled(5)
    nodes = recorded_nodes()
    assert len(nodes) > 20
    assert not any(map(gc.is_tracked, nodes))
    assert not any(gc.is_tracked(node.children) for node in nodes if node.children)
    repeated = [node for node in nodes if node.n_ops > 12]
    assert repeated
    for node in repeated[:-2]:
        assert not any(map(gc.is_tracked, (node.ops, *node.ops, node.inputs, *node.inputs))), node.ops


def test_the_collector_does_not_visit_the_ops_of_gradients():
    unrolled(5)
    gradients = [node for node in recorded_nodes() if len(node.ops) > 10]
    assert gradients
    for node in gradients:
        assert not any(map(gc.is_tracked, (node.ops, *node.ops)))


def test_the_collector_does_not_visit_parts_of_arrays():
    """Slices have regions as parameters, and their calls return several results."""
    x = jt.Variable(np.ones(4))
    with jt.GradientTape() as tape:
        y = x
        for _ in range(6):
            first, second = jt.split(y, 2)
            y = jt.concat([jt.sin(second), first], 0)
    tape.gradient(y, x).numpy()
    split = [node for node in recorded_nodes() if node.results is not None and len(node.results) == 2]
    assert len(split) == 6
    for node in split[2:]:  # a call of a Variable and one of a tensor leave the templates of the others
        found = (node.ops, *node.ops, node.results, *node.results)
        assert not any(map(gc.is_tracked, found)), found
    (gradient,) = [node for node in recorded_nodes() if len(node.ops) > 10]
    assert not any(map(gc.is_tracked, (gradient.ops, *gradient.ops)))


def test_the_collector_visits_ops_whose_parameters_may_refer_to_them():
    plain, other = [Op(sin_op, (0,), params, 1) for params in ((("axis", 0),), (("function", step),))]
    _untrack_plain((plain, other))
    assert not gc.is_tracked(plain)
    assert gc.is_tracked(other)


def test_the_collector_visits_recorded_nodes_again_when_all_paths_are_dropped():
    unrolled(5)
    nodes = recorded_nodes()
    trie.clear()
    assert all(map(gc.is_tracked, nodes))
    assert all(gc.is_tracked(node.children) for node in nodes if node.children)


@pytest.mark.parametrize("drop", ["clear", "prune"])
def test_dropped_recorded_nodes_are_collected(drop):
    unrolled(6)
    seen = []
    for node in recorded_nodes():
        content = node.notes = Content()
        node.shortcuts = {"cycle": node}
        seen.append(weakref.ref(content))
    del node, content
    if drop == "clear":
        trie.clear()
    before = jt.config.max_trie_nodes
    try:
        jt.config.max_trie_nodes = 10
        for i in range(30):  # also for all that remembers the latest path
            step(1000 + i)
            with jt.GradientTape() as tape:
                y = jt.exp(jt.Variable(float(i)))
            float(tape.gradient(y, tape.watched_variables()[0]))
    finally:
        jt.config.max_trie_nodes = before
    _latest.paths = []
    gc.collect()
    # The trie may still have some of them.
    assert sum(ref() is not None for ref in seen) < len(seen) / 2


def test_nodes_below_a_dropped_node_are_collected():
    seen = []
    x = jt.constant(0.5)
    y = jt.tan(x)
    trie.clear()
    for _ in range(5):
        y = jt.cos(y) * 3.0
        node = y._trace.node
        content = node.notes = Content()
        seen.append(weakref.ref(content))
    float(y)
    del y, x, node, content
    float(jt.sin(jt.constant(1.0)))
    _latest.paths = []
    gc.collect()
    assert [ref() for ref in seen] == [None] * 5


def test_ops_of_one_line_share_it():
    y = jt.constant(0.5)
    for _ in range(3):
        y = jt.sinh(y) * 1.5
    nodes, at = [], y._trace.node
    while at is not None:
        nodes.append(at)
        at = at.parent
    lines = {id(node.source): node.source for node in nodes if node.source is not None}
    assert [line.called for line in lines.values()] == ["multiply", "sinh"]
