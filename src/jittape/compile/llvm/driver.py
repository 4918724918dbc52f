"""The driver: one precompiled function that runs a table of kernel calls without the interpreter.

A *launch table* consists of a `LAUNCH_HEAD` and of a `KERNEL_CALL` for each call.

Python calls the driver without a wrapper: the machine code has the signature of a built-in function
(``METH_FASTCALL``). It takes addresses as Python integers and releases the GIL. A call takes 0.1 µs; with `ctypes` it
would take 0.3 µs.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.ir.table_layouts import ABORTABLE, KERNEL_CALL, LAUNCH_HEAD
from jittape.compile.llvm.definition import FunctionKind
from jittape.compile.llvm.interrupts import (
    is_aborted,
    leave_stacks,
    new_abort_state,
    raise_error,
    release_stacks,
    take_stacks,
)
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import BYTES, KERNEL_TYPE, external, for_range, integer
from jittape.compile.llvm.ir_records import IRRecord
from jittape.compile.llvm.thread_pool import run_tasks

__all__ = [
    "DRIVER_TYPE",
    "FUNCTION_TYPES",
    "address_argument",
    "define_driver",
    "object_argument",
    "return_integer",
    "return_unless",
    "run_table",
    "walk_table",
]

_I64 = ir.IntType(64)

DRIVER_TYPE = ir.FunctionType(BYTES, [BYTES, BYTES.as_pointer(), _I64])
"""``PyObject *driver(PyObject *self, PyObject *const *args, Py_ssize_t count)``."""

FUNCTION_TYPES = {
    FunctionKind.KERNEL: KERNEL_TYPE,
    FunctionKind.BUILT_IN: DRIVER_TYPE,
    FunctionKind.METHOD: ir.FunctionType(_I64, [_I64] * 2),
    FunctionKind.METHOD_BY_NAMES: ir.FunctionType(_I64, [_I64] * 4),
}


def define_driver(function: ir.Function) -> None:
    """Emit the driver. It does not check its arguments: three addresses.

    They are the launch table, the slot table, and the word that holds the list of the run's grown stacks. If the first
    is 0, the driver frees the stacks instead.
    """
    function.attributes.add("optsize")
    builder = Builder(function.append_basic_block("entry"))
    table, slots, owner = (address_argument(builder, function, position) for position in range(3))
    with builder.if_then(builder.icmp_signed("==", table, integer(0)), likely=False):
        state = new_abort_state(builder)
        take_stacks(builder, state, owner)
        release_stacks(builder, state)
        leave_stacks(builder, state, owner)
        return_integer(builder, table)
    return_unless(builder, run_table(builder, table, slots, owner), integer(0))


def address_argument(builder: ir.IRBuilder, function: ir.Function, position: int) -> ir.Value:
    """Load an argument that is a Python int, as an i64."""
    as_pointer = external(function.module, ir.FunctionType(BYTES, [BYTES]), "PyLong_AsVoidPtr")
    return builder.ptrtoint(builder.call(as_pointer, [object_argument(builder, function, position)]), _I64)


def object_argument(builder: ir.IRBuilder, function: ir.Function, position: int) -> ir.Value:
    """Load an argument, a borrowed reference."""
    return builder.load(builder.gep(function.args[1], [ir.Constant(_I64, position)]))


def return_integer(builder: ir.IRBuilder, value: ir.Value) -> None:
    """Emit the return of a Python int."""
    as_integer = external(builder.module, ir.FunctionType(BYTES, [BYTES]), "PyLong_FromVoidPtr")
    builder.ret(builder.call(as_integer, [builder.inttoptr(value, BYTES)]))


def return_unless(builder: ir.IRBuilder, failed: ir.Value, value: ir.Value) -> None:
    """Emit the return of a Python int, or of NULL if `failed`: Python's error is set then."""
    with builder.if_then(failed, likely=False):
        builder.ret(ir.Constant(BYTES, None))
    return_integer(builder, value)


def run_table(
    builder: ir.IRBuilder, table: ir.Value, slots: ir.Value, owner: ir.Value | None = None
) -> ir.Value:
    """Emit the run of a launch table without the GIL, and return whether the run was aborted.

    After an aborted run Python's error is set and all grown stacks are freed.

    Parameters
    ----------
    table, slots : ir.Value
        The addresses of the launch table and of the slot table.
    owner : ir.Value or None
        The address of the word that holds the list of grown stacks of a run of several tables.
    """
    release = external(builder.module, ir.FunctionType(BYTES, []), "PyEval_SaveThread")
    acquire = external(builder.module, ir.FunctionType(ir.VoidType(), [BYTES]), "PyEval_RestoreThread")
    state = new_abort_state(builder)
    if owner is not None:
        take_stacks(builder, state, owner)
    thread = builder.call(release, [])
    slots = builder.inttoptr(slots, KERNEL_TYPE.args[0])
    walk_table(builder, builder.inttoptr(table, _I64.as_pointer()), slots, state)
    builder.call(acquire, [thread])
    aborted = is_aborted(builder, state)
    with builder.if_then(aborted, likely=False):
        raise_error(builder, state)
    if owner is not None:
        leave_stacks(builder, state, owner)
    return aborted


def walk_table(builder: ir.IRBuilder, table: ir.Value, slots: ir.Value, state: ir.Value) -> None:
    """Emit the loop over the calls of a launch table, which ends early if the run is aborted.

    Parameters
    ----------
    table, slots : ir.Value
        Pointers to the launch table and to the slot table.
    state : ir.Value
        The address of the run's abort state.
    """
    head = IRRecord(builder, LAUNCH_HEAD, table)
    count, pool = head.load("calls"), builder.inttoptr(head.load("pool"), _I64.as_pointer())
    calls = head.after(KERNEL_CALL)
    end = builder.append_basic_block("table_end")
    with for_range(builder, count, scalar=True) as index:
        call = calls.element(index)
        kernel, operand_slots, sizes, tasks, threads = (call.load(name) for name in KERNEL_CALL.names)
        kernel = builder.inttoptr(kernel, KERNEL_TYPE.as_pointer())
        arguments = [slots]
        arguments.append(builder.inttoptr(operand_slots, KERNEL_TYPE.args[1]))
        arguments.append(builder.inttoptr(sizes, KERNEL_TYPE.args[2]))
        one = builder.icmp_signed("==", tasks, integer(1))
        with builder.if_else(one, likely=True) as (undivided, otherwise):
            with undivided:
                builder.call(kernel, [*arguments, integer(0)])
            with otherwise:
                abortable = builder.icmp_signed("==", tasks, integer(ABORTABLE))
                with builder.if_else(abortable) as (may_abort, divided):
                    with may_abort:
                        builder.call(kernel, [*arguments, state])
                        on = builder.append_basic_block("on")
                        builder.cbranch(is_aborted(builder, state), end, on)
                        builder.position_at_end(on)
                    with divided:
                        run_tasks(builder, pool, tasks, threads, kernel, arguments)
    builder.branch(end)
    builder.position_at_end(end)
