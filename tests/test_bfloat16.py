"""bfloat16: exact casts, ops computed in float32 and rounded once, and what users do with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape import optimizers
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.core.dtypes import SUPPORTED, common_dtype, float_limits, is_floating
from jittape.core.interpret import interpret
from jittape.core.primitive import apply
from jittape.core.program import Program
from jittape.core.simplify import simplify
from jittape.errors import DTypeError, WeightsError
from jittape.vectormath import NumPyMath, half
from primitive_table import Row
from processes import run_python
from programs import compiled, gradient_program, program_of
from test_primitives import DIFFERENTIABLE, ROWS

Array = np.ndarray[Any, Any]

BF16 = jt.bfloat16
ALL = np.arange(2**16, dtype=np.uint16).view(BF16)
"""All numbers of the dtype."""
OTHERS = sorted(d.name for d in SUPPORTED if d != BF16)


def assert_same_bits(got: Array, expected: Array) -> None:
    """Require equal bits; a nan may have any payload."""
    assert got.dtype == expected.dtype
    with np.errstate(invalid="ignore"):
        nan = expected != expected
        np.testing.assert_array_equal(got != got, nan)
    bits = f"u{got.itemsize}"
    np.testing.assert_array_equal(got[~nan].view(bits), expected[~nan].view(bits))


def both(function: Callable[..., Any], *operands: Array) -> list[Array]:
    """Return the interpreted and the compiled result of a function that has no NumPy step."""
    program = simplify(program_of(function, *operands))
    assert all(isinstance(step.kernel, LoopKernel) for step in schedule(program).steps)
    return [*interpret(program, operands), *compiled(program, operands)]


# ---- casts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", OTHERS)
def test_casts_of_every_number(dtype: str) -> None:
    wide = ALL.astype(np.float32)
    with np.errstate(all="ignore"):
        expected = wide.astype(bool) if dtype == "bool" else ALL.astype(dtype)
    fits = np.ones(ALL.shape, bool)
    if np.dtype(dtype).kind in "iu":  # NumPy does not define other results
        limits = np.iinfo(dtype)
        fits = np.isfinite(wide) & (wide >= float(limits.min)) & (wide < float(limits.max))
    for got in both(lambda x: jt.cast(x, dtype), ALL):
        if np.dtype(dtype).kind == "f":
            assert_same_bits(got, expected)
        np.testing.assert_array_equal(got[fits], expected[fits])
    interpreted, in_loops = both(lambda x: jt.cast(x, dtype), ALL)
    np.testing.assert_array_equal(interpreted, in_loops)


def numbers_of(dtype: str) -> Array:
    """Return numbers of a dtype, among them midpoints of bfloat16 numbers, their neighbors, and special ones."""
    generator = np.random.default_rng(0)
    if dtype == "bool":
        return np.array([True, False])
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        random = generator.integers(limits.min, limits.max, 5000, dtype, endpoint=True)
        return np.concatenate([random, np.array([limits.min, limits.max, 0, 1], dtype)])
    middle = (generator.integers(0, 2**16, 5000).astype(np.uint32) << 16 | 0x8000).view(np.float32)
    random = generator.integers(0, 2**32, 5000, np.uint32).view(np.float32)
    special = np.array(
        [np.inf, -np.inf, np.nan, -0.0, 1e-45, -1e-40, 3.3961e38, -3.4e38, 9.1e-41], np.float32
    )
    with np.errstate(all="ignore"):
        found = np.concatenate([middle, np.nextafter(middle, np.float32(np.inf)), random, special])
        if dtype == "float64":
            found = np.concatenate([found, [1e300, -1e-300, 1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8 - 2.0**-40]])
        return found.astype(dtype)


@pytest.mark.parametrize("dtype", OTHERS)
def test_casts_to_bfloat16(dtype: str) -> None:
    x = numbers_of(dtype)
    with np.errstate(all="ignore"):  # ml_dtypes rounds float64 by way of float32 before its version 0.7 only
        expected = x.real.astype(np.float32 if dtype == "float64" else x.real.dtype).astype(BF16)
    for got in both(lambda x: jt.cast(x, BF16), x):
        assert_same_bits(got, expected)


def test_float64_becomes_bfloat16_by_way_of_float32() -> None:
    """TensorFlow 2.21 gives 1 for this number just above the midpoint of 1 and its neighbor."""
    for _ in range(3):
        assert jt.cast(np.array([1 + 2.0**-8 + 2.0**-40]), BF16).numpy().view(np.uint16) == 0x3F80


def test_the_conversions_are_exact_and_keep_the_sign_of_nan() -> None:
    m, x = NumPyMath(), numbers_of("float32")
    np.testing.assert_array_equal(
        half.from_bfloat16(m, ALL.view(np.uint16)).view(np.uint32) >> 16, np.arange(2**16)
    )
    nan = np.array([0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF], np.uint32).view(np.float32)
    got = half.to_bfloat16(m, np.concatenate([x, nan]))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, np.concatenate([x, nan]).astype(BF16).view(np.uint16))


def test_a_cast_to_float32_and_back_is_removed() -> None:
    def there_and_back(x: Any) -> Any:
        return jt.cast(jt.cast(x, "float32"), BF16)

    assert simplify(program_of(there_and_back, ALL)).ops == ()
    lossy = simplify(program_of(lambda x: jt.cast(jt.cast(x, BF16), "float32"), np.ones(3, np.float32)))
    assert len(lossy.ops) == 2


# ---- ops -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "less", "equal"])
def test_arithmetic_has_the_bits_of_ml_dtypes(name: str) -> None:
    generator = np.random.default_rng(1)
    x, y = generator.permutation(ALL), generator.permutation(ALL)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x, y)
    for got in both(lambda x, y: apply(getattr(jt, name), (x, y)), x, y):
        assert_same_bits(got, expected)


def test_each_op_is_rounded() -> None:
    x, y = np.random.default_rng(2).standard_normal((2, 10_000)).astype(BF16)
    expected = np.sqrt(x * x + y * y * BF16.type(1.25))

    def chain(x: Any, y: Any) -> Any:
        return jt.sqrt(jt.add(jt.multiply(x, x), jt.multiply(jt.multiply(y, y), 1.25)))

    for got in both(chain, x, y):
        assert_same_bits(got, expected)
    single = np.sqrt(x.astype("f4") ** 2 + y.astype("f4") ** 2 * 1.25).astype(BF16)
    assert (single != expected).any()


@pytest.mark.parametrize("scalar", [2.1, 257, -1e-3])
def test_python_numbers_are_rounded_first(scalar: Any) -> None:
    x = jt.constant([1.5, 3.0], BF16)
    for _ in range(3):
        assert_same_bits((x * scalar).numpy(), x.numpy() * BF16.type(scalar))
        assert_same_bits((scalar - x).numpy(), BF16.type(scalar) - x.numpy())


def test_sums_and_products_are_computed_in_float32() -> None:
    x = np.random.default_rng(3).standard_normal((70, 300)).astype(BF16)
    wide = x.astype(np.float64)
    for function, reference in (
        (lambda x: jt.reduce_sum(x, 1), wide.sum(1)),
        (lambda x: jt.reduce_mean(x, 1), wide.mean(1)),
        (lambda x: jt.reduce_max(x, 1), wide.max(1)),
        (lambda x: jt.matmul(x, x, transpose_b=True), wide @ wide.T),
        (lambda x: jt.nn.softmax(x), np.exp(wide) / np.exp(wide).sum(1, keepdims=True)),
    ):
        program = simplify(program_of(function, x))
        for (got,) in (interpret(program, [x]), compiled(program, [x])):
            assert got.dtype == BF16
            np.testing.assert_allclose(got.astype(float), reference, rtol=2.0**-8 * 1.001, atol=1e-4)
    assert jt.reduce_sum(np.ones(30_000, BF16)).numpy() == BF16.type(30_000)


def as_bfloat16(operands: tuple[Any, ...], dtype: Any) -> tuple[Array, ...]:
    arrays = [np.asarray(x) for x in operands]
    return tuple(x.astype(BF16).astype(dtype) if x.dtype.kind == "f" else x for x in arrays)


def run(program: Program, operands: tuple[Array, ...]) -> Array:
    return interpret(simplify(program), operands)[0]


HALVES = [row for row in ROWS if "float16" in row.dtypes]


@pytest.mark.parametrize("row", HALVES, ids=str)
def test_ops_of_the_tables_round_the_results_of_float32(row: Row) -> None:
    """A row may be several ops, each of which is rounded."""
    for operands in (row.sample(np.random.default_rng(20)), *row.edges):
        narrow, wide = as_bfloat16(operands, BF16), as_bfloat16(operands, np.float32)
        with np.errstate(all="ignore"):
            program = program_of(row.function, *narrow)
            got, expected = run(program, narrow), run(program_of(row.function, *wide), wide)
        if expected.dtype == np.float32 and any(x.dtype == np.float32 for x in wide):
            assert got.dtype == BF16
            expected = expected.astype(BF16)
        assert got.dtype == expected.dtype
        if got.dtype == BF16:
            got, expected = got.astype(np.float32), expected.astype(np.float32)
        np.testing.assert_allclose(got, expected, rtol=0.03, atol=0.03)


@pytest.mark.parametrize("row", [row for row in DIFFERENTIABLE if "float16" in row.dtypes], ids=str)
def test_gradients_of_the_tables_are_those_of_float32(row: Row) -> None:
    found = []
    for dtype in (BF16, np.dtype(np.float32)):
        operands = as_bfloat16(row.sample(np.random.default_rng(20)), dtype)
        wrt = row.wrt if row.wrt is not None else tuple(i for i, x in enumerate(operands) if x.dtype == dtype)
        program = program_of(row.function, *operands)
        derived = gradient_program(program, wrt)
        assert [aval.dtype for aval in derived.output_avals()] == [operands[i].dtype for i in wrt]
        (value,) = program.output_avals()[:1]
        seed = np.random.default_rng(21).uniform(0.5, 1.0, value.shape).astype(BF16).astype(value.dtype)
        results = interpret(simplify(derived), (*operands, seed))
        found.append([np.asarray(g).astype(np.float64) for g in results])
    for got, expected in zip(*found, strict=True):
        scale = max(1.0, float(np.max(np.abs(expected), initial=0)))
        np.testing.assert_allclose(got, expected, rtol=0.05, atol=0.05 * scale)


PROMOTIONS = {
    "bool": "bfloat16", "int8": "bfloat16", "uint8": "bfloat16", "int16": "bfloat16", "uint16": "bfloat16",
    "int32": "float64", "uint32": "float64", "int64": "float64", "uint64": "float64",
    "float16": "float32", "float32": "float32", "float64": "float64",
    "complex64": "complex64", "complex128": "complex128", "bfloat16": "bfloat16",
}  # fmt: skip


@pytest.mark.parametrize("other", PROMOTIONS)
def test_promotion(other: str) -> None:
    x, y = jt.constant([1.0], BF16), jt.ones([1], other)
    assert (x + y).dtype == (y * x).dtype == jt.where([True], x, y).dtype == PROMOTIONS[other]
    assert common_dtype(BF16, np.dtype(other)) == np.result_type(x, y) == PROMOTIONS[other]


@pytest.mark.parametrize(("scalar", "dtype"), [(True, BF16), (2, BF16), (2.5, BF16), (1j, "complex64")])
def test_promotion_of_python_numbers(scalar: Any, dtype: Any) -> None:
    x = jt.constant([1.0], BF16)
    assert (x * scalar).dtype == (scalar + x).dtype == dtype
    assert (x * np.float32(2)).dtype == jt.float32
    assert (x * BF16.type(2)).dtype == BF16


# ---- special cases ---------------------------------------------------------------------------------------------------


def test_limits_are_those_of_bfloat16() -> None:
    largest = float(float_limits(BF16).max)
    for _ in range(3):
        x = jt.constant([1.0, 2.0], BF16)
        assert float(jt.math.unsorted_segment_max(x, [0, 2], 3)[1]) == -largest
        assert float(jt.math.unsorted_segment_min(x, [0, 2], 3)[1]) == largest
        assert jt.saturate_cast([1e39, -3.4e38, 2.5], BF16).tolist() == [largest, -largest, 2.5]
        assert jt.saturate_cast(jt.constant([1e30, -5.0, 7.5], BF16), jt.uint8).tolist() == [255, 0, 7]


def test_bits() -> None:
    for x in (ALL, ALL.view(np.float16)):
        for _ in range(3):
            np.testing.assert_array_equal(jt.bitcast(x, jt.uint16).numpy(), ALL.view(np.uint16))
    for got in both(lambda x: jt.bitcast(x, BF16), ALL.view(np.uint16)):
        np.testing.assert_array_equal(got.view(np.uint16), ALL.view(np.uint16))
    with pytest.raises(DTypeError, match=r"\[nextafter\] needs float32 or float64, got bfloat16; cast"):
        jt.math.nextafter(jt.constant([1.0], BF16), 2.0)


def test_uniform_numbers_are_less_than_one() -> None:
    jt.random.set_seed(4)
    for _ in range(3):
        x = jt.random.uniform((20_000,), dtype=BF16)
        assert x.dtype == BF16
        assert (float(jt.reduce_min(x)), float(jt.reduce_max(x))) == (0.0, 1 - 2.0**-8)
        y = jt.random.uniform((20_000,), -1.0, 3.0, dtype=BF16).numpy().astype(float)
        assert y.min() >= -1
        assert y.max() < 3
        assert jt.random.normal((3,), dtype=BF16).dtype == BF16


def test_arrays_and_text() -> None:
    x = jt.constant([1.5, 3.140625], BF16)
    array = np.asarray(x)
    assert array.dtype == ml_dtypes.bfloat16
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.flags.writeable = True
    assert repr(x) == f"<jt.Tensor: shape=(2,), dtype=bfloat16, numpy={array!r}>"
    assert (float(x[0]), int(x[1]), bool(x[0]), f"{x[1]:.3f}", x.tolist()) == (
        1.5,
        3,
        True,
        "3.141",
        [1.5, 3.140625],
    )
    assert jt.constant(array).dtype == jt.constant([array[0], array[1]]).dtype == BF16
    assert jt.as_dtype("bfloat16") is jt.as_dtype(ml_dtypes.bfloat16) is BF16
    assert is_floating(BF16)


def test_a_numpy_function_gets_bfloat16() -> None:
    def double(x: Array) -> Array:
        assert x.dtype == ml_dtypes.bfloat16
        return x + x

    @jt.function
    def called(x: Any) -> Any:
        return jt.numpy_function(double, [x], jt.TensorSpec([1], BF16))

    for _ in range(3):
        assert called(jt.constant([1.5], BF16)).tolist() == [3.0]


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x: jt.gather([1.0], x), r"\[gather\] indices must be integers.*an operand is bfloat16"),
        (lambda x: jt.constant([1.5], BF16).dtype and jt.constant(x, jt.int32), "requested dtype int32 .* bfloat16"),
        (lambda x: jt.bitwise.invert(x), "invert.*an operand is bfloat16, which is computed in float32"),
        (lambda x: jt.constant([1.0], "float8_e5m2"), "float8_e5m2.*not supported; use one of bfloat16, bool"),
        (lambda x: jt.njit_function(jt.sin, jt.TensorSpec([1], BF16)), "argument 'x' is bfloat16.*make it float32"),
        (
            lambda x: jt.while_loop(lambda x: x[0] < 5, lambda x: x * jt.ones(1), [x]),
            r"is bfloat16 when the loop begins and float32 after .*jt.cast\(..., 'bfloat16'\)",
        ),
    ],
)  # fmt: skip
def test_errors(call: Callable[..., Any], match: str) -> None:
    with pytest.raises((TypeError, ValueError), match=match):
        call(jt.constant([1.0], BF16))


# ---- programs --------------------------------------------------------------------------------------------------------


def test_a_training_loop_in_mixed_precision() -> None:
    generator = np.random.default_rng(5)
    x = generator.standard_normal((64, 4)).astype(np.float32)
    weights = np.array([[1.0], [2.0], [-1.0], [0.5]], np.float32)
    w, optimizer = jt.Variable(np.zeros((4, 1), np.float32)), optimizers.Adam(0.05)
    jt.reset_stats()
    for _ in range(200):
        with jt.GradientTape() as tape:
            predicted = jt.matmul(jt.cast(x, BF16), jt.cast(w, BF16))
            loss = jt.reduce_mean((jt.cast(predicted, jt.float32) - x @ weights) ** 2)
        gradient = tape.gradient(loss, w)
        assert (predicted.dtype, gradient.dtype) == (BF16, jt.float32)
        optimizer.apply_gradients([(gradient, w)])
    np.testing.assert_allclose(w.numpy(), weights, atol=0.02)
    assert jt.stats().compiled_runs > 190


@pytest.mark.parametrize("optimizer", [optimizers.SGD(0.1), optimizers.Adam(0.1)], ids=["SGD", "Adam"])
def test_optimizers_keep_their_state_in_float32(optimizer: Any) -> None:
    w = jt.Variable([1.5, -2.5], dtype=BF16)
    for _ in range(30):
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(w * w)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    assert w.dtype == BF16
    assert np.abs(w.numpy().astype(float)).max() < 0.5
    assert {v.dtype.name for v in optimizer.variables if v.shape == (2,)} <= {"float32"}


def test_variables() -> None:
    v = jt.Variable([1.0, 2.0], dtype=BF16)
    for _ in range(3):
        v.assign([3.0, 4.0])
        v.assign_add([0.5, 0.5])
        v.assign_sub(jt.constant([1.0, 1.0], BF16))
        v[0].assign(9.0)
        assert v.numpy().tolist() == [9.0, 3.5]


def test_layers() -> None:
    layers = jt.keras.layers
    model = jt.keras.Sequential(
        [layers.Dense(8, "relu", dtype="bfloat16"), layers.Dense(1, dtype="bfloat16")]
    )
    model.compile(optimizer="adam", loss="mse")
    x = np.random.default_rng(6).random((64, 3), np.float32)
    history = model.fit(x, x.sum(1, keepdims=True), epochs=5, verbose=0).history["loss"]
    assert history[-1] < history[0]
    assert {w.dtype for w in model.weights} == {BF16}
    assert model(x).dtype == BF16


def loops(x: Any) -> tuple[Any, ...]:
    y = jt.scan(lambda carry, row: jt.tanh(carry) * 0.5 + row, x)
    z = jt.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * t), (0, y))[1]
    return y, z, jt.cond(jt.reduce_sum(z) > 0, lambda: z * 2.0, lambda: z)


def test_loops_and_functions() -> None:
    x = jt.constant([0.5, -1.0, 0.75], BF16)
    expected = [np.asarray(x)[0]]
    for row in np.asarray(x)[1:]:
        expected.append(np.tanh(expected[-1]) * BF16.type(0.5) + row)
    for call in (loops, jt.function(loops)):
        for _ in range(4):
            with jt.GradientTape() as tape:
                tape.watch(x)
                y, z, doubled = call(x)
            gradient = tape.gradient(doubled, x)
            np.testing.assert_array_equal(y.numpy(), np.array(expected, BF16))
            assert z.dtype == doubled.dtype == gradient.dtype == BF16
            wide = jt.constant(x.numpy().astype(np.float32))
            with jt.GradientTape() as tape:
                tape.watch(wide)
                reference = loops(wide)[2]
            want = tape.gradient(reference, wide).numpy()
            np.testing.assert_allclose(gradient.numpy().astype(float), want, rtol=0.1, atol=0.02)


def test_transforms() -> None:
    x = jt.constant([1.0, 2.0], BF16)
    assert jt.jacobian(lambda x: x * x)(x).tolist() == [[2, 0], [0, 4]]
    assert jt.hessian(lambda x: jt.reduce_sum(x**3))(x).tolist() == [[6, 0], [0, 12]]
    value, tangent = jt.jvp(lambda x: x * x, (x,), (jt.ones_like(x),))
    assert (value.dtype, tangent.dtype, tangent.tolist()) == (BF16, BF16, [2, 4])


# ---- files and processes ---------------------------------------------------------------------------------------------


def module_of(values: list[float]) -> Any:
    module = jt.Module()
    module.w, module.c = jt.Variable(values, dtype=BF16), jt.Variable([1.0])
    return module


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_weights(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"w.{suffix}"
    values = ALL[(ALL.view(np.uint16) & 0x7F80) != 0x7F80].astype(np.float32).tolist()
    module_of(values).save_weights(path)
    other = module_of([0.0] * len(values))
    other.load_weights(path)
    assert_same_bits(other.w.numpy(), np.array(values, BF16))
    with pytest.raises(WeightsError, match="'w' is bfloat16 in the file, but float32"):
        other.w = jt.Variable(np.zeros(len(values), np.float32))
        other.load_weights(path)


def test_numpy_reads_the_bits(tmp_path: Path) -> None:
    path = tmp_path / "w.npz"
    module_of([1.5, -2.0]).save_weights(path)
    with np.load(path) as file:
        assert file["w"]["bfloat16"].view(BF16).tolist() == [1.5, -2.0]
    np.savez(path, w=np.ones(2, BF16), c=np.ones(1, np.float32))
    with pytest.raises(WeightsError, match="'w' is void16 in the file, but bfloat16"):
        module_of([0.0, 0.0]).load_weights(path)


PROGRAM = """
import sys
import jittape as jt
import numpy as np
assert "ml_dtypes" not in sys.modules
y = jt.reduce_sum(jt.sin(jt.constant([1.0, 2.0])) * 2.0)
assert "ml_dtypes" not in sys.modules
import ml_dtypes
x = np.arange(100).astype(ml_dtypes.bfloat16)
for _ in range(3):
    y = (jt.constant(x) * 1.5).numpy()
assert y.dtype == ml_dtypes.bfloat16 == jt.bfloat16, y.dtype
assert (y == x * ml_dtypes.bfloat16(1.5)).all()
print(jt.stats().compiled_runs, jt.stats().kernels_loaded)
"""


def test_the_package_is_imported_at_first_use_and_programs_are_cached(tmp_path: Path) -> None:
    for loaded in (0, 1):
        ended = run_python("-c", PROGRAM, JITTAPE_CACHE_DIR=str(tmp_path))
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.split() == ["1", str(loaded)]


ONE_MORE_DTYPE = """
import ml_dtypes, numpy as np, jittape as jt
from jittape.core.dtypes import EXTENSIONS

EXTENSIONS["float8_e4m3fn"] = (None, "F8_E4M3")
dtype = np.dtype(ml_dtypes.float8_e4m3fn)
every = np.arange(256, dtype=np.uint8).view(dtype)
np.testing.assert_array_equal(jt.cast(jt.constant(every), jt.float32).numpy(), every.astype(np.float32))
x = np.array([0.1, 1.0, -2.5, 300.0]).astype(dtype)
wide = x.astype(np.float32)
expected = (np.tanh(wide) + wide / np.cosh(wide) ** 2).astype(dtype)
for _ in range(3):  # interpreted, then compiled
    v = jt.Variable(x)
    with jt.GradientTape() as tape:
        y = jt.reduce_sum(jt.tanh(v) * v)
    gradient = tape.gradient(y, v)
    assert y.dtype == gradient.dtype == dtype
    np.testing.assert_allclose(gradient.numpy().astype(float), expected.astype(float), rtol=0.13)
assert (jt.constant(x) + 1.0).dtype == dtype
assert (jt.constant(x) + jt.constant([1.0], jt.bfloat16)).dtype == jt.float32
print("right")
"""


def test_a_row_of_the_table_is_all_that_another_such_dtype_needs():
    run = run_python("-c", ONE_MORE_DTYPE)
    assert run.stdout.strip() == "right", run.stderr
