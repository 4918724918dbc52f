"""`jt.data`: elements, order, batches that are views, threads, errors."""

import itertools
import threading
import time

import numpy as np
import pytest

import jittape as jt
from jittape.data import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset

X = np.arange(14.0).reshape(7, 2)
Y = np.arange(7)


def listed(dataset):
    """Return the elements as nested lists."""
    return [
        jt.data.elements.flatten_element(e)[1].unflatten(
            [t.tolist() for t in jt.data.elements.flatten_element(e)[0]]
        )
        for e in dataset
    ]


def numbers(dataset):
    return [int(i) for i in dataset.as_numpy_iterator()]


# ---- sources ---------------------------------------------------------------------------------------------------------


def test_slices_keep_structure_dtypes_and_values():
    (first, *_) = Dataset.from_tensor_slices({"x": X, "y": (Y, [1.0] * 7)})
    assert first["x"].dtype == jt.float64
    assert first["x"].tolist() == [0.0, 1.0]
    assert first["y"][0].dtype == jt.int64
    assert first["y"][1].dtype == jt.float32
    assert all(isinstance(t, jt.Tensor) for t in (first["x"], *first["y"]))


def test_a_list_is_one_array_and_a_tuple_is_a_structure():
    assert listed(Dataset.from_tensor_slices([[1, 2], [3, 4]])) == [[1, 2], [3, 4]]
    assert listed(Dataset.from_tensor_slices(([1, 2], [3, 4]))) == [(1, 3), (2, 4)]


def test_later_writes_to_the_array_change_nothing():
    x = X.copy()
    data = Dataset.from_tensor_slices(x).batch(7)
    x[:] = -1
    np.testing.assert_array_equal(next(iter(data)).numpy(), X)


def test_tensors_variables_and_generators():
    v = jt.Variable([1.0, 2.0])
    data = Dataset.from_tensor_slices(v)
    v.assign([3.0, 4.0])
    assert listed(data) == [1.0, 2.0]
    assert listed(Dataset.from_tensors((X, 1))) == [(X.tolist(), 1)]
    calls = itertools.count()
    data = Dataset.from_generator(lambda: iter([next(calls)] * 2))
    assert [listed(data), listed(data)] == [[0, 0], [1, 1]]


def test_the_signature_of_a_generator():
    spec = (jt.TensorSpec([None], jt.float64), jt.TensorSpec([], jt.int64))
    data = Dataset.from_generator(
        lambda n: (([k] * k, k) for k in range(n)), args=(3,), output_signature=spec
    )
    elements = list(data)
    assert [e[0].dtype for e in elements] == [jt.float64] * 3
    assert listed(data)[2] == ([2.0, 2.0], 2)
    for wrong, message in (((1.0, 1), "shape"), ([1.0], "structure"), (([1.0], 1.5), "int64")):
        with pytest.raises((TypeError, ValueError), match=message):
            list(Dataset.from_generator(lambda wrong=wrong: [wrong], output_signature=spec))


def test_range_is_pythons():
    assert numbers(Dataset.range(2, 9, 3)) == [2, 5, 8]
    assert numbers(Dataset.range(0)) == []
    assert len(Dataset.range(0)) == 0
    assert next(iter(Dataset.range(3, output_type="float32"))).dtype == jt.float32


def test_zip_ends_with_the_shortest():
    a, b = Dataset.range(3), Dataset.range(5, 10)
    assert listed(Dataset.zip(a, b)) == listed(Dataset.zip((a, b))) == [(0, 5), (1, 6), (2, 7)]
    assert listed(Dataset.zip({"a": a, "b": (b, a)}))[1] == {"a": 1, "b": (6, 1)}
    assert len(Dataset.zip(a, b.repeat())) == 3


# ---- order -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dataset", [Dataset.range(50), Dataset.range(50).map(lambda i: i)], ids=["rows", "elements"]
)
@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_a_shuffle_is_a_permutation_drawn_from_the_buffer(dataset, size):
    found = numbers(dataset.shuffle(size, seed=3))
    assert sorted(found) == list(range(50))
    assert (found != list(range(50))) == (size > 1)
    assert all(value < place + size for place, value in enumerate(found))


def test_every_order_is_equally_likely():
    data, counts = Dataset.range(3).shuffle(3, seed=0), dict.fromkeys(itertools.permutations(range(3)), 0)
    for _ in range(1200):
        counts[tuple(numbers(data))] += 1
    assert sum((c - 200) ** 2 / 200 for c in counts.values()) < 30  # 5 degrees of freedom: p = 1.5e-5


def test_seeds_make_orders_repeatable():
    def passes(**options):
        data = Dataset.range(20).shuffle(20, **options)
        return numbers(data), numbers(data)

    assert passes(seed=1) == passes(seed=1) != passes(seed=2)
    first, second = passes(seed=1)
    assert first != second
    fixed = passes(seed=1, reshuffle_each_iteration=False)
    assert fixed[0] == fixed[1]
    jt.random.set_seed(5)
    a = passes()
    jt.random.set_seed(5)
    assert a == passes()
    assert a[0] != a[1]


def test_repeat_shuffles_anew():
    data = Dataset.range(10).shuffle(10, seed=1).repeat(2)
    found = numbers(data)
    assert sorted(found[:10]) == sorted(found[10:]) == list(range(10))
    assert found[:10] != found[10:]


def test_take_skip_repeat_concatenate_filter_enumerate():
    data = Dataset.range(5)
    assert numbers(data.take(2)) == [0, 1]
    assert numbers(data.take(-1)) == numbers(data.take(9)) == list(range(5))
    assert numbers(data.skip(3)) == [3, 4]
    assert numbers(data.skip(-1)) == numbers(data.skip(9)) == []
    assert numbers(data.take(2).repeat(3)) == [0, 1] * 3
    assert numbers(data.repeat(0)) == []
    assert numbers(data.repeat().take(7)) == [0, 1, 2, 3, 4, 0, 1]
    assert numbers(data.take(1).concatenate(data.skip(4))) == [0, 4]
    assert numbers(data.filter(lambda i: i > 2)) == [3, 4]
    assert listed(data.skip(3).enumerate(7)) == [(7, 3), (8, 4)]


def test_the_repeat_of_nothing_ends():
    assert numbers(Dataset.range(3).filter(lambda i: i > 9).repeat()) == []


@pytest.mark.parametrize(
    ("dataset", "count"),
    [
        (Dataset.range(7).batch(3), 3),
        (Dataset.range(7).batch(3, drop_remainder=True), 2),
        (Dataset.range(6).batch(3), 2),
        (Dataset.range(7).repeat(2).skip(3).take(5), 5),
        (Dataset.range(7).repeat(), INFINITE_CARDINALITY),
        (Dataset.range(7).repeat().batch(2).skip(1), INFINITE_CARDINALITY),
        (Dataset.range(7).filter(bool), UNKNOWN_CARDINALITY),
        (Dataset.range(7).filter(bool).batch(2).take(3), UNKNOWN_CARDINALITY),
        (Dataset.range(7).repeat().filter(bool).concatenate(Dataset.range(2)), UNKNOWN_CARDINALITY),
        (Dataset.range(7).repeat().concatenate(Dataset.range(2)), INFINITE_CARDINALITY),
        (Dataset.range(7).repeat(0), 0),
    ],
)
def test_cardinality(dataset, count):
    assert int(dataset.cardinality()) == count
    if count >= 0:
        assert len(dataset) == count == len(list(dataset))
    else:
        with pytest.raises(TypeError, match="infinite" if count == INFINITE_CARDINALITY else "unknown"):
            len(dataset)
    assert dataset


# ---- batches ---------------------------------------------------------------------------------------------------------


def test_batches_of_rows_are_views():
    whole = Dataset.from_tensor_slices(X)
    memory = whole._rows.arrays[0]
    for batch in whole.skip(1).batch(3):
        assert np.shares_memory(batch.numpy(), memory) or np.shares_memory(batch._buffer.array, memory)
    np.testing.assert_array_equal(np.concatenate([b.numpy() for b in whole.batch(3)]), X)


@pytest.mark.parametrize("lazily", [True, False], ids=["elements", "rows"])
def test_batches_of_rows_and_of_elements_agree(lazily):
    data = Dataset.from_tensor_slices((X, Y)).shuffle(4, seed=0).repeat(2)
    expected = [(X[i].tolist(), Y[i].item()) for i in map(int, [y for _, y in listed(data)])]
    data = Dataset.from_tensor_slices((X, Y)).shuffle(4, seed=0).repeat(2)
    batches = listed((data.map(lambda x, y: (x, y)) if lazily else data).batch(4))
    assert len(batches) == 4
    joined = [(x, y) for xs, ys in batches for x, y in zip(xs, ys, strict=True)]
    assert len(joined) == len(expected) == 14
    assert all(x == X[y].tolist() for x, y in joined)


def test_a_list_that_a_mapped_function_returns_is_a_tuple():
    two = [jt.TensorSpec([], jt.int32), jt.TensorSpec([2], jt.float32)]
    dataset = Dataset.range(2).map(lambda i: jt.py_function(lambda n: [n, [n, 0.5]], [i], two))
    assert dataset.element_spec == tuple(two)
    number, pair = next(iter(dataset))
    assert number.dtype == jt.int32
    assert pair.shape == (2,)
    total = dataset.map(lambda number, pair: [pair[0] + pair[1], number]).map(lambda x, n: {"x": [x, x]})
    assert [e["x"].tolist() for e in total] == [[0.5, 0.5], [1.5, 1.5]]  # a list inside is one tensor


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dataset.range(3).batch(0),
        lambda: Dataset.range(3).batch(-1),
        lambda: Dataset.range(3).shuffle(0),
        lambda: Dataset.range(3).shard(2, 2),
        lambda: Dataset.range(3).shard(0, 0),
        lambda: Dataset.range(3).window(0),
        lambda: Dataset.range(1, 4, 0),
        lambda: Dataset.range(3).prefetch(-3),
    ],
)
def test_arguments_out_of_range_raise_tensorflows_type(make):
    with pytest.raises(jt.errors.InvalidArgumentError):
        make()


def test_a_batch_of_a_batch_and_unbatch():
    data = Dataset.range(8).batch(2).batch(2)
    assert listed(data) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert numbers(data.unbatch().unbatch()) == list(range(8))


def test_windows_are_those_of_tensorflow():
    """The windows and counts are those of TensorFlow 2.21."""
    for options, windows in (
        ((3,), [[0, 1, 2], [3, 4, 5], [6]]),
        ((3, 1, 1, True), [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6]]),
        ((2, 1, 3), [[0, 3], [1, 4], [2, 5], [3, 6], [4], [5], [6]]),
        ((2, 5), [[0, 1], [5, 6]]),
        ((2, 5, 3, True), [[0, 3]]),
    ):
        data = Dataset.range(7).window(*options)
        assert [numbers(window) for window in data] == windows
        assert len(data) == len(windows)
    pairs = list(Dataset.from_tensor_slices({"x": X, "y": Y}).window(4))
    assert [numbers(pair["y"]) for pair in pairs] == [[0, 1, 2, 3], [4, 5, 6]]
    assert listed(pairs[1]["x"].batch(3)) == [X[4:].tolist()]


def test_interleave_and_flat_map():
    """The order is that of TensorFlow 2.21."""

    def repeated(i):
        return Dataset.from_tensors(i).repeat(int(i))

    data = Dataset.range(1, 6)
    assert numbers(data.interleave(repeated, 2, 1)) == [1, 2, 2, 3, 3, 4, 3, 4, 4, 5, 4, 5, 5, 5, 5]
    assert numbers(data.interleave(repeated, 2, 2)) == [1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 4, 4, 5, 5, 5]
    assert numbers(data.flat_map(repeated)) == [1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 5]


def test_reduce_scan_take_while_shard():
    pairs = Dataset.zip(Dataset.range(4), Dataset.range(4, 8))
    total = pairs.reduce((np.int64(0), np.int64(0)), lambda s, e: (s[0] + e[0], s[1] + e[1]))
    assert [int(part) for part in total] == [6, 22]
    assert numbers(Dataset.range(5).scan(np.int64(1), lambda s, i: (s + i, s * i))) == [0, 1, 4, 12, 28]
    assert numbers(Dataset.range(9).take_while(lambda i: i < 3)) == [0, 1, 2]
    assert [numbers(Dataset.range(5).shard(2, i)) for i in (0, 1)] == [[0, 2, 4], [1, 3]]
    assert numbers(Dataset.counter(5, -2).take(3)) == [5, 3, 1]


def test_padded_batches():
    rows = Dataset.range(1, 4).map(lambda n: (jt.ones([int(n), 2]), n))
    (x, n), last = rows.padded_batch(2)
    assert (x.shape, n.tolist()) == ((2, 2, 2), [1, 2])
    np.testing.assert_array_equal(x.numpy()[0], [[1, 1], [0, 0]])
    assert last[0].shape == (1, 3, 2)
    (x, _), *_ = rows.padded_batch(3, ((5, None), ()), (-1.0, None), drop_remainder=True)
    assert x.shape == (3, 5, 2)
    assert float(x[0, 1, 0]) == -1.0


def test_cache_keeps_order_and_elements():
    calls = []

    def slow(i):
        calls.append(0)
        return i * 2

    data = Dataset.range(5).map(slow).cache()
    assert len(list(itertools.islice(data, 2))) == 2  # an incomplete pass is not kept
    assert numbers(data) == numbers(data) == [0, 2, 4, 6, 8]
    assert len(calls) == 7
    shuffled = Dataset.range(20).shuffle(20).cache()
    assert numbers(shuffled) == numbers(shuffled)


# ---- training loops --------------------------------------------------------------------------------------------------


def test_a_training_loop_is_one_path_per_shape():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 3))
    y = x @ np.array([1.0, -2.0, 0.5])
    w = jt.Variable(np.zeros(3))
    data = Dataset.from_tensor_slices((x, y)).shuffle(64, seed=1).batch(8)
    for epoch in range(40):
        if epoch == 2:
            known = jt.stats().programs
        for bx, by in data:
            with jt.GradientTape() as tape:
                loss = jt.reduce_mean(jt.square(jt.linalg.matvec(bx, w) - by))
            w.assign_sub(0.1 * tape.gradient(loss, w))
    np.testing.assert_allclose(w.numpy(), [1.0, -2.0, 0.5], atol=1e-3)
    assert jt.stats().programs == known


def test_a_function_that_takes_elements_is_recorded_at_each_call():
    data = Dataset.range(3)
    iterator = iter(data)

    @jt.function
    def total():
        return sum(data, jt.constant(0, jt.int64))

    @jt.function
    def following(x):
        return x + next(iterator)

    with pytest.warns(
        jt.errors.FunctionWarning, match=r"an element of a dataset.*give the elements to the function"
    ):
        assert total().numpy() == 3
    with pytest.warns(jt.errors.FunctionWarning, match="an element of a dataset"):
        assert [following(10).numpy() for _ in range(3)] == [10, 11, 12]
    with pytest.raises(TypeError, match="inside the body of map_fn"):
        jt.map_fn(lambda x: x + next(iterator), jt.range(3))


# ---- prefetch --------------------------------------------------------------------------------------------------------


def test_prefetch_computes_ahead_in_a_thread():
    seen, names = threading.Event(), []

    def note(i):
        names.append(threading.current_thread().name)
        if i.numpy() == 2:
            seen.set()
        return i

    elements = iter(Dataset.range(5).map(note).prefetch(2))
    assert int(next(elements)) == 0
    assert seen.wait(5)
    assert set(names) == {"jittape-prefetch"}
    assert [int(i) for i in elements] == [1, 2, 3, 4]


def test_prefetch_raises_errors_in_their_place():
    def broken(i):
        if i.numpy() == 2:
            raise RuntimeError("element 2")
        return i

    found, elements = [], iter(Dataset.range(5).map(broken).prefetch(5))
    with pytest.raises(RuntimeError, match="element 2"):
        for i in elements:
            found.append(int(i))
    assert found == [0, 1]


def test_the_thread_ends_with_the_iterator():
    def alive():
        return [t for t in threading.enumerate() if t.name == "jittape-prefetch"]

    elements = iter(Dataset.range(5).repeat().prefetch(1))
    next(elements)
    assert alive()
    del elements
    deadline = time.monotonic() + 5
    while alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive()


# ---- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Dataset.from_tensor_slices(1.0), ValueError, "from_tensors"),
        (lambda: Dataset.from_tensor_slices((X, Y[:3])), ValueError, r"\(7, 2\), \(3,\)"),
        (lambda: Dataset.from_tensor_slices(()), ValueError, "at least one array"),
        (lambda: Dataset.from_generator(3), TypeError, "callable, got 3"),
        (lambda: Dataset.zip(Dataset.range(2), X), TypeError, "must be datasets"),
        (lambda: Dataset.range(3).batch(0), ValueError, "batch_size must be at least 1, got 0"),
        (lambda: Dataset.range(3).shuffle(0), ValueError, "buffer_size"),
        (lambda: Dataset.range(3).shuffle(2.5), TypeError, "buffer_size"),
        (lambda: Dataset.range(3).map(None), TypeError, "map_func"),
        (lambda: Dataset.range(3).filter(1), TypeError, "predicate"),
        (
            lambda: list(Dataset.range(3).filter(lambda i: print(end=""))),
            TypeError,
            "predicate must return a bool, got None",
        ),
        (lambda: Dataset.range(3).cache("file"), ValueError, "memory"),
        (lambda: Dataset.range(3).prefetch(-2), ValueError, "negative"),
        (lambda: Dataset.range(3).concatenate([1]), TypeError, "Dataset"),
        (lambda: Dataset.range(3).window(0), ValueError, "size must be at least 1, got 0"),
        (lambda: Dataset.range(3).shard(2, 2), ValueError, "below 2, got 2"),
        (lambda: list(Dataset.range(3).flat_map(lambda i: i)), TypeError, "must return a Dataset"),
        (lambda: Dataset.range(3).reduce(0, lambda s, i: 0.5), TypeError, "int32 became float32"),
        (
            lambda: list(Dataset.range(3).map(lambda i: jt.ones([3 - int(i)])).padded_batch(2, [2])),
            ValueError,
            r"\(3,\), \(2,\)\] do not fit into padded_shapes \[2\]",
        ),
        (
            lambda: list(Dataset.range(3).map(lambda i: jt.ones([int(i)])).batch(2)),
            ValueError,
            r"float32\[0\]",
        ),
        (lambda: list(Dataset.from_generator(lambda: [1, (1, 2)]).batch(2)), ValueError, "one structure"),
        (
            lambda: list(Dataset.from_tensor_slices(([1], [2])).map(lambda pair: pair)),
            TypeError,
            r"a tuple of 2, passed as 2 arguments, which <lambda>\(pair\) does not take",
        ),
        (lambda: list(Dataset.range(3).map(lambda x, y: x)), TypeError, "one value, passed as 1 argument"),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda d: d.ragged_batch(2), r"no 'ragged_batch'; use padded_batch\(n\)"),
        (lambda d: Dataset.list_files("*.npy"), "glob.glob"),
        (lambda d: d.ignore_errors(), "from_generator"),
        (lambda d: d.shufle(3), "did you mean 'shuffle'"),
        (lambda d: d.quite_another, "has no 'quite_another'$"),
    ],
)
def test_missing_methods_name_the_nearest_one(ask, message):
    with pytest.raises(AttributeError, match=message):
        ask(Dataset.range(3))


def test_padding_values_may_be_tensors():
    rows = Dataset.range(1, 4).map(lambda x: jt.fill([x], x))
    first, _ = rows.padded_batch(2, padded_shapes=[3], padding_values=jt.constant(-1, "int64"))
    np.testing.assert_array_equal(first.numpy(), [[1, -1, -1], [2, 2, -1]])
    with pytest.raises(jt.ShapeError, match="must be scalars"):
        list(rows.padded_batch(2, padding_values=[0, 1]))


def test_elements_without_dimensions_are_numpy_scalars():
    for found in jt.data.Dataset.from_tensor_slices({"a": [1, 2], "b": [1.5, 2.5]}).as_numpy_iterator():
        assert (type(found["a"]), type(found["b"])) == (np.int32, np.float32)


def test_none_is_a_part_of_an_element_as_in_tensorflow() -> None:
    x = np.arange(6.0).reshape(3, 2)
    without_labels = Dataset.from_tensor_slices((x, None))
    assert [label for _, label in without_labels] == [None] * 3
    assert [(rows.shape, label) for rows, label in without_labels.batch(2)] == [
        ((2, 2), None),
        ((1, 2), None),
    ]
    assert [label for _, label in Dataset.from_tensor_slices(x).map(lambda row: (row, None))] == [None] * 3
    assert without_labels.element_spec == (jt.TensorSpec([2], jt.float64), None)
    assert [row["y"] for row in without_labels.map(lambda row, label: {"x": row, "y": label})] == [None] * 3
    with pytest.raises(TypeError, match="must return a structure of tensors, got None"):
        list(without_labels.map(lambda row, label: None))
    with pytest.raises(ValueError, match="one structure"):
        list(
            without_labels.map(lambda row, label: (row, None))
            .concatenate(Dataset.from_tensors((x[0], 1)))
            .batch(4)
        )
