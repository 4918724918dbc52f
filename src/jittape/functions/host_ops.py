"""Python functions as ops: `py_function`, whose operations are recorded, and `numpy_function`, which NumPy computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape.autodiff.custom_gradient import custom_gradient
from jittape.autodiff.tape import GradientTape
from jittape.core.dtypes import as_dtype, is_differentiable, uint8
from jittape.core.primitive import Primitive, active_recorder, apply, recording_with
from jittape.core.program import Aval
from jittape.core.user_calls import function_name
from jittape.errors import NoGradientError
from jittape.functions.signature import TensorSpec
from jittape.recording.convert import cast_to_dtype, convert_to_tensor
from jittape.recording.function_trace import Tracing
from jittape.recording.handles import own_handles
from jittape.recording.tensor import tensor_of
from jittape.recording.trace import Trace

__all__ = ["numpy_function", "py_function"]

BY_NUMPY = (
    "NumPy computed it; write it with jittape operations, or give it a gradient with jt.custom_gradient"
)


def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None) -> Any:
    """Call a Python function on tensors; what it does with jittape operations is recorded and differentiable.

    Parameters
    ----------
    func : callable
        Takes one tensor for every entry of `inp`.
    inp : sequence of tensor-like
    Tout : dtype or TensorSpec, or a sequence of them
        Of the results. An empty sequence or None: the result is dropped. In a `jt.function`, a dtype alone has `func`
        traced like all else there; with a `TensorSpec` it is called at each call, on values, and may look at them. It
        is differentiable once then.
    name : str, optional
        Accepted for TensorFlow's sake.

    Returns
    -------
    Tensor or list of Tensor

    Raises
    ------
    ValueError
        If `func` returns another number of results than `Tout` names, or one of another shape.
    TypeError
        If a result is of another kind than `Tout` says, as a float is for an int.

    Examples
    --------
    >>> import jittape as jt
    >>> float(jt.py_function(lambda x: x * x if x > 1 else x, [jt.constant(3.0)], jt.float32))
    9.0
    """
    _check_call("py_function", func, inp)
    tensors = [convert_to_tensor(x) for x in inp]
    wanted = list(Tout) if isinstance(Tout, (list, tuple)) else [Tout]
    if isinstance(active_recorder(), Tracing) and wanted and all(isinstance(t, TensorSpec) for t in wanted):
        results = _called_on_values(func, wanted)(*tensors)
        return list(results) if isinstance(Tout, (list, tuple)) else results[0]
    result = func(*own_handles(tensors))
    if not isinstance(Tout, (list, tuple)):
        if isinstance(result, tuple):
            raise ValueError(
                f"[py_function] {function_name(func)} returned {len(result)} results in a tuple, Tout names one; "
                "give Tout as a list"
            )
        return None if Tout is None else _as(result, Tout)
    results = [] if result is None else list(result) if isinstance(result, (list, tuple)) else [result]
    if len(results) != len(Tout):
        raise ValueError(
            f"[py_function] {function_name(func)} returned {len(results)} results, Tout names {len(Tout)}"
        )
    return [_as(r, dtype) for r, dtype in zip(results, Tout, strict=True)]


def _check_call(op: str, func: Any, inp: Any) -> None:
    if not callable(func):
        raise TypeError(f"[{op}] func must be callable, got {func!r}")
    if not isinstance(inp, (list, tuple)):
        raise TypeError(f"[{op}] inp must be a list of tensors, got {inp!r}: write [x] for one")


def _as(value: Any, announced: Any, op: str = "py_function") -> Any:
    """A result of a Python function in the dtype that was announced; its shape is checked if that was too."""
    wanted = _dtype_of(announced)
    tensor = convert_to_tensor(value, dtype_hint=wanted)
    if not np.can_cast(tensor.dtype, wanted, "same_kind"):
        raise TypeError(f"[{op}] a result is {tensor.dtype.name}, which does not cast to Tout {wanted.name}")
    if isinstance(announced, TensorSpec) and not announced.takes(tensor.shape):
        raise ValueError(f"[{op}] a result has shape {tensor.shape}, Tout says {announced}")
    return cast_to_dtype(tensor, wanted)


def _called_on_values(func: Callable[..., Any], wanted: list[TensorSpec]) -> Callable[..., Any]:
    """For a traced function: `func`, called when the compiled function runs; and so is its gradient."""

    def results(tensors: list[Any]) -> list[Any]:
        values = _results(func, tensors, len(wanted), "py_function")
        return [_as(value, t) for value, t in zip(values, wanted, strict=True)]

    def values(*arrays: Any) -> list[Any]:
        with recording_with(Trace()):  # the caller's own trace is at work
            return [y.numpy() for y in results([tensor_of(np.array(a)) for a in arrays])]

    def gradients(*arrays: Any) -> list[Any]:
        with recording_with(Trace()):
            tensors = [tensor_of(np.array(a)) for a in arrays]
            operands, upstream = tensors[: -len(wanted)], tensors[-len(wanted) :]
            varied = [x for x in operands if is_differentiable(x.dtype)]
            with GradientTape() as tape:
                tape.watch(varied)
                outputs = results(operands)
            found = tape.gradient(outputs, varied, upstream, "zero")
            return [g.numpy() for g in found]

    @custom_gradient
    def call(*tensors: Any) -> Any:
        made = numpy_function(values, tensors, wanted)

        def pulled_back(*upstream: Any) -> Any:
            varied = [x for x in tensors if is_differentiable(x.dtype)]
            specs = [TensorSpec(x.shape, x.dtype) for x in varied]
            found = iter(numpy_function(gradients, [*tensors, *upstream], specs) if varied else ())
            return [next(found) if is_differentiable(x.dtype) else None for x in tensors]

        return tuple(made), pulled_back

    return call


# ---- functions of arrays ---------------------------------------------------------------------------------------------


def numpy_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Call a function of NumPy arrays on tensors; its gradient is unknown.

    Parameters
    ----------
    func : callable
        Takes one array (read-only) for every entry of `inp`. In a traced function its result must depend on its
        arguments only: it is called when the compiled function needs it, and not when nobody does.
    inp : sequence of tensor-like
    Tout : dtype or TensorSpec, or a sequence of them
        Of the results. A `jt.function` needs to know the shapes and so a `TensorSpec`; with a dtype alone it is
        recorded at each call instead of compiled.
    stateful, name
        Accepted for TensorFlow's sake.

    Returns
    -------
    Tensor or list of Tensor
        A gradient through it is ``None``, with the reason. If it is one of several paths, `NoGradientError` is raised.

    Raises
    ------
    ValueError
        If `func` returns another number of results than `Tout` names, or one of another shape.
    TypeError
        If a result is of another kind than `Tout` says, as a float is for an int.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.numpy_function(lambda x: x[::-1], [jt.constant([1.0, 2.0])], jt.float32).numpy()
    array([2., 1.], dtype=float32)
    """
    _check_call("numpy_function", func, inp)
    single = not isinstance(Tout, (list, tuple))
    wanted = [Tout] if single else list(Tout)
    tensors = [convert_to_tensor(x) for x in inp]
    recorder = active_recorder()
    if isinstance(recorder, Tracing):
        if not all(isinstance(t, TensorSpec) for t in wanted):
            raise recorder.needed("a traced tensor", "give shapes too: Tout=jt.TensorSpec(shape, dtype)")
        results = list(apply(_called, tuple(tensors), (func, tuple([t.aval for t in wanted]))))
    else:
        values = _results(func, [t.numpy() for t in tensors], len(wanted))
        made = [_as(value, t, "numpy_function") for value, t in zip(values, wanted, strict=True)]
        results = list(apply(_valued, (*made, *tensors), (len(made),))) if made else []
    return results[0] if single else results


def _dtype_of(wanted: Any) -> np.dtype[Any]:
    return wanted.dtype if isinstance(wanted, TensorSpec) else as_dtype(wanted)


def _results(
    func: Callable[..., Any], arguments: Sequence[Any], count: int, op: str = "numpy_function"
) -> list[Any]:
    """What `func` returns, as a list of `count`."""
    returned = func(*arguments)
    values = list(returned) if isinstance(returned, (list, tuple)) else [returned]
    if len(values) != count:
        raise ValueError(f"[{op}] {function_name(func)} returned {len(values)} results, Tout names {count}")
    return values


def _computed_once(n: int, stacked: tuple[bool, ...], *operands: Any) -> Any:
    """A value that was computed for one cotangent cannot be run on a stack of them."""
    raise NoGradientError(
        "[numpy_function] a Jacobian or a tangent depends on what a NumPy function computed from a cotangent, once and "
        "for good; write the gradient with jittape operations, or take it with tape.gradient, one cotangent at a time"
    )


numpy_value_op = Primitive(
    "numpy_function",
    abstract_eval=lambda y, *operands: y,
    impl=lambda y, *operands: y,
    gradient_stops=BY_NUMPY,
    opaque=True,
    batch=_computed_once,
    simplified=lambda op, producers: op.args[0],
)
"""What NumPy has computed from the other operands: they are there for the reason why a gradient is None."""


def _valued(*operands_and_count: Any) -> tuple[Any, ...]:
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
    gradient_stops=BY_NUMPY,
)
"""The bytes of all results of one call."""


def _part_evaluate(packed: Any, *operands: Any, offset: int, aval: Aval) -> Any:
    return packed[offset : offset + aval.nbytes].copy().view(aval.dtype).reshape(aval.shape)


numpy_part_op = Primitive(
    "numpy_function",
    abstract_eval=lambda packed, *operands, offset, aval: aval,
    impl=_part_evaluate,
    gradient_stops=BY_NUMPY,
    opaque=True,
)
"""One of the results of a call with the given operands, which say what it depends on."""


def _called(*operands_and_static: Any) -> tuple[Any, ...]:
    *operands, func, avals = operands_and_static
    packed = numpy_call_op.bind(*operands, func=func, avals=avals)
    ends = [sum([aval.nbytes for aval in avals[:i]]) for i in range(len(avals))]
    return tuple(
        [
            numpy_part_op.bind(packed, *operands, offset=at, aval=aval)
            for at, aval in zip(ends, avals, strict=True)
        ]
    )
