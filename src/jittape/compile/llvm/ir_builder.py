"""A builder of LLVM IR that puts what is common into words at once.

llvmlite keeps an instruction as an object of many parts, finds a name for it, and writes it out at the end. Here an
instruction is its text from the start: the 4,500 lines of the kernels of 252 steps of an option take 26 ms instead of
52. Both kinds stand in one block, so what is rare (branches, phis, atomic memory) is left to llvmlite.
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
    """The type of vectors, one object: what is the same object need not be compared part by part."""
    return ir.VectorType(kind, lanes)


class Instruction(ir.Value):  # type: ignore[misc]
    """An instruction as text.

    Attributes
    ----------
    type : ir.Type
        What it gives.
    opname : str
        What it does.
    flags : list of str
        What it may do or take for granted; a copy.
    rest : str
        What follows these.
    callee : ir.Function or None
        Whom a call calls.
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
        """A copy of its flags.

        Where a caller is compiled with ``fastmath``, Numba's pass over the module appends to it. That changes nothing
        here: a flag such as ``nnan`` would break what a kernel promises of nan and inf.
        """
        return [*self._flags]

    @flags.setter
    def flags(self, flags: Sequence[str]) -> None:
        self._flags = flags

    @property
    def function_type(self) -> ir.FunctionType:
        """The type of the function that it points to."""
        return self.type.pointee

    def get_reference(self) -> str:
        """What others call it; empty where there is nothing to be called."""
        return self._reference

    def __str__(self) -> str:
        words = " ".join((self.opname, *self._flags, self.rest))
        return f"{self._reference} = {words}" if self._reference else words


def _binary(opname: str) -> Callable[..., Instruction]:
    """The method for an operation on two values of one type."""

    def write(self: Builder, lhs: ir.Value, rhs: ir.Value, flags: Sequence[str] = ()) -> Instruction:
        kind = lhs.type
        if kind is not rhs.type:
            _demand(kind, rhs.type)
        return self._written(kind, opname, f"{kind} {lhs.get_reference()}, {rhs.get_reference()}", flags)

    return write


def _cast(opname: str) -> Callable[..., ir.Value]:
    """The method for a conversion; a value that is of the type already is left as it is."""

    def write(self: Builder, value: ir.Value, kind: ir.Type) -> ir.Value:
        if value.type == kind:
            return value
        return self._written(kind, opname, f"{value.type} {value.get_reference()} to {kind}")

    return write


class Builder(ir.IRBuilder):  # type: ignore[misc]
    """llvmlite's builder, the same but for speed; instructions are not named."""

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

    def _written(
        self,
        kind: ir.Type,
        opname: str,
        rest: str,
        flags: Sequence[str] = (),
        callee: ir.Function | None = None,
    ) -> Instruction:
        """An instruction that gives something; its name is the block's and how many came before it there."""
        block = self._block
        others = block.instructions
        instruction = Instruction(f'%"{block.name}:{len(others)}"', kind, opname, rest, flags, callee)
        others.insert(self._anchor, instruction)
        self._anchor += 1
        return instruction

    def _done(self, opname: str, rest: str, callee: ir.Function | None = None) -> Instruction:
        """An instruction that gives nothing."""
        instruction = Instruction("", _VOID, opname, rest, (), callee)
        self._block.instructions.insert(self._anchor, instruction)
        self._anchor += 1
        return instruction

    # ---- on one value, or to choose one --------------------------------------------------------------------------

    def not_(self, value: ir.Value) -> Instruction:
        return self.xor(value, ir.Constant(value.type, -1))

    def neg(self, value: ir.Value) -> Instruction:
        return self.sub(ir.Constant(value.type, 0), value)

    def fneg(self, value: ir.Value, flags: Sequence[str] = ()) -> Instruction:
        return self._written(value.type, "fneg", f"{value.type} {value.get_reference()}", flags)

    def select(self, condition: ir.Value, lhs: ir.Value, rhs: ir.Value) -> Instruction:
        kind = lhs.type
        if kind is not rhs.type:
            _demand(kind, rhs.type)
        asked = f"{condition.type} {condition.get_reference()}"
        rest = f"{asked}, {kind} {lhs.get_reference()}, {kind} {rhs.get_reference()}"
        return self._written(kind, "select", rest)

    # ---- comparisons ---------------------------------------------------------------------------------------------

    def _compared(self, opname: str, condition: str, lhs: ir.Value, rhs: ir.Value) -> Instruction:
        kind = lhs.type
        if kind is not rhs.type:
            _demand(kind, rhs.type)
        rest = f"{condition} {kind} {lhs.get_reference()}, {rhs.get_reference()}"
        truth = vector_type(_I1, kind.count) if isinstance(kind, ir.VectorType) else _I1
        return self._written(truth, opname, rest)

    def icmp_signed(self, sign: str, lhs: ir.Value, rhs: ir.Value) -> Instruction:
        condition = _CONDITIONS[sign]
        return self._compared("icmp", condition if sign in ("==", "!=") else f"s{condition}", lhs, rhs)

    def icmp_unsigned(self, sign: str, lhs: ir.Value, rhs: ir.Value) -> Instruction:
        condition = _CONDITIONS[sign]
        return self._compared("icmp", condition if sign in ("==", "!=") else f"u{condition}", lhs, rhs)

    def fcmp_ordered(self, sign: str, lhs: ir.Value, rhs: ir.Value) -> Instruction:
        return self._compared("fcmp", f"o{_CONDITIONS[sign]}", lhs, rhs)

    def fcmp_unordered(self, sign: str, lhs: ir.Value, rhs: ir.Value) -> Instruction:
        return self._compared("fcmp", f"u{_CONDITIONS[sign]}", lhs, rhs)

    # ---- memory --------------------------------------------------------------------------------------------------

    def load(self, place: ir.Value, align: int | None = None, typ: ir.Type | None = None) -> Instruction:
        kind = place.type.pointee if typ is None else typ
        aligned = "" if align is None else f", align {align}"
        return self._written(kind, "load", f"{kind}, {place.type} {place.get_reference()}{aligned}")

    def store(self, value: ir.Value, place: ir.Value, align: int | None = None) -> Instruction:
        pointer = place.type
        if not pointer.is_opaque and pointer.pointee is not value.type:
            _demand(pointer.pointee, value.type)
        aligned = "" if align is None else f", align {align}"
        to = f"{pointer} {place.get_reference()}"
        return self._done("store", f"{value.type} {value.get_reference()}, {to}{aligned}")

    def gep(
        self,
        place: ir.Value,
        indices: Sequence[ir.Value],
        inbounds: bool = False,
        source_etype: ir.Type | None = None,
    ) -> Instruction:
        if len(indices) != 1:
            written: Instruction = super().gep(place, indices, inbounds=inbounds, source_etype=source_etype)
            return written
        (index,) = indices
        element = place.type.pointee if source_etype is None else source_etype
        rest = f"{element}, {place.type} {place.get_reference()}, {index.type} {index.get_reference()}"
        return self._written(place.type, "getelementptr", rest, ("inbounds",) if inbounds else ())

    # ---- calls and vectors ---------------------------------------------------------------------------------------

    def call(
        self, function: ir.Function, arguments: Sequence[ir.Value], name: str = "", **more: Any
    ) -> Instruction:
        kind = function.function_type
        if more or kind.var_arg or (isinstance(function, ir.Function) and function.calling_convention):
            written: Instruction = super().call(function, arguments, name, **more)
            return written
        for argument, expected in zip(arguments, kind.args, strict=True):
            if argument.type is not expected:
                _demand(expected, argument.type)
        given = ", ".join([f"{argument.type} {argument.get_reference()}" for argument in arguments])
        result, rest = kind.return_type, f"{kind.return_type} {function.get_reference()}({given})"
        if isinstance(result, ir.VoidType):
            return self._done("call", rest, function)
        return self._written(result, "call", rest, (), function)

    def extract_element(self, vector: ir.Value, index: ir.Value) -> Instruction:
        rest = f"{vector.type} {vector.get_reference()}, {index.type} {index.get_reference()}"
        return self._written(vector.type.element, "extractelement", rest)

    def insert_element(self, vector: ir.Value, value: ir.Value, index: ir.Value) -> Instruction:
        _demand(vector.type.element, value.type)
        to = f"{vector.type} {vector.get_reference()}"
        rest = f"{to}, {value.type} {value.get_reference()}, {index.type} {index.get_reference()}"
        return self._written(vector.type, "insertelement", rest)


def _demand(expected: ir.Type, found: ir.Type) -> None:
    if expected != found:
        raise TypeError(f"a value of the type {expected} is needed here, this one is of {found}")
