"""Factors that are equal for all elements move out of products of cotangents, behind the sums of these products.

The gradient of an elementwise function with shared parameters multiplies the cotangent by one parameter after another,
element by element. Instead, the parameters are multiplied with each other as numbers, and with a sum after the
summation: a step of Heston's model takes 14 products of arrays in the backward pass instead of 19, and 8 % less time.

The rewrite is exact except for rounding, overflow and underflow, so it is limited to float64 and to the bodies of
loops, where the products run many times. Zeros dominate as in the ops that it replaces.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.compile.rewrite.program_editor import Editor, primitives_of
from jittape.core.primitive import Primitive
from jittape.core.program import Op, Program
from jittape.primitives.broadcast import broadcast_to_op
from jittape.primitives.elementwise.arithmetic import (
    doubly_zero_dominant_multiply_op,
    zero_dominant_multiply_op,
)
from jittape.value_classes import NamedTuple

__all__ = ["cotangent_factors"]


class _Scaled(NamedTuple):
    """The product of a number and an array.

    Attributes
    ----------
    factor, core : int or None
        Slots of the number and of the array; None if there is only the other one.
    is_dominant : bool
        Whether the product is zero if the number is, even if the array is infinite or nan: the number was multiplied
        with the cotangent before a local derivative was.
    """

    factor: int | None
    core: int | None
    is_dominant: bool = False


def cotangent_factors(program: Program) -> Program:
    """Return `program` with products of cotangents and numbers computed later, if this takes fewer products."""
    primitives = primitives_of(program)
    if not any(p.is_zero_dominant for p in primitives) or not any(p.is_broadcast for p in primitives):
        return program
    found = _Rewrite(program).result()
    return found if _products_of_arrays(found) < _products_of_arrays(program) else program


def _products_of_arrays(program: Program) -> int:
    """Return the number of products of two arrays; only such ops are linear in each of two operands."""
    products = [op for op in program.ops if op.primitive.linear and len(op.args) == 2]
    return sum([program.avals[op.out].ndim > 0 and not op.primitive.weights for op in products])


class _Rewrite:
    """The copy of a program with factors moved.

    Attributes
    ----------
    values : dict of int to _Scaled
        Slots of arrays that are products with a number.
    cotangents : set of int
        Those that are computed anew from the number and the array.
    """

    def __init__(self, program: Program) -> None:
        self.editor = Editor(program)
        self.values: dict[int, _Scaled] = {}
        self.cotangents: set[int] = set()
        self.made: dict[tuple[object, ...], int] = {}

    def result(self) -> Program:
        for op in self.editor.program.ops:
            if self.editor.avals[op.out].dtype != np.float64 or not self._rewrite(op):
                self.editor.ops.append(op)
        return self.editor.result()

    def _rewrite(self, op: Op) -> bool:
        """Note the factor of the result of an op; return whether other ops have taken its place."""
        primitive, args = op.primitive, op.args
        values = [self.values.get(slot, _Scaled(None, slot)) for slot in args]
        if primitive.is_broadcast and not self.editor.avals[args[0]].shape:
            self.values[op.out] = _Scaled(args[0], None)
        elif primitive.is_multiplication:
            # The product itself stays: values of the forward pass are rounded as NumPy rounds them.
            cores = [value.core for value in values if value.core is not None]
            if len(cores) == 1:
                self.values[op.out] = _Scaled(self._factor(primitive, values, op), cores[0])
        elif list(primitive.weights) == [-1] and args[0] in self.cotangents:
            factor = values[0].factor
            assert factor is not None
            self._note(op, values[0]._replace(factor=self._bind(primitive, (factor,), op)))
        elif primitive.is_sum and args[0] in self.cotangents:
            core = values[0].core
            assert core is not None
            total = self._bind(primitive, (core,), op, **dict(op.params))
            self._multiply(op, values[0]._replace(core=total))
            return True
        elif primitive.is_zero_dominant and values[0].core is not None:
            g, d = values
            factor, core, is_dominant = self._factor(primitive, values, op), values[0].core, g.is_dominant
            if factor is not None:
                if d.core is not None:
                    core = self._bind(primitive, (core, d.core), op)
                    is_dominant = g.factor is not None
                self._note(op, _Scaled(factor, core, is_dominant))
        return op.out in self.cotangents

    def _note(self, op: Op, value: _Scaled) -> None:
        self.values[op.out] = value
        self.cotangents.add(op.out)
        self._multiply(op, value)

    def _factor(self, product: Primitive, values: list[_Scaled], op: Op) -> int | None:
        """Return the product of the factors of two operands; None if there is none."""
        factors = [value.factor for value in values if value.factor is not None]
        if len(factors) == 2:
            return self._bind(product, tuple(factors), op)
        return factors[0] if factors else None

    def _multiply(self, op: Op, value: _Scaled) -> None:
        """Append the product of an array and a factor as the result of `op`."""
        shape, factor, core = self.editor.avals[op.out].shape, value.factor, value.core
        assert factor is not None and core is not None
        if shape:
            factor = self._bind(broadcast_to_op, (factor,), op, shape=shape)
        product = doubly_zero_dominant_multiply_op if value.is_dominant else zero_dominant_multiply_op
        self.editor.bind(product, (core, factor), op, op.out)

    def _bind(self, primitive: Primitive, args: tuple[int, ...], op: Op, **params: Any) -> int:
        """Return the result of an op, which is appended unless it has been."""
        key = (primitive, args, tuple(sorted(params.items())))
        if key not in self.made:
            self.made[key] = self.editor.bind(primitive, args, op, **params)
        return self.made[key]
