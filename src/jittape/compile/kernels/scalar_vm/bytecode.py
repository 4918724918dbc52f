"""Bytecode for long programs on single numbers: one table of instructions in place of thousands of kernels.

A program that computes a formula number by number has no loops, and each of its kernels is different: 3,000 such
operations with their gradient took 35 s to compile. `to_bytecode` joins them into one op, `bytecode_op`. Its step is a
table for an interpreter, the VM, with one loop for each kind of instruction. The VM is compiled once for a list of
kinds; the table is made in milliseconds. If possible, instructions of one kind follow each other, so the processor
predicts most jumps: an instruction takes 2 to 10 ns.

Numbers are stored in cells of 8 bytes. A table consists of a `BYTECODE_HEAD` and of runs: an `INSTRUCTION_RUN` word
with a kind and a count, then that many instructions (`INSTRUCTION` or `LONG_INSTRUCTION`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jittape.compile.ir.kernel import Kernel, label_of, params_text
from jittape.compile.ir.records import RecordLayout
from jittape.compile.ir.table_layouts import (
    CELL_BITS,
    INSTRUCTION,
    INSTRUCTION_CELLS,
    INSTRUCTION_RUN,
    LONG_INSTRUCTION,
)
from jittape.control.body import body_of
from jittape.core.dtypes import NATIVE
from jittape.core.forms import Control, Map
from jittape.core.interpret import interpret
from jittape.core.locks import cached_property
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Body, Op, Program, dead_code_removed
from jittape.core.tuning import tuning
from jittape.value_classes import NamedTuple, value_class

__all__ = [
    "CONSTANT",
    "FIRST",
    "LOAD",
    "STORE",
    "Code",
    "ScalarVM",
    "bytecode_op",
    "instructions_of",
    "to_bytecode",
]

MOST_CELLS = 1 << CELL_BITS
_LARGEST = 3
"""Maximum number of operands of an operation."""
END, LOAD, STORE, CONSTANT, FIRST = 0, 1, 5, 9, 10
"""Numbers of kinds: the end; loads and stores of 1, 2, 4 and 8 bytes; constants; the first of `ScalarVM.codes`."""


class Code(NamedTuple):
    """A kind of instruction: an op on numbers of these dtypes."""

    primitive: Primitive
    params: tuple[tuple[str, Any], ...]
    dtypes: tuple[np.dtype[Any], ...]
    dtype: np.dtype[Any]

    @property
    def layout(self) -> RecordLayout:
        """The layout of an instruction."""
        return LONG_INSTRUCTION if len(self.dtypes) > 2 else INSTRUCTION

    def __str__(self) -> str:
        taken = ", ".join(dtype.name for dtype in self.dtypes)
        return f"{self.dtype.name} = {label_of(self.primitive)} {taken}{params_text(self.params)}"


@value_class
class ScalarVM(Kernel):
    """The interpreter of tables with instructions of these kinds."""

    codes: tuple[Code, ...]

    @cached_property
    def text(self) -> str:
        return "\n".join(
            [f"()\n  instructions of {len(self.codes)} kinds", *[f"    {code}" for code in self.codes]]
        )

    @property
    def loops(self) -> int:
        """The kernel has no loops over data."""
        return 0

    @property
    def primitives(self) -> Sequence[Primitive]:
        """The primitives of the instructions."""
        return [code.primitive for code in self.codes]


# ---- which ops ------------------------------------------------------------------------------------------------------


def _result(*operands: Aval, body: Body, result_index: int) -> Aval:
    return body.program.output_avals()[result_index]


def _run(operands: Sequence[Any], indices: Sequence[int], *, body: Body) -> list[Any]:
    results = interpret(body.program, operands)
    return [results[result_index] for result_index in indices]


bytecode_op = Primitive(
    "scalars",
    abstract_eval=_result,
    impl=lambda *operands, body, result_index: _run(operands, [result_index], body=body)[0],
    lowering=Control("scalars", _run),
    gradient_stops="the compiler creates it",
)
"""Result number `result_index` of many operations on numbers, the program `body`."""


def to_bytecode(program: Program) -> Program:
    """Return the program with groups of `bytecode_min_ops` operations on single numbers joined to bytecode ops."""
    if len([op for op in program.ops if _is_scalar(program, op)]) < tuning.bytecode_min_ops:
        return program
    level = _levels(program)
    groups: dict[int, list[Op]] = {}
    for op in program.ops:
        if _is_scalar(program, op):
            groups.setdefault(level[op.out], []).append(op)
    taken = {
        op.out: number
        for number, ops in groups.items()
        if MOST_CELLS > len(ops) >= tuning.bytecode_min_ops
        for op in ops
    }
    ops = tuple(_in_order(program, taken, groups))
    return dead_code_removed(program.replaced(ops, program.outputs, program.avals))


def _is_scalar(program: Program, op: Op) -> bool:
    if program.avals[op.out].shape or not 0 < len(op.args) <= _LARGEST:
        return False
    avals = [program.avals[slot] for slot in (*op.args, op.out)]
    scalar = all(aval.shape == () and aval.dtype in NATIVE and aval.dtype.kind != "c" for aval in avals)
    return scalar and isinstance(op.primitive.lowering, Map)


def _levels(program: Program) -> dict[int, int]:
    """Return for each value how often a number was used by another op before it: a group has one such level."""
    level = dict.fromkeys(program.inputs, 0)
    scalar: set[int] = set()
    for op in program.ops:
        is_scalar = _is_scalar(program, op)
        level[op.out] = max([level[s] + (not is_scalar and s in scalar) for s in op.args], default=0)
        if is_scalar:
            scalar.add(op.out)
    return level


def _in_order(program: Program, taken: Mapping[int, int], groups: Mapping[int, list[Op]]) -> Iterator[Op]:
    """Yield the new ops: other ops as soon as they can run, and a group when no other op can."""
    users: dict[int, set[int | None]] = {}
    for op in program.ops:
        for slot in op.args:
            users.setdefault(slot, set()).add(taken.get(op.out))
    for slot in program.outputs:
        users.setdefault(slot, set()).add(None)
    constants = {op.out: op for op in program.ops if not op.args and program.avals[op.out].shape == ()}
    left = list(program.ops)
    ready = set(program.inputs)
    while left:
        waiting: list[Op] = []
        for op in left:
            if op.out in taken or not ready.issuperset(op.args):
                waiting.append(op)
            else:
                ready.add(op.out)
                yield op
        if not waiting:
            return
        number = min(taken[op.out] for op in waiting if op.out in taken)
        group = groups[number]
        inside = {op.out for op in group}
        yield from _as_one(program, group, constants, [op.out for op in group if users[op.out] - {number}])
        ready |= inside
        left = [op for op in waiting if op.out not in inside]


def _as_one(program: Program, group: list[Op], constants: Mapping[int, Op], outputs: list[int]) -> list[Op]:
    """Return the results of a group as ops; the group has its own copies of constants."""
    inside = {op.out for op in group}
    needed = dict.fromkeys([slot for op in group for slot in op.args if slot not in inside])
    inputs = tuple([slot for slot in needed if slot not in constants])
    ops = (*[constants[slot] for slot in needed if slot in constants], *group)
    avals = {slot: program.avals[slot] for slot in (*needed, *inside)}
    body = body_of(Program(inputs, ops, tuple(outputs), avals))
    source = group[0].source
    return [
        Op(bytecode_op, inputs, (("body", body), ("result_index", i)), slot, source)
        for i, slot in enumerate(outputs)
    ]


# ---- the instructions -----------------------------------------------------------------------------------------------


def instructions_of(body: Body, results: Sequence[int]) -> tuple[ScalarVM, tuple[int, ...], int]:
    """Return the VM for a body, the table, and the number of cells.

    The operands of the step are the body's inputs, then its outputs `results`.
    """
    program = body.program
    code_of: dict[int, Code] = {}
    for op in program.ops:
        if op.args:
            dtypes = tuple([program.avals[slot].dtype for slot in op.args])
            code_of[op.out] = Code(op.primitive, op.params, dtypes, program.avals[op.out].dtype)
    codes = sorted(set(code_of.values()), key=str)
    number = {code: FIRST + i for i, code in enumerate(codes)}
    words: list[int] = []
    for slot in program.inputs:
        words += [_run_of(LOAD + _size(program.avals[slot]), 1), *_instruction(slot, slot)]
    for op in program.ops:
        if not op.args:
            bits = np.zeros(8, np.uint8)
            value = np.asarray(op.primitive.impl(**dict(op.params)), program.avals[op.out].dtype)
            bits[: value.nbytes] = np.frombuffer(value.tobytes(), np.uint8)
            words += [_run_of(CONSTANT, 1), *_instruction(op.out, 0, 0, int(bits.view(np.int64)[0]))]
    for kind, ops in _runs(program, code_of, number):
        words.append(_run_of(kind, len(ops)))
        for op in ops:
            words += _instruction(op.out, *op.args)
    for i, result in enumerate(results):
        slot = program.outputs[result]
        words += [
            _run_of(STORE + _size(program.avals[slot]), 1),
            *_instruction(len(program.inputs) + i, slot),
        ]
    words.append(_run_of(END, 0))
    cells = max(program.avals) + 1
    return ScalarVM((), tuple(codes)), tuple(words), cells


def _size(aval: Aval) -> int:
    return aval.dtype.itemsize.bit_length() - 1


def _run_of(kind: int, count: int) -> int:
    """Return the word before `count` instructions of a kind."""
    return INSTRUCTION_RUN.pack(kind=kind, count=count)


def _instruction(result: int, first: int, second: int = 0, extra: int | None = None) -> list[int]:
    """Return the words of an instruction."""
    cells = INSTRUCTION_CELLS.pack(result=result, first=first, second=second)
    if extra is None:
        return INSTRUCTION.pack(cells=cells)
    return LONG_INSTRUCTION.pack(cells=cells, extra=extra)


def _runs(
    program: Program, code_of: Mapping[int, Code], number: Mapping[Code, int]
) -> Iterator[tuple[int, list[Op]]]:
    """Yield independent instructions of one kind, the longest lists first."""
    missing: dict[int, int] = {}
    users: dict[int, list[Op]] = {}
    ready: dict[int, list[Op]] = {}
    for op in program.ops:
        if op.out not in code_of:
            continue
        needed = {slot for slot in op.args if slot in code_of}
        missing[op.out] = len(needed)
        for slot in needed:
            users.setdefault(slot, []).append(op)
        if not needed:
            ready.setdefault(number[code_of[op.out]], []).append(op)
    while ready:
        kind = max(ready, key=lambda kind: len(ready[kind]))
        ops = ready.pop(kind)
        yield kind, ops
        for op in ops:
            for user in users.get(op.out, ()):
                missing[user.out] -= 1
                if not missing[user.out]:
                    ready.setdefault(number[code_of[user.out]], []).append(user)
