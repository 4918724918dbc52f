"""`print`: prints computed values, in a compiled function at every call."""

from __future__ import annotations

import builtins
from typing import Any, NamedTuple

from jittape.core.buffers import Buffer
from jittape.core.primitive import active_recorder
from jittape.core.program import Aval
from jittape.core.traced_scalar import TracedScalar
from jittape.recording.convert import convert_to_tensor
from jittape.recording.function_trace import FunctionTrace
from jittape.recording.operators import Operators

__all__ = ["print", "print_values", "printed_at_each_call"]


def print(
    *inputs: Any, output_stream: Any = None, sep: str = " ", end: str = "\n", name: str | None = None
) -> None:
    """Print values, tensors as arrays.

    Python's own `print` runs only while a `jt.function` is traced, and shows placeholders. `jt.print` prints at every
    call, after the function has run.

    Parameters
    ----------
    *inputs
        Tensors, Variables or any other objects.
    output_stream : file, optional
        Stream to print to. The default is standard output.
    sep, end : str
        Separator and end, as for Python's `print`.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Examples
    --------
    >>> import jittape as jt
    >>> @jt.function
    ... def double(x):
    ...     jt.print("x is", x)
    ...     return x + x
    >>> _ = double(jt.constant([1.0, 2.0])), double(jt.constant([3.0, 4.0]))
    x is [1. 2.]
    x is [3. 4.]
    """
    options = {"file": output_stream, "sep": sep, "end": end}
    recorder = active_recorder()
    if isinstance(recorder, FunctionTrace):
        values = [convert_to_tensor(x) if isinstance(x, (Operators, TracedScalar)) else x for x in inputs]
        recorder.prints.append((tuple(values), options))
    else:
        builtins.print(*[x.numpy() if isinstance(x, Operators) else x for x in inputs], **options)


def printed_at_each_call(tracing: FunctionTrace) -> tuple[list[tuple[list[Any], dict[str, Any]]], list[int]]:
    """Return the printed values, with `_Printed` in place of tensors, and the slots of these tensors."""
    slots: list[int] = []
    prints: list[tuple[list[Any], dict[str, Any]]] = []
    for values, options in tracing.prints:
        pieces: list[Any] = []
        for value in values:
            if tracing.owns(value):
                pieces.append(_Printed(len(slots), value.aval))
                slots.append(value._slot)
            else:
                pieces.append(value)
        prints.append((pieces, options))
    return prints, slots


class _Printed(NamedTuple):
    """A printed tensor, by the number of its output."""

    output: int
    aval: Aval


def print_values(prints: list[tuple[list[Any], dict[str, Any]]], buffers: list[Buffer]) -> None:
    """Print what `printed_at_each_call` found, with the values of the tensors."""
    for pieces, options in prints:
        values = [buffers[piece.output].view() if isinstance(piece, _Printed) else piece for piece in pieces]
        builtins.print(*values, **options)
