"""Vectors in LLVM IR: broadcasts, masks, and masked loads and stores."""

from __future__ import annotations

from collections.abc import Sequence
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
    "repeated",
    "reversed_lanes",
    "shuffled",
    "spread",
    "type_suffix",
]

_I32, _I64 = ir.IntType(32), ir.IntType(64)


class _Splat(ir.Constant):  # type: ignore[misc]
    """A constant with the same number in all lanes, which llvmlite would format lane by lane."""

    def __init__(self, number: ir.Constant, lanes: int) -> None:
        self.type = vector_type(number.type, lanes)
        self._reference = f"splat ({number.type} {number.get_reference()})"

    def get_reference(self) -> str:
        return self._reference


def lanes_of(kind: ir.Type) -> int | None:
    """Return the number of lanes of a type; None if it is no vector."""
    return kind.count if isinstance(kind, ir.VectorType) else None


def _element_of(kind: ir.Type) -> ir.Type:
    """Return the type of a lane; a scalar type is returned unchanged."""
    return kind.element if isinstance(kind, ir.VectorType) else kind


def like(kind: ir.Type, lanes: int | None) -> ir.Type:
    """Return the type of a vector of `lanes` lanes; `kind` itself if that is None.

    A complex number is a vector of two numbers, and a vector of these has the parts of each next to each other.
    """
    if lanes is None:
        return kind
    if isinstance(kind, ir.VectorType):
        return vector_type(kind.element, kind.count * lanes)
    return vector_type(kind, lanes)


def type_suffix(kind: ir.Type) -> str:
    """Return the suffix for a type in the names of LLVM's intrinsics."""
    lanes, element = lanes_of(kind), _element_of(kind)
    name: str = element.intrinsic_name
    return name if lanes is None else f"v{lanes}{name}"


def shuffled(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, places: Sequence[int]) -> ir.Value:
    """Return a vector of the elements of `a` and then `b`, both vectors, at `places`."""
    return builder.shuffle_vector(a, b, ir.Constant(vector_type(_I32, len(places)), list(places)))


def reversed_lanes(builder: ir.IRBuilder, vector: ir.Value, lanes: int) -> ir.Value:
    """Return a vector with its lanes in the opposite order."""
    size = vector.type.count // lanes
    order = [lane * size + part for lane in reversed(range(lanes)) for part in range(size)]
    return shuffled(builder, vector, vector, order)


def repeated(builder: ir.IRBuilder, mask: ir.Value, times: int) -> ir.Value:
    """Return a vector with each element of a vector several times."""
    if times == 1:
        return mask
    return shuffled(builder, mask, mask, [i for i in range(mask.type.count) for _ in range(times)])


def spread(builder: ir.IRBuilder, number: ir.Value, lanes: int) -> ir.Value:
    """Return a vector with a number in all lanes."""
    if isinstance(number.type, ir.VectorType):
        return shuffled(builder, number, number, list(range(number.type.count)) * lanes)
    if isinstance(number, ir.Constant):
        return _Splat(number, lanes)
    undefined = ir.Constant(vector_type(number.type, lanes), ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(_I32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(vector_type(_I32, lanes), None))


@cache
def numbered(lanes: int) -> ir.Constant:
    """Return the vector 0, 1, 2, ... of i64."""
    return ir.Constant(vector_type(_I64, lanes), list(range(lanes)))


def first_lanes(builder: ir.IRBuilder, count: ir.Value, lanes: int) -> ir.Value:
    """Return the mask of the first `count` lanes."""
    return builder.icmp_signed("<", numbered(lanes), spread(builder, count, lanes))


def masked_load(
    builder: ir.IRBuilder,
    kind: ir.VectorType,
    place: ir.Value,
    mask: ir.Value,
    align: int,
    others: ir.Value | None = None,
) -> ir.Value:
    """Load the lanes of the mask of the vector at `place`; the other lanes are those of `others`, or zero."""
    mask = repeated(builder, mask, kind.count // mask.type.count)
    others = ir.Constant(kind, None) if others is None else others
    return _masked(builder, "load", kind, place, align, mask, others)


def masked_store(builder: ir.IRBuilder, value: ir.Value, place: ir.Value, mask: ir.Value, align: int) -> None:
    """Store the lanes of the mask."""
    mask = repeated(builder, mask, value.type.count // mask.type.count)
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
