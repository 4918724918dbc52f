"""Methods of tensors and Variables against those of ndarrays: values, dtypes, shapes, gradients, errors."""

import inspect
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.numpy_api.array_methods import ArrayMethods

RNG = np.random.default_rng(0)
FLOATS, INTS = RNG.normal(size=(3, 4)), RNG.integers(-9, 9, (3, 4))
BOOLS, COMPLEX = INTS > 0, FLOATS + 1j * FLOATS[::-1]
SMALL = FLOATS.astype(np.float32)

CALLS = {
    "sum": [(), (0,), (-1, None, None, True), ((0, 1),)],
    "prod": [(), (1,)],
    "mean": [(), (0,), (1, None, None, True)],
    "std": [(), (0,), (1, None, None, 1)],
    "var": [(), (0,), (1, None, None, 1)],
    "max": [(), (0,), (1, None, True)],
    "min": [(), (0,), (1, None, True)],
    "argmax": [(), (0,)],
    "argmin": [(), (0,)],
    "all": [(), (0,)],
    "any": [(), (1,)],
    "cumsum": [(), (0,)],
    "cumprod": [(), (1,)],
    "trace": [(), (1,)],
    "reshape": [(2, 6), ((6, 2),), (-1,), ([4, -1],)],
    "ravel": [()],
    "flatten": [()],
    "squeeze": [()],
    "transpose": [(), (1, 0), ((1, 0),)],
    "swapaxes": [(0, 1)],
    "diagonal": [(), (1,)],
    "repeat": [(2,), (2, 0)],
    "take": [([0, 2],), ([0, 2], 0)],
    "astype": [(np.float32,), ("complex128",), ("float64", "K", "unsafe")],
    "copy": [()],
    "clip": [(-1, 1), (0,), (None, 0)],
    "round": [(), (1,)],
    "conj": [()],
    "conjugate": [()],
    "dot": [(np.ones(4),), (np.ones((4, 2)),)],
    "argsort": [(), (0,)],
    "compress": [([True, False, True], 0), ([True] * 5,)],
    "nonzero": [()],
    "item": [],
    "tolist": [()],
}
"""Arguments by method, which is called for each dtype."""

CASES = [
    (name, arguments, array)
    for name, several in CALLS.items()
    for arguments in several
    for array in (FLOATS, SMALL, INTS, BOOLS, COMPLEX)
    if not (array is BOOLS and name in ("round", "clip"))
]


def same(found, expected):
    if isinstance(expected, tuple):
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    elif isinstance(expected, list):
        assert found == expected
    else:
        assert found.dtype == expected.dtype
        assert tuple(found.shape) == expected.shape
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize(("name", "arguments", "array"), CASES)
def test_a_method_gives_what_that_of_an_ndarray_gives(name, arguments, array):
    expected = getattr(array, name)(*arguments)
    for x in (jt.constant(array), jt.Variable(array)):
        same(getattr(x, name)(*arguments), expected)


@pytest.mark.parametrize("array", [FLOATS, SMALL, INTS, COMPLEX])
def test_properties(array):
    x = jt.constant(array)
    same(x.real, array.real)
    same(x.imag, array.imag)
    same(x.T, array.T)
    same(jt.constant(np.stack([array] * 2)).mT, np.stack([array.T] * 2))
    assert (x.nbytes, x.itemsize, x.size, x.ndim) == (array.nbytes, array.itemsize, array.size, array.ndim)
    assert [e.item() for e in x.flat] == list(array.flat)


@pytest.mark.parametrize("axis", [-1, 0])
def test_sort_and_fill_write(axis):
    for make in (jt.constant, jt.Variable):
        x, expected = make(FLOATS), FLOATS.copy()
        with jt.GradientTape() as tape:
            tape.watch(x)
            assert x.sort(axis) is expected.sort(axis)
            y = x * np.arange(4.0)
        same(x, expected)
        if make is jt.constant:
            order = np.argsort(FLOATS, axis)
            cotangent = np.zeros_like(FLOATS)
            np.put_along_axis(cotangent, order, np.broadcast_to(np.arange(4.0), (3, 4)), axis)
            same(tape.gradient(y, x), cotangent)
        x.fill(2)
        same(x, np.full_like(FLOATS, 2))


def test_every_method_is_compared():
    methods = {n for n, f in inspect.getmembers(ArrayMethods, inspect.isfunction) if not n.startswith("_")}
    assert methods - {"sort", "fill", "searchsorted", *PARTLY_ORDERED, "choose"} <= CALLS.keys()


PARTLY_ORDERED = ("partition", "argpartition")


@pytest.mark.parametrize("kth", [1, [0, 2]])
@pytest.mark.parametrize("axis", [-1, 0])
def test_partition_puts_the_named_places_in_order(kth, axis):
    places = np.atleast_1d(kth)
    expected = np.sort(FLOATS, axis).take(places, axis)
    x = jt.Variable(FLOATS)
    order = np.asarray(x.argpartition(kth, axis))
    np.testing.assert_array_equal(np.take_along_axis(FLOATS, order, axis).take(places, axis), expected)
    assert x.partition(kth, axis) is None
    np.testing.assert_array_equal(x.numpy().take(places, axis), expected)


def test_choose():
    number, choices = np.array([0, 1, 3]), [np.arange(3.0), np.arange(3.0) * 10]
    same(jt.constant(number).choose(choices, mode="clip"), number.choose(choices, mode="clip"))
    with pytest.raises(ValueError, match="choice"):
        jt.constant(number).choose(choices)


def test_each_attribute_of_an_ndarray_exists_or_has_advice():
    x = jt.constant(FLOATS)
    for name in dir(FLOATS):
        if not name.startswith("__") and not hasattr(x, name):
            with pytest.raises(AttributeError, match=f"^Tensor has no '{name}': .*x"):
                getattr(x, name)


def test_methods_record():
    v = jt.Variable(FLOATS)
    for _ in range(3):
        with jt.GradientTape() as tape:
            y = (v.reshape(4, 3).T.clip(-1, 1) * v.astype("float64")).sum(axis=0).max()
        found = tape.gradient(y, v).numpy()
    step, numeric = 1e-6, np.empty_like(FLOATS)

    def f(x):
        return (x.reshape(4, 3).T.clip(-1, 1) * x).sum(axis=0).max()

    for i in np.ndindex(FLOATS.shape):
        d = np.zeros_like(FLOATS)
        d[i] = step
        numeric[i] = (f(FLOATS + d) - f(FLOATS - d)) / (2 * step)
    np.testing.assert_allclose(found, numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x.fill(1j), "complex"),
        (lambda x: x.sort(None), "axis"),
        (lambda x: x.sum(out=np.zeros(4)), "out"),
    ],
)
def test_what_cannot_be_done_is_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call(jt.constant(FLOATS))


def test_the_order_of_fields_has_numpys_error():
    with pytest.raises(ValueError, match="Cannot specify order"):
        jt.constant(FLOATS).sort(order="a")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("sum", ()),
        ("std", (0,)),
        ("var", (0, None)),
        ("cumsum", (0,)),
        ("cumprod", (1,)),
        ("trace", ()),
        ("take", ([0, 2], 1)),
        ("clip", (-0.5, 0.5)),
        ("round", (1,)),
        ("dot", (np.ones(4),)),
    ],
)
@pytest.mark.parametrize("kind", [jt.constant, jt.Variable])
def test_methods_write_to_out(name, arguments, kind):
    options = {"ddof": 1} if name in ("std", "var") else {}
    expected = getattr(FLOATS, name)(*arguments, **options)
    out = kind(np.zeros(np.shape(expected)))
    assert getattr(jt.constant(FLOATS), name)(*arguments, out=out, **options) is out
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12)


def test_item_takes_indices_and_bytes_are_numpys():
    array = np.arange(6.0).reshape(2, 3)
    t = jt.constant(array)
    assert (t.item(4), t.item(1, 2), t.item((0, 1))) == (4.0, 5.0, 1.0)
    assert t.tobytes() == array.tobytes()
    with pytest.raises(IndexError):
        t.item(9)


@pytest.mark.parametrize("name", ["std", "var"])
def test_no_degrees_of_freedom_are_refused(name: str):
    """As in NumPy; the methods took None for 0."""
    x = jt.constant([1.0, 2.0])
    for call in (getattr(x, name), lambda ddof: getattr(np, name)(x, ddof=ddof)):
        with pytest.raises(TypeError, match="ddof must be a number, got None"):
            call(ddof=None)
        assert float(call(ddof=0)) == float(call(ddof=False)) == float(getattr(np, name)([1.0, 2.0]))


def test_sort_and_partition_keep_copies_and_gradients() -> None:
    """The tensor takes over the sorted value, as an assignment to all elements does; copies keep theirs."""
    at, weights = np.array([3.0, 1.0, 2.0]), np.array([1.0, 10.0, 100.0])

    def sorted_sum(x: Any, write: Any) -> Any:
        x = x * 1.0
        before = x.copy()
        write(x)
        x[0] = x[0] * 2.0
        write(x)
        return jt.reduce_sum(x * weights) + 1000.0 * before[0]

    def assign(x: Any) -> None:
        x[...] = np.sort(x)

    wanted = jt.value_and_grad(lambda x: sorted_sum(x, assign))(at)
    for write in (lambda x: x.sort(), lambda x: x.sort(0), lambda x: x.partition([0, 1, 2])):
        for way in (lambda f: f, jt.function):
            found = jt.value_and_grad(way(lambda x, write=write: sorted_sum(x, write)))(at)
            assert float(found[0]) == float(wanted[0])
            np.testing.assert_array_equal(found[1], wanted[1])
    v = jt.Variable(at)
    v.sort()
    np.testing.assert_array_equal(v, [1.0, 2.0, 3.0])
