"""Nodes of derived paths are no work for the garbage collector, and garbage that it finds once the trie drops them."""

import gc
import weakref

import numpy as np
import pytest

import jittape as jt
from jittape.recording.trie import Node, trie

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
