"""Sparse Jacobians whose diagonals are known from the op list: they need no coloring and no seeds.

The Jacobian of a stencil is a sum of diagonals (`jittape.compile.rewrite.diagonals`). The compiled function computes
the values on the diagonals and adds them to the places that they have in the data of the sparse matrix. Values that do
not depend on the arguments are computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jittape.compile.rewrite.affine_maps import AffineMap
from jittape.compile.rewrite.bind_constants import bind_constants
from jittape.compile.rewrite.diagonals import diagonals_of
from jittape.control.body import body_of, inlined
from jittape.core.interpret import interpret
from jittape.core.locks import cached_property
from jittape.core.primitive import any_dtype, apply
from jittape.core.program import Body, Program, dead_code_removed
from jittape.core.simplify import simplify
from jittape.flow.control_recording import resolve_weak
from jittape.functions.concrete_function import Concrete
from jittape.primitives.indexing.scatter import tensor_scatter_nd_add, tensor_scatter_nd_update
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.convert import convert_to_tensor
from jittape.recording.function_trace import Captured, Leaf
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable
from jittape.sparse.sparsity_pattern import SparsityPattern

__all__ = ["KnownDiagonals", "known_diagonals"]

_Array = np.ndarray[Any, np.dtype[Any]]


_LONG_PART = 256
"""Mean number of elements of a diagonal from which on each is written on its own.

Then the diagonals are not concatenated: the Brusselator on a grid of 100 by 100 takes 166 instead of 200 µs.
"""


@dataclass(frozen=True)
class KnownDiagonals:
    """The computation of the data of a sparse matrix from its diagonals.

    Attributes
    ----------
    pattern : SparsityPattern
    body : Body
        Program of the values on the diagonals that depend on its inputs.
    sources : tuple
        The source of each input of `body`: an argument's number, a Variable or a captured tensor.
    constants : ndarray, shape (nnz,)
        Sums of the values that depend on nothing.
    places : ndarray of int64, shape (n, 1)
        Numbers in the data of the values that `body` computes, one result after the other.
    is_disjoint : bool
        Whether no two values are added at one place.
    """

    pattern: SparsityPattern
    body: Body
    sources: tuple[Leaf | Variable | Captured, ...]
    constants: _Array
    places: _Array
    is_disjoint: bool

    def data(self, leaves: Sequence[Any]) -> Tensor:
        """Record the data of the matrix for the flattened arguments of a call."""
        operands = [_operand(source, leaves) for source in self.sources]
        if not operands:
            return convert_to_tensor(self.constants)
        values = [reshape(value, [-1]) for value in apply(_values, tuple(operands), (self.body,))]
        if len(self.parts) < len(values):
            values = [concat(values, 0)]
        # Replacing is one pass less: the Brusselator on a grid of 32 by 32 takes 8.3 instead of 10.1 µs.
        combine = tensor_scatter_nd_update if self.is_disjoint else tensor_scatter_nd_add
        data: Any = self.constants
        for places, value in zip(self.parts, values, strict=True):
            data = combine(data, places, value)
        return data

    @cached_property
    def parts(self) -> tuple[_Array, ...]:
        """`places` of each result of `body`; all of them as one part if they are short."""
        sizes = [aval.size for aval in self.body.program.output_avals()]
        if sum(sizes) < _LONG_PART * len(sizes):
            return (self.places,)
        return tuple(np.split(self.places, np.cumsum(sizes)[:-1]))


@any_dtype
def _values(*operands: Any) -> tuple[Any, ...]:
    *given, body = operands
    slots = body.program.inputs
    return tuple(inlined(body, [resolve_weak(o, body, s) for o, s in zip(given, slots, strict=True)]))


def _operand(source: Leaf | Variable | Captured, leaves: Sequence[Any]) -> Any:
    if isinstance(source, Leaf):
        return leaves[source.number]
    return source.operand() if isinstance(source, Captured) else source


def known_diagonals(trace: Concrete, rows: int, format: str) -> KnownDiagonals | None:
    """Return the diagonals of the dense Jacobian that `trace` computes; None if it is no sum of a few diagonals.

    Parameters
    ----------
    trace : Concrete
        Trace of a function that returns the Jacobian, of shape ``value.shape + argument.shape``.
    rows : int
        Number of elements of the value.
    format : {"csr", "csc", "coo"}
    """
    program = simplify(bind_constants(trace.program, trace.constants()))
    found = diagonals_of(program)
    if found is None:
        return None
    values, maps = found
    sources = dict(zip(trace.program.inputs, trace.sources, strict=True))
    shape = program.output_avals()[0].shape
    places = [
        _flat_places(own, values.avals[slot].shape, shape)
        for slot, own in zip(values.outputs, maps, strict=True)
    ]
    constant, varying, independent = _by_dependence(values)
    parts = interpret(dead_code_removed(independent), [])
    kept = {i: part for i, part in zip(constant, parts, strict=True) if part.any()}
    order = [*kept, *varying]
    columns = int(np.prod(shape, dtype=np.int64)) // max(1, rows)
    flat = np.concatenate([places[i] for i in order]) if order else np.zeros(0, np.int64)
    positions = np.divmod(flat, max(1, columns))
    pattern, numbers = SparsityPattern.of_positions(*positions, (rows, columns), format)
    constants = np.zeros(pattern.nnz, program.output_avals()[0].dtype)
    first = sum([part.size for part in kept.values()])
    if kept:
        np.add.at(constants, numbers[:first], np.concatenate([part.reshape(-1) for part in kept.values()]))
    outputs = tuple([values.outputs[i] for i in varying])
    part = dead_code_removed(values.replaced(values.ops, outputs, values.avals), keep_inputs=False)
    if not all(isinstance(sources[slot], Leaf | Variable | Captured) for slot in part.inputs):
        return None
    constants.flags.writeable = False
    own_sources = tuple([sources[slot] for slot in part.inputs])
    own = numbers[first:]
    is_disjoint = len(np.unique(own)) == len(own) and not constants[own].any()
    return KnownDiagonals(pattern, body_of(part), own_sources, constants, _frozen(own[:, None]), is_disjoint)


def _frozen(array: _Array) -> _Array:
    array = np.ascontiguousarray(array, np.int64)
    array.flags.writeable = False
    return array


def _flat_places(maps: Sequence[AffineMap], shape: tuple[int, ...], within: tuple[int, ...]) -> _Array:
    """Return the flat position of each value of a term in the dense array."""
    coordinates = np.indices(shape, sparse=True)
    flat: Any = np.zeros(shape, np.int64)
    for (offset, steps), extent in zip(maps, within, strict=True):
        flat = flat * extent + offset + sum([step * coordinates[axis] for axis, step in steps])
    return np.asarray(flat).reshape(-1)


def _by_dependence(program: Program) -> tuple[list[int], list[int], Program]:
    """Return the numbers of the outputs that depend on no input, those of the others, and the program of the former.

    An assertion that depends on an input remains with the other outputs.
    """
    dependent = set(program.inputs)
    for op in program.ops:
        if not dependent.isdisjoint(op.args):
            dependent.add(op.out)
    numbers = range(len(program.outputs))
    constant = [i for i in numbers if program.outputs[i] not in dependent]
    outputs = tuple([program.outputs[i] for i in constant])
    ops = tuple([op for op in program.ops if op.out not in dependent])
    return constant, [i for i in numbers if i not in constant], Program((), ops, outputs, program.avals)
