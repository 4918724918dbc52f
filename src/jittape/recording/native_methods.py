"""The methods of recording in machine code, and the objects of the process that their code refers to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from threading import RLock
from typing import Any

import numpy as np

from jittape.compile.llvm.built_in_functions import BY_NAMES, NO_ARGUMENT, ONE_ARGUMENT
from jittape.core.buffers import LARGE, Buffer
from jittape.core.config import Config, config
from jittape.core.dtypes import as_dtype, float64
from jittape.core.primitive import active
from jittape.core.program import Aval
from jittape.core.symbolic.extents import open_extents
from jittape.core.tensor_shape import TensorShape
from jittape.native.built_in import TABLE
from jittape.native.switch import MachineCode, NativeMethod
from jittape.numpy_api import one_call
from jittape.numpy_api.array_methods import ArrayMethods
from jittape.numpy_api.dtype_objects import DType
from jittape.primitives.elementwise import arithmetic, bits, comparison, division
from jittape.primitives.elementwise.complex_numbers import cast_body
from jittape.primitives.indexing.getitem import PLANS
from jittape.recording.flushing import FLUSH_CLOCKS, LOOP, Flushing
from jittape.recording.lost_writes import ROW
from jittape.recording.machine_code import path_tables
from jittape.recording.machine_code.method_module import Method, MethodModule, SlotsOfClass
from jittape.recording.machine_code.method_plans import plan_function, plan_method
from jittape.recording.machine_code.planned_functions import take_loaded_functions
from jittape.recording.operators import Operators
from jittape.recording.shapes.shape_tensor import ShapeTensor
from jittape.recording.slots import NOTHING_WRITTEN, Slots
from jittape.recording.tensor import Tensor
from jittape.recording.trace import CLEARED, SAME, Trace, read_variable
from jittape.recording.trie import UNPLACED, Node, Trie, code_of_jittape, trie
from jittape.recording.trie_insertion import ARRAY_AVALS, imported, new_entry
from jittape.recording.variable import Variable
from jittape.runtime.counters import Counters, counters
from jittape.runtime.fast_run import FastRun
from jittape.runtime.path_executable import GeneralPathExecutable, PathExecutable
from jittape.runtime.result_memory import ResultMemory
from jittape.runtime.workspace import PoisonedWorkspace, Workspace

__all__ = ["METHODS", "SLOTS", "machine_code"]

_TRACE_SLOTS = tuple(
    [slot for kind in Trace.__mro__[:-1] for slot in kind.__slots__ if slot != "__weakref__"]  # type: ignore[attr-defined]
)
SLOTS: tuple[SlotsOfClass, ...] = (
    ("", Operators, ("_aval", "_buffer", "_marker", "_slot", "_trace")),
    ("", Variable, ("_assigned_in", "_declared", "_trainable")),
    ("Tensor.", Tensor, ("_origin",)),
    ("Buffer.", Buffer, Buffer.__slots__),
    ("Config.", Config, ("_interpret", "_max_pending_bytes", "_max_pending_ops")),
    ("Counters.", Counters, ("compiled_runs", "flushes", "last", "paths_found")),
    ("FastRun.", FastRun, ("address", "free", "is_simple")),
    (
        "Node.",
        Node,
        (
            "aval",
            "children",
            "conversions",
            "executables",
            "inputs",
            "is_whole_gradient",
            "n_ops",
            "n_slots",
            "nbytes",
            "results",
            "slot",
            "stamp",
            "takes_scalars_as_given",
        ),
    ),
    ("PathExecutable.", PathExecutable, ("_fast_run", "ran_compiled", "visits")),
    ("ResultMemory.", ResultMemory, ("_misses", "_sets", "large")),
    ("Trace.", Trace, _TRACE_SLOTS),
    ("Trie.", Trie, ("clock",)),
    ("Workspace.", Workspace, ("_arena", "_first", "_results", "address")),
)
_METHODS_OF_ARRAYS = (
    "all any argmax argmin argsort astype clip conj conjugate copy cumprod cumsum diagonal dot flatten max mean min "
    "prod ravel repeat reshape round searchsorted squeeze std sum swapaxes take trace transpose var"
)
_PROPERTIES = "T imag mT real"
_OPERATORS = "__abs__ __matmul__ __pow__ __rmatmul__"
_OF_ARRAYS = ("dot", "__matmul__", "__pow__")
"""Methods that take an ndarray as an operand, whatever its values are."""
_OF_LISTS = ("reshape", "transpose")
"""Methods to which a list of ints means what a tuple means."""
_OPS = {
    "add": arithmetic.add_op,
    "sub": arithmetic.subtract_op,
    "mul": arithmetic.multiply_op,
    "truediv": division.divide_op,
    "floordiv": division.floor_divide_op,
    "mod": division.mod_op,
    "and": bits.bitwise_and_op,
    "or": bits.bitwise_or_op,
    "xor": bits.bitwise_xor_op,
}
_COMPARISONS = {
    "lt": comparison.less_op,
    "le": comparison.less_equal_op,
    "gt": comparison.greater_op,
    "ge": comparison.greater_equal_op,
    "eq": comparison.equal_op,
    "ne": comparison.not_equal_op,
}
_BECOMES: dict[type, str] = {Tensor: "_become", Variable: "_assign_result"}
"""Methods that take over the new value after ``x[key] = value``."""
_UNARY = {"neg": arithmetic.negative_op, "invert": bits.invert_op}


def _methods() -> list[Method]:
    arguments: tuple[Any, ...]
    methods = [
        Method(Trace, "apply", BY_NAMES, "emit_methods.define_apply"),
        Method(Trace, "import_tensor", ONE_ARGUMENT, "emit_methods.define_import_tensor"),
        Method(Trace, "step", NO_ARGUMENT, "emit_steps.define_step"),
        Method(Trace, "release", NO_ARGUMENT, "emit_steps.define_release"),
        Method(Trace, "tensors_at", ONE_ARGUMENT, "emit_methods.define_tensors_at"),
        Method(Slots, "tensor_of_array", ONE_ARGUMENT, "emit_methods.define_tensor_of_array"),
        Method(Flushing, "_run_known", ONE_ARGUMENT, "emit_flush.define_run_known"),
        Method(Flushing, "value_of", ONE_ARGUMENT, "emit_steps.define_value_of"),
        Method(Flushing, "_take_pending", NO_ARGUMENT, "emit_methods.define_take_pending"),
        Method(Flushing, "_distribute", BY_NAMES, "emit_methods.define_distribute"),
        Method(Buffer, "view", NO_ARGUMENT, "emit_methods.define_view"),
        Method(Operators, "numpy", NO_ARGUMENT, "emit_steps.define_numpy"),
    ]
    for name in _OPS:
        for reflected in (False, True):
            method = f"__{'r' * reflected}{name}__"
            arguments = f"Operators.{method}", name, reflected
            methods.append(Method(Operators, method, ONE_ARGUMENT, "emit_methods.define_binary", arguments))
    for name in _COMPARISONS:
        arguments = f"Operators.__{name}__", name, False
        methods.append(
            Method(Operators, f"__{name}__", ONE_ARGUMENT, "emit_methods.define_binary", arguments)
        )
    for name in _UNARY:
        arguments = f"Operators.__{name}__", name
        methods.append(Method(Operators, f"__{name}__", NO_ARGUMENT, "emit_methods.define_unary", arguments))
    methods.append(Method(Variable, "assign", BY_NAMES, "emit_methods.define_assign"))
    for method, op in (("assign_add", "add"), ("assign_sub", "sub")):
        arguments = f"Variable.{method}", op
        methods.append(Method(Variable, method, BY_NAMES, "emit_methods.define_update", arguments))
    for owner in (Operators, Variable):
        name = f"{owner.__name__}.__getitem__"
        arguments = name, owner is Variable
        methods.append(Method(owner, "__getitem__", ONE_ARGUMENT, "emit_getitem.define_getitem", arguments))
    methods.append(Method(ShapeTensor, "__getitem__", ONE_ARGUMENT, "emit_facts.define_item"))
    methods.append(Method(Operators, "__iter__", NO_ARGUMENT, "emit_items.define_iter"))
    for kind, become in _BECOMES.items():
        arguments = f"{kind.__name__}.__setitem__", f"{kind.__name__}.{become}"
        methods.append(Method(kind, "__setitem__", BY_NAMES, "emit_items.define_setitem", arguments))
    methods.append(Method(Operators, "__array_ufunc__", BY_NAMES, "emit_protocols.define_array_ufunc"))
    methods.append(Method(Operators, "__array_function__", BY_NAMES, "emit_one_call.define_array_function"))
    of_arrays: tuple[type, str] = ArrayMethods, _METHODS_OF_ARRAYS
    for kind, names in (of_arrays, (Operators, _OPERATORS)):
        for name in names.split():
            arguments = f"{kind.__name__}.{name}", len(methods), _takes(name)
            methods.append(Method(kind, name, BY_NAMES, "emit_calls.define_method", arguments))
    methods.append(Method(ArrayMethods, "sort", BY_NAMES, "emit_calls.define_sort", (len(methods),)))
    for name in _PROPERTIES.split():
        arguments = f"ArrayMethods.{name}", len(methods)
        methods.append(Method(ArrayMethods, name, NO_ARGUMENT, "emit_calls.define_property", arguments))
    return methods


def _takes(method: str) -> int:
    """Return how a method takes ints, arrays and lists: see `emit_calls`."""
    return (method == "clip") + 2 * (method in _OF_ARRAYS) + 4 * (method in _OF_LISTS)


_CALLS = {
    "unary": "emit_functions.define_unary",
    "binary": "emit_functions.define_binary",
    "function": "emit_functions.define_function",
    "constant": "emit_functions.define_constant",
    "fact": "emit_functions.define_fact",
    "shape": "emit_functions.define_shape",
    "planned": "emit_planned.define_planned",
    "array": "emit_planned.define_array",
}
"""Functions that emit the code that takes the calls of functions of `jittape` and `jittape.numpy`, by its name."""
_KNOWN: dict[str, Any] = {
    **{kind.__name__: kind for kind in (Tensor, Variable, Buffer, Trace, Node, Aval, DType, type)},
    **{kind.__name__: kind for kind in (FastRun, GeneralPathExecutable, PathExecutable)},
    **{kind.__name__: kind for kind in (PoisonedWorkspace, Workspace)},
    "PoisonedWorkspace.poison": PoisonedWorkspace.poison,
    "RLock": type(RLock()),
    "RLock.acquire": type(RLock()).acquire,
    "RLock.release": type(RLock()).release,
    **{
        kind.__name__: kind for kind in (tuple, list, dict, slice, str, float, int, bool, complex, np.ndarray)
    },
    "ShapeTensor": ShapeTensor,
    "TensorShape": TensorShape,
    "np.generic.item": np.generic.item,
    "np.power": np.power,
    **{f"dtype {name}": as_dtype(name) for name in path_tables.MEET_DOUBLES},
    "cast": cast_body,
    **_OPS,
    **_COMPARISONS,
    **_UNARY,
    "read_variable": read_variable,
    "imported": imported,
    "gradient": "gradient",
    "Trie.places": trie.places,
    "ArrayMethods._sorted": ArrayMethods._sorted,
    "Tensor._assign_result": Tensor._assign_result,
    "Tensor._become": Tensor._become,
    "Trace._flush_over_limit": Trace._flush_over_limit,
    "UNPLACED": UNPLACED,
    "Variable._assign_result": Variable._assign_result,
    "None": None,
    "True": True,
    "False": False,
    "Ellipsis": Ellipsis,
    "slice(None)": slice(None),
    "CLEARED": CLEARED,
    "LARGE": LARGE,
    "FLUSH_CLOCKS": FLUSH_CLOCKS,
    "LOOP": LOOP,
    "ROW": ROW,
    "NOTHING_WRITTEN": NOTHING_WRITTEN,
    "SAME": SAME,
    "minus one": -1,
    "zero": 0,
    "one": 1,
    "empty": (),
    "active": active,
    "axis": "axis",
    "recorder": "recorder",
    "__call__": "__call__",
    "dtype": "dtype",
    "keepdims": "keepdims",
    "nbytes": "nbytes",
    "shape": "shape",
    "ARRAY_AVALS": ARRAY_AVALS,
    "new_entry": new_entry,
    "PLANS": PLANS,
    "open_extents": open_extents,
    **{name: getattr(path_tables, name) for name in path_tables.__all__},
    **{name: getattr(one_call, name) for name in one_call.__all__ if name.isupper()},
    "plan_function": plan_function,
    "plan_method": plan_method,
    "type of dtypes": type(type(float64)),
    "config": config,
    "collector": False,
    "code_of_jittape": code_of_jittape,
    "counters": counters,
    "trie": trie,
}
"""Objects that machine code refers to."""
METHODS = MethodModule(
    "jittape.recording.machine_code", TABLE, _methods(), tuple(_CALLS.values()), SLOTS, _KNOWN
)
path_tables.LAST_PLANS += [None] * len(METHODS.methods)


@cache
def machine_code() -> MachineCode:
    """Return the methods, and the code that takes calls of functions; none if the layout of objects is unknown.

    Raises
    ------
    CompileError
        If LLVM cannot compile them.
    """
    compiled = METHODS.compiled()
    if compiled is None or not _counts_references(compiled[0]):
        return MachineCode()
    methods, addresses = compiled
    return MachineCode(methods, dict(zip(_CALLS, addresses, strict=True)), take_loaded_functions)


def _counts_references(found: Sequence[NativeMethod]) -> bool:
    """Return whether the code of a flush finds out that only the list of pending tensors refers to a tensor."""
    taken = next((method.machine for method in found if method.name == "_take_pending"), None)
    if taken is None:
        return False
    trace, aval = Trace(), Aval((), np.dtype(float))
    kept = Tensor(trace, 0, aval)
    trace.pending = [kept, Tensor(trace, 1, aval)]
    _, alive, _, needed = taken(trace)
    return len(alive) == 1 and alive[0] is kept and needed == (0,)
