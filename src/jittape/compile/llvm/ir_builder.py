"""A fast builder of LLVM IR, which stores common instructions as text.

llvmlite represents an instruction as an object of many parts, finds a name for it, and formats it at the end. Here an
instruction is text from the start: the 4,500 lines of the kernels of 252 steps of an option take 26 ms instead of 52.
A block may hold both kinds, so rare instructions (branches, phis, atomic memory) are left to llvmlite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from llvmlite import ir

__all__ = ["Builder", "Instruction", "vector_type"]

_I1, _VOID = ir.IntType(1), ir.VoidType()
_CONDITIONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


@cache
def vector_type(kind: ir.Type, lanes: int) -> ir.VectorType:
    """Return the type of vectors. Equal types are one object, so they are compared by identity."""
    return ir.VectorType(kind, lanes)


class Instruction(ir.Value):  # type: ignore[misc]
    """An instruction as text.

    Attributes
    ----------
    type : ir.Type
        Type of the result.
    opname : str
        Name of the operation.
    flags : list of str
        Flags of the operation; a copy.
    rest : str
        The text after these.
    callee : ir.Function or None
        The function that a call calls.
    """

    __slots__ = ("_flags", "_reference", "callee", "opname", "rest", "type")

    def __init__(
        self,
        reference: str,
        kind: ir.Type,
        opname: str,
        rest: str,
        flags: Sequence[str] = (),
        callee: ir.Function | None = None,
    ) -> None:
        self._reference = reference
        self.type = kind
        self.opname = opname
        self.rest = rest
        self._flags = flags
        self.callee = callee

    @property
    def flags(self) -> list[str]:
        """A copy of the flags.

        If a caller is compiled with ``fastmath``, Numba's pass over the module appends to this list. The copy ignores
        that: a flag such as ``nnan`` would break the kernel's results for nan and inf.
        """
        return [*self._flags]

    @flags.setter
    def flags(self, flags: Sequence[str]) -> None:
        self._flags = flags

    @property
    def function_type(self) -> ir.FunctionType:
        """Type of the function that the result points to."""
        return self.type.pointee

    def get_reference(self) -> str:
        """Return the name of the result; empty if there is none."""
        return self._reference

    def __str__(self) -> str:
        words = " ".join((self.opname, *self._flags, self.rest))
        return f"{self._reference} = {words}" if self._reference else words


def _binary(opname: str) -> Callable[..., Instruction]:
    """Return the method for an operation on two values of one type."""

    def emit(self: Builder, lhs: ir.Value, rhs: ir.Value, flags: Sequence[str] = ()) -> Instruction:
        kind = lhs.type
        if kind is not rhs.type:
            _require_type(kind, rhs.type)
        return self._emit(kind, opname, f"{kind} {lhs.get_reference()}, {rhs.get_reference()}", flags)

    return emit


def _cast(opname: str) -> Callable[..., ir.Value]:
    """Return the method for a conversion; it returns a value of the target type unchanged."""

    def emit(self: Builder, value: ir.Value, kind: ir.Type) -> ir.Value:
        if value.type == kind:
            return value
        return self._emit(kind, opname, f"{value.type} {value.get_reference()} to {kind}")

    return emit


class Builder(ir.IRBuilder):  # type: ignore[misc]
    """A faster builder with the interface of llvmlite's; instructions get no names."""

    add, sub, mul = _binary("add"), _binary("sub"), _binary("mul")
    sdiv, udiv, srem = _binary("sdiv"), _binary("udiv"), _binary("srem")
    shl, lshr, ashr = _binary("shl"), _binary("lshr"), _binary("ashr")
    and_, or_, xor = _binary("and"), _binary("or"), _binary("xor")
    fadd, fsub, fmul = _binary("fadd"), _binary("fsub"), _binary("fmul")
    fdiv, frem = _binary("fdiv"), _binary("frem")
    trunc, zext, sext = _cast("trunc"), _cast("zext"), _cast("sext")
    fptrunc, fpext = _cast("fptrunc"), _cast("fpext")
    sitofp, uitofp = _cast("sitofp"), _cast("uitofp")
    bitcast, ptrtoint, inttoptr = _cast("bitcast"), _cast("ptrtoint"), _cast("inttoptr")

    def _emit(
        self,
        kind: ir.Type,
        opname: str,
        rest: str,
        flags: Sequence[str] = (),
        callee: ir.Function | None = None,
    ) -> Instruction:
        """Insert an instruction with a result, named by the block and the number of instructions before it."""
        block = self._block
        others = block.instructions
        instruction = Instruction(f'%"{block.name}:{len(others)}"', kind, opname, rest, flags, callee)
        others.insert(self._anchor, instruction)
        self._anchor += 1
        return instruction

    def _emit_void(self, opname: str, rest: str, callee: ir.Function | None = None) -> Instruction:
        """Insert an instruction without a result."""
        instruction = Instruction("", _VOID, opname, rest, (), callee)
        self._block.instructions.insert(self._anchor, instruction)
        self._anchor += 1
        return instruction

    # ---- operations on one value, and select -------------------------------------------------------------------------

    def not_(self, value: ir.Value) -> Instruction:
        return self.xor(value, ir.Constant(value.type, -1))

    def neg(self, value: ir.Value) -> Instruction:
        return self.sub(ir.Constant(value.type, 0), value)

    def fneg(self, value: ir.Value, flags: Sequence[str] = ()) -> Instruction:
        return self._emit(value.type, "fneg", f"{value.type} {value.get_reference()}", flags)

    def select(self, condition: ir.Value, lhs: ir.Value, rhs: ir.Value) -> Instruction:
        kind = lhs.type
        if kind is not rhs.type:
            _require_type(kind, rhs.type)
        test = f"{condition.type} {condition.get_reference()}"
        rest = f"{test}, {kind} {lhs.get_reference()}, {kind} {rhs.get_reference()}"
        return self._emit(kind, "select", rest)

    # ---- comparisons ---------------------------------------------------------------------------------------------

    def _compare(self, opname: str, condition: str, lhs: ir.Value, rhs: ir.Value) -> Instruction:
        kind = lhs.type
        if kind is not rhs.type:
            _require_type(kind, rhs.type)
        rest = f"{condition} {kind} {lhs.get_reference()}, {rhs.get_reference()}"
        truth = vector_type(_I1, kind.count) if isinstance(kind, ir.VectorType) else _I1
        return self._emit(truth, opname, rest)

    def icmp_signed(self, sign: str, lhs: ir.Value, rhs: ir.Value) -> Instruction:
        condition = _CONDITIONS[sign]
        return self._compare("icmp", condition if sign in ("==", "!=") else f"s{condition}", lhs, rhs)

    def icmp_unsigned(self, sign: str, lhs: ir.Value, rhs: ir.Value) -> Instruction:
        condition = _CONDITIONS[sign]
        return self._compare("icmp", condition if sign in ("==", "!=") else f"u{condition}", lhs, rhs)

    def fcmp_ordered(self, sign: str, lhs: ir.Value, rhs: ir.Value) -> Instruction:
        return self._compare("fcmp", f"o{_CONDITIONS[sign]}", lhs, rhs)

    def fcmp_unordered(self, sign: str, lhs: ir.Value, rhs: ir.Value) -> Instruction:
        return self._compare("fcmp", f"u{_CONDITIONS[sign]}", lhs, rhs)

    # ---- memory --------------------------------------------------------------------------------------------------

    def load(self, place: ir.Value, align: int | None = None, typ: ir.Type | None = None) -> Instruction:
        kind = place.type.pointee if typ is None else typ
        aligned = "" if align is None else f", align {align}"
        return self._emit(kind, "load", f"{kind}, {place.type} {place.get_reference()}{aligned}")

    def store(self, value: ir.Value, place: ir.Value, align: int | None = None) -> Instruction:
        pointer = place.type
        if not pointer.is_opaque and pointer.pointee is not value.type:
            _require_type(pointer.pointee, value.type)
        aligned = "" if align is None else f", align {align}"
        to = f"{pointer} {place.get_reference()}"
        return self._emit_void("store", f"{value.type} {value.get_reference()}, {to}{aligned}")

    def gep(
        self,
        place: ir.Value,
        indices: Sequence[ir.Value],
        inbounds: bool = False,
        source_etype: ir.Type | None = None,
    ) -> Instruction:
        if len(indices) != 1:
            emitted: Instruction = super().gep(place, indices, inbounds=inbounds, source_etype=source_etype)
            return emitted
        (index,) = indices
        element = place.type.pointee if source_etype is None else source_etype
        rest = f"{element}, {place.type} {place.get_reference()}, {index.type} {index.get_reference()}"
        return self._emit(place.type, "getelementptr", rest, ("inbounds",) if inbounds else ())

    # ---- calls and vectors ---------------------------------------------------------------------------------------

    def call(
        self, function: ir.Function, arguments: Sequence[ir.Value], name: str = "", **more: Any
    ) -> Instruction:
        kind = function.function_type
        if more or kind.var_arg or (isinstance(function, ir.Function) and function.calling_convention):
            emitted: Instruction = super().call(function, arguments, name, **more)
            return emitted
        for argument, expected in zip(arguments, kind.args, strict=True):
            if argument.type is not expected:
                _require_type(expected, argument.type)
        given = ", ".join([f"{argument.type} {argument.get_reference()}" for argument in arguments])
        result, rest = kind.return_type, f"{kind.return_type} {function.get_reference()}({given})"
        if isinstance(result, ir.VoidType):
            return self._emit_void("call", rest, function)
        return self._emit(result, "call", rest, (), function)

    def extract_element(self, vector: ir.Value, index: ir.Value) -> Instruction:
        rest = f"{vector.type} {vector.get_reference()}, {index.type} {index.get_reference()}"
        return self._emit(vector.type.element, "extractelement", rest)

    def insert_element(self, vector: ir.Value, value: ir.Value, index: ir.Value) -> Instruction:
        _require_type(vector.type.element, value.type)
        to = f"{vector.type} {vector.get_reference()}"
        rest = f"{to}, {value.type} {value.get_reference()}, {index.type} {index.get_reference()}"
        return self._emit(vector.type, "insertelement", rest)


def _require_type(expected: ir.Type, found: ir.Type) -> None:
    if expected != found:
        raise TypeError(f"expected a value of type {expected}, got one of type {found}")
