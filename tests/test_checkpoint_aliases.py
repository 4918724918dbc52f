"""Checkpoints of objects that have several paths: each path finds the value, as in TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt

Checkpoint = jt.train.Checkpoint


class Layer(jt.Module):
    def __init__(self) -> None:
        self.w = jt.Variable([1.0, 2.0])


def two() -> tuple[Any, Any]:
    return jt.Variable([1.0, 2.0]), jt.Variable([3.0, 4.0, 5.0])


def zeros() -> tuple[Any, Any]:
    return jt.Variable([0.0, 0.0]), jt.Variable([0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("save", "load", "restored"),
    [
        (
            lambda a, b: {"listed": [a, b], "mapped": {"two": b}},
            lambda a, b: {"mapped": {"two": b}},
            [False, True],
        ),
        (
            lambda a, b: {"listed": [a, b], "mapped": {"two": b}},
            lambda a, b: {"listed": [a, b]},
            [True, True],
        ),
        (
            lambda a, b: {"mapped": {"two": b}, "listed": [a, b]},
            lambda a, b: {"listed": [a, b]},
            [True, True],
        ),
        (lambda a, b: {"z": a, "a": a, "y": b}, lambda a, b: {"z": a, "y": b}, [True, True]),
        (lambda a, b: {"a": [a, b], "z": a}, lambda a, b: {"z": a}, [True, False]),
    ],
)
def test_other_paths(tmp_path, save, load, restored):
    path = Checkpoint(**save(*two())).write(tmp_path / "ckpt")
    targets = zeros()
    Checkpoint(**load(*targets)).read(path).assert_existing_objects_matched()
    for target, value, found in zip(targets, two(), restored, strict=True):
        np.testing.assert_array_equal(target, value if found else np.zeros(value.shape))


def test_parts_of_shared_modules(tmp_path):
    layer = Layer()
    path = Checkpoint(a=layer, z={"again": layer}).write(tmp_path / "ckpt")
    new = Layer()
    new.w.assign([0.0, 0.0])
    Checkpoint(z={"again": new}).read(path).assert_consumed()
    np.testing.assert_array_equal(new.w, [1.0, 2.0])


def test_modules_that_refer_to_their_owner(tmp_path):
    def made() -> Layer:
        outer, inner = Layer(), Layer()
        outer.inner, inner.outer = inner, outer
        inner.w.assign([7.0, 8.0])
        return outer

    outer = made()
    path = Checkpoint(root=outer).write(tmp_path / "ckpt")
    new = made()
    new.w.assign([0.0, 0.0])
    new.inner.w.assign([0.0, 0.0])
    Checkpoint(root=new).read(path).assert_consumed()
    np.testing.assert_array_equal([new.w, new.inner.w], [[1.0, 2.0], [7.0, 8.0]])


def test_one_value_goes_to_one_variable(tmp_path):
    a, _ = two()
    path = Checkpoint(a=a, z=a).write(tmp_path / "ckpt")
    first, second = jt.Variable([0.0, 0.0]), jt.Variable([7.0, 7.0])
    status = Checkpoint(a=first, z=second).read(path)
    np.testing.assert_array_equal([first, second], [[1.0, 2.0], [7.0, 7.0]])
    with pytest.raises(AssertionError, match="'z'"):
        status.assert_existing_objects_matched()


def test_variables_that_are_created_later(tmp_path):
    layer = Layer()
    path = Checkpoint(a=layer, z=layer).write(tmp_path / "ckpt")
    new = jt.Module()
    status = Checkpoint(z=new).read(path)
    new.w = jt.Variable([0.0, 0.0])
    status.assert_consumed()
    np.testing.assert_array_equal(new.w, [1.0, 2.0])


def test_readers_list_values_only(tmp_path):
    a, b = two()
    path = Checkpoint(listed=[a, b], mapped={"two": b}).write(tmp_path / "ckpt")
    assert dict(jt.train.list_variables(path)) == {"listed.0": [2], "listed.1": [3]}
