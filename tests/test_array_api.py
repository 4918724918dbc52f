"""The Array API standard 2024.12: names, parameters, dtypes and special values, against NumPy's answers.

`array_api_names.json` has the number of positional-only parameters of each function, and the names of
the others. Another list gives calls of each of them with the standard's arguments.
"""

from __future__ import annotations

import inspect
import itertools
import json
import operator
from pathlib import Path

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp

NAMES = json.loads((Path(__file__).parent / "array_api_names.json").read_text())
FUNCTIONS = {name: spec for name, spec in NAMES.items() if spec is not None}


def at(namespace, name):
    return operator.attrgetter(name)(namespace)


def compare(found, wanted):
    """Check that results have the values, dtypes and shapes of NumPy's results."""
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        if hasattr(wanted, "_fields"):
            assert found._fields == wanted._fields
        for one, other in zip(found, wanted, strict=True):
            compare(one, other)
    elif isinstance(wanted, (np.ndarray, np.generic)):
        assert isinstance(found, jt.Tensor)
        assert (found.dtype, tuple(found.shape)) == (wanted.dtype, wanted.shape)
        tolerance = 1e-5 if wanted.dtype in (np.float32, np.complex64) else 1e-12
        np.testing.assert_allclose(found.numpy(), wanted, rtol=tolerance, atol=tolerance * 1e-3)
    else:
        assert found == wanted


# ---- names and parameters --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_standard_exists(name):
    assert at(jnp, name) is not NotImplemented
    assert name.split(".")[-1] in dir(at(jnp, name.rpartition(".")[0]) if "." in name else jnp)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_takes_the_parameters_of_the_standard(name):
    positional, named = FUNCTIONS[name]
    inspect.signature(at(jnp, name)).bind(*range(positional), **dict.fromkeys(named))


def test_a_tensor_has_the_attributes_and_methods_of_the_standard():
    x = jnp.ones((2, 2))
    names = (
        "dtype device mT ndim shape size T __abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ "
        "__dlpack_device__ __eq__ __float__ __floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__ "
        "__lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ "
        "__sub__ __truediv__ __xor__ __radd__ __rsub__ __rmul__ __rtruediv__ __rpow__ __rmatmul__ to_device"
    )
    assert [name for name in names.split() if not hasattr(x, name)] == []


# ---- the namespace and its description -------------------------------------------------------------------------------


def test_a_tensor_names_its_namespace():
    for x in (jnp.ones(2), jt.Variable([1.0])):
        assert x.__array_namespace__() is jnp
        assert x.__array_namespace__(api_version="2024.12") is jnp
        with pytest.raises(ValueError, match="api_version must be '2024.12'"):
            x.__array_namespace__(api_version="2019.01")
    assert jnp.__array_api_version__ == "2024.12"


def test_the_namespace_describes_itself():
    info = jnp.__array_namespace_info__()
    assert info.capabilities() == {
        "boolean indexing": True,
        "data-dependent shapes": True,
        "max dimensions": 64,
    }
    assert info.devices() == [info.default_device()] == [jnp.ones(1).device]
    for kind, dtype in info.default_dtypes().items():
        value = {"real floating": 1.0, "complex floating": 1j, "integral": 1, "indexing": 1}[kind]
        assert jnp.asarray(value).dtype == dtype
    assert set(info.dtypes()) == set(np.__array_namespace_info__().dtypes())
    assert list(info.dtypes(kind="real floating")) == ["float32", "float64"]
    assert list(info.dtypes(kind=("bool", "unsigned integer"))) == [
        "bool",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
    ]
    with pytest.raises(ValueError, match="kind must be one of"):
        info.dtypes(kind="quaternion")


def test_the_device_has_the_names_of_numpy_and_of_tensorflow():
    device = jnp.ones(1).device
    assert device == "cpu" == str.__str__(device)
    assert device == str(device) == "/job:localhost/replica:0/task:0/device:CPU:0"
    assert "CPU" in device
    assert f"{device}".endswith("CPU:0")
    assert device != "gpu"
    assert np.zeros(1, device=device).device == "cpu"
    x = jnp.ones(2)
    assert x.to_device(device) is x
    with pytest.raises(ValueError, match="device must be 'cpu'"):
        x.to_device("gpu")


# ---- exchange --------------------------------------------------------------------------------------------------------


def test_dlpack_goes_out_read_only_and_comes_in():
    x = jnp.arange(6.0).reshape(2, 3) * 2.0
    array = np.from_dlpack(x)
    assert not array.flags.writeable
    assert np.shares_memory(array, x.numpy())
    np.testing.assert_array_equal(array, x.numpy())
    assert x.__dlpack_device__() == np.ones(1).__dlpack_device__()

    class OldConsumer:
        __dlpack_device__ = x.__dlpack_device__

        def __dlpack__(self, **kwargs):
            return x.__dlpack__()

    copied = np.from_dlpack(OldConsumer())
    np.testing.assert_array_equal(copied, x.numpy())
    assert not np.shares_memory(copied, x.numpy())
    mine = np.arange(3.0)
    tensor = jnp.from_dlpack(mine)
    mine[:] = 7.0
    assert tensor.tolist() == [0.0, 1.0, 2.0]
    assert jnp.from_dlpack(x) is x


def test_an_export_within_a_tape_is_an_exit():
    x = jt.Variable([1.0, 2.0])
    with pytest.warns(jt.TapeExitWarning), jt.GradientTape() as tape:
        lost = jnp.from_dlpack(np.from_dlpack(x.value()))
    with pytest.warns(jt.UnconnectedGradientWarning):
        assert tape.gradient(lost, x) is None


# ---- dtypes ----------------------------------------------------------------------------------------------------------

DTYPES = sorted(jnp.__array_namespace_info__().dtypes())


@pytest.mark.parametrize("left", DTYPES)
def test_promotion_follows_the_table(left):
    for right in DTYPES:
        wanted = np.result_type(np.dtype(left), np.dtype(right))
        one, other = jnp.ones(2, dtype=at(jnp, left)), jnp.ones(2, dtype=at(jnp, right))
        assert jnp.result_type(at(jnp, left), at(jnp, right)) == wanted
        assert jnp.result_type(one, other) == wanted
        assert jnp.concat([one, other]).dtype == wanted
        assert jnp.where(one.astype(bool), one, other).dtype == wanted
        for function in ("add", "multiply", "maximum") if wanted.kind != "c" else ("add", "multiply"):
            assert at(jnp, function)(one, other).dtype == wanted, (function, right)
        assert jnp.can_cast(one, at(jnp, right)) == np.can_cast(np.dtype(left), np.dtype(right))
    for scalar in (True, 1, 1.5, 1j):
        one = jnp.ones(2, dtype=at(jnp, left))
        assert (one * scalar).dtype == (np.ones(2, left) * scalar).dtype, scalar
        assert jnp.multiply(scalar, one).dtype == np.multiply(scalar, np.ones(2, left)).dtype, scalar


@pytest.mark.parametrize("dtype", DTYPES)
def test_limits_and_kinds(dtype):
    kinds = (
        "bool",
        "signed integer",
        "unsigned integer",
        "integral",
        "real floating",
        "complex floating",
        "numeric",
    )
    for kind in kinds:
        assert jnp.isdtype(at(jnp, dtype), kind) == np.isdtype(np.dtype(dtype), kind)
    if np.dtype(dtype).kind in "iu":
        limits = jnp.iinfo(jnp.ones(1, dtype=dtype))
        assert (limits.min, limits.max, limits.bits) == (
            np.iinfo(dtype).min,
            np.iinfo(dtype).max,
            np.iinfo(dtype).bits,
        )
    if np.dtype(dtype).kind in "fc":
        for field in ("eps", "max", "min", "smallest_normal", "bits"):
            assert getattr(jnp.finfo(at(jnp, dtype)), field) == getattr(np.finfo(dtype), field)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_and_products_widen(dtype):
    x = np.ones(3, dtype)
    for name in ("sum", "prod", "cumulative_sum", "cumulative_prod"):
        assert at(jnp, name)(jnp.asarray(x)).dtype == at(np, name)(x).dtype, name


# ---- special values --------------------------------------------------------------------------------------------------

UNARY = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan log log1p log2 log10 "
    "negative positive reciprocal round sign signbit sin sinh square sqrt tan tanh trunc"
)
BINARY = (
    "add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal logaddexp maximum "
    "minimum multiply nextafter not_equal pow remainder subtract"
)
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0]


def same_special(found, wanted, eps):
    found = found.numpy()
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=8 * eps, atol=0.0)
    if wanted.dtype.kind == "f":
        known = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(wanted[known]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY.split())
def test_special_values_of_a_function(name, dtype):
    x = np.array(SPECIAL, dtype)
    with np.errstate(all="ignore"):
        wanted = at(np, name)(x)
        for _ in range(2):
            same_special(at(jnp, name)(jnp.asarray(x)), wanted, np.finfo(dtype).eps)


@pytest.mark.parametrize("name", BINARY.split())
def test_special_values_of_a_function_of_two(name):
    x, y = np.array(list(itertools.product(SPECIAL, repeat=2))).T
    with np.errstate(all="ignore"):
        wanted = at(np, name)(x, y)
        for _ in range(2):
            same_special(at(jnp, name)(jnp.asarray(x), jnp.asarray(y)), wanted, np.finfo(np.float64).eps)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
def test_integers(dtype):
    x = np.array([0, 1, 2, 5, 100], dtype)
    y = np.array([1, 3, 2, 7, 9], dtype)
    for name in (
        "floor_divide",
        "remainder",
        "maximum",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "subtract",
    ):
        compare(at(jnp, name)(jnp.asarray(x), jnp.asarray(y)), at(np, name)(x, y))
    small = np.array([1, 2, 0, 3, 1], dtype)
    for name in ("bitwise_left_shift", "bitwise_right_shift", "pow"):
        compare(at(jnp, name)(jnp.asarray(small), jnp.asarray(small)), at(np, name)(small, small))
    for name in ("abs", "bitwise_invert", "ceil", "floor", "trunc", "round", "sign", "square", "positive"):
        compare(at(jnp, name)(jnp.asarray(x)), at(np, name)(x))


# ---- calls -----------------------------------------------------------------------------------------------------------

M = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
V = np.array([3.0, 1.0, 2.0, 1.0, 3.0])
C = np.array([1 + 2j, 3 - 1j])


def calls(xp):
    """Return a call for each function of the standard that is not elementwise."""
    m, v, c = xp.asarray(M), xp.asarray(V), xp.asarray(C)
    b, t = v > 1.5, xp.reshape(xp.arange(24.0), (2, 3, 4))
    f = xp.fft
    return {
        "all": lambda: xp.all(m > 0.3, axis=1, keepdims=True),
        "any": lambda: xp.any(m > 3.5, axis=(0, 1)),
        "arange": lambda: (xp.arange(3), xp.arange(1, 4, 2, dtype=xp.float32), xp.arange(0.0, 1.0, 0.25)),
        "argmax": lambda: (xp.argmax(m), xp.argmax(m, axis=1, keepdims=True)),
        "argmin": lambda: (xp.argmin(m), xp.argmin(m, axis=0)),
        "argsort": lambda: (xp.argsort(v, stable=True), xp.argsort(m, axis=0)),
        "asarray": lambda: (xp.asarray([1, 2]), xp.asarray(True), xp.asarray(v, copy=True, dtype=xp.float32)),
        "astype": lambda: (xp.astype(v, xp.int32), xp.astype(v, xp.float64, copy=False)),
        "broadcast_arrays": lambda: xp.broadcast_arrays(v[:3], m),
        "broadcast_shapes": lambda: xp.broadcast_shapes((2, 1), (3,)),
        "broadcast_to": lambda: xp.broadcast_to(v, (2, 5)),
        "can_cast": lambda: xp.can_cast(xp.float32, xp.float64),
        "clip": lambda: (xp.clip(v, 1.5, 2.5), xp.clip(v, min=2), xp.clip(v, max=v[0])),
        "concat": lambda: (xp.concat([m, m], axis=1), xp.concat((m, v), axis=None)),
        "conj": lambda: xp.conj(c),
        "count_nonzero": lambda: (xp.count_nonzero(b), xp.count_nonzero(m > 1, axis=0, keepdims=True)),
        "cumulative_prod": lambda: xp.cumulative_prod(v, include_initial=True),
        "cumulative_sum": lambda: (xp.cumulative_sum(v), xp.cumulative_sum(m, axis=1, include_initial=True)),
        "diff": lambda: (xp.diff(v, n=2), xp.diff(m, axis=0, prepend=m[:1], append=m[:2])),
        "empty": lambda: xp.empty((2, 0), dtype=xp.int16),
        "empty_like": lambda: xp.empty_like(v[:0]),
        "expand_dims": lambda: xp.expand_dims(m, axis=1),
        "eye": lambda: (xp.eye(2), xp.eye(2, 3, k=1, dtype=xp.int8)),
        "flip": lambda: (xp.flip(m), xp.flip(m, axis=1)),
        "full": lambda: (xp.full((2,), 1), xp.full(2, 1.5, dtype=xp.float32), xp.full((), True)),
        "full_like": lambda: xp.full_like(v, 2.0, dtype=xp.float32),
        "imag": lambda: xp.imag(c),
        "isdtype": lambda: xp.isdtype(xp.float32, (xp.float32, "bool")),
        "isin": lambda: xp.isin(v, xp.asarray([1.0, 2.0]), invert=True),
        "linspace": lambda: (
            xp.linspace(0.0, 1.0, 3),
            xp.linspace(0, 1, num=4, endpoint=False, dtype=xp.float32),
        ),
        "logical_and": lambda: xp.logical_and(b, ~b),
        "logical_not": lambda: xp.logical_not(b),
        "logical_or": lambda: xp.logical_or(b, ~b),
        "logical_xor": lambda: xp.logical_xor(b, b),
        "matmul": lambda: (xp.matmul(m, m), xp.matmul(m, v[:3])),
        "matrix_transpose": lambda: xp.matrix_transpose(t),
        "max": lambda: (xp.max(m), xp.max(m, axis=(0, 1), keepdims=True)),
        "mean": lambda: (xp.mean(m), xp.mean(m, axis=1)),
        "meshgrid": lambda: tuple(xp.meshgrid(v[:2], v[2:], indexing="ij")),
        "min": lambda: xp.min(m, axis=0),
        "moveaxis": lambda: xp.moveaxis(t, (0, 1), (2, 0)),
        "nonzero": lambda: xp.nonzero(m > 1),
        "ones": lambda: (xp.ones((2, 1)), xp.ones(3, dtype=xp.bool)),
        "ones_like": lambda: xp.ones_like(b),
        "permute_dims": lambda: xp.permute_dims(t, (2, 0, 1)),
        "prod": lambda: xp.prod(m, axis=0, dtype=xp.float32),
        "real": lambda: xp.real(c),
        "repeat": lambda: (xp.repeat(v, 2), xp.repeat(m, xp.asarray([1, 0, 2]), axis=0)),
        "reshape": lambda: (xp.reshape(t, (4, -1)), xp.reshape(v, (5, 1), copy=True)),
        "result_type": lambda: xp.result_type(xp.float32, v),
        "roll": lambda: (xp.roll(v, 2), xp.roll(t, (1, -1), axis=(0, 2))),
        "searchsorted": lambda: xp.searchsorted(xp.sort(v), xp.asarray([1.0, 2.5]), side="right"),
        "sort": lambda: (xp.sort(v), xp.sort(m, axis=0, stable=False)),
        "squeeze": lambda: xp.squeeze(t[:1], axis=0),
        "stack": lambda: xp.stack([v, v], axis=-1),
        "std": lambda: (xp.std(m, correction=1.0), xp.std(m, axis=0, keepdims=True)),
        "sum": lambda: (xp.sum(m, axis=(0, 1)), xp.sum(b), xp.sum(v, dtype=xp.float32)),
        "take": lambda: xp.take(m, xp.asarray([2, 0]), axis=1),
        "take_along_axis": lambda: xp.take_along_axis(m, xp.argsort(m, axis=1), axis=1),
        "tensordot": lambda: (xp.tensordot(m, m), xp.tensordot(t, m, axes=((1,), (0,)))),
        "tile": lambda: xp.tile(m, (2, 1, 2)),
        "tril": lambda: xp.tril(m, k=-1),
        "triu": lambda: xp.triu(t, k=1),
        "unique_all": lambda: xp.unique_all(v),
        "unique_counts": lambda: xp.unique_counts(v),
        "unique_inverse": lambda: xp.unique_inverse(v),
        "unique_values": lambda: xp.unique_values(v),
        "unstack": lambda: xp.unstack(t, axis=1),
        "var": lambda: xp.var(m, axis=1, correction=1),
        "vecdot": lambda: xp.vecdot(c, c),
        "where": lambda: (xp.where(b, v, -v), xp.where(b, v, 0.0), xp.where(b, 1, v)),
        "zeros": lambda: xp.zeros((2, 3), dtype=xp.complex64),
        "zeros_like": lambda: xp.zeros_like(v, dtype=xp.int8),
        "linalg.cholesky": lambda: (xp.linalg.cholesky(m), xp.linalg.cholesky(m, upper=True)),
        "linalg.cross": lambda: xp.linalg.cross(m, m[::-1], axis=0),
        "linalg.det": lambda: xp.linalg.det(m),
        "linalg.diagonal": lambda: xp.linalg.diagonal(t, offset=1),
        "linalg.eigh": lambda: xp.linalg.eigh(m).eigenvalues,
        "linalg.eigvalsh": lambda: xp.linalg.eigvalsh(m),
        "linalg.inv": lambda: xp.linalg.inv(m),
        "linalg.matmul": lambda: xp.linalg.matmul(m, m),
        "linalg.matrix_norm": lambda: [
            xp.linalg.matrix_norm(m, ord=o) for o in ("fro", "nuc", 1, -1, 2, -2, xp.inf)
        ],
        "linalg.matrix_power": lambda: [xp.linalg.matrix_power(m, n) for n in (-2, 0, 3)],
        "linalg.matrix_rank": lambda: (xp.linalg.matrix_rank(m), xp.linalg.matrix_rank(m, rtol=0.5)),
        "linalg.matrix_transpose": lambda: xp.linalg.matrix_transpose(m),
        "linalg.outer": lambda: xp.linalg.outer(v, c),
        "linalg.pinv": lambda: (xp.linalg.pinv(m[:2]), xp.linalg.pinv(m, rtol=0.5)),
        "linalg.qr": lambda: xp.abs(xp.linalg.qr(m[:, :2], mode="complete").R),
        "linalg.slogdet": lambda: xp.linalg.slogdet(-m),
        "linalg.solve": lambda: (xp.linalg.solve(m, m[0]), xp.linalg.solve(m, m[:, :2])),
        "linalg.svd": lambda: xp.linalg.svd(m, full_matrices=False).S,
        "linalg.svdvals": lambda: xp.linalg.svdvals(m),
        "linalg.tensordot": lambda: xp.linalg.tensordot(m, m, axes=1),
        "linalg.trace": lambda: xp.linalg.trace(m, offset=1, dtype=xp.float32),
        "linalg.vecdot": lambda: xp.linalg.vecdot(m, m, axis=0),
        "linalg.vector_norm": lambda: [
            xp.linalg.vector_norm(m, axis=0, ord=o) for o in (0, 1, 2, 3.5, xp.inf, -xp.inf)
        ],
        "fft.fft": lambda: f.fft(v, n=6, norm="ortho"),
        "fft.ifft": lambda: f.ifft(c),
        "fft.fftn": lambda: f.fftn(m, axes=(0, 1)),
        "fft.ifftn": lambda: f.ifftn(m, s=(2, 2), axes=(0, 1)),
        "fft.rfft": lambda: f.rfft(v),
        "fft.irfft": lambda: f.irfft(c, n=4),
        "fft.rfftn": lambda: f.rfftn(m),
        "fft.irfftn": lambda: f.irfftn(xp.astype(m, xp.complex128)),
        "fft.hfft": lambda: f.hfft(c),
        "fft.ihfft": lambda: f.ihfft(v, norm="forward"),
        "fft.fftfreq": lambda: f.fftfreq(5, d=0.5),
        "fft.rfftfreq": lambda: f.rfftfreq(6),
        "fft.fftshift": lambda: f.fftshift(m, axes=1),
        "fft.ifftshift": lambda: f.ifftshift(v),
    }


CALLED = sorted(calls(np))


def test_each_function_of_the_standard_is_called():
    elementwise = {*UNARY.split(), *BINARY.split()}
    elsewhere = {"finfo", "iinfo", "from_dlpack"} | {name for name in NAMES if name.startswith("bitwise_")}
    assert {*CALLED, *elementwise, *elsewhere} == set(FUNCTIONS)


@pytest.mark.parametrize("name", CALLED)
def test_a_function_of_the_standard_gives_what_numpy_gives(name):
    wanted = calls(np)[name]()
    for _ in range(2):
        compare(calls(jnp)[name](), wanted)


def test_sorts_in_descending_order():
    x = jnp.asarray([3.0, 1.0, 2.0, 3.0, 1.0])
    assert jnp.sort(x, descending=True).tolist() == [3.0, 3.0, 2.0, 1.0, 1.0]
    assert jnp.argsort(x, descending=True, stable=True).tolist() == [0, 3, 2, 1, 4]
    assert jnp.argsort(jnp.asarray([[1, 2], [2, 1]]), axis=0, descending=True).tolist() == [[1, 0], [0, 1]]
