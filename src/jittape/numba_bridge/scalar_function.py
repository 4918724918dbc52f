"""Scalar user functions, compiled by Numba, as LLVM IR for jittape's kernels.

Numba's function returns a status and writes its value through a pointer. A wrapper returns the value, or nan (0 for an
integer) if the user's function raises: a loop over elements without Python cannot stop there.
"""

from __future__ import annotations

import ctypes
import dis
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from types import CellType, CodeType, ModuleType
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError
from numba.np.numpy_support import as_dtype, from_dtype

from jittape.compile.llvm import target
from jittape.compile.llvm.compile_pool import uninterrupted
from jittape.compile.llvm.external_functions import PLACEHOLDER, ExternalFunction, call_external, register
from jittape.compile.llvm.ir_helpers import for_range
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue, llvm_type, memory_type
from jittape.compile.llvm.loaded_code import CodeGroup
from jittape.core.buffers import address_of
from jittape.core.dtypes import NATIVE_NUMBERS

__all__ = [
    "NotCompiledError", "as_dispatcher", "compiled_scalar", "dispatcher_of", "evaluate_linked", "may_reduce",
    "python_function", "steps_and_values",
]  # fmt: skip

_I64 = ir.IntType(64)
_REDUCTIONS = {
    "sum", "mean", "prod", "max", "min", "amax", "amin", "any", "all", "std", "var", "ptp", "median", "nansum",
    "nanmean", "nanprod", "nanmax", "nanmin", "average", "count_nonzero",
}  # fmt: skip
_KEPT = ("boundscheck", "fastmath", "inline")
"""Numba options of the user that affect what a scalar function computes."""


class NotCompiledError(TypeError):
    """Numba cannot compile a function for numbers."""


def dispatcher_of(function: Callable[..., Any], **options: Any) -> Dispatcher:
    """Return a new, uncached dispatcher of `function` with these options instead of its own."""
    if not isinstance(function, Dispatcher):
        return njit(**options)(function)
    own = {name: value for name, value in function.targetoptions.items() if name in _KEPT}
    return njit(**{**own, **options})(function.py_func)


def python_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function of a dispatcher; return any other function unchanged."""
    python: Callable[..., Any] = function.py_func if isinstance(function, Dispatcher) else function
    return python


def steps_and_values(function: Callable[..., Any]) -> Iterator[tuple[list[dis.Instruction], list[Any]]]:
    """Yield the instructions and global values of a Python function and of the ``@njit`` functions that it calls."""
    waiting = [function]
    for one in waiting:
        if getattr(one, "__code__", None) is None:
            continue
        codes = [one.__code__]
        for code in codes:
            codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        names = {name for code in codes for name in code.co_names}
        values = [one.__globals__.get(name) for name in names]
        values += [
            getattr(module, name, None)
            for module in values
            if isinstance(module, ModuleType)
            for name in names
        ]
        values += [cell.cell_contents for cell in one.__closure__ or () if cell != CellType()]
        yield [step for code in codes for step in dis.get_instructions(code)], values
        callees = [python_function(value) for value in values if isinstance(value, Dispatcher)]
        waiting += [callee for callee in callees if callee not in waiting]


def may_reduce(function: Callable[..., Any]) -> bool:
    """Return whether a function, or one that it calls, names a reduction that Numba compiles for numbers too."""
    for steps, values in steps_and_values(function):
        attributes = {step.argval for step in steps if step.opname in ("LOAD_ATTR", "LOAD_METHOD")}
        if not _REDUCTIONS.isdisjoint(attributes):  # `max` alone is a function of numbers
            return True
        if any(
            getattr(value, "__module__", "") == "numpy" and getattr(value, "__name__", "") in _REDUCTIONS
            for value in values
        ):
            return True
    return False


def as_dispatcher(function: Callable[..., Any]) -> Dispatcher:
    """Return `function` if it is a Numba dispatcher, otherwise compile it."""
    return function if isinstance(function, Dispatcher) else njit(function)


def compiled_scalar(
    name: str, dispatcher: Dispatcher, dtypes: Sequence[np.dtype[Any]], item: int | None
) -> ExternalFunction:
    """Return the function for operands of these dtypes: its result, or number `item` of the tuple that it returns.

    Raises
    ------
    NotCompiledError
        If Numba cannot compile it.
    TypeError
        If it does not return a number, or calls Python: it would wait for the GIL for ever.
    """
    argument_types = tuple([from_dtype(dtype) for dtype in dtypes])
    given = ", ".join([dtype.name for dtype in dtypes])
    try:
        dispatcher.compile(argument_types)
    except (NumbaError, AttributeError) as error:  # the latter for argmin, tril and others
        raise NotCompiledError(f"numba_op: Numba does not compile {name} for ({given}): {error}") from None
    result = dispatcher.overloads[argument_types]
    returned = _returned(name, given, result.signature.return_type, item)
    text = _module_text(result, argument_types, item, returned)
    if "@numba_gil_ensure" in text:
        raise TypeError(f"numba_op: {name} calls Python, as print does, and kernels cannot; remove the call")
    common = np.result_type(*dtypes)
    fits = returned.kind == "f" == common.kind
    return register(text, returned, common if fits else returned)


def _returned(name: str, given: str, ty: Any, item: int | None) -> np.dtype[Any]:
    """Return the dtype of the result, or of number `item` of the results."""
    whole = ty
    if item is not None:
        if not isinstance(ty, types.BaseTuple) or item >= len(ty):
            raise TypeError(
                f"numba_op: {name} must return a tuple with a cotangent for each operand, it returns {whole} for "
                f"({given})"
            )
        ty = ty[item]
    ty = types.unliteral(ty)
    if not isinstance(ty, (types.Number, types.Boolean)) or as_dtype(ty) not in NATIVE_NUMBERS:
        raise TypeError(
            f"numba_op: {name} must return a real number, it returns {whole} for ({given}); "
            "pass result= if it is a function of whole arrays"
        )
    return as_dtype(ty)


def _module_text(
    result: Any, argument_types: tuple[Any, ...], item: int | None, returned: np.dtype[Any]
) -> str:
    """Return the optimized module with Numba's function and its wrapper; the text is the same in every process."""
    context = result.target_context
    module = context.create_module("linked")
    callee = ir.Function(
        module,
        context.call_conv.get_function_type(result.fndesc.restype, argument_types),
        result.fndesc.llvm_func_name,
    )
    ir_types = [llvm_type(as_dtype(ty)) for ty in argument_types]
    function = ir.Function(module, ir.FunctionType(llvm_type(returned), ir_types), PLACEHOLDER)
    function.attributes.add("alwaysinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    status, value = context.call_conv.call_function(
        builder, callee, result.fndesc.restype, argument_types, function.args
    )
    if item is not None:
        value = builder.extract_value(value, item)
    nothing = np.nan if returned.kind == "f" else 0
    builder.ret(builder.select(status.is_error, ir.Constant(value.type, nothing), value))
    return uninterrupted(_link, str(module), result.library.get_llvm_str())


def _link(text: str, callee: str) -> str:
    with llvm.parse_assembly(text) as parsed:
        parsed.link_in(llvm.parse_assembly(callee))
        return _reduce(parsed)


def _reduce(module: Any) -> str:
    """Remove all functions and variables that are not needed, and rename the others independently of the process."""
    for one in (*module.functions, *module.global_variables):
        if not one.is_declaration and one.name != PLACEHOLDER:
            one.linkage = "internal"
    target.optimize(module)
    module.get_function(PLACEHOLDER).linkage = "weak_odr"  # several modules may contain it
    number = 0
    for one in (*module.functions, *module.global_variables):
        if not one.is_declaration and one.name != PLACEHOLDER:
            one.name = f"{PLACEHOLDER}_part{number}"
            number += 1
    return re.sub(r"^(; ModuleID|source_filename).*\n", "", str(module), flags=re.MULTILINE)


# ---- evaluation ------------------------------------------------------------------------------------------------------


def evaluate_linked(
    function: ExternalFunction, arrays: Sequence[np.ndarray[Any, Any]]
) -> np.ndarray[Any, Any]:
    """Apply `function` to each element of arrays of the same shape, for the interpreter."""
    operands = [np.ascontiguousarray(array) for array in arrays]
    result = np.empty(arrays[0].shape, function.result)
    loop = _loop(function.code, tuple([operand.dtype for operand in operands]), function)
    loop(result.size, address_of(result), *[address_of(operand) for operand in operands])
    return result


_group = CodeGroup()


@cache
def _loop(code: str, dtypes: tuple[np.dtype[Any], ...], function: ExternalFunction) -> Callable[..., None]:
    """Return ``loop(count, result, *operands)``; all arguments but the first are addresses."""
    module = ir.Module("evaluation")
    name = "jittape_evaluation_" + "_".join([code, *[dtype.name for dtype in dtypes]])
    written = ir.Function(module, ir.FunctionType(ir.VoidType(), [_I64] * (2 + len(dtypes))), name)
    builder = ir.IRBuilder(written.append_basic_block("entry"))

    def place(base: ir.Value, dtype: np.dtype[Any], index: ir.Value) -> ir.Value:
        return builder.gep(builder.inttoptr(base, memory_type(dtype).as_pointer()), [index])

    with for_range(builder, written.args[0]) as index:
        operands = []
        for base, dtype in zip(written.args[2:], dtypes, strict=True):
            value = builder.load(place(base, dtype, index))
            if dtype.kind == "b":
                value = builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))
            operands.append(IRValue(builder, value, dtype))
        stored = call_external(IRMath(builder), *operands, code=code).ir
        if function.result.kind == "b":
            stored = builder.zext(stored, ir.IntType(8))
        builder.store(stored, place(written.args[1], function.result, index))
    builder.ret_void()
    (address,) = uninterrupted(_group.load, target.object_code(module), [name])
    return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * (2 + len(dtypes)))(address)
