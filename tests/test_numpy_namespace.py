"""`jittape.numpy`: names, signatures, conversion of arguments and messages."""

from __future__ import annotations

import inspect
import pickle
from fnmatch import fnmatchcase
from operator import attrgetter

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp
from jittape.numpy.missing_names import MISSING
from processes import run_python

NAMESPACES = [(jnp, np), (jnp.linalg, np.linalg), (jnp.fft, np.fft)]
FUNCTIONS = [
    (ours, theirs, name)
    for ours, theirs in NAMESPACES
    for name in ours.__all__
    if inspect.isfunction(getattr(ours, name)) and hasattr(theirs, name)
]
EXTENDED = ("sort", "argsort", "cumulative_sum", "cumulative_prod", "fftfreq", "rfftfreq")
"""Functions with parameters of the Array API that NumPy lacks, or with annotations."""


def same(found, wanted):
    """Check that tensors have the values, the dtype and the shape of NumPy's results."""
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        for f, w in zip(found, wanted, strict=True):
            same(f, w)
    elif isinstance(wanted, (np.ndarray, np.generic)):
        assert isinstance(found, jt.Tensor)
        assert (found.dtype, tuple(found.shape)) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-14)
    else:
        assert found == wanted


@pytest.mark.parametrize(
    ("ours", "theirs", "name"), FUNCTIONS, ids=lambda value: getattr(value, "__name__", value)
)
def test_a_function_has_the_name_and_the_signature_of_numpy(ours, theirs, name):
    function = getattr(ours, name)
    assert (function.__name__, function.__module__) == (name, ours.__name__)
    assert function.__doc__
    assert pickle.loads(pickle.dumps(function)) is function
    if name in EXTENDED:
        assert set(inspect.signature(getattr(theirs, name)).parameters) <= set(
            inspect.signature(function).parameters
        )
        return
    try:
        wanted = inspect.signature(getattr(theirs, name))
    except ValueError:  # NumPy does not tell
        return
    assert str(inspect.signature(function)) == str(wanted)


@pytest.mark.parametrize("module", ["numpy", "numpy.linalg", "numpy.fft"])
def test_dir_lists_what_exists(module):
    namespace = eval(f"jt.{module}")
    assert dir(namespace) == sorted(namespace.__all__)
    for name in namespace.__all__:
        getattr(namespace, name)


@pytest.mark.parametrize("place", ["", "linalg", "fft", "random"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_name_of_numpy_exists_or_is_left_out_for_a_reason(place):
    ours, theirs = [getattr(module, place) if place else module for module in (jnp, np)]
    patterns = [pattern for entry in MISSING for pattern in entry.names.split()]
    public = [name for name in dir(theirs) if not name.startswith("_")]
    missing = [f"{place}.{name}".lstrip(".") for name in public if not hasattr(ours, name)]
    assert [p for p in missing if not any(fnmatchcase(p, pattern) for pattern in patterns)] == []


CALLS = [
    lambda np: np.exp(1.0),
    lambda np: np.add(1, 2),
    lambda np: np.add(True, 2.5),
    lambda np: np.add([1, 2], 2.5),
    lambda np: np.add(np.float32(1), 2.5),
    lambda np: np.add(np.ones(2, np.float32), np.ones(2)),
    lambda np: np.power([1, 2], 2),
    lambda np: np.maximum.reduce([[1, 5], [3, 2]]),
    lambda np: np.sum([1, 2]),
    lambda np: np.sum(3.5),
    lambda np: np.sum(a=[[1.0, 2.0]], axis=1),
    lambda np: np.dot(2, 3),
    lambda np: np.dot([1.0, 2.0], [3, 4]),
    lambda np: np.where([True, False], 1, 2.5),
    lambda np: np.where(True, np.float32(1), 2.5),
    lambda np: np.clip(5, 1, 3),
    lambda np: np.clip([1.5, 9.0], None, 3),
    lambda np: np.concatenate([[1, 2], [3.5]]),
    lambda np: np.stack([1, 2.5]),
    lambda np: np.vstack(([1, 2], np.array([3, 4]))),
    lambda np: np.linalg.norm([3, 4]),
    lambda np: np.linalg.cond([[2.0, 1.0], [0.0, 4.0]], "fro"),
    lambda np: np.linalg.cond([[2.0, 1.0], [0.0, 4.0]], p="nuc"),
    lambda np: np.linalg.eigh([[2.0, 0.0], [0.0, 1.0]]),
    lambda np: np.linalg.solve([[2, 0], [0, 4]], [1, 1]),
    lambda np: np.einsum("ij,j", [[1, 2]], [3.0, 4.0]),
    lambda np: np.split(np.array([1, 2, 3, 4]), 2),
    lambda np: np.atleast_2d(3),
    lambda np: np.array([1, 2]),
    lambda np: np.array([[1, 2.5]], ndmin=3),
    lambda np: np.array([1, 2], dtype=np.float32),
    lambda np: np.asarray([True, 2]),
    lambda np: np.array([np.float32(1), 2.5]),
    lambda np: np.array([np.ones(2, np.float32), [1.0, 2.5]]),
    lambda np: np.zeros((2, 3)),
    lambda np: np.ones(2, dtype=int),
    lambda np: np.full((2,), 3),
    lambda np: np.full_like([1, 2], 3.5),
    lambda np: np.zeros_like([1.0, 2.0]),
    lambda np: np.arange(5),
    lambda np: np.arange(1.0, 2.0, 0.25),
    lambda np: np.linspace(0, 1, 5),
    lambda np: np.linspace(0, 1, 5, retstep=True)[0],
    lambda np: np.logspace(0, 2, 3),
    lambda np: np.geomspace(1, 8, 4),
    lambda np: np.eye(3, k=1),
    lambda np: np.identity(2),
    lambda np: np.tri(3),
    lambda np: np.meshgrid([1, 2], [3.0, 4.0]),
    lambda np: np.indices((2, 3)),
    lambda np: np.fromfunction(lambda i, j: i * 2 + j, (2, 3)),
    lambda np: np.frombuffer(b"ab", dtype=np.uint8),
    lambda np: np.ascontiguousarray(3.0),
    lambda np: np.nonzero([1, 0, 2]),
    lambda np: np.bincount([0, 1, 1]),
    lambda np: np.allclose([1.0], [1.0 + 1e-12]),
    lambda np: np.float32(3),
    lambda np: np.int64(3.7),
    lambda np: np.result_type(np.float32, 3),
    lambda np: np.promote_types(np.int8, np.uint8),
    lambda np: np.can_cast(np.int64, np.float32),
    lambda np: np.issubdtype(np.float32, np.floating),
    lambda np: np.isdtype(np.float32, ("real floating", "bool")),
    lambda np: np.iinfo(np.int8).max,
    lambda np: float(np.finfo(np.float32).eps),
    lambda np: np.pi + np.e + np.euler_gamma + np.inf,
    lambda np: np.shape([[1, 2]]),
    lambda np: np.ndim([[1, 2]]),
    lambda np: np.size([[1, 2]]),
    lambda np: np.astype(np.arange(3), np.float32),
    lambda np: np.interp(2.5, [1, 2, 3], [3, 2, 0]),
    lambda np: np.gradient([1, 2, 4, 7.0]),
    lambda np: np.trapezoid([3.0, 1.0, 2.0]),
    lambda np: np.median([3, 1, 2, 5]),
    lambda np: np.percentile([3.0, 1.0, 2.0], [25, 50]),
    lambda np: np.cov([3.0, 1.0, 2.0], [1, 2, 3]),
    lambda np: np.polyval([1, 2, 3], 2),
    lambda np: np.convolve([1, 2, 3], [0, 1, 0.5]),
    lambda np: np.histogram([3.0, 1.0, 2.0], bins=3),
    lambda np: np.select([[True, False, False]], [[1, 2, 3]], 7),
    lambda np: np.piecewise(np.array([1.0, 3.0]), [[False, True]], [1, -1]),
    lambda np: np.insert([3.0, 1.0], 1, 9),
    lambda np: np.append([1, 2], [7.5]),
    lambda np: np.nan_to_num([float("nan"), 1]),
    lambda np: np.unique([3, 1, 1], return_counts=True),
    lambda np: np.block([[np.eye(2), np.zeros((2, 1))], [np.ones((1, 3))]]),
    lambda np: np.apply_along_axis(lambda row: row.sum() * 2, 1, np.array([[1, 2], [3, 4.0]])),
    lambda np: np.einsum([[1.0, 2]], [0, 1], [[3.0], [4]], [1, 2], [0, 2]),
    lambda np: np.choose([0, 1], [[1, 2], [3, 4]]),
    lambda np: np.lexsort(([1, 2], [2, 1])),
    lambda np: np.round([1.25 + 2.55j], 1),
    lambda np: np.broadcast_arrays([1, 2], [[3.5]]),
    lambda np: [index for index, _ in np.ndenumerate([[1, 2]])],
    lambda np: [value + 1 for _, value in np.ndenumerate(np.array([[1, 2]]))],
    lambda np: np.mgrid[0:3, 1.0:2.0:3j],
    lambda np: np.ogrid[:2, :3],
    lambda np: np.r_[1:4, 0, [5.5, 6]],
    lambda np: np.r_[np.zeros((1, 2)), np.ones((2, 2))],
    lambda np: np.c_[[1, 2], np.array([3.0, 4.0])],
    lambda np: np.c_[np.eye(2), [1, 2]],
]


@pytest.mark.parametrize("position", range(len(CALLS)))
def test_a_call_gives_what_numpy_gives(position):
    call = CALLS[position]
    for _ in range(2):
        same(call(jnp), call(np))


def test_lists_with_tensors_are_stacked_in_the_dtype_of_numpy():
    t = jt.constant([1.0, 2.0])
    found = jnp.array([t, [3.5, 4]])
    assert (found.dtype, found.tolist()) == (np.float64, [[1.0, 2.0], [3.5, 4.0]])
    assert jnp.array([t[0], 0.1])[1].numpy() == 0.1
    assert jnp.array([t[0], t[1]]).dtype == np.float32
    with jt.GradientTape() as tape:
        tape.watch(t)
        total = jnp.sum([t[0] * 3.0, jnp.mean([t, t])]) + jnp.full((2,), t[1])[0] + jnp.float64(t[0])
    assert tape.gradient(total, t).tolist() == [4.5, 1.5]


def test_spaces_between_tensors_differentiate():
    def total(create):
        return lambda ends: jnp.sum(create(ends[0], ends[1], 5) ** 2)

    ends = jnp.array([1.0, 3.0])
    for create in (jnp.linspace, jnp.logspace, jnp.geomspace):
        np.testing.assert_allclose(
            create(ends[0], ends[1], 5), getattr(np, create.__name__)(1.0, 3.0, 5), rtol=1e-12
        )
        jt.check_gradient(total(create), ends)
    step = jnp.linspace(ends[0], ends[1], 5, retstep=True)[1]
    assert float(step) == 0.5


def test_a_function_records_inside_jt_function():
    @jt.function
    def f(x, n):
        return jnp.sum(jnp.array([x, n]) * jnp.linspace(0, 1, 2)) + jnp.zeros(3)[0]

    assert [float(f(jt.constant(2.0), n)) for n in (3.0, 4.0, 5.0)] == [3.0, 4.0, 5.0]


WRITES = [
    lambda np, a: np.copyto(a, [1, 2, 3, 4]),
    lambda np, a: np.copyto(a, 7.0, where=np.array([True, False, True, False])),
    lambda np, a: np.fill_diagonal(a, 9.0),
    lambda np, a: np.fill_diagonal(a, [1, 2, 3]),
    lambda np, a: np.put(a, [0, 5], [-1.0, -2.0]),
    lambda np, a: np.put(a, [1, 2, 3], [-1.0]),
    lambda np, a: np.putmask(a, a > 4, a * 10),
    lambda np, a: np.putmask(a, a > 4, [-1, -2]),
    lambda np, a: np.place(a, a > 4, [-1, -2]),
    lambda np, a: np.put_along_axis(a, np.argmax(a, axis=1)[:, None], -5.0, 1),
    lambda np, a: np.put_along_axis(a, np.array([[2], [0], [1]]), np.array([[1], [2], [3]]), axis=1),
]


WRITES += [
    lambda np, a: np.add(a, 1.5, out=a),
    lambda np, a: np.sqrt(a, a),
    lambda np, a: np.multiply(a, a, out=a, where=a > 3),
    lambda np, a: np.divmod(a, 2.0, out=(a, np.array(a))),
    lambda np, a: np.divmod(a, 2.0, a, np.array(a)),
    lambda np, a: np.modf(a, None, a),
    lambda np, a: np.einsum("ij,jk->ik", a[:2, :2], a[:2, :2], out=np.array(a[:2, :2])),
    lambda np, a: np.einsum(a, [0, 1], [0, 1], out=a),
    lambda np, a: np.cumsum(a, axis=1, out=a),
    lambda np, a: np.clip(a, 2, 5, out=a),
    lambda np, a: np.add.at(a, [0, 2, 2], [1, 2, 3, 4]),
    lambda np, a: np.subtract.at(a, ([0, 0, 1], [1, 1, 2]), [1.0, 2.0, 3.0]),
    lambda np, a: np.multiply.at(a, (slice(None), [0, 1, 1]), 3.0),
    lambda np, a: np.maximum.at(a, a > 5, 8.5),
    lambda np, a: np.power.at(a, [1, 1, 1], [[2.0], [0.5], [3.0]]),
    lambda np, a: np.negative.at(a, [2, 2, 0]),
]


@pytest.mark.parametrize("position", range(len(WRITES)))
def test_a_function_that_writes(position):
    t, a, v = (
        jnp.arange(12.0).reshape(3, 4),
        np.arange(12.0).reshape(3, 4),
        jt.Variable(np.arange(12.0).reshape(3, 4)),
    )
    before = t + 0.0
    for namespace, array in ((jnp, t), (np, a), (jnp, v)):
        WRITES[position](namespace, array)
    np.testing.assert_array_equal(t.numpy(), a)
    np.testing.assert_array_equal(v.numpy(), a)
    assert t.dtype == np.float64
    assert before.tolist() == np.arange(12.0).reshape(3, 4).tolist()


def test_at_casts_as_numpy_and_differentiates():
    for ufunc, value in ((np.add, 0.5), (np.multiply, 1.5), (np.bitwise_xor, 5)):
        expected, found = np.arange(4), jnp.arange(4)
        variable = jt.Variable(np.arange(4))
        ufunc.at(expected, [0, 1, 1], value)
        getattr(jnp, ufunc.__name__).at(found, [0, 1, 1], value)
        ufunc.at(variable, [0, 1, 1], value)
        np.testing.assert_array_equal(found.numpy(), expected)
        np.testing.assert_array_equal(variable.numpy(), expected)

    def total(x, index):
        sums, products = jnp.zeros(3), jnp.ones(3)
        jnp.add.at(sums, index, x)
        jnp.multiply.at(products, [0, 2, 2, 2], x)
        return jnp.sum(sums**2) + jnp.sum(products)

    x, index = np.array([1.5, -0.5, 2.0, 3.0]), jt.constant([0, 1, 1, 2])
    jt.check_gradient(lambda x: total(x, index), x)
    traced = jt.function(total)
    for _ in range(2):
        assert float(traced(x, index)) == float(total(x, index))
    with pytest.raises(
        TypeError, match=r"\[np.multiply.at\] indices that are tensors are recorded for add, maximum"
    ):
        jnp.multiply.at(jnp.ones(3), index, x)
    with pytest.raises(IndexError):
        jnp.add.at(jnp.ones(3), [3], 1.0)


def test_joined_tensors_and_writes_differentiate():
    def total(x):
        a = jnp.c_[x, jnp.ones(2)]
        jnp.fill_diagonal(a, x[0] * x[1])
        return jnp.sum(jnp.r_[x, a[0]] ** 2)

    jt.check_gradient(total, jnp.array([1.5, -0.5]))


def test_a_python_int_fits_the_loop_of_numpy():
    big = np.array([5, 2], np.uint64)
    same(jnp.atan2(jnp.asarray(big), -1), np.arctan2(big, -1))
    with pytest.raises(OverflowError, match="does not fit uint8"):
        jnp.add(jnp.ones(2, np.uint8), -1)


def test_a_python_int_fits_the_loop_of_numpy_with_out():
    big, out = np.array([5, 2], np.uint64), jnp.zeros(2)
    assert jnp.atan2(jnp.asarray(big), -1, out=out) is out
    same(out, np.arctan2(big, -1))


@pytest.mark.parametrize("num", [0, 1])
def test_the_step_of_no_interval_is_nan(num):
    for endpoint in (True, False):
        _, step = jnp.linspace(jnp.asarray(1.0), 3.0, num, endpoint, retstep=True)
        np.testing.assert_equal(float(step), float(np.linspace(1.0, 3.0, num, endpoint, retstep=True)[1]))


def test_shapes_of_arguments_stay_general_inside_a_function():
    @jt.function
    def f(x):
        filled = jnp.zeros(x.shape) + jnp.ones(x.shape[0]) + jnp.full((x.shape[0],), 2.0)
        return jnp.sum(x * filled)

    for n in range(2, 9):
        assert float(f(np.ones(n))) == 3.0 * n
    assert f.trace_count <= 3


def test_asarray_copies_only_what_may_change():
    t = jnp.ones(3)
    assert jnp.asarray(t) is t
    assert jnp.array(t) is not t
    frozen = np.ones(3)
    frozen.flags.writeable = False
    assert np.shares_memory(jnp.asarray(frozen, copy=False).numpy(), frozen)
    for value in ([1.0], np.ones(2)):
        with pytest.raises(ValueError, match="give copy=None"):
            jnp.asarray(value, copy=False)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: jnp.matrix, AttributeError, "no class of matrices.*the operator @"),
        (lambda: jnp.summ, AttributeError, "did you mean jittape.numpy.sum"),
        (lambda: jnp.frobnicate, AttributeError, "has no 'frobnicate'$"),
        (lambda: jnp.linalg.normm, AttributeError, "did you mean jittape.numpy.linalg.norm"),
        (lambda: jnp.add([1, 2], [1, 2, 3]), ValueError, r"^\[add\] shapes \(2,\) and \(3,\)"),
        (lambda: jnp.sum("abc"), TypeError, r"^\[sum\] a must be a tensor, an array or nested lists"),
        (lambda: jnp.sum(None), TypeError, r"^\[sum\] a must be a tensor, .* got None"),
        (lambda: jnp.linalg.norm(x=None), TypeError, r"^\[norm\] x must be a tensor, .* got None"),
        (
            lambda: jnp.mean(np.zeros(2, [("u", "f8")])),
            TypeError,
            r"^\[mean\] .*; take a field, such as x\['u'\]",
        ),
        (lambda: jnp.sin(np.array([1.5, None])), TypeError, r"dtype object; .* such as x.astype\(float\)"),
        (lambda: jnp.diff(np.zeros(2, "M8[D]")), TypeError, r"use \(x - x\[0\]\) / np.timedelta64\(1, 's'\)"),
        (lambda: jnp.asarray(np.zeros(2, "m8[D]")), TypeError, r"use x / np.timedelta64\(1, 's'\)"),
        (lambda: jnp.exp(object()), TypeError, r"^\[exp\] x must be a tensor"),
        (lambda: jnp.array([[1], [1, 2]]), ValueError, "different shapes"),
        (lambda: jnp.array([jnp.ones(2), 1.0]), ValueError, "shape"),
        (lambda: jnp.zeros(2, dtype=object), TypeError, "not supported"),
        (lambda: jnp.zeros(2, order="F"), ValueError, r"^\[zeros\] order must be 'C'"),
        (lambda: jnp.ones(2, device="gpu"), ValueError, r"^\[ones\] device must be 'cpu'"),
        (lambda: jnp.array(300, dtype=jnp.uint8), OverflowError, "300"),
        (lambda: jnp.add([1.0], 1.0, out=np.ones(1)), TypeError, "cannot record into an array"),
        (
            lambda: jnp.add(jnp.ones(2), 0.5, out=jnp.ones(2, int)),
            TypeError,
            r"^\[add\] Cannot cast float64 to int64",
        ),
        (lambda: jnp.r_["0,2", [1, 2]], TypeError, "np.r_ takes no directives"),
        (
            lambda: jnp.fill_diagonal(np.ones((2, 2)), 0),
            TypeError,
            r"^\[fill_diagonal\] can only write to a tensor",
        ),
        (lambda: jnp.fill_diagonal(jnp.ones(2), 0), ValueError, "must be a matrix"),
        (
            lambda: jnp.copyto(jnp.ones(2, int), jnp.ones(2)),
            TypeError,
            r"^\[copyto\] Cannot cast float64 to int64",
        ),
        (lambda: jnp.put(jnp.ones(2), 5, 1.0), IndexError, "5"),
    ],
)
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_the_namespace_is_imported_when_it_is_used():
    done = run_python(
        "-c",
        "import sys, jittape as jt\n"
        "print([name for name in sys.modules if name.startswith('jittape.numpy.')])\n"
        "print(jt.numpy.ones(2).tolist(), 'scipy' in sys.modules)\n",
    )
    assert done.stdout == "[]\n[1.0, 1.0] False\n"


def test_the_import_loads_little() -> None:
    """`numpy.testing` alone has a hundred modules."""
    program = """
import sys, jittape
before = set(sys.modules)
import jittape.numpy, jittape.scipy, jittape.autograd
print(len(set(sys.modules) - before), "numpy.testing" in sys.modules, "scipy" in sys.modules)
from jittape.numpy import testing, typing
assert jittape.numpy.testing is testing and {"testing", "typing"} <= set(dir(jittape.numpy))
"""
    count, *imported = run_python("-c", program).stdout.split()
    assert int(count) < 40
    assert imported == ["False", "False"]


@pytest.mark.parametrize("kind", [np.asarray, jt.constant], ids=["array", "tensor"])
def test_python_numbers_are_weak_where_numpy_joins_them(kind):
    small, single = kind(np.array([1, 2], np.int8)), kind(np.array([1.0], np.float32))
    calls = [
        lambda n, a, f: n.concatenate((a, 3), axis=None),
        lambda n, a, f: n.concat((f, 1.5, 2), axis=None),
        lambda n, a, f: n.concatenate((a, 1.5), axis=None),
        lambda n, a, f: n.concatenate((1, 2.5), axis=None),
        lambda n, a, f: n.concatenate((a, True), axis=None),
        lambda n, a, f: n.union1d(a, 3),
        lambda n, a, f: n.r_[a, 3],
        lambda n, a, f: n.r_[f, 1.5, 0:3],
        lambda n, a, f: n.r_[1, 2.5],
    ]
    for call in calls:
        wanted = call(np, np.asarray(small), np.asarray(single))
        found = call(jnp, small, single)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_cumulative_functions_of_a_number(name):
    for options in ({}, {"include_initial": True}, {"axis": 0}):
        wanted = getattr(np, name)(2.5, **options)
        np.testing.assert_array_equal(getattr(jnp, name)(2.5, **options), wanted)


def test_insert_refuses_numbers_that_do_not_fit():
    for array, number in ((np.array([1.0, 2.0]), 1 + 2j), (np.array([1, 2], np.uint8), -2)):
        with pytest.raises((TypeError, OverflowError)) as wanted:
            np.insert(array, 1, number)
        with pytest.raises(wanted.type):
            jnp.insert(jt.constant(array), 1, number)
    assert jnp.insert(jt.constant([1.0, 2.0]), 1, 3).numpy().tolist() == [1.0, 3.0, 2.0]


@pytest.mark.parametrize("name", ["sum", "reshape", "std", "vstack", "quantile", "linalg.solve", "fft.fft"])
def test_errors_about_arguments_name_the_function_of_numpy(name):
    function = attrgetter(name)(jnp)
    last = name.split(".")[-1]
    with pytest.raises(TypeError, match=rf"^{last}\(\) missing"):
        function()
    with pytest.raises(TypeError, match=rf"^{last}\(\) (got an unexpected|missing)"):
        function(jnp.ones((2, 2)), nonsense=1)


@pytest.mark.parametrize("namespace", [np, jnp])
def test_the_default_casting_joins_tensors(namespace):
    x = jnp.ones((2, 3))
    for name in ("concatenate", "stack", "hstack", "vstack"):
        found = getattr(namespace, name)([x, x], casting="same_kind")
        assert found.shape == getattr(np, name)([x.numpy()] * 2).shape
    with pytest.raises(TypeError, match="does not support casting="):
        namespace.concatenate([x, x], casting="no")


@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("length", [3, 900], ids=["windows", "sums between kernels"])
def test_an_infinity_reaches_only_the_sums_that_it_contributes_to(name, length):
    rng = np.random.default_rng(6)
    a, v = rng.normal(size=length), rng.normal(size=length // 2 + 1)
    v[-1], a[0] = np.inf, np.nan
    for mode in ("full", "same", "valid"):
        for x, y in ((a, v), (v, a), (a, np.arange(2)), (a[1:], v[:-1])):
            wanted = getattr(np, name)(x, y, mode)
            found = getattr(jnp, name)(jt.constant(x), y, mode)
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-12)
            compiled = jt.function(lambda x, y, mode=mode: getattr(jnp, name)(x, y, mode))
            np.testing.assert_allclose(compiled(x, y).numpy(), wanted, rtol=1e-9, atol=1e-12)


def test_a_large_convolution_differentiates():
    rng = np.random.default_rng(7)
    a, v, g = rng.normal(size=600), rng.normal(size=20), rng.normal(size=600)
    x, y = jt.constant(a), jt.constant(v)
    with jt.GradientTape() as tape:
        tape.watch([x, y])
        loss = jnp.sum(jnp.convolve(x, y, "same") * g)
    found = [part.numpy() for part in tape.gradient(loss, [x, y])]
    full = np.zeros(619)
    full[9:609] = g
    np.testing.assert_allclose(found[0], np.correlate(full, v, "valid"), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found[1], np.correlate(full, a, "valid"), rtol=1e-9, atol=1e-11)
