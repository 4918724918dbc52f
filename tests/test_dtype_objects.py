"""`DType`: the dtype that users see has TensorFlow's attributes, and NumPy takes it as its own."""

import copy
import pickle

import numba
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import jittape as jt
from jittape import DType, DTypeError

NAMES = ["bool", "float16", "float32", "float64", "complex64", "complex128"] + [
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
]
OBJECTS = [getattr(jt, name) for name in NAMES]
d, i = jt.float32, jt.int32
f4, i4 = np.dtype("float32"), np.dtype("int32")
X = np.arange(6.0).reshape(2, 3)


def test_all_public_dtypes_are_of_this_type():
    x = jt.ones([2], jt.float32)
    for dtype in (x.dtype, jt.Variable(x).dtype, (x + x).dtype, jt.TensorSpec([2], "float32").dtype):
        assert type(dtype) is DType
        assert dtype is jt.float32
    assert isinstance(x.dtype, DType)
    assert jt.IndexedSlices(x, [0, 1]).dtype is jt.float32
    assert (jt.half, jt.double) == (jt.float16, jt.float64)
    assert jt.dtypes.float32 is jt.float32


@pytest.mark.parametrize(("name", "dtype"), [*zip(NAMES, OBJECTS, strict=True)])
def test_it_is_equal_to_numpys_dtype_and_has_its_attributes(name, dtype):
    own = np.dtype(name)
    assert type(dtype) is DType
    assert jt.zeros([1], name).dtype is jt.as_dtype(own) is jt.dtypes.as_dtype(name) is dtype
    for other in (own, own.type, name):
        assert dtype == other
        assert other == dtype
        assert dtype.__ne__(other) is False
    assert hash(dtype) == hash(own)
    assert {own: 1}[dtype] == {dtype: 1}[own] == 1
    assert np.dtype(dtype) is own
    for attribute in (
        "name", "kind", "itemsize", "char", "str", "type", "num", "byteorder", "isnative", "shape", "fields", "base",
    ):  # fmt: skip
        assert getattr(dtype, attribute) == getattr(own, attribute)
    assert dtype.newbyteorder(">") == own.newbyteorder(">")
    assert str(dtype) == f"{dtype}" == name
    assert repr(dtype) == f"jt.{name}"
    assert isinstance(dtype, np.dtype)


def test_it_differs_from_other_dtypes():
    for other in (jt.float64, np.float64, np.dtype("int32"), "float64", None, 3, "nonsense"):
        assert d != other
        assert other != d
    assert None not in (d, i)


@pytest.mark.parametrize("dtype", OBJECTS, ids=NAMES)
def test_it_pickles_and_copies_as_the_same_object(dtype):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(dtype, protocol)) is dtype
    assert copy.deepcopy([dtype])[0] is dtype
    assert copy.copy(dtype) is dtype


# ---- TensorFlow's attributes: values of TensorFlow 2.21 --------------------------------------------------------------


@pytest.mark.parametrize(
    ("kinds", "attribute"),
    [
        (("float16", "float32", "float64"), "is_floating"),
        ([name for name in NAMES if "int" in name], "is_integer"),
        (("uint8", "uint16", "uint32", "uint64"), "is_unsigned"),
        (("complex64", "complex128"), "is_complex"),
        (("bool",), "is_bool"),
        ([name for name in NAMES if name != "bool"], "is_numeric"),
        ((), "is_quantized"),
        (NAMES, "is_numpy_compatible"),
    ],
)
def test_kinds(kinds, attribute):
    assert {name for name in NAMES if getattr(getattr(jt, name), attribute) is True} == set(kinds)
    assert {getattr(getattr(jt, name), attribute) for name in NAMES} <= {True, False}


def test_sizes_and_related_dtypes():
    assert (d.size, jt.complex128.size, jt.bool.size) == (4, 16, 1)
    assert d.as_numpy_dtype is np.float32
    assert d.base_dtype is d
    assert (jt.complex64.real_dtype, jt.complex128.real_dtype) == (jt.float32, jt.float64)
    assert d.real_dtype is d
    assert d.is_compatible_with("float32")
    assert not d.is_compatible_with(np.float64)
    assert not hasattr(d, "as_datatype_enum")
    with pytest.raises(AttributeError, match="use name"):
        _ = d.as_datatype_enum


def test_extremes():
    assert (d.min, d.max) == (np.float32(-3.4028235e38), np.float32(3.4028235e38))
    assert type(d.max) is np.float32
    assert (i.min, i.max, jt.uint8.min, jt.uint8.max) == (-(2**31), 2**31 - 1, 0, 255)
    assert type(i.max) is int
    assert jt.float16.max == np.float16(65504)
    for dtype in (jt.bool, jt.complex64):
        with pytest.raises(TypeError, match="has no max"):
            _ = dtype.max
        with pytest.raises(TypeError, match="has no min"):
            _ = dtype.min


def test_limits():
    assert (d.limits, i.limits, jt.bool.limits) == ((0, 1), (0, 2**31 - 1), (0, True))
    with pytest.raises(ValueError, match="has no limits"):
        _ = jt.complex64.limits


@pytest.mark.parametrize("value", [None, "nonsense", "S3", object, "datetime64[s]"])
def test_what_is_no_dtype_is_refused(value):
    with pytest.raises(DTypeError):
        jt.as_dtype(value)


def test_a_missing_attribute_is_an_attribute_error():
    assert not hasattr(d, "nonsense")
    assert not hasattr(d, "__array__")


# ---- everywhere that NumPy takes a dtype -----------------------------------------------------------------------------

NUMPY = {
    "zeros": lambda: np.zeros(3, d).dtype == f4,
    "array": lambda: np.array([1, 2], dtype=d).dtype == f4,
    "asarray": lambda: np.asarray([1, 2], d).dtype == f4,
    "require": lambda: np.require(X, d).dtype == f4,
    "empty_like": lambda: np.empty_like(X, d).dtype == f4,
    "full": lambda: np.full(2, 1, d).dtype == f4,
    "arange": lambda: np.arange(3, dtype=d).dtype == f4,
    "linspace": lambda: np.linspace(0, 1, 3, dtype=d).dtype == f4,
    "eye": lambda: np.eye(2, dtype=d).dtype == f4,
    "frombuffer": lambda: np.frombuffer(b"1234", d).dtype == f4,
    "fromiter": lambda: np.fromiter([1, 2], d).dtype == f4,
    "loadtxt": lambda: np.loadtxt(["1 2"], dtype=d).dtype == f4,
    "ndarray": lambda: np.ndarray((2,), d).dtype == f4,
    "masked": lambda: np.ma.zeros(3, d).dtype == f4,
    "astype": lambda: X.astype(d).dtype == f4,
    "view": lambda: np.zeros(3, f4).view(i).dtype == i4,
    "getfield": lambda: np.zeros(3).getfield(i).dtype == i4,
    "ufunc": lambda: np.add(X, X, dtype=d, casting="unsafe").dtype == f4,
    "signature": lambda: np.add(X, X, signature=(d, d, d), casting="unsafe").dtype == f4,
    "sum": lambda: X.sum(dtype=d).dtype == f4,
    "mean": lambda: np.mean(X, dtype=d).dtype == f4,
    "cumsum": lambda: np.cumsum(X, dtype=d).dtype == f4,
    "reduce": lambda: np.add.reduce(X, dtype=d).dtype == f4,
    "concatenate": lambda: np.concatenate([X, X], dtype=d, casting="unsafe").dtype == f4,
    "einsum": lambda: np.einsum("ij->i", X, dtype=d, casting="unsafe").dtype == f4,
    "vectorize": lambda: np.vectorize(lambda x: x, otypes=[d])(X).dtype == f4,
    "nditer": lambda: np.nditer(X, ["buffered"], op_dtypes=[d], casting="unsafe").dtypes[0] == f4,
    "result_type": lambda: np.result_type(d, i) == np.float64,
    "result_type of a number": lambda: np.result_type(d, 1.0) == f4,
    "promote_types": lambda: np.promote_types(d, np.float64) == np.float64,
    "can_cast": lambda: np.can_cast(d, np.float64) and not np.can_cast(np.float64, d),
    "finfo": lambda: np.finfo(d).eps == np.finfo(f4).eps,
    "iinfo": lambda: np.iinfo(i).max == 2**31 - 1,
    "issubdtype": lambda: np.issubdtype(d, np.floating) and not np.issubdtype(d, np.integer),
    "isdtype": lambda: np.isdtype(d, "real floating") and np.isdtype(f4, d),
    "record": lambda: np.dtype([("a", d)])["a"] == f4,
    "subarray": lambda: np.dtype((d, 3)).base == f4,
    "format": lambda: np.lib.format.dtype_to_descr(d) == "<f4",
    "random": lambda: np.random.default_rng(0).random(3, dtype=d).dtype == f4,
    "integers": lambda: np.random.default_rng(0).integers(0, 5, 3, dtype=i).dtype == i4,
    "order": lambda: d < np.float64 and np.dtype("int8") < d and d <= d and d >= d and jt.float64 > d,
    "scalar": lambda: d.type(3).dtype == f4,
}


@pytest.mark.parametrize("call", NUMPY.values(), ids=NUMPY)
def test_numpy_takes_it(call):
    assert call()


def test_scipy_takes_it():
    assert scipy.sparse.csr_array((2, 2), dtype=d).dtype == f4
    assert scipy.sparse.coo_array(X).astype(d).dtype == f4
    assert scipy.linalg.get_blas_funcs("gemm", dtype=d).typecode == "s"


@numba.njit
def zeros(n, dtype):
    return np.zeros(n, dtype)


@numba.njit
def zeros_of_a_global(n):
    return np.zeros(n, d)


def test_numba_takes_it():
    assert zeros(3, d).dtype == f4
    assert zeros_of_a_global(3).dtype == f4
    assert numba.from_dtype(d) == numba.float32


# ---- jittape ---------------------------------------------------------------------------------------------------------


def test_jittape_takes_it():
    x = jt.ones([2], jt.float64)
    assert jt.cast(x, d).dtype == jt.constant([1, 2], d).dtype == jt.zeros([2], d).dtype == f4
    assert jt.Variable(1, dtype=d).dtype == f4
    assert jt.random.normal([2], dtype=d).dtype == f4
    assert x.numpy().astype(jt.float32).dtype == f4
    assert np.zeros_like(x, dtype=d).dtype == f4


def test_a_traced_function_takes_both_kinds_of_dtypes():
    @jt.function
    def f(x, dtype):
        return jt.cast(x, dtype)

    x = jt.ones([2])
    assert f(x, jt.float64).dtype == f(x, np.dtype("float64")).dtype == np.float64
    assert f(x, jt.int32).dtype == np.int32


def test_the_avals_of_tensors_have_numpys_dtypes():
    x = jt.Variable(jt.zeros([2], jt.float32), dtype=jt.float64)
    for tensor in (x, x + 1.0, jt.cast(x, jt.int32), jt.zeros_like(x, dtype=jt.float32)):
        assert issubclass(type(tensor.aval.dtype), np.dtype)
        assert type(tensor.aval.shape) is tuple
