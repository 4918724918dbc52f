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

_PATH = "file://"


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
    output_stream : file or str, optional
        Stream to print to, or the path of a file to append to, as ``"file:///tmp/log.txt"``. The default is standard
        output.
    sep, end : str
        Separator and end, as for Python's `print`.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Raises
    ------
    ValueError
        If `output_stream` is neither a stream nor a path that begins with ``file://``.

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
    if not (output_stream is None or hasattr(output_stream, "write") or _is_path(output_stream)):
        raise ValueError(
            "[print] output_stream must be a stream, such as sys.stderr, or the path of a file as 'file:///log.txt', "
            f"got {output_stream!r}"
        )
    options = {"file": output_stream, "sep": sep, "end": end}
    recorder = active_recorder()
    if isinstance(recorder, FunctionTrace):
        values = [convert_to_tensor(x) if isinstance(x, (Operators, TracedScalar)) else x for x in inputs]
        recorder.prints.append((tuple(values), options))
    else:
        _print([x.numpy() if isinstance(x, Operators) else x for x in inputs], options)


def _is_path(stream: Any) -> bool:
    return isinstance(stream, str) and stream.startswith(_PATH)


def _print(values: list[Any], options: dict[str, Any]) -> None:
    if _is_path(options["file"]):
        with open(options["file"].removeprefix(_PATH), "a", encoding="utf-8") as file:
            builtins.print(*values, **(options | {"file": file}))
    else:
        builtins.print(*values, **options)


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
        _print(values, options)
