"""Checks for nan and infinities."""

from __future__ import annotations

from typing import Any

from jittape.core.config import config
from jittape.core.interpret import not_finite
from jittape.core.primitive import Primitive, active_recorder, apply
from jittape.errors import NumericsError
from jittape.primitives.batched_params import alike
from jittape.primitives.record_parts import require_kinds
from jittape.recording.convert import convert_to_tensor
from jittape.recording.tensor import Tensor
from jittape.recording.trie import path_to

__all__ = ["assert_all_finite", "check_numerics", "disable_check_numerics", "enable_check_numerics"]


def _check_evaluate(x: Any, *, message: str, of: str) -> Any:
    found = not_finite(x)
    if found:
        raise NumericsError(f"{message} : {found}{of}")
    return x


def _check_vjp(g: Any, out: Any, x: Any, *, message: str, of: str) -> Any:
    return check_numerics_op.bind(g, message=f"in the gradient of: {message}", of=of)


check_numerics_op: Primitive = Primitive(
    "check_numerics",
    abstract_eval=lambda x, *, message, of: require_kinds("check_numerics", "fc", x),
    impl=_check_evaluate,
    vjp=(_check_vjp,),
    batch=alike(),
)


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """Return `tensor` if it contains neither nan nor infinities; its gradient is checked too.

    Parameters
    ----------
    tensor : tensor-like
        Of a floating or complex dtype.
    message : str
        Start of the error message.
    name : str, optional
        Ignored; for compatibility with TensorFlow.

    Returns
    -------
    Tensor
        Checked immediately. In a traced function, checked at each call if the result is used.

    Raises
    ------
    DTypeError
        If `tensor` is bool or an integer.
    NumericsError
        With the op that computed the tensor and its source line.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.debugging.check_numerics(jt.constant([1.0, 2.0]), "all is well").numpy()
    array([1., 2.], dtype=float32)
    >>> try:
    ...     jt.debugging.check_numerics(jt.constant([1.0, float("nan")]), "the loss")
    ... except jt.NumericsError as error:
    ...     print(error)
    the loss : Tensor had NaN values (1 of 2, the first at 1)
    """
    value = convert_to_tensor(tensor)
    checked: Tensor = apply(_checked, (value,), (message, _made_by(value)))
    recorder: Any = active_recorder()
    if recorder.traced_in is None:
        checked._computed()
    return checked


def assert_all_finite(x: Any, message: str, name: str | None = None) -> Tensor:
    """Return `x` if it contains neither nan nor infinities; another name of `check_numerics`.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    message : str
        Text of the error.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `x` is bool or an integer.
    NumericsError
        If a value is nan or infinite.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.debugging.assert_all_finite([1.0, 2.0], "the loss").numpy()
    array([1., 2.], dtype=float32)
    """
    return check_numerics(x, message, name)


def _checked(x: Any, message: str, of: str) -> Any:
    return check_numerics_op.bind(x, message=message, of=of)


def _made_by(tensor: Tensor) -> str:
    """Return a description of the op that computes a pending tensor, with its line."""
    if tensor._buffer is not None or tensor._trace is None:
        return ""
    for op in path_to(tensor._trace.node).ops:
        if op.out == tensor._slot:
            made = f": result of op {op.primitive.name}, recorded at {op.source or 'an unknown line'}"
            return f"{made} (`with jt.debugging.trace_nans():` names the first op with such values)"
    return ""


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Check the result of every op for nan and infinities from now on.

    An op with such a result raises `NumericsError` when it runs. The error names the op and the source line that
    recorded it; for a gradient, the line of the differentiated op. While checks are enabled, every program is
    interpreted, which is slow.

    Parameters
    ----------
    stack_height_limit, path_length_limit
        Ignored, for compatibility with TensorFlow: the error names one line, the user's own.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.debugging.enable_check_numerics()
    >>> x = jt.constant([1.0, 0.0])
    >>> try:
    ...     jt.reduce_sum(jt.math.log(x)).numpy()
    ... except jt.NumericsError as error:
    ...     print(str(error).partition(", recorded")[0])
    Tensor had Inf values (1 of 2, the first at 1): result float32[2] of op log
    >>> jt.debugging.disable_check_numerics()
    """
    config.check_numerics = True


def disable_check_numerics() -> None:
    """Disable the checks of `enable_check_numerics`.

    Examples
    --------
    >>> jt.debugging.enable_check_numerics()
    >>> jt.debugging.disable_check_numerics()
    """
    config.check_numerics = False
