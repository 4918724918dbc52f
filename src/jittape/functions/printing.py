"""`print`: prints computed values, in a compiled function at every call."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from operator import itemgetter
from typing import Any, NamedTuple

from jittape.core.buffers import Buffer
from jittape.core.primitive import active_recorder
from jittape.core.traced_scalar import TracedScalar
from jittape.recording.convert import convert_to_tensor
from jittape.recording.function_trace import FunctionTrace
from jittape.recording.nested import flatten
from jittape.recording.operators import Operators

__all__ = ["print", "print_values", "printed_at_each_call"]

_PATH = "file://"


def print(
    *inputs: Any, output_stream: Any = None, sep: str = " ", end: str = "\n", name: str | None = None
) -> None:
    """Print values, tensors as arrays, also in lists, tuples and dicts.

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
    pieces = [_piece_of(x) for x in inputs]
    if isinstance(recorder, FunctionTrace):
        recorder.prints.append(
            ([p.with_leaves([_shown(x, recorder) for x in p.leaves]) for p in pieces], options)
        )
    else:
        _print([p.rebuild([_shown(x, None) for x in p.leaves]) for p in pieces], options)


class _Piece(NamedTuple):
    """One of the printed inputs, as its leaves and a function that puts them together."""

    leaves: list[Any]
    rebuild: Callable[[list[Any]], Any]

    def with_leaves(self, leaves: list[Any]) -> _Piece:
        """Return the piece with other leaves."""
        return self._replace(leaves=leaves)


def _piece_of(value: Any) -> _Piece:
    if isinstance(value, (list, tuple, dict)):
        leaves, rebuild = flatten(value)
        if any([isinstance(x, (Operators, TracedScalar)) for x in leaves]):
            return _Piece(leaves, rebuild)
    return _Piece([value], itemgetter(0))


class _Text(str):
    """The text of an array, the same in a list."""

    __slots__ = ()
    __repr__ = str.__str__


def _shown(value: Any, recorder: FunctionTrace | None) -> Any:
    """Return what to print of `value`: a tensor of the trace `recorder`, or the text of another tensor's array."""
    if not isinstance(value, (Operators, TracedScalar)):
        return value
    tensor = convert_to_tensor(value)
    return tensor if recorder is not None and recorder.owns(tensor) else _Text(tensor.numpy())


def _is_path(stream: Any) -> bool:
    return isinstance(stream, str) and stream.startswith(_PATH)


def _print(values: list[Any], options: dict[str, Any]) -> None:
    if _is_path(options["file"]):
        with open(options["file"].removeprefix(_PATH), "a", encoding="utf-8") as file:
            builtins.print(*values, **(options | {"file": file}))
    else:
        builtins.print(*values, **options)


_Prints = list[tuple[list[_Piece], dict[str, Any]]]


def printed_at_each_call(tracing: FunctionTrace) -> tuple[_Prints, list[int]]:
    """Return the printed pieces, with `_Printed` in place of tensors, and the slots of these tensors."""
    slots: list[int] = []

    def kept(value: Any) -> Any:
        if not tracing.owns(value):
            return value
        slots.append(value._slot)
        return _Printed(len(slots) - 1)

    prints = [
        ([piece.with_leaves([kept(x) for x in piece.leaves]) for piece in pieces], options)
        for pieces, options in tracing.prints
    ]
    return prints, slots


class _Printed(NamedTuple):
    """A printed tensor, by the number of its output."""

    output: int


def print_values(prints: _Prints, buffers: list[Buffer]) -> None:
    """Print what `printed_at_each_call` found, with the values of the tensors."""
    for pieces, options in prints:
        texts = [
            [_Text(buffers[x.output].view()) if isinstance(x, _Printed) else x for x in p.leaves]
            for p in pieces
        ]
        _print([p.rebuild(t) for p, t in zip(pieces, texts, strict=True)], options)
