"""A built-in function in machine code that excludes many objects from Python's garbage collector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from jittape.native.built_in import built_in

if TYPE_CHECKING:
    from llvmlite import ir

__all__ = ["EXCLUSION"]


def _write(function: ir.Function, places: Mapping[str, int]) -> None:
    from llvmlite import ir

    from jittape.compile.llvm.driver import return_integer
    from jittape.compile.llvm.ir_helpers import integer
    from jittape.native.object_code import I32, ObjectCode

    code = ObjectCode(function, places)
    with code.each_item(code.argument(0)) as (_, item):
        tracked = code.differ(code.call("PyObject_GC_IsTracked", item), ir.Constant(I32, 0))
        with code.builder.if_then(tracked):
            code.call("PyObject_GC_UnTrack", item)
    return_integer(code.builder, integer(0))


EXCLUSION = built_in("untrack", _write)
"""The function, which takes a list; None if there is no machine code over objects."""
