"""Vectors in LLVM IR: the same number in all lanes, masks, and memory of which only some lanes are touched."""

from __future__ import annotations

from functools import cache

from llvmlite import ir

from jittape.compile.llvm.ir_builder import vector_type
from jittape.compile.llvm.ir_helpers import external

__all__ = [
    "first_lanes",
    "lanes_of",
    "like",
    "masked_load",
    "masked_store",
    "numbered",
    "spread",
    "type_suffix",
]

_I32, _I64 = ir.IntType(32), ir.IntType(64)


class _Splat(ir.Constant):  # type: ignore[misc]
    """A constant of the same number in all lanes, which llvmlite writes out lane by lane."""

    def __init__(self, number: ir.Constant, lanes: int) -> None:
        self.type = vector_type(number.type, lanes)
        self._reference = f"splat ({number.type} {number.get_reference()})"

    def get_reference(self) -> str:
        return self._reference


def lanes_of(kind: ir.Type) -> int | None:
    """How many numbers a value has; None of one that is no vector."""
    return kind.count if isinstance(kind, ir.VectorType) else None


def _element_of(kind: ir.Type) -> ir.Type:
    """The type of a lane, or of a number itself."""
    return kind.element if isinstance(kind, ir.VectorType) else kind


def like(kind: ir.Type, lanes: int | None) -> ir.Type:
    """A type of so many lanes."""
    return kind if lanes is None else vector_type(kind, lanes)


def type_suffix(kind: ir.Type) -> str:
    """How a type reads in the name of one of LLVM's intrinsics."""
    lanes, element = lanes_of(kind), _element_of(kind)
    name: str = element.intrinsic_name
    return name if lanes is None else f"v{lanes}{name}"


def spread(builder: ir.IRBuilder, number: ir.Value, lanes: int) -> ir.Value:
    """A number in all lanes."""
    if isinstance(number, ir.Constant):
        return _Splat(number, lanes)
    undefined = ir.Constant(vector_type(number.type, lanes), ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(_I32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(vector_type(_I32, lanes), None))


@cache
def numbered(lanes: int) -> ir.Constant:
    """0, 1, 2, ... in i64."""
    return ir.Constant(vector_type(_I64, lanes), list(range(lanes)))


def first_lanes(builder: ir.IRBuilder, count: ir.Value, lanes: int) -> ir.Value:
    """The mask of the first `count` lanes."""
    return builder.icmp_signed("<", numbered(lanes), spread(builder, count, lanes))


def masked_load(
    builder: ir.IRBuilder, kind: ir.VectorType, place: ir.Value, mask: ir.Value, align: int
) -> ir.Value:
    """The vector that begins at `place`, of which only the lanes of the mask are read; zero in the others."""
    return _masked(builder, "load", kind, place, align, mask, ir.Constant(kind, None))


def masked_store(builder: ir.IRBuilder, value: ir.Value, place: ir.Value, mask: ir.Value, align: int) -> None:
    """Write the lanes of the mask."""
    _masked(builder, "store", value.type, value, place, align, mask)


def _masked(builder: ir.IRBuilder, what: str, kind: ir.VectorType, *arguments: ir.Value | int) -> ir.Value:
    values = [ir.Constant(_I32, a) if isinstance(a, int) else a for a in arguments]
    result = kind if what == "load" else ir.VoidType()
    function = external(
        builder.module,
        ir.FunctionType(result, [v.type for v in values]),
        f"llvm.masked.{what}.{type_suffix(kind)}.p0",
    )
    return builder.call(function, values)
