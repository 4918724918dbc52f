"""From the second compiled run of a path on its inputs are written by machine code: `jittape.runtime.fast_run`."""

import numpy as np
import pytest

import jittape as jt
from jittape.native.object_layout import object_layout
from jittape.recording.trace import begin_step
from jittape.runtime.counters import counters
from jittape.runtime.path_executable import PathExecutable

NAN, INF = float("nan"), float("inf")


def path() -> PathExecutable:
    assert isinstance(counters.last, PathExecutable)
    return counters.last


def run(program, *values, times=4):
    """The last result of several runs."""
    for _ in range(times):
        result = program(*values).numpy()
    assert path().visits >= times
    return result


@pytest.fixture(autouse=True)
def compiling(monkeypatch):
    monkeypatch.setattr(jt.config, "_interpret", False)
    begin_step()


def test_there_is_a_layout_of_objects():
    assert object_layout() is not None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scalar", [0.1, -0.0, NAN, INF, 1e-45, 5e-324, 1e38, 1e39, -1e300])
def test_floats_come_as_numpy_would_cast_them(dtype, scalar):
    x = jt.constant(np.linspace(1, 2, 5).astype(dtype))
    with np.errstate(over="ignore", under="ignore"):
        expected = np.maximum(x.numpy(), np.array(scalar).astype(dtype)) - 3
    result = run(lambda value: jt.maximum(x, value) - 3.0, scalar)
    assert path()._fast_run is not None
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("scalar", [0, -1, 7, 2**62, 2**63 - 1, -(2**63)])
def test_ints_of_64_bits_come_as_they_are(scalar):
    x = jt.constant(np.array([0, 1, -3], "int64"))
    result = run(lambda value: jt.maximum(x, value), scalar)
    assert path()._fast_run is not None
    np.testing.assert_array_equal(result, np.maximum(x.numpy(), scalar))


def test_an_int_that_does_not_fit_is_refused_on_the_fast_path():
    x = jt.constant(np.array([0, 1], "int64"))
    run(lambda value: x + value, 5)
    assert path()._fast_run is not None
    with pytest.raises((OverflowError, jt.DTypeError)):
        (x + 2**63).numpy()
    np.testing.assert_array_equal((x + 6).numpy(), [6, 7])


def test_starts_of_slices_come_on_the_fast_path():
    x = jt.constant(np.arange(12.0))
    for i in [0, 3, 1, -2, 5, -1, 2, 4]:
        result = (x[i] * 2.0 + x[i - 1]).numpy()
        assert result == 2.0 * np.arange(12.0)[i] + np.arange(12.0)[i - 1]
    run(lambda: jt.reduce_sum(x[1:] - x[:-1] * 0.5))
    assert path()._fast_run is not None


def test_every_run_has_its_own_values():
    x = jt.constant(np.arange(4.0))
    for i in range(8):
        y = jt.constant(np.full(4, i))
        result = (x * float(i) + y) * 0.5
        np.testing.assert_array_equal(result.numpy(), (np.arange(4.0) * i + i) * 0.5)
    assert path()._fast_run is not None


@pytest.mark.parametrize(
    ("dtype", "scalar"),
    [("int32", 3), ("uint64", 2**63), ("float16", 0.1), ("bool", True), ("complex64", 1 + 2j)],
)
def test_other_scalars_go_the_longer_way(dtype, scalar):
    x = jt.constant(np.ones(3, dtype))
    program = jt.logical_and if dtype == "bool" else jt.add
    result = run(lambda value: program(x, value), scalar)
    assert path()._fast_run is None
    np.testing.assert_array_equal(result, x.numpy() + np.asarray(scalar, dtype))


def test_an_int_for_a_float_has_become_one():
    x = jt.constant([1.0, 2.0])
    for value in (3, 4, 3.0, 4.0):
        np.testing.assert_array_equal(run(lambda value: x * value, value), [value, 2 * value])
        assert path()._fast_run is not None


def test_a_numpy_scalar_is_a_float():
    x = jt.constant(np.ones(2))
    np.testing.assert_array_equal(run(lambda value: x * value, np.float64(0.25)), [0.25, 0.25])
    assert path()._fast_run is not None


def test_values_that_are_held_stay():
    x = jt.constant(np.ones(3))
    results = [x * float(i) for i in range(10)]
    kept = []
    for i, result in enumerate(results):
        kept.append(result.numpy())
        np.testing.assert_array_equal(kept[i], np.full(3, i))
    for i in range(10):
        (x * float(i)).numpy()
    np.testing.assert_array_equal(np.stack(kept), np.repeat(np.arange(10.0), 3).reshape(10, 3))


def test_the_interpreter_can_still_be_asked_for(monkeypatch):
    x = jt.constant(np.ones(3))

    def program():
        return jt.exp(x * 0.5)

    run(program)
    before = path()
    monkeypatch.setattr(jt.config, "_interpret", True)
    program().numpy()
    assert path() is before
    assert not before.ran_compiled


def test_without_a_layout_all_go_the_longer_way(monkeypatch):
    monkeypatch.setattr("jittape.runtime.fast_run.runner", lambda: None)
    x = jt.constant(np.linspace(0, 1, 6))
    np.testing.assert_allclose(run(lambda: jt.exp(x) * 0.5 - x), np.exp(x) * 0.5 - x, rtol=1e-15)
    assert path()._fast_run is None


def test_steps_with_variables_agree_with_numpy():
    rng = np.random.default_rng(3)
    data, target = rng.normal(size=(20, 4)), rng.normal(size=20)
    w, b = jt.Variable(np.zeros(4)), jt.Variable(np.float64(0.0))
    weights, bias = np.zeros(4), 0.0
    for i in range(20):
        rate = 0.1 / (1 + i)
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(jt.linalg.matvec(data, w) + b - target))
        dw, db = tape.gradient(loss, [w, b])
        w.assign_sub(rate * dw)
        b.assign_sub(rate * db)
        error = data @ weights + bias - target
        weights, bias = weights - rate * 2 * data.T @ error / 20, bias - rate * 2 * error.mean()
    np.testing.assert_allclose(w.numpy(), weights, rtol=1e-12)
    np.testing.assert_allclose(b.numpy(), bias, rtol=1e-12)


def test_a_large_variable_is_written_in_place():
    v, x = jt.Variable(np.zeros(20_000)), jt.constant(np.linspace(0, 1, 20_000))
    places = []
    for i in range(6):
        begin_step()
        v.assign(v * 0.5 + x)
        begin_step()
        places.append(v._buffer.address)
        if i == 3:
            seen = v.numpy()  # from now on nobody may write there
            before = seen.copy()
    assert path()._fast_run is not None
    assert len(set(places[1:4])) == 1
    assert places[4] != places[3]
    np.testing.assert_array_equal(seen, before)
    np.testing.assert_allclose(v.numpy(), x.numpy() * (2 - 2**-5), rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128", "int64", "bool"])
@pytest.mark.parametrize("number", [2, True, 2.5])
def test_a_path_takes_a_number_alike_beside_arrays_and_beside_tensors(dtype, number):
    """Arrays are recorded one way and tensors another; both give the path's machine code the same kind of number."""
    x, mask = np.array([1.5, 2.5, 0.0]).astype(dtype), np.array([True, True, False])
    if x.dtype.kind in "bi" and isinstance(number, float):
        number = 3
    wanted = np.where(mask, number, x)
    for operands in [(mask, x)] * 3 + [(jt.constant(mask), jt.constant(x))] * 3 + [(mask, x)]:
        found = jt.where(operands[0], number, operands[1]).numpy()
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_an_int_too_large_for_a_float_is_refused_where_it_is_recorded():
    x = jt.constant(np.ones(3))
    for number in (2, 3, 2**60):
        np.testing.assert_array_equal((x * number).numpy(), np.full(3, float(number)))
    with pytest.raises(OverflowError, match=r"\[multiply\] the number of 1329 bits does not fit float64"):
        x * 10**400
    np.testing.assert_array_equal((x * 4).numpy(), np.full(3, 4.0))
