"""TensorFlow's names on `jt.function`, `py_function` and `autograph`; values were recorded from TensorFlow 2.21."""

from __future__ import annotations

import functools
import inspect
import logging
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt

pytestmark = pytest.mark.usefixtures("mode")

PARAMETERS = [
    "func",
    "input_signature",
    "autograph",
    "jit_compile",
    "reduce_retracing",
    "experimental_implements",
    "experimental_autograph_options",
    "experimental_attributes",
    "experimental_relax_shapes",
    "experimental_compile",
    "experimental_follow_type_hints",
]
"""The parameters of ``tf.function`` in TensorFlow 2.21, in order."""


# ---- the arguments of jt.function ------------------------------------------------------------------------------------


def test_the_parameters_are_tensorflows() -> None:
    parameters = inspect.signature(jt.function).parameters
    assert list(parameters) == PARAMETERS
    defaults = [parameters[name].default for name in PARAMETERS]
    assert defaults == [None, None, True, None, False, None, None, None, None, None, None]


@pytest.mark.parametrize(
    "options",
    [
        {"autograph": False},
        {"jit_compile": True},
        {"jit_compile": False},
        {"reduce_retracing": True},
        {"experimental_implements": "name"},
        {"experimental_attributes": {"_noinline": True}},
        {"experimental_relax_shapes": True},
        {"experimental_compile": True},
        {"experimental_follow_type_hints": True},
    ],
    ids=str,
)
def test_options_without_effect(options: dict[str, Any]) -> None:
    f = jt.function(lambda x: x + 1.0, **options)
    assert [float(f(1.0)) for _ in range(3)] == [2.0] * 3
    assert float(jt.function(**options)(lambda x: x + 1.0)(1.0)) == 2.0


def test_options_by_position() -> None:
    f = jt.function(lambda x: x + 1.0, [jt.TensorSpec([])], False, True, True)
    assert float(f(1.0)) == 2.0
    assert f.input_signature == (jt.TensorSpec([]),)
    assert jt.function(lambda x: x).input_signature is None


def test_options_that_contradict() -> None:
    with pytest.raises(ValueError, match="Cannot specify both 'experimental_compile' and 'jit_compile'"):
        jt.function(lambda x: x, jit_compile=False, experimental_compile=True)
    with pytest.raises(ValueError, match="a is not supported by jt.function as an attribute"):
        jt.function(lambda x: x, experimental_attributes={"a": 1})


# ---- what a compiled function knows about itself ---------------------------------------------------------------------


def scaled(x: Any, factor: float = 2.0) -> Any:
    """Return `x` times `factor`."""
    return x * factor


class Scale:
    """A callable object with a decorated and a plain method."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> Any:
        return self.factor * x

    def plain(self, x: Any) -> Any:
        return self.factor * x

    @jt.function
    def decorated(self, x: Any) -> Any:
        """Return `x` scaled."""
        return self.factor * x


def test_name_doc_and_python_function() -> None:
    f = jt.function(scaled)
    assert (f.__name__, f.__doc__, f.__wrapped__) == ("scaled", scaled.__doc__, scaled)
    assert f.python_function is scaled
    method, function = Scale(3.0).decorated, Scale.decorated
    assert method.python_function is function.python_function is method.__wrapped__
    assert method.__name__ == "decorated"
    assert method.__doc__ == function.__doc__ == "Return `x` scaled."
    with pytest.raises(AttributeError, match="'BoundFunction' object has no attribute 'other'"):
        method.other  # noqa: B018


def test_the_count_of_tracings() -> None:
    f = jt.function(scaled)
    assert f.experimental_get_tracing_count() == 0
    for n in (1, 2, 2):
        f(np.ones(n))
    assert f.experimental_get_tracing_count() == f.trace_count == 2
    one = Scale(1.0)
    one.decorated(1.0)
    assert (one.decorated.experimental_get_tracing_count(), Scale(2.0).decorated.trace_count) == (1, 0)


def test_the_text_of_xla_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"experimental_get_compiler_ir .*\.program is the op list"):
        jt.function(scaled).experimental_get_compiler_ir(1.0)


def test_callables_of_all_kinds() -> None:
    x = jt.constant(2.0)
    for python, expected in (
        (Scale(3.0), 6.0),
        (Scale(3.0).plain, 6.0),
        (functools.partial(scaled, factor=5.0), 10.0),
        (functools.partial(scaled, x), 4.0),
    ):
        f = jt.function(python)
        arguments = () if expected == 4.0 else (x,)
        assert [float(f(*arguments)) for _ in range(3)] == [expected] * 3
        assert f.python_function is python
        assert f.trace_count == 1
    assert float(jt.function(functools.partial(scaled, factor=5.0))(x, factor=4.0)) == 8.0
    one, two = Scale(1.0), Scale(2.0)
    assert [float(m.decorated(x)) for m in (one, two, one)] == [2.0, 4.0, 2.0]


# ---- the warning about retracing -------------------------------------------------------------------------------------


def test_the_retracing_warning_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    f = jt.function(lambda x: x + 1.0)
    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.WARNING, "jittape"):
        warnings.simplefilter("always")
        for rank in range(8):
            f(np.zeros((2,) * rank))
    assert [record.getMessage() for record in caplog.records] == [str(warning.message) for warning in caught]
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("jittape", "WARNING")
    assert "has been traced for 6 signatures" in record.getMessage()


# ---- py_function and numpy_function as decorators --------------------------------------------------------------------


def test_py_function_as_a_decorator() -> None:
    @jt.py_function(Tout=jt.float32)
    def added(x: Any, y: Any) -> Any:
        """Add."""
        assert isinstance(x, jt.Tensor)
        return x + y

    assert (added.__name__, added.__doc__) == ("added", "Add.")
    assert float(added(jt.constant(1.0), 2.0)) == 3.0
    assert added([1.0, 2.0], 3.0).tolist() == [4.0, 5.0]
    with pytest.raises(TypeError, match="unexpected keyword argument 'x'"):
        added(x=1.0, y=2.0)
    x = jt.Variable(3.0)
    with jt.GradientTape() as tape:
        y = added(x * x, x)
    assert float(tape.gradient(y, x)) == 7.0
    assert [float(jt.function(added)(v, 1.0)) for v in (1.0, 2.0)] == [2.0, 3.0]


def test_several_results_of_a_decorated_py_function() -> None:
    @jt.py_function(Tout=[jt.float32, jt.int32])
    def pair(x: Any) -> Any:
        return x, jt.constant(1)

    first, second = pair(1.0)
    assert (float(first), int(second), second.dtype) == (1.0, 1, jt.int32)
    constant = jt.py_function(Tout=jt.float32)(lambda: jt.constant(1.0))
    assert float(constant()) == 1.0


def test_numpy_function_as_a_decorator() -> None:
    @jt.numpy_function(Tout=jt.float32)
    def sine(x: Any) -> Any:
        assert isinstance(x, np.ndarray)
        return np.sin(x)

    assert float(sine(jt.constant(1.0))) == pytest.approx(0.841471)


@pytest.mark.parametrize("op", [jt.py_function, jt.numpy_function], ids=["py", "numpy"])
def test_mistakes_with_decorators(op: Any) -> None:
    with pytest.raises(TypeError, match="Don't set the `inp` argument when using .* as a decorator"):
        op(inp=[1.0], Tout=jt.float32)
    with pytest.raises(TypeError, match="Missing required argument: 'Tout'"):
        op()
    with pytest.raises(TypeError, match="Missing argument `inp`"):
        op(lambda x: x, Tout=jt.float32)
    with pytest.raises(TypeError, match="func must be callable, got 3"):
        op(Tout=jt.float32)(3)


# ---- other names -----------------------------------------------------------------------------------------------------


def test_autograph() -> None:
    @jt.autograph.experimental.do_not_convert
    def double(x: Any) -> Any:
        return 2 * x

    assert double(2) == 4
    assert jt.autograph.experimental.do_not_convert()(double) is double
    with pytest.raises(ValueError, match="maximum_iterations would not end a Python loop"):
        jt.autograph.experimental.set_loop_options(maximum_iterations=3)
    jt.autograph.set_verbosity(3)
    with pytest.raises(AttributeError, match="jittape has no AutoGraph"):
        jt.autograph.to_code(double)
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        jt.autograph.other  # noqa: B018


@pytest.fixture
def eager() -> Iterator[None]:
    jt.config.run_functions_eagerly(True)
    yield
    jt.config.run_functions_eagerly(False)


def test_functions_that_run_eagerly_return_what_python_returns(eager: None) -> None:
    assert jt.config.functions_run_eagerly()
    assert jt.function(lambda: 3)() == 3
    assert type(jt.function(lambda: 3)()) is int


def test_a_concrete_function_of_equal_arguments_is_the_same_object() -> None:
    v = jt.Variable(2.0)
    other = jt.Variable(3.0)

    @jt.function
    def f(x: Any, k: Any = 2.0, w: Any = None) -> Any:
        return x * k if w is None else x * k * w

    spec = jt.TensorSpec([3], jt.float32)
    first = f.get_concrete_function(spec)
    assert f.get_concrete_function(jt.ones([3])) is first
    assert f.get_concrete_function(x=spec) is first
    kinds = [
        first,
        f.get_concrete_function(spec, 3.0),
        f.get_concrete_function(spec, 0.0),
        f.get_concrete_function(spec, -0.0),
        f.get_concrete_function(spec, 3.0, v),
        f.get_concrete_function(spec, 3.0, other),
        f.get_concrete_function(jt.TensorSpec([3], jt.float32, "y")),
        f.get_concrete_function(jt.TensorSpec([None], jt.float32)),
        f.get_concrete_function(jt.TensorSpec([3], jt.float64)),
    ]
    assert len(set(map(id, kinds))) == len(kinds)
    assert f.get_concrete_function(jt.TensorSpec([None], jt.float32)) is kinds[-2]
    assert f.get_concrete_function(spec, 3.0, v) is kinds[4]
    assert kinds[1](jt.ones([3])).numpy().tolist() == [3.0] * 3
    found = weakref.ref(kinds[1])
    del kinds
    assert found() is None, "functions keep no concrete function alive"
