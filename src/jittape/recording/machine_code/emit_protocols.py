"""Machine code of ``__array_ufunc__`` and ``__array_function__``: calls of NumPy's functions on known paths.

The tables in `known_paths` say what a call records. All other calls, such as those with arrays or ``out=``, run in
Python. `emit_calls` has the methods.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode
from jittape.recording.machine_code.emit_methods import call_python
from jittape.recording.machine_code.emit_operands import New, is_structure, recorder
from jittape.recording.machine_code.emit_recorder import record

__all__ = ["define_array_function", "define_array_ufunc"]


def define_array_ufunc(new: New, function: ir.Function) -> None:
    """Emit ``__array_ufunc__(self, ufunc, method, *inputs)``; Python handles keyword arguments."""
    code = new(function)
    _, arguments, count, names = function.args
    python = code.block("python")
    code.require_same(python, (names, integer(0)))
    code.require(code.builder.icmp_signed(">=", count, integer(3)), python)
    method = code.read(arguments, 1)
    code.require(code.is_a(method, "str"), python)
    order = code.call("PyUnicode_Compare", method, code.known("__call__"))  # NumPy makes a new string
    code.require_same(python, (order, ir.Constant(order.type, 0)))
    known = code.attempt(
        python, "PyDict_GetItemWithError", code.known("UFUNC_BODIES"), code.read(arguments, 0)
    )
    trace = recorder(code, python)
    operands, length = code.element(arguments, 2), code.builder.sub(count, integer(2))
    tensor = record(new, code, trace, code.item(known, 0), operands, length, code.item(known, 1), integer(0))
    code.decref(trace)
    code.require(code.differ(tensor, integer(0)), python)
    code.builder.ret(tensor)
    code.begin(python)
    call_python(new, code, code.known("Operators.__array_ufunc__"), *function.args)


def define_array_function(new: New, function: ir.Function) -> None:
    """Emit ``__array_function__(self, func, types, args, kwargs)`` for tensors followed by structure."""
    code = new(function)
    _, arguments, count, names = function.args
    python = code.block("python")
    code.require_same(python, (names, integer(0)), (count, integer(4)))
    args, kwargs = code.read(arguments, 2), code.read(arguments, 3)
    code.require(code.is_a(args, "tuple"), python)
    code.require(code.is_a(kwargs, "dict"), python)
    sequence = code.block("sequence")
    known = code.attempt(
        sequence, "PyDict_GetItemWithError", code.known("FUNCTION_BODIES"), code.read(arguments, 0)
    )
    n_operands, length = code.size(code.item(known, 0)), code.length_of(args)
    code.require(code.builder.icmp_signed(">=", length, n_operands), python)
    operands = code.builder.add(args, integer(code.places["items"]))
    with_numbers = code.same(code.item(known, 3), code.known("True"))
    _require_tensors(code, operands, n_operands, python, with_numbers)
    body, static = _body_and_static(new, code, known, (args, n_operands, length), kwargs, python)
    _return_recorded(new, code, body, (operands, n_operands), (static,), python)
    code.begin(sequence)
    _record_sequence(new, code, code.read(arguments, 0), args, kwargs, python)
    code.begin(python)
    call_python(new, code, code.known("Operators.__array_function__"), *function.args)


def _require_tensors(
    code: ObjectCode,
    operands: ir.Value,
    count: ir.Value,
    otherwise: ir.Block,
    with_numbers: ir.Value | None = None,
) -> None:
    """Branch to `otherwise` unless all operands are tensors or Variables, or numbers if `with_numbers`."""
    builder = code.builder
    with code.each(count) as i:
        operand = code.read(operands, i)
        fits = builder.or_(code.is_a(operand, "Tensor"), code.is_a(operand, "Variable"))
        if with_numbers is not None:
            is_number = builder.or_(code.is_a(operand, "float"), code.is_a(operand, "int"))
            fits = builder.or_(fits, builder.and_(with_numbers, is_number))
        code.require(fits, otherwise)


def _return_recorded(
    new: New,
    code: ObjectCode,
    body: ir.Value,
    operands: tuple[ir.Value, ir.Value],
    owned: tuple[ir.Value, ...],
    python: ir.Block,
) -> None:
    """Record a call and return its result, or branch to `python`; release `owned`, of which the first is the key."""
    drop = code.block("drop")
    trace = recorder(code, drop)
    tensor = record(new, code, trace, body, *operands, owned[0], integer(0))
    code.decref(trace)
    code.require(code.differ(tensor, integer(0)), drop)
    for value in owned:
        code.decref(value)
    code.builder.ret(tensor)
    code.begin(drop)
    for value in owned:
        code.decref(value)
    code.builder.branch(python)


def _record_sequence(
    new: New, code: ObjectCode, function: ir.Value, args: ir.Value, kwargs: ir.Value, python: ir.Block
) -> None:
    """Record a function of a list or tuple of tensors, such as ``np.concatenate``."""
    builder = code.builder
    body = code.attempt(python, "PyDict_GetItemWithError", code.known("SEQUENCE_BODIES"), function)
    length = code.length_of(args)
    code.require(builder.icmp_signed(">=", length, integer(1)), python)
    values, items = code.item(args, 0), code.words(1)
    is_tuple = code.is_a(values, "tuple")
    code.require(builder.or_(is_tuple, code.is_a(values, "list")), python)
    _require_all_structure(new, code, (args, integer(1), length), kwargs, python)
    with builder.if_else(is_tuple) as (given, other):
        with given:
            code.write(items, code.incref(values))
        with other:
            code.write(items, code.attempt(python, "PyList_AsTuple", values))
    parts, drop = code.read(items), code.block("sequence.drop")
    operands, count = builder.add(parts, integer(code.places["items"])), code.length_of(parts)
    _require_tensors(code, operands, count, drop)
    rest = code.attempt(drop, "PyTuple_GetSlice", args, integer(1), length)
    static = code.new_tuple(drop, rest, _pairs(code, kwargs, drop))
    _return_recorded(new, code, body, (operands, count), (static, parts), python)
    code.begin(drop)
    code.decref(parts)
    builder.branch(python)


def _pairs(code: ObjectCode, kwargs: ir.Value, failed: ir.Block) -> ir.Value:
    """Return the items of a dict as a new tuple of pairs."""
    items = code.attempt(failed, "PyDict_Items", kwargs)
    pairs = code.call("PyList_AsTuple", items)
    code.decref(items)
    code.require(code.differ(pairs, integer(0)), failed)
    return pairs


def _require_all_structure(
    new: New,
    code: ObjectCode,
    args: tuple[ir.Value, ir.Value, ir.Value],
    kwargs: ir.Value,
    python: ir.Block,
) -> None:
    """Branch to `python` unless a key may contain all arguments but the operands: see `_body_and_static`."""
    values, n_operands, length = args
    with code.each(code.builder.sub(length, n_operands)) as i:
        value = code.item(values, code.builder.add(n_operands, i))
        _require_structure(new, code, value, integer(0), python)
    with code.each_pair(kwargs) as (name, value):
        _require_structure(new, code, value, name, python)


def _body_and_static(
    new: New,
    code: ObjectCode,
    known: ir.Value,
    args: tuple[ir.Value, ir.Value, ir.Value],
    kwargs: ir.Value,
    python: ir.Block,
) -> tuple[ir.Value, ir.Value]:
    """Return the body, borrowed, and a new tuple of its parameters; branch to `python` if they are no structure.

    `args` are the tuple of arguments, the number of operands among them, and its length.
    """
    builder = code.builder
    values, n_operands, length = args
    _require_all_structure(new, code, args, kwargs, python)
    rest = code.attempt(python, "PyTuple_GetSlice", values, n_operands, length)
    body, static, failed = code.words(1), code.words(1), code.block("failed")
    code.write(body, code.item(known, 1))
    code.write(static, rest)
    with builder.if_then(code.differ(code.call("PyDict_Size", kwargs), integer(0))):
        code.write(body, code.item(known, 2))
        code.write(static, code.new_tuple(failed, rest, _pairs(code, kwargs, failed)))
    here = builder.block
    code.begin(failed)
    builder.ret(integer(0))
    code.begin(here)
    return code.read(body), code.read(static)


def _require_structure(new: New, code: ObjectCode, value: ir.Value, name: ir.Value, python: ir.Block) -> None:
    """Branch to `python` unless a key may contain `value`, the argument `name`, or 0 if it has none."""
    fits = is_structure(new, code, value, name, or_dtype=False)
    code.require(code.differ(fits, integer(0)), python)
