"""The driver: one precompiled function that runs a table of kernel calls, with no Python between them.

A table is an int64 array: the number of calls and the address of the cells of `crew`, then for each call the kernel's
address, the address of its operands' slot numbers (int32), the address of its sizes (int64), its number of tasks and
how many threads they are worth. In the place of tasks `WATCHED` stands for a loop or a branch, which may end the run.

Python calls it without a wrapper: the machine code has the signature of a built-in function (``METH_FASTCALL``), takes
two addresses as Python integers and releases the GIL. A call takes 0.1 µs; through `ctypes` it would take 0.3 µs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from jittape.compile.llvm.interrupts import (
    is_over,
    leave_stacks,
    new_watch,
    raise_error,
    release_stacks,
    take_stacks,
)
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import BYTES, KERNEL_TYPE, external, for_range, integer
from jittape.compile.llvm.thread_pool import run_tasks

__all__ = [
    "BY_NAMES",
    "DRIVER_TYPE",
    "NO_ARGUMENT",
    "ONE_ARGUMENT",
    "WATCHED",
    "address_argument",
    "as_function",
    "as_method",
    "define_driver",
    "object_argument",
    "return_integer",
    "return_unless",
    "run_table",
    "walk_table",
]

_I64 = ir.IntType(64)
_FASTCALL = 0x80
BY_NAMES = 0x82
"""Of a method that is called as ``(self, arguments, count, names)``."""
NO_ARGUMENT, ONE_ARGUMENT = 0x04, 0x08
"""Of methods that are called as ``(self, nothing)`` and ``(self, argument)``."""

DRIVER_TYPE = ir.FunctionType(BYTES, [BYTES, BYTES.as_pointer(), _I64])
"""``PyObject *driver(PyObject *self, PyObject *const *args, Py_ssize_t count)``."""

WATCHED = -1
_HEADER, _CALL = 2, 5
"""Entries of a table before the first call, and of a call."""


def define_driver(function: ir.Function) -> None:
    """Emit the body. It trusts its caller: three arguments, all addresses.

    They are the table, the cells, and the word where the list of the run's grown stacks begins. Without a table (0),
    the stacks are freed.
    """
    function.attributes.add("optsize")
    builder = Builder(function.append_basic_block("entry"))
    table, cells, owner = (address_argument(builder, function, position) for position in range(3))
    with builder.if_then(builder.icmp_signed("==", table, integer(0)), likely=False):
        watch = new_watch(builder)
        take_stacks(builder, watch, owner)
        release_stacks(builder, watch)
        leave_stacks(builder, watch, owner)
        return_integer(builder, table)
    return_unless(builder, run_table(builder, table, cells, owner), integer(0))


def address_argument(builder: ir.IRBuilder, function: ir.Function, position: int) -> ir.Value:
    """An argument that is a Python int, as an i64."""
    as_pointer = external(function.module, ir.FunctionType(BYTES, [BYTES]), "PyLong_AsVoidPtr")
    return builder.ptrtoint(builder.call(as_pointer, [object_argument(builder, function, position)]), _I64)


def object_argument(builder: ir.IRBuilder, function: ir.Function, position: int) -> ir.Value:
    """An argument, borrowed."""
    return builder.load(builder.gep(function.args[1], [ir.Constant(_I64, position)]))


def return_integer(builder: ir.IRBuilder, value: ir.Value) -> None:
    """Give a Python int back."""
    as_integer = external(builder.module, ir.FunctionType(BYTES, [BYTES]), "PyLong_FromVoidPtr")
    builder.ret(builder.call(as_integer, [builder.inttoptr(value, BYTES)]))


def return_unless(builder: ir.IRBuilder, failed: ir.Value, value: ir.Value) -> None:
    """Give a Python int back, or nothing where Python's error is set."""
    with builder.if_then(failed, likely=False):
        builder.ret(ir.Constant(BYTES, None))
    return_integer(builder, value)


def run_table(
    builder: ir.IRBuilder, table: ir.Value, cells: ir.Value, owner: ir.Value | None = None
) -> ir.Value:
    """Emit the run of all calls of a table, without the GIL; the arguments are addresses.

    `owner` is the word of a run of several tables where its list of grown stacks begins. The value is whether the run
    has ended before its time; Python's error is set then, and all stacks are freed.
    """
    release = external(builder.module, ir.FunctionType(BYTES, []), "PyEval_SaveThread")
    acquire = external(builder.module, ir.FunctionType(ir.VoidType(), [BYTES]), "PyEval_RestoreThread")
    watch = new_watch(builder)
    if owner is not None:
        take_stacks(builder, watch, owner)
    thread = builder.call(release, [])
    slots = builder.inttoptr(cells, KERNEL_TYPE.args[0])
    walk_table(builder, builder.inttoptr(table, _I64.as_pointer()), slots, watch)
    builder.call(acquire, [thread])
    failed = is_over(builder, watch)
    with builder.if_then(failed, likely=False):
        raise_error(builder, watch)
    if owner is not None:
        leave_stacks(builder, watch, owner)
    return failed


def walk_table(builder: ir.IRBuilder, table: ir.Value, slots: ir.Value, watch: ir.Value) -> None:
    """Write the loop over the calls of a table, which ends if the run is over; table and slots are pointers."""
    count, cells = (builder.load(builder.gep(table, [ir.Constant(_I64, i)])) for i in range(_HEADER))
    cells = builder.inttoptr(cells, _I64.as_pointer())
    walked = builder.append_basic_block("walked")
    with for_range(builder, count, scalar=True) as index:
        first = builder.add(builder.mul(index, ir.Constant(_I64, _CALL)), ir.Constant(_I64, _HEADER))
        kernel, operand_slots, sizes, tasks, threads = (
            builder.load(builder.gep(table, [builder.add(first, ir.Constant(_I64, i))])) for i in range(_CALL)
        )
        kernel = builder.inttoptr(kernel, KERNEL_TYPE.as_pointer())
        arguments = [slots]
        arguments.append(builder.inttoptr(operand_slots, KERNEL_TYPE.args[1]))
        arguments.append(builder.inttoptr(sizes, KERNEL_TYPE.args[2]))
        one = builder.icmp_signed("==", tasks, integer(1))
        with builder.if_else(one, likely=True) as (at_once, otherwise):
            with at_once:
                builder.call(kernel, [*arguments, integer(0)])
            with otherwise:
                watched = builder.icmp_signed("==", tasks, integer(WATCHED))
                with builder.if_else(watched) as (alone, divided):
                    with alone:
                        builder.call(kernel, [*arguments, watch])
                        on = builder.append_basic_block("on")
                        builder.cbranch(is_over(builder, watch), walked, on)
                        builder.position_at_end(on)
                    with divided:
                        run_tasks(builder, cells, tasks, threads, kernel, arguments)
    builder.branch(walked)
    builder.position_at_end(walked)


class _MethodDefinition(ctypes.Structure):
    """``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


# A built-in function points to its definition as long as it lives.
_definitions: list[_MethodDefinition] = []


def as_function(address: int) -> Callable[..., Any]:
    """Machine code of the `DRIVER_TYPE` as a built-in function. It trusts its caller to give it as many arguments."""
    definition = _MethodDefinition(b"jittape", address, _FASTCALL, None)
    _definitions.append(definition)
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.POINTER(_MethodDefinition), ctypes.c_void_p, ctypes.c_void_p
    )
    make = prototype(("PyCFunction_NewEx", ctypes.pythonapi))
    return make(ctypes.byref(definition), None, None)


def as_method(owner: type, name: str, address: int, flags: int, text: str) -> Any:
    """Machine code as a method of a class, for ``setattr``; `flags` says how it is called, `text` is its docstring."""
    definition = _MethodDefinition(name.encode(), address, flags, text.encode())
    _definitions.append(definition)
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.POINTER(_MethodDefinition))
    return prototype(("PyDescr_NewMethod", ctypes.pythonapi))(owner, ctypes.byref(definition))
