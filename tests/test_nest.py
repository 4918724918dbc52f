"""`jt.nest`; results and types of errors are those of TensorFlow 2.21."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import jittape as jt

nest = jt.nest
Pair = namedtuple("Pair", "b a")


def test_flatten():
    assert nest.flatten({"b": 1, "a": [2, (3, None)]}) == [2, 3, None, 1]
    assert nest.flatten(Pair(1, [2])) == [1, 2]
    assert nest.flatten(None) == [None]
    assert nest.flatten("abc") == ["abc"]
    assert nest.flatten({1, 2}) == [{1, 2}]
    assert nest.flatten(range(2)) == [0, 1]
    assert nest.flatten([]) == []
    (array,) = nest.flatten(np.ones((2, 2)))
    assert array.shape == (2, 2)
    with pytest.raises(TypeError, match="must be sortable"):
        nest.flatten({"a": 1, 2: 3})


def test_is_nested():
    leaves = ("a", np.ones(2), {1}, None, jt.constant([1]), jt.Variable(1.0))
    assert [nest.is_nested(x) for x in ([], (), {}, Pair(1, 2))] == [True] * 4
    assert not any(map(nest.is_nested, leaves))


def test_pack_sequence_as():
    assert nest.pack_sequence_as([1, {"a": 2, "b": 3}], [4, 5, 6]) == [4, {"a": 5, "b": 6}]
    packed = nest.pack_sequence_as({"b": 1, "a": 2}, (10, 20))
    assert list(packed.items()) == [("b", 20), ("a", 10)]
    ordered = nest.pack_sequence_as(OrderedDict(b=1, a=2), [1, 2])
    assert type(ordered) is OrderedDict
    assert list(ordered.items()) == [("b", 2), ("a", 1)]
    assert nest.pack_sequence_as(1, [3]) == 3
    assert nest.pack_sequence_as(Pair(1, (2,)), [3, 4]) == Pair(3, (4,))
    with pytest.raises(ValueError, match="Structure had 2 atoms, but flat_sequence had 1 items"):
        nest.pack_sequence_as([1, 2], [3])
    with pytest.raises(ValueError, match="Structure had 1 atoms, but flat_sequence had 2 items"):
        nest.pack_sequence_as(1, [3, 4])
    with pytest.raises(TypeError, match="must be a list of leaves, got int"):
        nest.pack_sequence_as([1], 3)


def test_map_structure():
    assert nest.map_structure(lambda x, y: x + y, {"a": [1, 2]}, {"a": [3, 4]}) == {"a": [4, 6]}
    assert nest.map_structure(lambda *x: sum(x), [1], [2], [3]) == [6]
    assert nest.map_structure(lambda x: x * 2, Pair(1, [2])) == Pair(2, [4])
    assert nest.map_structure(lambda x, y: (x, y), [1], (2,), check_types=False) == [(1, 2)]
    doubled = nest.map_structure(lambda x: x + x, {"w": jt.constant(1.5)})
    assert float(doubled["w"]) == 3.0
    with pytest.raises(ValueError, match="at least one structure"):
        nest.map_structure(abs)
    with pytest.raises(TypeError, match="func must be callable, got: 3"):
        nest.map_structure(3, [1])
    with pytest.raises(ValueError, match="Only valid keyword arguments .* not: `foo`"):
        nest.map_structure(abs, [1], foo=1)


@pytest.mark.parametrize(
    ("one", "other", "kind", "text"),
    [
        ([1, 2], [1], ValueError, r"the structure has 2 entries in the first, but 1 in the second"),
        ([1, 2], (1, 2), TypeError, r"the structure is a list in the first, but a tuple in the second"),
        ([1, [2]], [1, 2], ValueError, r"the structure\[1\] is a list in the first, but the leaf 2"),
        ({"a": 1}, {"b": 1}, ValueError, r"the keys \['a'\] in the first, but \['b'\]"),
        (Pair(1, 2), (3, 4), TypeError, r"a Pair in the first, but a tuple"),
        (1, [2], ValueError, r"is the leaf 1 in the first, but a list in the second"),
        ({"k": (1, 2)}, {"k": [1, 2]}, TypeError, r"the structure\['k'\] is a tuple"),
    ],
)
def test_structures_that_differ(one, other, kind, text):
    for call in (
        lambda: nest.assert_same_structure(one, other),
        lambda: nest.map_structure(lambda x, y: x, one, other),
    ):
        with pytest.raises(kind, match=text) as error:
            call()
        assert str(error.value).startswith("The two structures don't have the same nested structure.")


def test_structures_that_agree():
    nest.assert_same_structure(1, 2)
    nest.assert_same_structure({"a": 1}, OrderedDict(a=1))
    nest.assert_same_structure([1, 2], (1, 2), check_types=False)
