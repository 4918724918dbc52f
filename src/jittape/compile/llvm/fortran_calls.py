"""Calls of the BLAS and LAPACK in LLVM IR.

The names are symbols that `compile.llvm.blas` registers. The calling sequence is Fortran's: every argument by address,
integers of 32 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from jittape.compile.llvm.blas import symbol
from jittape.compile.llvm.ir_helpers import BYTES, alloca_once, external
from jittape.core.dtypes import info_of

__all__ = ["FortranCalls"]

_I8, _I32 = ir.IntType(8), ir.IntType(32)


class FortranCalls:
    """Emitter of calls of routines for one dtype, at the place of a builder."""

    def __init__(self, builder: ir.IRBuilder, dtype: np.dtype[Any]) -> None:
        self.builder = builder
        self.dtype = dtype

    def call(self, routine: str, *arguments: ir.Value, letters: int = 0) -> None:
        """Emit a call, given the name without the letter of the dtype and the addresses of the arguments.

        Routines that are written in Fortran expect the lengths of their `letters` after the other arguments.
        """
        arguments = tuple([self.builder.bitcast(a, BYTES) for a in arguments])
        arguments += (ir.Constant(ir.IntType(64), 1),) * letters
        kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
        name = symbol(f"{info_of(self.dtype).blas}{routine}")
        self.builder.call(external(self.builder.module, kind, name), arguments)

    def letter(self, letter: str) -> ir.Value:
        """Return the address of a letter."""
        return self.held(ir.Constant(_I8, ord(letter)))

    def integer(self, value: ir.Value) -> ir.Value:
        """Return the address of an i64 as an integer of 32 bits."""
        return self.held(self.builder.trunc(value, _I32))

    def number(self, real: ir.Value) -> ir.Value:
        """Return the address of a real number, also as a complex number."""
        pair = ir.Constant(ir.ArrayType(real.type, 2), [0.0, 0.0])
        return self.held(self.builder.insert_value(pair, real, 0))

    def held(self, value: ir.Value) -> ir.Value:
        """Return the address of a place on the stack with this value."""
        place = alloca_once(self.builder, value.type)
        self.builder.store(value, place)
        return place
