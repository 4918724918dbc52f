"""Definitions of built-in functions in machine code, made without LLVM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from jittape.compile.llvm.definition import Definition, FunctionKind
from jittape.core.buffers import Buffer
from jittape.native.object_layout import object_layout, slot_places

if TYPE_CHECKING:
    from llvmlite import ir

__all__ = ["PYTHON_CALL", "TABLE", "buffer_places", "built_in"]

TABLE = "jittape_objects"
"""Symbol of the process's table of types, functions and constants that `ObjectCode.known` reads.

Code on disk refers to the table by this name and contains no address of an object.
"""
PYTHON_CALL = "jittape_python_call"
"""Symbol of the C function that runs the code of Python functions: see `vector_calls.python_call`."""


def built_in(
    name: str, write: Callable[[ir.Function, Mapping[str, int]], None], slots: Mapping[str, int] | None = None
) -> Definition | None:
    """Return the definition of a built-in function that reads objects; None if there is no `ObjectLayout`.

    Parameters
    ----------
    name : str
        The function's name. The offsets are appended, as they are part of the code.
    write : callable
        Writes the function's body, given the function and the offsets by name.
    slots : mapping of str to int
        Offsets of slots besides the fields of `ObjectLayout`.
    """
    layout = object_layout()
    if layout is None:
        return None
    places = {**layout._asdict(), **(slots or {})}
    full_name = "_".join([name, *map(str, places.values())])
    return Definition(full_name, FunctionKind.BUILT_IN, lambda function: write(function, places))


def buffer_places() -> dict[str, int]:
    """Return the offsets of a Buffer's slots, such as ``"Buffer.array"``.

    Raises
    ------
    ValueError
        If a slot is not found.
    """
    return {f"Buffer.{name}": at for name, at in slot_places(Buffer, Buffer.__slots__).items()}
