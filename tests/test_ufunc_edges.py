"""NumPy's ufuncs on nan, infinities, zeros of both signs and limits: values, signs of zero, dtypes and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp
from numpy_rows import BEFORE_NUMPY_2_5

DTYPES = ("bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128")
ORDERED = "fmax fmin greater greater_equal less less_equal maximum minimum"
"""Refused for complex numbers, which have no order."""
COMPLEX = "exp exp2 sin cos tan sinh cosh tanh sqrt log sign reciprocal"
UFUNCS = [
    u
    for name, u in vars(np).items()
    if isinstance(u, np.ufunc)
    and u.__name__ == name
    and u.signature is None
    and name not in ("isnat", "ldexp")
]


def values(dtype: str) -> np.ndarray[Any, Any]:
    kind = np.dtype(dtype).kind
    if kind == "f":
        limits = np.finfo(dtype)
        least = [limits.tiny, limits.smallest_subnormal, limits.max, limits.min]
        return np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, *least, 1, -1, 0.5, -2.5, 3], dtype)
    if kind == "c":
        parts = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -0.5, 3]
        found = np.empty((len(parts), len(parts)), dtype)
        found.real, found.imag = np.meshgrid(parts, parts)
        return found.ravel()
    if kind == "b":
        return np.array([False, True])
    limits = np.iinfo(dtype)
    return np.unique(np.array([0, 1, 2, 7, limits.max, limits.min, limits.min + 1], dtype))


def agrees(found: Any, wanted: Any) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind not in "fc":
        np.testing.assert_array_equal(found, wanted)
        return
    near = 16 * np.finfo(wanted.dtype).eps
    for f, w in ((found.real, wanted.real), (found.imag, wanted.imag)):
        np.testing.assert_allclose(
            f, w, rtol=near, atol=near * np.finfo(w.dtype).tiny + (w.dtype == "f2") * 1e-7
        )
        exact = np.isfinite(w) & (w == 0) & (f == 0)
        np.testing.assert_array_equal(np.signbit(f)[exact], np.signbit(w)[exact])


def is_near(found: Any, wanted: Any, size: Any) -> None:
    """Compare complex numbers, of which one part may be lost against the other."""
    near = 16 * np.finfo(wanted.dtype).eps
    for f, w in ((found.real, wanted.real), (found.imag, wanted.imag)):
        same = (f == w) | (np.isnan(f) & np.isnan(w)) | (np.abs(f - w) <= near * size)
        zeros = (f == 0) & (w == 0)
        assert (same & (~zeros | (np.signbit(f) == np.signbit(w)))).all(), (found, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_ufuncs_at_edges(dtype: str):
    unary = values(dtype)
    for ufunc in UFUNCS:
        operands = (unary,)
        if ufunc.nin == 2:
            operands = tuple(np.array(side).ravel() for side in np.meshgrid(unary[:9], unary[:9]))
        if np.dtype(dtype).kind == "c" and ufunc.__name__ in ORDERED.split():
            continue
        if ufunc in (np.reciprocal, np.gcd, np.lcm, np.power, np.float_power) and dtype not in (
            "float64",
            "complex128",
        ):
            continue  # NumPy's integer results are undefined at 0
        with np.errstate(all="ignore"):
            try:
                wanted = ufunc(*operands)
            except TypeError:
                with pytest.raises(TypeError):
                    ufunc(*map(jt.constant, operands))
                continue
            if ufunc is np.nextafter and dtype == "float16" and BEFORE_NUMPY_2_5:
                wanted = np.where(operands[0] == operands[1], operands[1], wanted)
            found = ufunc(*map(jt.constant, operands))
            for f, w in zip(*((x if ufunc.nout == 2 else (x,)) for x in (found, wanted)), strict=True):
                if np.asarray(w).dtype.kind != "c":
                    agrees(f, w)
                else:
                    size = np.where(np.isfinite(np.abs(w)), np.abs(w), 1)
                    assert f.dtype == w.dtype
                    is_near(f.numpy(), w, size)


@pytest.mark.parametrize(
    "name", ["exp", "exp2", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "log", "sign", "reciprocal"]
)
@pytest.mark.filterwarnings("ignore")
def test_signs_of_zero_in_compiled_complex_functions(name: str):
    """The sign decides on which side of a branch cut a following square root or logarithm is."""
    ufunc, z = getattr(np, name), values("complex128")
    with np.errstate(all="ignore"):
        wanted = ufunc(z)
        for _ in range(3):
            found = ufunc(jt.constant(z)).numpy()
    is_near(found, wanted, np.where(np.isfinite(np.abs(wanted)), np.abs(wanted), 1))


def test_a_root_behind_a_compiled_cosine():
    for _ in range(3):
        found = np.sqrt(np.cos(jt.constant(np.array([2 + 0j, 2 - 0j])))).numpy()
    np.testing.assert_allclose(found, np.sqrt(np.cos(np.array([2 + 0j, 2 - 0j]))))


# ---- types of errors -------------------------------------------------------------------------------------------------

OUT_OF_RANGE: list[Callable[[Any, Any], Any]] = [
    lambda np, x: np.sum(x, 2),
    lambda np, x: np.argmax(x, axis=-3),
    lambda np, x: np.sort(x, 2),
    lambda np, x: np.concatenate([x, x], 2),
    lambda np, x: np.expand_dims(x, 4),
    lambda np, x: np.moveaxis(x, 2, 0),
    lambda np, x: np.median(x, 2),
    lambda np, x: np.linalg.norm(x, axis=2),
    lambda np, x: np.logical_or.reduce(x, 2),
    lambda np, x: np.transpose(x, (0, 2)),
    lambda np, x: np.fft.fft(x, axis=2),
    lambda np, x: np.fft.fftn(x, axes=(2,)),
    lambda np, x: x.sum(2),
    lambda np, x: x.swapaxes(0, 2),
]


@pytest.mark.parametrize("namespace", [np, jnp], ids=["np", "jnp"])
@pytest.mark.parametrize("call", OUT_OF_RANGE)
def test_an_axis_out_of_range(namespace: Any, call: Callable[[Any, Any], Any]):
    x = np.ones((2, 3))
    with pytest.raises((ValueError, IndexError)) as wanted:
        call(np, x)
    with pytest.raises(wanted.type) as found:
        call(namespace, jt.constant(x))
    assert isinstance(found.value, jt.errors.ShapeError)


def test_the_axis_of_an_error():
    with pytest.raises(
        np.exceptions.AxisError, match=r"\[np.sum\] axis 5 is out of range for 1 dimension"
    ) as caught:
        np.sum(jt.constant([1.0]), axis=5)
    assert (caught.value.axis, caught.value.ndim) == (5, 1)


@pytest.mark.parametrize("convert", [int, float, complex, round])
@pytest.mark.parametrize("shape", [(2,), (0,), (2, 2)])
def test_a_vector_is_no_number(convert: Any, shape: tuple[int, ...]):
    with pytest.raises(TypeError, match=f"{convert.__name__}.. needs a tensor with one element"):
        convert(jt.constant(np.zeros(shape)))
    with pytest.raises(
        ValueError, match="needs a tensor with one element"
    ):  # TensorFlow's and older NumPy's type
        convert(jt.constant(np.zeros(shape)))


def test_outer_of_a_ufunc_with_two_results_and_reductions_over_two_axes() -> None:
    a, b = np.array([7.0, -3.0]), np.array([2.0, 3.0, -2.0])
    for divmod_ in (np.divmod, jt.numpy.divmod):
        found = divmod_.outer(jt.constant(a), b)
        for one, other in zip(found, np.divmod.outer(a, b), strict=True):
            np.testing.assert_array_equal(one, other)
    assert jt.grad(lambda a: jt.reduce_sum(jt.numpy.divmod.outer(a, b)[1]))(a).tolist() == [3.0, 3.0]
    assert not hasattr(jt.numpy.divmod, "reduce")
    table = np.array([[12, 18], [24, 30]])
    assert int(jt.numpy.gcd.reduce(jt.constant(table), axis=None)) == np.gcd.reduce(table, axis=None)
    with pytest.raises(ValueError, match="not reorderable"):
        jt.numpy.lcm.reduce(jt.constant(table), axis=None)


@pytest.mark.parametrize("shape", [(), (2,)])
def test_the_norm_of_a_matrix_without_two_dimensions(shape: tuple[int, ...]) -> None:
    for linalg in (np.linalg, jt.numpy.linalg):
        with pytest.raises(np.exceptions.AxisError):
            linalg.matrix_norm(jt.ones(shape))


COMPLEX = [complex(a, b) for a in (0, 1, -0.0, np.nan, np.inf) for b in (0, 1, np.nan, -np.inf)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["fmax", "fmin", "maximum", "minimum", "less", "less_equal", "greater", "greater_equal"]
)
def test_complex_numbers_have_the_order_of_numpy(name: str) -> None:
    x, y = (a.ravel() for a in np.meshgrid(COMPLEX, COMPLEX))
    wanted = getattr(np, name)(x, y)
    for namespace in (np, jt.numpy):
        found = getattr(namespace, name)(jt.constant(x), y)
        assert found.dtype == wanted.dtype
        for part in (np.real, np.imag):
            np.testing.assert_array_equal(part(found.numpy()), part(wanted))
    np.testing.assert_array_equal(jt.constant(x) < y, x < y)


OUTS: list[tuple[Any, tuple[Any, ...], dict[str, Any], Any]] = [
    (np.sum, (np.array([0.5, 1.5]),), {"axis": 0}, np.zeros((), np.int64)),
    (np.cumsum, (np.array([0.5, 1.5]),), {}, np.zeros(2, np.int32)),
    (np.nanprod, (np.array([3, 2], np.uint16),), {"initial": 2.5}, np.zeros(())),
    (np.sum, (np.array([2**24, 1, 1], np.int32),), {}, np.zeros((), np.float32)),
    (np.add.reduce, (np.array([0.5, 1.5]),), {}, np.zeros((), np.int64)),
    (np.maximum.accumulate, (np.array([0.5, 1.5, 1.0]),), {}, np.zeros(3, np.int64)),
    (np.sum, (np.ones(3),), {}, np.zeros((1, 3))),
    (np.min, (np.ones(3),), {"axis": 0}, np.zeros((1, 3))),
    (np.mean, (np.ones((2, 3)),), {"axis": 0}, np.zeros((2, 3))),
    (np.cumsum, (np.ones(3),), {}, np.zeros((1, 3))),
    (np.add.reduce, (np.ones((2, 3)),), {}, np.zeros(2)),
    (np.exp, (np.ones((1, 3)),), {}, np.zeros(3)),
    (np.exp, (np.ones(3),), {}, np.zeros((2, 3))),
]


@pytest.mark.parametrize(("function", "args", "options", "out"), OUTS)
def test_results_go_into_out_as_in_numpy(function: Any, args: Any, options: Any, out: Any) -> None:
    kept, wanted = jt.constant(out), out.copy()
    own = getattr(jnp, function.__name__) if hasattr(np, function.__name__) else function
    try:
        function(*args, out=wanted, **options)
    except ValueError:
        for each in (function, own):
            with pytest.raises(ValueError, match=r"out|broadcast"):
                each(*map(jt.constant, args), out=kept, **options)
        return
    for each in (function, own):
        kept = jt.constant(out)
        each(*map(jt.constant, args), out=kept, **options)
        assert kept.dtype == wanted.dtype
        np.testing.assert_array_equal(kept.numpy(), wanted)


@pytest.mark.parametrize(
    ("method", "args", "options"),
    [
        (np.multiply.reduce, (np.array([6, 3], np.uint32),), {"dtype": "int16", "where": False}),
        (np.add.reduceat, (np.array([5, 3, 6], np.uint64), [2, 0, 1]), {"dtype": "uint8"}),
        (np.add.reduceat, (np.ones((2, 3)), []), {"axis": 1}),
        (np.maximum.reduceat, (np.ones(3), []), {}),
        (np.logical_and.reduce, (np.ones(3),), {"dtype": "float16"}),
        (np.divide.accumulate, (np.ones(3),), {"dtype": "uint64"}),
        (np.greater.reduce, (np.ones(3),), {}),
        (np.bitwise_xor.reduce, (np.ones(0, int),), {"where": np.zeros(0, bool), "initial": None}),
    ],
)
def test_methods_of_ufuncs_have_the_dtypes_and_errors_of_numpy(method: Any, args: Any, options: Any) -> None:
    given = (jt.constant(args[0]), *args[1:])
    try:
        wanted = method(*args, **options)
    except (TypeError, ValueError) as error:
        with pytest.raises(TypeError if isinstance(error, TypeError) else ValueError):
            method(*given, **options)
        return
    found = method(*given, **options)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)


def test_shapes_and_membership_as_in_numpy() -> None:
    x = jt.constant(np.arange(24.0).reshape(2, 3, 4))
    rest, none = (-1,), [-1]
    assert x.reshape(x.shape[:1] + rest).shape == (2, 12)
    assert np.reshape(x, rest + x.shape[2:]).shape == (6, 4)
    with pytest.raises(jt.errors.ShapeError):
        _ = x.shape + none
    assert 3.0 in x
    assert 24 not in x
    assert None not in x


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize(
    "values",
    [[np.inf, 1.8], [np.inf, np.inf], [-np.inf, np.inf], [0.0, 1.0, np.inf], [1.0, -np.inf, 2.0, np.inf]],
)
def test_medians_beside_infinity(values: list[float], dtype: str) -> None:
    x = np.array(values, dtype)
    with np.errstate(invalid="ignore"):
        for function in (np.median, np.nanmedian):
            np.testing.assert_array_equal(function(jt.constant(x)).numpy(), function(x))


@pytest.mark.parametrize("function", [np.nanargmax, np.nanargmin])
def test_positions_among_nan_only_raise(function: Any) -> None:
    """The interpreter and compiled code raise NumPy's error when the value is read."""
    bad, good = np.array([[np.nan, np.nan], [1.0, 2.0]]), np.array([[np.nan, 0.0], [1.0, 2.0]])
    compiled = jt.function(lambda x: function(x, axis=1))
    for x in (good, good, bad, good, bad):
        for call in (compiled, lambda x: function(jt.constant(x), axis=1)):
            if x is good:
                np.testing.assert_array_equal(call(x).numpy(), function(x, axis=1))
            else:
                with pytest.raises(ValueError, match="All-NaN slice encountered"):
                    call(x).numpy()
    np.testing.assert_array_equal(
        jt.vectorized_map(function, jt.constant(good)).numpy(), function(good, axis=1)
    )


def test_initial_is_written_to_out_first() -> None:
    x = np.array([[1.8, 1.8, 0.7]])
    for function in (np.sum, np.prod, np.max, np.add.reduce, np.multiply.reduce):
        for dtype in ("int64", "float16") if function is not np.max else ("float16",):
            wanted, found = np.zeros(3, dtype), jt.constant(np.zeros(3, dtype))
            function(x, axis=0, out=wanted, initial=2.51)
            function(jt.constant(x), axis=0, out=found, initial=2.51)
            np.testing.assert_array_equal(found.numpy(), wanted)


def test_a_python_number_stays_weak_with_casting() -> None:
    for number, casting in ((0, "same_kind"), (0.0, "safe")):
        wanted = np.ldexp(number, np.array([True]), casting=casting)
        assert np.ldexp(number, jt.constant([True]), casting=casting).dtype == wanted.dtype


EQUIVALENT: tuple[Any, ...] = (2, 2.0, 1j, True, np.float32(2), np.ones(2, np.float32), np.ones(2))


@pytest.mark.parametrize("casting", ["no", "equiv", "safe"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex128", "uint8"])
def test_casting_rules_of_python_numbers(dtype: str, casting: Any):
    """NumPy 2.4 crashes if it is asked for the loop of a call that ``casting="equiv"`` refuses."""
    x = np.array([1, 2], dtype)
    for ufunc in (np.add, np.divide, np.power, np.equal, np.less, np.logical_and):
        for other in EQUIVALENT:
            if other.__class__ is complex and ufunc is np.less:
                continue  # complex numbers have no order here
            try:
                wanted = ufunc(x, other, casting=casting)
            except TypeError:
                with pytest.raises(TypeError):
                    ufunc(jt.constant(x), other, casting=casting)
            else:
                found = ufunc(jt.constant(x), other, casting=casting).numpy()
                assert found.dtype == wanted.dtype
                np.testing.assert_allclose(found, wanted)


def test_segments_of_one_element_keep_their_sign():
    """``np.hypot.reduce`` of one element is its absolute value, a segment of one element is the element."""
    x = np.array([[-2.0, 3.0, -4.0], [1.0, -5.0, 2.0]])
    for axis in (0, 1):
        for places in ([0, 1], [0, 0, 1], [1]):
            wanted = np.hypot.reduceat(x, places, axis=axis)
            np.testing.assert_allclose(np.hypot.reduceat(jt.constant(x), places, axis=axis).numpy(), wanted)


@pytest.mark.filterwarnings("ignore:Degrees of freedom")
@pytest.mark.parametrize("name", ["nanvar", "nanstd", "var", "std"])
def test_no_degrees_of_freedom(name: str):
    """They are nan for nanvar and nanstd of floats, infinite for var and std."""
    function = getattr(np, name)
    x = np.array([[0.5, np.nan, 2.0], [3.0, 1.25, 5.0]])
    for values in (x, x[:, ::2], x[:, ::2].astype(np.float32), np.arange(4), x[:, ::2] * 1j):
        for options in (
            {"ddof": 1},
            {"ddof": 2},
            {"ddof": 7},
            {"correction": 2},
            {"ddof": 2, "keepdims": True},
        ):
            for axis in (None, 0, -1):
                with np.errstate(all="ignore"):
                    wanted = function(values, axis=axis, **options)
                found = function(jt.constant(values), axis=axis, **options).numpy()
                assert found.dtype == wanted.dtype
                np.testing.assert_allclose(found, wanted, rtol=1e-6)


TOTALS: tuple[tuple[Any, str], ...] = (
    ([100, 100], "int8"), ([100.0, 100.0], "int8"), ([3, 1, -1], "uint32"), ([60000, 60000], "uint16"),
    ([2**62] * 3, "int64"), ([1e4] * 9, "float16"), ([-1, 1, 0], "uint8"), ([True, False], "bool"),
    ([1.5, 2.5], "int64"),
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize(("values", "dtype"), TOTALS)
def test_totals_of_means_may_overflow(values: list[Any], dtype: str):
    """The mean was that of a total without bounds: 100 for two 100 in int8, where NumPy gives -28."""
    a = np.array([values, values])
    x, some = jt.constant(a), np.array([[True], [True]])
    for axis in (None, 0, 1):
        for options in ({}, {"keepdims": True}, {"where": some}):
            wanted = np.mean(a, axis=axis, dtype=dtype, **options)
            for call in (np.mean, jnp.mean, lambda x, **kwargs: x.mean(**kwargs)):
                found = call(x, axis=axis, dtype=dtype, **options).numpy()
                assert found.dtype == wanted.dtype
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "uint8", "complex64"])
def test_the_step_of_linspace_has_the_dtype_of_its_numbers(dtype: str):
    """It was float64 next to a Python number."""
    start = np.array([5, 2], dtype)
    for stop in (1, 1.5, start[:1], start.real.astype("float32"), np.float64(3)):
        for options in ({}, {"endpoint": False}, {"axis": -1}, {"dtype": "float64"}):
            if "dtype" in options and start.dtype.kind == "c":
                continue  # NumPy warns
            wanted = np.linspace(start, stop, 3, retstep=True, **options)
            found = np.linspace(jt.constant(start), stop, 3, retstep=True, **options)
            for ours, theirs in zip(found, wanted, strict=True):
                assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
                np.testing.assert_allclose(ours.numpy(), theirs, rtol=2e-3)
