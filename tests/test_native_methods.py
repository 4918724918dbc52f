"""Methods of tensors, and functions of `jittape.numpy`, that machine code records: NumPy's values and dtypes."""

from __future__ import annotations

import gc
import inspect
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp
from jittape.native import switch
from jittape.recording import native_methods
from jittape.recording.machine_code.path_tables import METHOD_PLANS
from jittape.recording.trace import current_trace
from test_native_recording import calls_of_python, machine_code

__all__ = ["machine_code"]

METHODS: dict[str, Callable[[Any, Any], Any]] = {
    name: eval(f"lambda x, y: {name}")
    for name in (
        "abs(x)", "x @ y", "x ** 3", "x ** 0.5", "x.T", "x.all()", "x.any(0)", "x.argmax()", "x.argmin(axis=1)",
        "x.argsort()", "x.argsort(0)", "x.astype('float32')", "x.astype(bool)", "x.astype(np.dtype('int16'))",
        "x.clip(-1.0, 1.0)", "x.clip(0, 1)", "x.clip(0)", "x.clip(max=2)", "x.conj()", "x.copy()", "x.cumprod(1)",
        "x.cumsum()", "x.diagonal()", "x.dot(y)", "x.dot(2)", "x.flatten()", "x.imag", "x.max(axis=(0, 1))", "x.mean()",
        "x.mean(1, keepdims=True)", "x.min(0)", "x.mT", "x.prod()", "x.ravel()", "x.ravel('F')", "x.real",
        "x.repeat(2, 1)", "x.reshape(-1)", "x.reshape(1, 9)", "x.reshape((9, 1))", "x.round()", "x.round(1)",
        "x.squeeze()", "x.std()", "x.sum()", "x.sum(0)", "x.sum(axis=0)", "x.sum(-1, keepdims=True)",
        "x.sum(keepdims=1)", "x.sum(where=True)", "x.swapaxes(0, 1)", "x.trace()", "x.trace(1)", "x.transpose()",
        "x.transpose(1, 0)", "x.var(ddof=1)", "x.var(0, keepdims=True)", "x == y", "x != 1",
    )
}  # fmt: skip
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    name: eval(f"lambda x, y: {name}")
    for name in (
        "x < y", "x <= 1", "2.5 > x", "x >= y", "x == 0.5", "x // 2", "7 // (x + 1)", "x % 3", "5.0 % (x + 1)", "x & y",
        "x | y", "x ^ 1", "1 & x", "~x", "x == None", "x != None", "x < -1",
    )
}  # fmt: skip
FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    name: eval(f"lambda n, x, y: {name}")
    for name in (
        "n.exp(x)", "n.add(x, y)", "n.maximum(x, 0)", "n.multiply(2.0, x)", "n.clip(x, 0, 1)", "n.clip(x, -0.5, 0.5)",
        "n.clip(x, y, 2)", "n.dot(x, y)", "n.matmul(x, y)", "n.power(x, 2)", "n.power(x, 0.5)", "n.sum(x)",
        "n.sum(x, axis=0)", "n.where(x > 0, x, 0)", "n.where(x > 0, 1.5, x)", "n.where(x > 0, 1, 2)",
    )
}  # fmt: skip
DTYPES = ("float64", "float32", "int64", "uint8", "bool", "complex128")


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    """Return value and dtype of a call, or its error's type."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            value = np.asarray(call(*args))
        except Exception as error:
            return isinstance(error, TypeError)
    return value, value.dtype


def assert_same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, bool) or isinstance(found, bool):
        assert found is wanted
    else:
        assert found[1] == wanted[1]
        np.testing.assert_allclose(found[0], wanted[0], rtol=2e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_methods_agree_with_numpy(dtype: str):
    a = np.array([[1, 0, 2], [3, 1, 0], [0, 5, 2]]).astype(dtype)
    x, y = jt.constant(a), jt.constant(a.T)
    other = jt.constant(np.ones((3, 3)))
    for name, call in METHODS.items():
        wanted = outcome(call, a, a.T)
        for _ in range(3):  # Python records, then a plan is made, then machine code records
            outcome(call, other, other)
            current_trace().step()
            found = outcome(call, x, y)
            if wanted is not True and found is True and _is_refused(name, dtype):
                continue
            assert_same(found, wanted)


@pytest.mark.parametrize("dtype", DTYPES[:5])
def test_operators_agree_with_numpy(dtype: str):
    a = np.array([[1, 0, 2], [3, 1, 0], [0, 5, 2]]).astype(dtype)
    x, y = jt.constant(a), jt.constant(a.T)
    for name, call in OPERATORS.items():
        for _ in range(3):
            current_trace().step()
            if "None" in name:
                assert call(x, y) is ("!=" in name)
            else:
                assert_same(outcome(call, x, y), outcome(call, a, a.T))


def test_known_paths_of_operators_run_no_python():
    x, y = (jt.constant(np.ones((3, 3), np.int64)) for _ in range(2))
    for name, call in OPERATORS.items():
        for _ in range(3):
            current_trace().step()
            seen = calls_of_python(lambda: call(x, y))  # noqa: B023
        if "None" not in name:
            assert not seen, name


def _is_refused(name: str, dtype: str) -> bool:
    no_order = dtype == "complex128" and name.startswith(("x.clip", "x.max", "x.min", "x.arg"))
    return no_order or (dtype == "bool" and name.startswith("x.cum"))


@pytest.mark.parametrize("dtype", DTYPES[:4])
def test_functions_agree_with_numpy(dtype: str):
    a = np.array([[1, 0, 2], [3, 1, 0], [0, 5, 2]]).astype(dtype)
    x, y = jt.constant(a), jt.constant(a.T)
    for call in FUNCTIONS.values():
        wanted = outcome(call, np, a, a.T)
        for _ in range(3):
            for namespace in (np, jnp):
                current_trace().step()
                assert_same(outcome(call, namespace, x, y), wanted)


@pytest.mark.parametrize("name", METHODS)
def test_known_paths_of_methods_run_no_python(name: str):
    if name in ("x.sum(keepdims=1)", "x.sum(where=True)", "x.dot(2)"):
        pytest.skip("a rare form, which Python records")
    x, y = (jt.constant(np.ones((3, 3))) for _ in range(2))
    call = METHODS[name]
    for _ in range(3):
        current_trace().step()
        seen = calls_of_python(lambda: call(x, y))
    assert not seen


def test_methods_take_arrays_with_their_values_of_now():
    a = np.arange(9.0).reshape(3, 3) + 1
    x, b, rows = jt.constant(a), np.ones(3), np.eye(3)
    calls: tuple[Callable[[Any], Any], ...] = (
        lambda x: x.dot(b),
        lambda x: x.dot(rows),
        lambda x: x @ b,
        lambda x: x @ rows,
        lambda x: x**b,
        lambda x: (x * 1).dot(rows.astype(np.float32)),
    )
    for call in calls:
        for i in range(4):
            b += 0.5
            rows[0, i % 3] = i
            current_trace().step()
            found: list[Any] = []
            seen = calls_of_python(lambda: found.append(call(x)))  # noqa: B023
            wanted = call(a)
            rows[2] += 1  # after the call
            np.testing.assert_allclose(found[0], wanted)
            assert found[0].dtype == wanted.dtype
        assert not seen & {"apply", "dot", "__matmul__", "__pow__"}
    for bad in (np.array(["a", "b", "c"]), np.array([None, 1, 2])):
        with pytest.raises(TypeError):
            x.dot(bad)
        with pytest.raises(TypeError):
            x @ bad


def test_plans_hold_nothing():
    x = jt.constant(np.ones((2, 3)))
    axes, limit = (0, 1), float("0.25")

    def step() -> None:
        for _ in range(100):
            with jt.GradientTape():
                (
                    x.sum(axes),
                    x.clip(limit, 1),
                    x.T,
                    x.mean(axis=1, keepdims=True),
                    jnp.exp(x),
                    jnp.clip(x, limit, 2.0),
                )
                for bad in (
                    lambda: x.sum(axis=7),
                    lambda: x.reshape(5),
                    lambda: x.sum(5, None, None, False, 1, 2, 3),
                ):
                    with pytest.raises((TypeError, ValueError)):
                        bad()

    step()
    plan = METHOD_PLANS[native_methods.METHODS.python["ArrayMethods.sum"], None, axes]
    held = (x, axes, limit, plan, *plan)
    gc.collect()
    before = [sys.getrefcount(value) for value in held]
    step()
    current_trace().step()
    gc.collect()
    assert [abs(sys.getrefcount(v) - n) <= 20 for v, n in zip(held, before, strict=True)] == [True] * len(
        held
    )


def test_many_plans_make_room():
    x = jt.constant(np.ones((4, 4)))
    for i in range(5000):
        for _ in range(2):
            current_trace().step()
            x.astype("float64", f"K{i}")
    assert 0 < len(METHOD_PLANS) <= 4096
    assert x.sum().numpy() == 16


def test_an_interrupt_while_planning():
    x = jt.constant(np.ones((4, 4)))

    def interrupted(key: Any) -> Any:
        raise KeyboardInterrupt

    number = list(native_methods.METHODS.known).index("plan_method")
    METHOD_PLANS.clear()
    before, native_methods.METHODS.objects[number] = native_methods.METHODS.objects[number], id(interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            x.sum(axis=1)
    finally:
        native_methods.METHODS.objects[number] = before
    assert x.sum(axis=1).tolist() == [4.0] * 4


def test_methods_and_properties_describe_themselves():
    for name in ("sum", "clip", "reshape", "var"):
        machine, python = getattr(jt.Tensor, name), native_methods.METHODS.python[f"ArrayMethods.{name}"]
        assert machine is not python
        assert str(inspect.signature(machine)).replace("self, /", "self") == _plain(python)
    assert jt.Tensor.T.__doc__ == "The transpose, recorded."
    switch.use_python()
    assert str(inspect.signature(jt.Tensor.sum)).startswith("(self, axis")
    switch.use()


def _plain(function: Any) -> str:
    """Return the signature without annotations."""
    signature = inspect.signature(function)
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=signature.empty))
