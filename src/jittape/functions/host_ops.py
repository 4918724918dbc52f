"""Python functions as ops: `py_function` records their operations, `numpy_function` calls NumPy code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape.autodiff.custom_gradient import custom_gradient
from jittape.autodiff.tape import GradientTape
from jittape.core.dtypes import as_dtype, is_differentiable, uint8
from jittape.core.primitive import Primitive, active_recorder, any_dtype, apply, recording_with
from jittape.core.program import Aval
from jittape.core.user_calls import function_name
from jittape.errors import NoGradientError
from jittape.functions.signature import TensorSpec
from jittape.recording.convert import cast_to_dtype, convert_to_tensor
from jittape.recording.function_trace import FunctionTrace
from jittape.recording.nested import own_handles
from jittape.recording.tensor import tensor_of
from jittape.recording.trace import Trace

__all__ = ["numpy_function", "py_function"]

BY_NUMPY = (
    "NumPy computed it; write it with jittape operations, or give it a gradient with jt.custom_gradient"
)


def py_function(
    func: Callable[..., Any] | None = None,
    inp: Sequence[Any] | None = None,
    Tout: Any = None,
    name: str | None = None,
) -> Any:
    """Call a Python function on tensors; its jittape operations are recorded and differentiable.

    Parameters
    ----------
    func : callable, optional
        Function that takes one tensor for each entry of `inp`. Without it, a decorator is returned, as in
        ``@jt.py_function(Tout=jt.float32)``: the decorated function takes its arguments by position.
    inp : sequence of tensor-like
        Arguments of `func`; not given for a decorator.
    Tout : dtype or TensorSpec, or a sequence of them
        Dtypes of the results. In a `jt.function`, `func` is traced if `Tout` has dtypes only. With a `TensorSpec`,
        `func` runs at each call on computed values, and it is differentiable once. With None or an empty sequence,
        `func` is called for its effect and the result is discarded: a `jt.function` is then recorded at each call.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    Tensor or list of Tensor
        The results, cast to the dtypes of `Tout`.

    Raises
    ------
    ValueError
        If the number or a shape of the results differs from `Tout`.
    TypeError
        If a result cannot be cast to its dtype with NumPy's ``same_kind`` rule, such as a float to an int, or `inp` is
        missing, or a decorator has no `Tout`.

    Examples
    --------
    >>> import jittape as jt
    >>> float(jt.py_function(lambda x: x * x if x > 1 else x, [jt.constant(3.0)], jt.float32))
    9.0
    >>> @jt.py_function(Tout=jt.float32)
    ... def halved(x):
    ...     return x / 2 if x > 1 else x
    >>> float(halved(3.0))
    1.5
    """
    if func is None:
        return _decorator("py_function", py_function, inp, Tout)
    func, inp = _checked_call("py_function", func, inp)
    tensors = [convert_to_tensor(x) for x in inp]
    expected = list(Tout) if isinstance(Tout, (list, tuple)) else [] if Tout is None else [Tout]
    recorder: Any = active_recorder()
    if not expected and recorder.traced_in is not None:
        _refuse_to_trace(recorder)
    if isinstance(recorder, FunctionTrace) and all(isinstance(t, TensorSpec) for t in expected):
        results = _call_on_values(func, expected)(*tensors)
        return list(results) if isinstance(Tout, (list, tuple)) else results[0]
    result = func(*own_handles(tensors))
    if not isinstance(Tout, (list, tuple)):
        if isinstance(result, tuple):
            raise ValueError(
                f"[py_function] {function_name(func)} returned {len(result)} results in a tuple, Tout names one; "
                "pass Tout as a list"
            )
        return None if Tout is None else _cast_result(result, Tout)
    results = [] if result is None else list(result) if isinstance(result, (list, tuple)) else [result]
    if len(results) != len(Tout):
        raise ValueError(
            f"[py_function] {function_name(func)} returned {len(results)} results, Tout names {len(Tout)}"
        )
    return [_cast_result(r, dtype) for r, dtype in zip(results, Tout, strict=True)]


def _decorator(op: str, call: Callable[..., Any], inp: Any, Tout: Any) -> Callable[[Any], Callable[..., Any]]:
    """Return the decorator of ``@py_function(Tout=...)``."""
    if inp is not None:
        raise TypeError(f"Don't set the `inp` argument when using jt.{op} as a decorator (`func=None`).")
    if Tout is None:
        raise TypeError(
            f"[{op}] Missing required argument: 'Tout'. For a decorator, give it by name: @jt.{op}(Tout=jt.float32)"
        )

    def decorate(func: Any) -> Callable[..., Any]:
        _checked_call(op, func, ())

        @functools.wraps(func)
        def called(*args: Any) -> Any:
            return call(func, list(args), Tout)

        return called

    return decorate


def _checked_call(op: str, func: Any, inp: Any) -> tuple[Callable[..., Any], Sequence[Any]]:
    if not callable(func):
        raise TypeError(f"[{op}] func must be callable, got {func!r}")
    if inp is None:
        raise TypeError(
            f"[{op}] Missing argument `inp`: give the list of arguments of func, or use jt.{op} as a decorator, "
            f"@jt.{op}(Tout=jt.float32)"
        )
    if not isinstance(inp, (list, tuple)):
        raise TypeError(f"[{op}] inp must be a list of tensors, got {inp!r}: write [x] for one")
    return func, inp


def _refuse_to_trace(recorder: Any) -> None:
    """Raise the signal that a function without results, which is called for its effect, cannot be traced."""
    if isinstance(recorder, FunctionTrace):
        raise recorder.needed("a traced tensor", "let it return a result, Tout=jt.TensorSpec(shape, dtype)")
    recorder.flush()


def _cast_result(value: Any, expected: Any, op: str = "py_function") -> Any:
    """Return a result of a Python function as a tensor of the expected dtype; check its shape if it is given."""
    dtype = _dtype_of(expected)
    tensor = convert_to_tensor(value, dtype_hint=dtype)
    if not np.can_cast(tensor.aval.dtype, dtype, "same_kind"):
        raise TypeError(f"[{op}] a result is {tensor.dtype.name}, which does not cast to Tout {dtype.name}")
    if isinstance(expected, TensorSpec) and not expected.takes(tensor.aval.shape):
        raise ValueError(f"[{op}] a result has shape {tensor.shape}, but Tout is {expected}")
    return cast_to_dtype(tensor, dtype)


def _call_on_values(func: Callable[..., Any], expected: list[TensorSpec]) -> Callable[..., Any]:
    """Return an op for a traced function that runs `func`, and its gradient, when the compiled function runs."""

    def results(tensors: list[Any]) -> list[Any]:
        values = _results(func, tensors, len(expected), "py_function")
        return [_cast_result(value, t) for value, t in zip(values, expected, strict=True)]

    def values(*arrays: Any) -> list[Any]:
        with recording_with(Trace()):  # the caller's own trace is recording
            return [y.numpy() for y in results([tensor_of(np.array(a)) for a in arrays])]

    def gradients(*arrays: Any) -> list[Any]:
        with recording_with(Trace()):
            tensors = [tensor_of(np.array(a)) for a in arrays]
            operands, upstream = tensors[: -len(expected)], tensors[-len(expected) :]
            varied = [x for x in operands if is_differentiable(x.aval.dtype)]
            with GradientTape() as tape:
                tape.watch(varied)
                outputs = results(operands)
            return [g.numpy() for g in tape.gradient(outputs, varied, upstream, "zero")]

    @custom_gradient
    def call(*tensors: Any) -> Any:
        outputs = numpy_function(values, tensors, expected)

        def pullback(*upstream: Any) -> Any:
            varied = [x for x in tensors if is_differentiable(x.aval.dtype)]
            specs = [TensorSpec(x.shape, x.dtype) for x in varied]
            parts = iter(numpy_function(gradients, [*tensors, *upstream], specs) if varied else ())
            return [next(parts) if is_differentiable(x.aval.dtype) else None for x in tensors]

        return tuple(outputs), pullback

    return call


# ---- functions of arrays ---------------------------------------------------------------------------------------------


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: Sequence[Any] | None = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Call a function of NumPy arrays on tensors; its gradient is unknown.

    Parameters
    ----------
    func : callable, optional
        Function that takes one read-only array for each entry of `inp`. In a traced function, its result must depend
        only on its arguments: it runs only if the compiled function needs the result. Without `func`, a decorator is
        returned, as in ``@jt.numpy_function(Tout=jt.float32)``.
    inp : sequence of tensor-like
        Arguments of `func`; not given for a decorator.
    Tout : dtype or TensorSpec, or a sequence of them
        Dtypes of the results. A `jt.function` requires a `TensorSpec`, as it needs the shapes; with dtypes only, the
        `jt.function` is recorded at each call instead of compiled.
    stateful, name
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    Tensor or list of Tensor
        The results. A gradient that depends on them is ``None``, with a warning that states the reason. If there are
        other paths too, `NoGradientError` is raised.

    Raises
    ------
    ValueError
        If the number or a shape of the results differs from `Tout`.
    TypeError
        If a result cannot be cast to its dtype with NumPy's ``same_kind`` rule, such as a float to an int, or `inp` or
        `Tout` is missing.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.numpy_function(lambda x: x[::-1], [jt.constant([1.0, 2.0])], jt.float32).numpy()
    array([2., 1.], dtype=float32)
    """
    if func is None:
        return _decorator("numpy_function", numpy_function, inp, Tout)
    func, inp = _checked_call("numpy_function", func, inp)
    if Tout is None:
        raise TypeError("[numpy_function] Missing required argument: 'Tout', the dtypes of the results")
    single = not isinstance(Tout, (list, tuple))
    expected = [Tout] if single else list(Tout)
    tensors = [convert_to_tensor(x) for x in inp]
    recorder = active_recorder()
    if isinstance(recorder, FunctionTrace):
        if not all(isinstance(t, TensorSpec) for t in expected):
            raise recorder.needed("a traced tensor", "pass shapes too: Tout=jt.TensorSpec(shape, dtype)")
        results = list(apply(_record_call, tuple(tensors), (func, tuple([t.aval for t in expected]))))
    else:
        values = _results(func, [t.numpy() for t in tensors], len(expected))
        outputs = [
            _cast_result(value, t, "numpy_function") for value, t in zip(values, expected, strict=True)
        ]
        results = list(apply(_record_values, (*outputs, *tensors), (len(outputs),))) if outputs else []
    return results[0] if single else results


def _dtype_of(expected: Any) -> np.dtype[Any]:
    return as_dtype(expected.dtype if isinstance(expected, TensorSpec) else expected)


def _results(
    func: Callable[..., Any], arguments: Sequence[Any], count: int, op: str = "numpy_function"
) -> list[Any]:
    """Return the results of `func` as a list of `count` values."""
    returned = func(*arguments)
    values = list(returned) if isinstance(returned, (list, tuple)) else [returned]
    if len(values) != count:
        raise ValueError(f"[{op}] {function_name(func)} returned {len(values)} results, Tout names {count}")
    return values


def _computed_once(n: int, stacked: tuple[bool, ...], *operands: Any) -> Any:
    """Raise: a value that was computed for one cotangent cannot be batched."""
    raise NoGradientError(
        "[numpy_function] a Jacobian or a tangent depends on a value that a NumPy function computed from one "
        "cotangent; write the gradient with jittape operations, or call tape.gradient once per cotangent"
    )


numpy_value_op = Primitive(
    "numpy_function",
    abstract_eval=lambda y, *operands: y,
    impl=lambda y, *operands: y,
    any_dtype=True,
    gradient_stops=BY_NUMPY,
    opaque=True,
    batch=_computed_once,
    simplified=lambda op, producers: op.args[0],
)
"""Identity on a value that NumPy has computed from the other operands, which explain why a gradient is None."""


@any_dtype
def _record_values(*operands_and_count: Any) -> tuple[Any, ...]:
    *operands, count = operands_and_count
    return tuple([numpy_value_op.bind(y, *operands[count:]) for y in operands[:count]])


def _call_evaluate(*arrays: Any, func: Callable[..., Any], avals: tuple[Aval, ...]) -> Any:
    packed = []
    views = [np.asarray(a).view() for a in arrays]
    for view in views:
        view.flags.writeable = False
    for value, aval in zip(_results(func, views, len(avals)), avals, strict=True):
        array = np.asarray(value)
        if array.shape != aval.shape or not np.can_cast(array.dtype, aval.dtype, "same_kind"):
            found = Aval(array.shape, array.dtype)
            raise ValueError(f"[numpy_function] {function_name(func)} returned {found}, Tout says {aval}")
        packed.append(np.ascontiguousarray(array, aval.dtype).reshape(-1).view(np.uint8))
    return np.concatenate(packed)


numpy_call_op = Primitive(
    "numpy_function",
    abstract_eval=lambda *operands, func, avals: Aval((sum([aval.nbytes for aval in avals]),), uint8),
    impl=_call_evaluate,
    any_dtype=True,
    gradient_stops=BY_NUMPY,
)
"""Bytes of all results of one call."""


def _part_evaluate(packed: Any, *operands: Any, offset: int, aval: Aval) -> Any:
    return packed[offset : offset + aval.nbytes].copy().view(aval.dtype).reshape(aval.shape)


numpy_part_op = Primitive(
    "numpy_function",
    abstract_eval=lambda packed, *operands, offset, aval: aval,
    impl=_part_evaluate,
    any_dtype=True,
    gradient_stops=BY_NUMPY,
    opaque=True,
)
"""One result of a call. The operands after the first declare its dependencies."""


@any_dtype
def _record_call(*operands_and_static: Any) -> tuple[Any, ...]:
    *operands, func, avals = operands_and_static
    packed = numpy_call_op.bind(*operands, func=func, avals=avals)
    ends = [sum([aval.nbytes for aval in avals[:i]]) for i in range(len(avals))]
    return tuple(
        [
            numpy_part_op.bind(packed, *operands, offset=at, aval=aval)
            for at, aval in zip(ends, avals, strict=True)
        ]
    )
