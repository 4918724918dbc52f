"""Specs of the elements of datasets, and datasets whose elements are chosen or grouped."""

import json
from pathlib import Path

import numpy as np
import pytest

import jittape as jt

Data = jt.data.Dataset
PAIRS = Data.from_tensor_slices((np.zeros((10, 3), np.float32), np.zeros(10, np.int64)))


def fits(spec, element):
    """Check each tensor of an element against its spec."""
    if isinstance(spec, dict):
        assert spec.keys() == element.keys()
        for name in spec:
            fits(spec[name], element[name])
    elif isinstance(spec, tuple):
        assert len(spec) == len(element)
        for one, part in zip(spec, element, strict=True):
            fits(one, part)
    elif isinstance(spec, jt.data.DatasetSpec):
        assert spec == jt.data.DatasetSpec.from_value(element)
        for part in element:
            fits(spec.element_spec, part)
    else:
        assert spec.dtype == element.dtype
        assert spec.shape.is_compatible_with(element.shape), (spec, element.shape)


RAGGED = Data.from_generator(
    lambda: (np.arange(n) for n in (3, 1, 4)), output_signature=jt.TensorSpec([None], jt.int64)
)


@pytest.mark.parametrize(
    "data",
    [
        PAIRS, PAIRS.batch(4), PAIRS.batch(4, drop_remainder=True),
        PAIRS.batch(4).map(lambda x, y: (x * 2.0, x.shape[0])),
        PAIRS.batch(4).map(lambda x, y: {"sum": jt.reduce_sum(x, 1), "all": jt.reduce_sum(x)}),
        PAIRS.shuffle(4).repeat(2).take(5).skip(1).cache().prefetch(1), PAIRS.filter(lambda x, y: y == 0),
        PAIRS.enumerate(), PAIRS.concatenate(PAIRS), Data.zip((PAIRS, Data.range(4))), Data.counter().take(3),
        RAGGED, RAGGED.padded_batch(2), RAGGED.padded_batch(3, padded_shapes=[5]), RAGGED.map(lambda x: x[:1]),
        RAGGED.map(lambda x: jt.concat([x, x], 0)), PAIRS.batch(3).rebatch(2), PAIRS.batch(3).unbatch(),
        PAIRS.shard(2, 1),
        Data.range(4).flat_map(lambda n: Data.range(int(n) + 1).batch(2)),
        Data.range(4).interleave(lambda n: Data.from_tensors(n).repeat(2)), Data.from_tensors([1.0, 2.0]),
        Data.range(6).window(3).flat_map(lambda w: w.batch(3)), Data.from_tensor_slices([1, 1, 2]).unique(),
        Data.range(5).take_while(lambda i: i < 3), Data.range(4).window(2), PAIRS.window(3, drop_remainder=True),
        Data.from_tensor_slices({"a": np.zeros((5, 2))}).window(2), Data.range(9).window(2).window(2).take(2),
        Data.range(6).window(3).concatenate(Data.range(2).window(2)), PAIRS.window(4).map(lambda x, y: x.cardinality()),
        Data.range(4).scan(np.int64(0), lambda s, v: (s + v, {"sum": s, "all": jt.cast(v, jt.float32)})),
        PAIRS.batch(4).scan(np.zeros(3, np.float32), lambda s, pair: (s + jt.reduce_sum(pair[0], 0), pair)),
        Data.range(4).scan(np.zeros(1), lambda s, v: (jt.concat([s, s], 0), s)),
        Data.sample_from_datasets([Data.range(3), Data.range(2)], seed=1),
        Data.choose_from_datasets([RAGGED, RAGGED.map(lambda x: x[:1])], Data.range(2)),
    ],
)  # fmt: skip
def test_every_element_fits_the_spec(data):
    spec = data.element_spec
    elements = list(data)
    assert elements
    for element in elements:
        fits(spec, element)


def test_extents_that_vary_are_unknown():
    batches = PAIRS.batch(4)
    assert batches.element_spec[0].shape.as_list() == [None, 3]
    doubled = batches.map(lambda x, y: jt.concat([x, x], 0))
    assert doubled.element_spec.shape.as_list() == [None, 3]
    assert batches.map(lambda x, y: jt.reduce_sum(x, 0)).element_spec.shape.as_list() == [3]
    assert PAIRS.batch(5, drop_remainder=True).element_spec[1].shape.as_list() == [5]


def test_unknown_specs_are_refused():
    data = Data.from_generator(lambda: iter([1]))
    with pytest.raises(
        NotImplementedError, match=r"\[Dataset.element_spec\] the shapes of these elements are not known"
    ):
        _ = data.element_spec
    assert list(data)


NUMBERS = Data.range(10)
ROWS = Data.from_tensor_slices(np.zeros((6, 4), np.float32))
LENGTHS = Data.range(6).map(lambda n: jt.range(n))
GROUPS = [
    # TensorFlow 2.21 gives these shapes.
    (NUMBERS.group_by_window(lambda i: i % 2, lambda k, d: d.batch(3), 3), [None]),
    (ROWS.group_by_window(lambda x: 0, lambda k, d: d.batch(2), 2), [None, 4]),
    (ROWS.group_by_window(lambda x: 0, lambda k, d: d.batch(2, drop_remainder=True), 2), [2, 4]),
    (NUMBERS.group_by_window(lambda i: i % 2, lambda k, d: d, window_size_func=lambda k: k + 1), []),
    (LENGTHS.group_by_window(lambda x: len(x) % 2, lambda k, d: d.padded_batch(2), 2), [None, None]),
    (LENGTHS.bucket_by_sequence_length(lambda x: len(x), [3], [2, 2]), [None, None]),
    (LENGTHS.bucket_by_sequence_length(lambda x: len(x), [3], [2, 2], padded_shapes=[7]), [None, 7]),
    (LENGTHS, [None]),
]


@pytest.mark.parametrize("number", range(len(GROUPS)))
def test_specs_of_groups_are_those_of_tensorflow(number):
    data, shape = GROUPS[number]
    assert data.element_spec.shape.as_list() == shape
    for element in data:
        fits(data.element_spec, element)


def test_cardinalities_are_those_of_tensorflow():
    endless = NUMBERS.repeat()
    draw, choose = Data.sample_from_datasets, Data.choose_from_datasets
    known = {
        6: [
            Data.from_tensors(np.zeros((6, 4))).unbatch(),
            draw([NUMBERS, ROWS.unbatch().take(6)], [0.0, 1.0]),
        ],
        4: [ROWS.batch(2, drop_remainder=True).batch(2, drop_remainder=True).unbatch().unbatch()],
        10: [draw([NUMBERS])],
        24: [ROWS.unbatch()],
        0: [ROWS.take(0).unbatch()],
        -1: [ROWS.repeat().unbatch(), draw([endless, NUMBERS]), draw([endless, endless])],
        -2: [ROWS.batch(4).unbatch(), draw([NUMBERS, NUMBERS]), ROWS.filter(lambda x: True).unbatch()],
    }
    known[-1] += [choose([endless, endless], Data.range(2).repeat())]
    known[-2] += [choose([endless, NUMBERS], Data.range(2).repeat()), choose([endless], Data.range(1))]
    known[-2] += [draw([endless, NUMBERS], stop_on_empty_dataset=True)]
    for count, datasets in known.items():
        for data in datasets:
            assert int(data.cardinality()) == count
            assert count < 0 or len(list(data)) == count


def test_the_cardinality_of_rows_runs_no_function_of_the_user():
    def fails(x):
        raise AssertionError

    assert int(ROWS.map(fails).unbatch().cardinality()) == -2


def test_specs_of_windows_and_scans_are_those_of_tensorflow():
    scalar = jt.TensorSpec([], jt.int64)
    window = Data.range(5).window(3).element_spec
    assert window == jt.data.DatasetSpec(scalar)
    assert hash(window) == hash(jt.data.DatasetSpec(scalar))
    assert window.is_compatible_with(Data.range(3))
    assert not window.is_compatible_with(PAIRS)
    assert not window.is_compatible_with(Data.range(5).window(2))
    assert Data.range(0).window(3).element_spec == window
    assert Data.range(5).batch(2).window(3).element_spec.element_spec.shape.as_list() == [None]
    scan = Data.range(4).scan(np.int64(0), lambda s, v: (s + v, (s + v, jt.cast(v, jt.float32))))
    assert scan.element_spec == (scalar, jt.TensorSpec([], jt.float32))
    rows = Data.from_tensor_slices(np.zeros((5, 2)))
    assert rows.scan(np.zeros(2), lambda s, v: (s + v, s[None])).element_spec.shape.as_list() == [1, 2]


def test_a_spec_of_no_elements():
    with pytest.raises(jt.errors.OutOfRangeError, match="no first element"):
        _ = Data.range(0).map(lambda i: i).element_spec


def test_sampling():
    a, b = Data.range(100), Data.range(1000, 1100)
    sampled = [int(i) for i in Data.sample_from_datasets([a, b], [0.9, 0.1], seed=3)]
    assert sorted(sampled) == [*range(100), *range(1000, 1100)]
    assert [i for i in sampled if i < 1000] == list(range(100))
    assert sum(i < 1000 for i in sampled[:50]) > 30
    again = Data.sample_from_datasets([a, b], [0.9, 0.1], seed=3, rerandomize_each_iteration=False)
    assert [int(i) for i in again] == [int(i) for i in again]
    short = Data.sample_from_datasets([Data.range(2), Data.range(5)], [1.0, 0.0], stop_on_empty_dataset=True)
    assert [int(i) for i in short] == [0, 1]


def test_choices_of_a_dataset_that_has_ended():
    chosen = Data.choose_from_datasets(
        [Data.range(1), Data.range(5, 8)], Data.from_tensor_slices([0, 0, 1, 1])
    )
    assert [int(i) for i in chosen] == [0]
    chosen = Data.choose_from_datasets(
        [Data.range(1), Data.range(5, 8)], Data.from_tensor_slices([0, 0, 1, 1]), stop_on_empty_dataset=False
    )
    assert [int(i) for i in chosen] == [0, 5, 6]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Data.choose_from_datasets([], Data.range(2)), ValueError, "datasets must not be empty"),
        (
            lambda: Data.choose_from_datasets([3], Data.range(2)),
            TypeError,
            "datasets must be datasets, got 3",
        ),
        (
            lambda: list(Data.choose_from_datasets([Data.range(2)], Data.range(1, 2))),
            jt.errors.InvalidArgumentError,
            "choice_dataset must have numbers from 0 to 0, got 1",
        ),
        (
            lambda: Data.sample_from_datasets([Data.range(2)], [0.5, 0.5]),
            ValueError,
            "weights must be 1 numbers",
        ),
        (lambda: Data.sample_from_datasets([Data.range(2)], [-1.0]), ValueError, "of at least 0"),
        (
            lambda: Data.range(3).get_single_element(),
            jt.errors.InvalidArgumentError,
            "must have one element, got more",
        ),
        (lambda: Data.range(0).get_single_element(), ValueError, "must have one element, got none"),
        (lambda: Data.range(3).batch(2).rebatch(0), ValueError, "batch_size must be at least 1"),
        (lambda: Data.range(3).rebatch([]), ValueError, "batch_size must not be empty"),
        (lambda: list(PAIRS.unique()), TypeError, r"\[Dataset.unique\] an element must be one tensor"),
        (
            lambda: Data.range(3).group_by_window(lambda i: i, lambda k, d: d),
            ValueError,
            "either window_size or window_size_func",
        ),
        (
            lambda: list(Data.range(3).group_by_window(lambda i: i, lambda k, d: 3, window_size=1)),
            TypeError,
            "reduce_func must return a Dataset, got 3",
        ),
        (
            lambda: RAGGED.bucket_by_sequence_length(len, [3, 2], [1, 1, 1]),
            ValueError,
            "bucket_boundaries must increase",
        ),
        (
            lambda: RAGGED.bucket_by_sequence_length(len, [3], [1, 1], pad_to_bucket_boundary=True),
            ValueError,
            "pad_to_bucket_boundary must be False",
        ),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_every_method_of_tensorflow_exists_or_is_explained():
    """The public attributes of ``tf.data.Dataset`` in TensorFlow 2.21."""
    names = json.loads((Path(__file__).parent / "tensorflow_names.json").read_text())["data.Dataset"].split()
    for name in names:
        if name not in dir(Data):
            with pytest.raises(AttributeError, match=f"Dataset has no '{name}'; use "):
                getattr(Data, name)
