"""The driver: one precompiled function that runs a table of kernel calls, with no Python between them.

A table is an int64 array: the number of calls and the address of the cells of `crew`, then for each call the kernel's
address, the address of its operands' slot numbers (int32), the address of its sizes (int64), its number of tasks and
how many threads they are worth. A call without tasks gives something back: it is made even after the run has ended.

Python calls it without a wrapper: the machine code has the signature of a built-in function (``METH_FASTCALL``), takes
two addresses as Python integers and releases the GIL. A call takes 0.1 µs; through `ctypes` it would take 0.3 µs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from jittape.compile.crew import run_tasks
from jittape.compile.irtools import BYTES, KERNEL_TYPE, alloca_once, external, for_range, integer

__all__ = [
    "DRIVER_TYPE",
    "address_argument",
    "as_function",
    "define_driver",
    "object_argument",
    "return_integer",
    "run_table",
    "walk_table",
]

_I64 = ir.IntType(64)
_FASTCALL = 0x80

DRIVER_TYPE = ir.FunctionType(BYTES, [BYTES, BYTES.as_pointer(), _I64])
"""``PyObject *driver(PyObject *self, PyObject *const *args, Py_ssize_t count)``."""

_HEADER, _CALL = 2, 5
"""Entries of a table before the first call, and of a call."""


def define_driver(function: ir.Function) -> None:
    """Write the body. It trusts its caller: two arguments, both addresses."""
    function.attributes.add("optsize")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    status = run_table(builder, *(address_argument(builder, function, position) for position in range(2)))
    return_integer(builder, status)


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


def run_table(builder: ir.IRBuilder, table: ir.Value, cells: ir.Value) -> ir.Value:
    """Write the run of all calls of a table, without the GIL; both arguments are addresses. See `walk_table`."""
    release = external(builder.module, ir.FunctionType(BYTES, []), "PyEval_SaveThread")
    acquire = external(builder.module, ir.FunctionType(ir.VoidType(), [BYTES]), "PyEval_RestoreThread")
    thread = builder.call(release, [])
    slots = builder.inttoptr(cells, KERNEL_TYPE.args[0])
    status = walk_table(builder, builder.inttoptr(table, _I64.as_pointer()), slots)
    builder.call(acquire, [thread])
    return status


def walk_table(builder: ir.IRBuilder, table: ir.Value, slots: ir.Value) -> ir.Value:
    """Write the loop over the calls of a table; both arguments are pointers.

    The value is 0, or 1 if a kernel has ended the run; after it only those calls are made that have no tasks.
    """
    status = alloca_once(builder, _I64)
    builder.store(integer(0), status)
    count, cells = (builder.load(builder.gep(table, [ir.Constant(_I64, i)])) for i in range(_HEADER))
    cells = builder.inttoptr(cells, _I64.as_pointer())
    with for_range(builder, count) as index:
        first = builder.add(builder.mul(index, ir.Constant(_I64, _CALL)), ir.Constant(_I64, _HEADER))
        kernel, operand_slots, sizes, tasks, threads = (
            builder.load(builder.gep(table, [builder.add(first, ir.Constant(_I64, i))])) for i in range(_CALL)
        )
        kernel = builder.inttoptr(kernel, KERNEL_TYPE.as_pointer())
        arguments = [slots]
        arguments.append(builder.inttoptr(operand_slots, KERNEL_TYPE.args[1]))
        arguments.append(builder.inttoptr(sizes, KERNEL_TYPE.args[2]))
        goes_on = builder.icmp_signed("==", builder.load(status), integer(0))
        goes_on = builder.or_(goes_on, builder.icmp_signed("==", tasks, integer(0)))
        one = builder.icmp_signed("<=", tasks, integer(1))
        with builder.if_then(goes_on, likely=True), builder.if_else(one, likely=True) as (at_once, divided):
            with at_once:
                ended = builder.call(kernel, [*arguments, integer(0)])
                builder.store(builder.or_(builder.load(status), ended), status)
            with divided:
                run_tasks(builder, cells, tasks, threads, kernel, arguments)
    return builder.load(status)


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
