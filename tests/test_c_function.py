"""`jt.cfunc`, and the errors of functions for libraries that are not installed."""

from __future__ import annotations

import pickle
import sys
import threading
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import jittape as jt

FLOAT = jt.float64
X, S = np.arange(6.0).reshape(2, 3), np.array(2.0)


def scaled(x: Any, s: Any) -> Any:
    return jt.reduce_sum(x**2) * s


SPECS = (jt.TensorSpec([2, 3], FLOAT), jt.TensorSpec([], FLOAT))


@pytest.mark.parametrize(("argnum", "expected"), [(0, 4.0 * X), (1, np.array(55.0))])
def test_value_and_gradient_by_pointers(argnum: int, expected: np.ndarray[Any, Any]) -> None:
    function = jt.cfunc(scaled, *SPECS, argnum=argnum)
    assert (
        function.prototype
        == "int32_t function(const double *x, const double *s, double *value, double *gradient)"
    )
    value, gradient = np.zeros(1), np.zeros_like(expected)
    status = function.ctypes(*[a.ctypes.data for a in (X, S, value, gradient)])
    assert status == 0
    np.testing.assert_allclose(value, 110.0)
    np.testing.assert_allclose(gradient, expected)


@pytest.mark.parametrize("listed", [list, tuple])
def test_specs_may_be_a_list(listed: type) -> None:
    found, expected = jt.cfunc(scaled, listed(SPECS)), jt.cfunc(scaled, *SPECS)
    assert found.prototype == expected.prototype
    with pytest.raises(TypeError, match=r"\[cfunc\] scaled\(.*\) cannot be called with 1 arguments"):
        jt.cfunc(scaled, listed(SPECS[:1]))


@pytest.mark.parametrize(
    ("dtype", "name"), [("complex64", "float _Complex"), ("complex128", "double _Complex")]
)
def test_complex_numbers(dtype: str, name: str) -> None:
    spec = jt.TensorSpec([3], dtype)
    function = jt.cfunc(lambda z: jt.reduce_sum(z * z), spec)
    assert function.prototype == f"int32_t function(const {name} *z, {name} *value, {name} *gradient)"
    z, value, gradient = np.array([1 + 2j, 3 - 1j, 2j], dtype), np.zeros(1, dtype), np.zeros(3, dtype)
    assert function.ctypes(*[a.ctypes.data for a in (z, value, gradient)]) == 0
    np.testing.assert_allclose(value[0], np.sum(z * z), rtol=1e-6)
    np.testing.assert_allclose(gradient, 2.0 * z.conj(), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_have_no_type_in_c(dtype: str) -> None:
    spec = jt.TensorSpec([3], dtype)
    for call in (
        lambda: jt.cfunc(lambda x: jt.reduce_sum(x), spec),
        lambda: jt.njit_function(lambda x: jt.cast(jt.reduce_sum(x), FLOAT), spec),
        lambda: jt.njit_function(lambda x: jt.cast(x, dtype), jt.TensorSpec([3], FLOAT)),
    ):
        with pytest.raises(
            TypeError, match=f"is {dtype}, which Numba and C do not have; make it float32, and cast"
        ):
            call()


def test_the_number_of_the_argument_is_an_int() -> None:
    with pytest.raises(TypeError, match=r"\[cfunc\] argnum must be an int, got \(0, 1\)"):
        jt.cfunc(scaled, *SPECS, argnum=(0, 1))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"\[cfunc\] argnum=3 requires argument 3, but there are 2 specs"):
        jt.cfunc(scaled, *SPECS, argnum=3)
    with pytest.raises(TypeError, match=r"\[cfunc\] scaled\(.*\) cannot be called with 0 arguments"):
        jt.cfunc(scaled)


def test_failed_operation_gives_a_status() -> None:
    function = jt.cfunc(lambda k: jt.reduce_sum(jt.linalg.cholesky(k)), jt.TensorSpec([3, 3], FLOAT))
    value, gradient = np.full(1, 7.0), np.zeros((3, 3))
    for matrix, status in ((np.eye(3), 0), (-np.eye(3), 1), (np.eye(3), 0)):
        assert function.ctypes(*[a.ctypes.data for a in (matrix, value, gradient)]) == status


def test_threads_call_it_at_once() -> None:
    function = jt.cfunc(scaled, *SPECS)
    wrong: list[float] = []

    def work(scale: float) -> None:
        s, value, gradient = np.array(scale), np.zeros(1), np.zeros((2, 3))
        for _ in range(500):
            function.ctypes(*[a.ctypes.data for a in (X, s, value, gradient)])
            if value[0] != 55.0 * scale:
                wrong.append(value[0])

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_scipy_integrates_it() -> None:
    bell = jt.cfunc(lambda x: jt.exp(-x * x), jt.TensorSpec([], FLOAT))
    assert scipy.integrate.quad(bell.low_level_callable, -8, 8)[0] == pytest.approx(np.sqrt(np.pi), rel=1e-10)
    plane = jt.cfunc(lambda p: jt.exp(-(p[0] ** 2) - p[1] ** 2), jt.TensorSpec([2], FLOAT))
    found = scipy.integrate.nquad(plane.low_level_callable, [[-6, 6], [-6, 6]])[0]
    assert found == pytest.approx(np.pi, rel=1e-8)
    with pytest.raises(TypeError, match=r"one argument of shape \(\) or \(n,\)"):
        _ = jt.cfunc(scaled, *SPECS).low_level_callable


def test_errors() -> None:
    with pytest.raises(TypeError, match=r"\[cfunc\] the specs must be jt.TensorSpec"):
        jt.cfunc(scaled, X, S)  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match=r"scaled\(.*\) cannot be called with 1 arguments, one for each spec: missing"
    ):
        jt.cfunc(scaled, SPECS[0])
    with pytest.raises(TypeError, match=r"\[njit_function\] .* cannot be called with 0 arguments"):
        jt.njit_function(scaled)
    with pytest.raises(TypeError, match=r"\[cfunc\] .* runs operations in Python: .*dct"):
        jt.cfunc(lambda x: jt.reduce_sum(jt.signal.dct(x)), jt.TensorSpec([3, 300], FLOAT))


def test_a_pickled_function_is_compiled_again() -> None:
    function = pickle.loads(pickle.dumps(jt.cfunc(scaled, *SPECS, argnum=1)))
    value, gradient = np.zeros(1), np.zeros(1)
    assert function.ctypes(*[a.ctypes.data for a in (X, S, value, gradient)]) == 0
    assert (value, gradient) == (110.0, 55.0)


@pytest.mark.parametrize(
    ("call", "library"),
    [
        (lambda: jt.nutpie(scaled, {"x": ()}), "nutpie"),
        (lambda: jt.pytensor_op(scaled, *SPECS), "pytensor"),
        (lambda: jt.jax_call(scaled), "jax"),
        (lambda: jt.torch_function(scaled), "torch"),
    ],
)
def test_missing_library_is_named(call: Any, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_Without(library), *sys.meta_path])
    with pytest.raises(ImportError, match=rf"{library} is not installed: pip install {library}"):
        call()


class _Without:
    """A finder that says that a library is missing."""

    def __init__(self, library: str) -> None:
        self.library = library

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        if name == self.library:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
