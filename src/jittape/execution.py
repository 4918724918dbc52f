"""Words of TensorFlow's graphs and devices, with their meaning in a program that runs in order on the processor."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from jittape.core.dtypes import float64
from jittape.core.primitive import active_recorder, recording_with
from jittape.core.user_calls import as_array
from jittape.recording.convert import constant
from jittape.recording.operators import Operators
from jittape.recording.symbolic_trace import drawn
from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace

__all__ = [
    "control_dependencies",
    "device",
    "executing_eagerly",
    "get_logger",
    "get_static_value",
    "group",
    "init_scope",
    "inside_function",
    "is_symbolic_tensor",
    "no_op",
    "timestamp",
]


def executing_eagerly() -> bool:
    """Return whether operations have values now: False while a `jt.function` or a loop's body is traced.

    Examples
    --------
    >>> jt.executing_eagerly()
    True
    >>> @jt.function
    ... def f(x):
    ...     print(jt.executing_eagerly())
    ...     return x
    >>> _ = f(1.0)
    False
    """
    return active_recorder().traced_in is None


def inside_function() -> bool:
    """Return whether a `jt.function` or a loop's body is being traced.

    Examples
    --------
    >>> jt.inside_function()
    False
    """
    return not executing_eagerly()


def init_scope() -> AbstractContextManager[Any]:
    """Return a context that leaves the `jt.function` being traced: its operations run at once and only then.

    Outside a traced function it changes nothing.

    Examples
    --------
    >>> @jt.function
    ... def f(x):
    ...     with jt.init_scope():
    ...         print("traced, eagerly:", jt.executing_eagerly())
    ...     return x + x
    >>> float(f(jt.constant(1.0))), float(f(jt.constant(2.0)))
    traced, eagerly: True
    (2.0, 4.0)
    """
    return nullcontext() if executing_eagerly() else recording_with(Trace())


def no_op(name: str | None = None) -> None:
    """Do nothing.

    Examples
    --------
    >>> jt.no_op()
    """


def group(*inputs: Any, name: str | None = None) -> None:
    """Do nothing: operations run in the order of the program, so the operations `inputs` are done.

    Parameters
    ----------
    *inputs : tensor_like or Variable
        Operations, which are already recorded.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> v = jt.Variable(1.0)
    >>> jt.group(v.assign_add(1.0), v.assign_add(1.0))
    >>> float(v)
    3.0
    """


@contextmanager
def control_dependencies(control_inputs: Sequence[Any] | None) -> Iterator[None]:
    """Return a context without effect: assignments and reads run in the order of the program.

    Parameters
    ----------
    control_inputs : sequence or None

    Raises
    ------
    TypeError
        If `control_inputs` is neither.

    Examples
    --------
    >>> v = jt.Variable(1.0)
    >>> with jt.control_dependencies([v.assign(2.0)]):
    ...     y = v + 1.0
    >>> float(y)
    3.0
    """
    if control_inputs is not None and not isinstance(control_inputs, (list, tuple, set, frozenset)):
        raise TypeError(
            f"[control_dependencies] control_inputs must be a list or None, got {control_inputs!r}"
        )
    yield


_DEVICE = re.compile(
    r"(?:/?job:\w+|/?replica:\d+|/?task:\d+|/?(?:device:)?(?P<kind>[A-Za-z]+)(?::(?:\d+|\*))?)"
)


@contextmanager
def device(device_name: str | None) -> Iterator[None]:
    """Return a context without effect for the processor's name; jittape has no other devices.

    Parameters
    ----------
    device_name : str or None
        Such as ``"CPU:0"`` or ``"/device:CPU:0"``.

    Raises
    ------
    ValueError
        For a GPU, a TPU, or text that is no device name.

    Examples
    --------
    >>> with jt.device("/CPU:0"):
    ...     x = jt.constant(1.0)
    """
    if device_name is not None:
        if not isinstance(device_name, str):
            raise TypeError(f"[device] device_name must be a str such as 'CPU:0', got {device_name!r}")
        parts = list(_DEVICE.finditer(device_name))
        if "".join([part[0] for part in parts]) != device_name:
            raise ValueError(
                f"Unknown attribute {device_name!r} is encountered while parsing the device spec; write 'CPU:0'"
            )
        kinds = [part["kind"] for part in parts if part["kind"] is not None]
        if any(kind.upper() != "CPU" for kind in kinds):
            raise ValueError(
                f"[device] jittape computes on the CPU and has no device {device_name!r}; write 'CPU:0', or leave "
                "the `with` statement out"
            )
    yield


def get_logger() -> logging.Logger:
    """Return the logger named ``jittape``.

    Examples
    --------
    >>> jt.get_logger().name
    'jittape'
    """
    return logging.getLogger("jittape")


def timestamp(name: str | None = None) -> Tensor:
    """Return the time in seconds since 1970 as a float64 scalar; in a `jt.function`, the time of each call.

    Examples
    --------
    >>> jt.timestamp().dtype.name
    'float64'
    """
    return constant(time.time(), float64) if executing_eagerly() else drawn(_now, (), (), float64)


def _now(lead: tuple[int, ...] = ()) -> np.ndarray[Any, Any]:
    return np.full(lead, time.time())


def is_symbolic_tensor(tensor: Any) -> bool:
    """Return whether `tensor` is a tensor of a function that is being traced, and has no value.

    Parameters
    ----------
    tensor : object
        The object to check.

    Examples
    --------
    >>> jt.is_symbolic_tensor(jt.constant(1.0))
    False
    """
    return isinstance(tensor, Tensor) and tensor._buffer is None and _traced(tensor)


def _traced(tensor: Tensor) -> bool:
    return tensor._trace is not None and tensor._trace.traced_in is not None


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """Return the value of `tensor` as an array; None if it is a tensor of a function that is being traced.

    Parameters
    ----------
    tensor : tensor-like
    partial : bool
        Ignored; for compatibility with TensorFlow.

    Examples
    --------
    >>> jt.get_static_value(jt.constant([1, 2]))
    array([1, 2], dtype=int32)
    """
    if not isinstance(tensor, Operators):
        return as_array("tensor", tensor)
    return None if inside_function() or is_symbolic_tensor(tensor) else tensor.numpy()
