"""Elements of matrices in memory, real or complex, as values of LLVM IR."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue
from jittape.core.dtypes import info_of

__all__ = ["MatrixElements"]


class MatrixElements:
    """Emitter of loads and stores of elements of one dtype, which are aligned like real numbers."""

    def __init__(self, builder: ir.IRBuilder, dtype: np.dtype[Any]) -> None:
        self.builder, self.dtype, self.math = builder, dtype, IRMath(builder)
        self.alignment = info_of(dtype).real.itemsize

    def at(self, base: ir.Value, index: ir.Value) -> IRValue:
        """Return the element of an array with this index."""
        place = self.builder.gep(base, [index])
        return IRValue(self.builder, self.builder.load(place, align=self.alignment), self.dtype)

    def size_of(self, value: IRValue) -> IRValue:
        """Return the absolute value, and of a complex number the sum of those of its parts, as LAPACK."""
        m = self.math
        if self.dtype.kind != "c":
            return m.absolute(value)
        return m.absolute(m.real(value)) + m.absolute(m.imag(value))

    def put(self, value: IRValue, base: ir.Value, index: ir.Value) -> None:
        """Store an element of an array."""
        self.builder.store(value.ir, self.builder.gep(base, [index]), align=self.alignment)
