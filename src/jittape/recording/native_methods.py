"""The methods of recording in machine code, and the objects of the process that their code refers to."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jittape.compile.cache.kernel_cache import registry
from jittape.compile.cache.private_files import digest
from jittape.compile.llvm.built_in_functions import (
    BY_NAMES,
    NO_ARGUMENT,
    ONE_ARGUMENT,
    as_method,
    kept_for_ever,
)
from jittape.compile.llvm.definition import Definition, FunctionKind
from jittape.compile.llvm.symbols import define
from jittape.core.buffers import LARGE, Buffer, address_of
from jittape.core.config import Config, config
from jittape.core.dtypes import as_dtype, float64
from jittape.core.primitive import active
from jittape.core.program import Aval
from jittape.core.symbolic.extents import open_extents
from jittape.core.tensor_shape import TensorShape
from jittape.native.array_functions import array_functions
from jittape.native.built_in import PYTHON_CALL, TABLE
from jittape.native.object_layout import object_layout, slot_places
from jittape.native.switch import MachineCode, NativeMethod
from jittape.native.vector_calls import can_replace, python_call
from jittape.numpy_api import one_call
from jittape.numpy_api.array_methods import ArrayMethods
from jittape.numpy_api.dtype_objects import DType
from jittape.primitives.elementwise import arithmetic, bits, comparison, division
from jittape.primitives.indexing.getitem import PLANS
from jittape.recording.flushing import LOOP, Flushing
from jittape.recording.machine_code import path_tables
from jittape.recording.machine_code.method_plans import plan_function, plan_method
from jittape.recording.machine_code.planned_functions import take_loaded_functions
from jittape.recording.operators import Operators
from jittape.recording.shapes.shape_tensor import ShapeTensor
from jittape.recording.slots import NOTHING_WRITTEN, Slots
from jittape.recording.tensor import Tensor
from jittape.recording.trace import CLEARED, SAME, Trace, read_variable
from jittape.recording.trie import UNPLACED, Node, Trie, code_of_jittape, trie
from jittape.recording.trie_insertion import ARRAY_AVALS, imported
from jittape.recording.variable import Variable
from jittape.runtime.counters import Counters, counters
from jittape.runtime.fast_run import FastRun
from jittape.runtime.path_executable import GeneralPathExecutable, PathExecutable
from jittape.runtime.result_memory import ResultMemory
from jittape.runtime.workspace import PoisonedWorkspace, Workspace

if TYPE_CHECKING:
    from llvmlite import ir

    from jittape.native.object_code import ObjectCode

__all__ = ["machine_code"]

_TRACE_SLOTS = tuple(
    [slot for kind in Trace.__mro__[:-1] for slot in kind.__slots__ if slot != "__weakref__"]  # type: ignore[attr-defined]
)
_SLOTS: tuple[tuple[str, type, tuple[str, ...]], ...] = (
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
_UNARY = {"neg": arithmetic.negative_op, "invert": bits.invert_op}


class _Method(NamedTuple):
    """A method to write in machine code: its calling convention, and the function that emits it with its arguments.

    The function is named by its module in `jittape.recording.machine_code`, as all of these modules import LLVM.
    """

    owner: type
    name: str
    flags: int
    emitter: str
    arguments: tuple[Any, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.owner.__name__}.{self.name}"

    @property
    def python(self) -> Any:
        """The Python method, or the getter of the property."""
        found = vars(self.owner)[self.name]
        return found.fget if isinstance(found, property) else found

    def define(self, new: Callable[[ir.Function], ObjectCode], function: ir.Function) -> None:
        """Emit the method."""
        _emit(self.emitter, *self.arguments, new, function)


def _emit(emitter: str, *arguments: Any) -> None:
    module, _, name = emitter.partition(".")
    getattr(import_module(f"jittape.recording.machine_code.{module}"), name)(*arguments)


def _methods() -> list[_Method]:
    arguments: tuple[Any, ...]
    methods = [
        _Method(Trace, "apply", BY_NAMES, "emit_methods.define_apply"),
        _Method(Trace, "import_tensor", ONE_ARGUMENT, "emit_methods.define_import_tensor"),
        _Method(Trace, "step", NO_ARGUMENT, "emit_steps.define_step"),
        _Method(Trace, "release", NO_ARGUMENT, "emit_steps.define_release"),
        _Method(Slots, "known_gradient", BY_NAMES, "emit_gradient.define_known_gradient"),
        _Method(Trace, "tensors_at", ONE_ARGUMENT, "emit_methods.define_tensors_at"),
        _Method(Slots, "tensor_of_array", ONE_ARGUMENT, "emit_methods.define_tensor_of_array"),
        _Method(Flushing, "_run_known", ONE_ARGUMENT, "emit_flush.define_run_known"),
        _Method(Flushing, "_take_pending", NO_ARGUMENT, "emit_methods.define_take_pending"),
        _Method(Flushing, "_distribute", BY_NAMES, "emit_methods.define_distribute"),
        _Method(Buffer, "view", NO_ARGUMENT, "emit_methods.define_view"),
        _Method(Operators, "numpy", NO_ARGUMENT, "emit_methods.define_numpy"),
    ]
    for name in _OPS:
        for reflected in (False, True):
            method = f"__{'r' * reflected}{name}__"
            arguments = f"Operators.{method}", name, reflected
            methods.append(_Method(Operators, method, ONE_ARGUMENT, "emit_methods.define_binary", arguments))
    for name in _COMPARISONS:
        arguments = f"Operators.__{name}__", name, False
        methods.append(
            _Method(Operators, f"__{name}__", ONE_ARGUMENT, "emit_methods.define_binary", arguments)
        )
    for name in _UNARY:
        arguments = f"Operators.__{name}__", name
        methods.append(_Method(Operators, f"__{name}__", NO_ARGUMENT, "emit_methods.define_unary", arguments))
    methods.append(_Method(Variable, "assign", BY_NAMES, "emit_methods.define_assign"))
    for method, op in (("assign_add", "add"), ("assign_sub", "sub")):
        arguments = f"Variable.{method}", op
        methods.append(_Method(Variable, method, BY_NAMES, "emit_methods.define_update", arguments))
    for owner in (Operators, Variable):
        name = f"{owner.__name__}.__getitem__"
        arguments = name, owner is Variable
        methods.append(_Method(owner, "__getitem__", ONE_ARGUMENT, "emit_getitem.define_getitem", arguments))
    methods.append(_Method(Operators, "__array_ufunc__", BY_NAMES, "emit_protocols.define_array_ufunc"))
    methods.append(_Method(Operators, "__array_function__", BY_NAMES, "emit_one_call.define_array_function"))
    of_arrays: tuple[type, str] = ArrayMethods, _METHODS_OF_ARRAYS
    for kind, names in (of_arrays, (Operators, _OPERATORS)):
        for name in names.split():
            arguments = f"{kind.__name__}.{name}", len(methods), _takes(name)
            methods.append(_Method(kind, name, BY_NAMES, "emit_calls.define_method", arguments))
    for name in _PROPERTIES.split():
        arguments = f"ArrayMethods.{name}", len(methods)
        methods.append(_Method(ArrayMethods, name, NO_ARGUMENT, "emit_calls.define_property", arguments))
    return methods


def _takes(method: str) -> int:
    """Return how a method takes ints, arrays and lists: see `emit_calls`."""
    return (method == "clip") + 2 * (method in _OF_ARRAYS) + 4 * (method in _OF_LISTS)


_METHODS = _methods()
path_tables.LAST_PLANS += [None] * len(_METHODS)
_CALLS = {
    "unary": "emit_functions.define_unary",
    "binary": "emit_functions.define_binary",
    "function": "emit_functions.define_function",
    "fact": "emit_functions.define_fact",
    "shape": "emit_functions.define_shape",
    "planned": "emit_planned.define_planned",
}
"""Functions that emit the code that takes the calls of functions of `jittape` and `jittape.numpy`, by its name."""
_python = {method.label: method.python for method in _METHODS}
_KNOWN: dict[str, Any] = {
    **{kind.__name__: kind for kind in (Tensor, Variable, Buffer, Trace, Node, Aval, DType, type)},
    **{kind.__name__: kind for kind in (FastRun, GeneralPathExecutable, PathExecutable)},
    **{kind.__name__: kind for kind in (PoisonedWorkspace, Workspace)},
    "PoisonedWorkspace.poison": PoisonedWorkspace.poison,
    **{
        kind.__name__: kind for kind in (tuple, list, dict, slice, str, float, int, bool, complex, np.ndarray)
    },
    "ShapeTensor": ShapeTensor,
    "TensorShape": TensorShape,
    "np.generic.item": np.generic.item,
    "np.power": np.power,
    **{f"dtype {name}": as_dtype(name) for name in path_tables.MEET_DOUBLES},
    **_OPS,
    **_COMPARISONS,
    **_UNARY,
    **_python,
    "read_variable": read_variable,
    "imported": imported,
    "gradient": "gradient",
    "Trie.places": trie.places,
    "Tensor._computed": Tensor._computed,
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
    "LOOP": LOOP,
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
    "keepdims": "keepdims",
    "nbytes": "nbytes",
    "shape": "shape",
    "ARRAY_AVALS": ARRAY_AVALS,
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
_table = np.array([id(value) for value in _KNOWN.values()], np.int64)


@cache
def machine_code() -> MachineCode:
    """Return the methods, and the code that takes calls of functions; none if the layout of objects is unknown.

    Raises
    ------
    CompileError
        If LLVM cannot compile them.
    """
    layout, functions = object_layout(), array_functions()
    if layout is None or not functions or not can_replace():
        return MachineCode()
    try:
        slots = [(prefix, slot_places(kind, names)) for prefix, kind, names in _SLOTS]
    except ValueError:
        return MachineCode()
    places = layout._asdict()
    for prefix, found in slots:
        places |= {prefix + name: at for name, at in found.items()}
    kept_for_ever(_KNOWN)
    define(TABLE, address_of(kept_for_ever(_table)))
    define(PYTHON_CALL, python_call())
    for name, address in functions.items():
        define(name, address)

    def new(function: ir.Function) -> ObjectCode:
        from jittape.native.object_code import ObjectCode

        for attribute in ("optsize", "noinline", "nounwind"):
            function.attributes.add(attribute)
        return ObjectCode(function, places, tuple(_KNOWN), holds_collector=_HOLDS_COLLECTOR)

    where = int.from_bytes(digest(repr((places, _HOLDS_COLLECTOR)).encode(), 8))
    definitions = [
        Definition(
            f"method_{number}_{where}",
            FunctionKind.METHOD_BY_NAMES if method.flags == BY_NAMES else FunctionKind.METHOD,
            partial(_define_held, method.define, new),
        )
        for number, method in enumerate(_METHODS)
    ]
    definitions += [
        Definition(
            f"method_{number}_{where}",
            FunctionKind.METHOD_BY_NAMES,
            partial(_define_held, partial(_emit, emitter), new),
        )
        for number, emitter in enumerate(_CALLS.values(), len(_METHODS))
    ]
    addresses = registry.addresses_of_module(definitions)
    made = tuple(
        [
            _native(m, python, address)
            for m, python, address in zip(_METHODS, _python.values(), addresses, strict=False)
            if python.__module__ == m.owner.__module__  # unless another package has replaced the method
        ]
    )
    calls = dict(zip(_CALLS, addresses[len(_METHODS) :], strict=True))
    return MachineCode(made, calls, take_loaded_functions) if _counts_references(made) else MachineCode()


_HOLDS_COLLECTOR = sys.version_info < (3, 12)
"""Whether an allocation may run finalizers: see `ObjectCode.collector_held`, which takes 2 % of a step."""


def _define_held(
    define: Callable[..., None], new: Callable[[ir.Function], ObjectCode], function: ir.Function
) -> None:
    """Emit a function that, if need be, keeps the garbage collector from running in what `define` emits."""
    if not _HOLDS_COLLECTOR:
        define(new, function)
        return
    from llvmlite import ir

    body = ir.Function(function.module, function.function_type, f"{function.name}_held")
    body.linkage = "internal"
    define(new, body)
    body.attributes.remove("noinline")
    code = new(function)
    with code.collector_held():
        made = code.builder.call(body, function.args)
    code.builder.ret(made)


def _native(method: _Method, python: Any, address: int) -> NativeMethod:
    """Return a method, or a property whose getter is machine code."""
    machine = as_method(method.owner, method.name, address, method.flags, _described(python))
    before = vars(method.owner)[method.name]
    if isinstance(before, property):
        return NativeMethod(method.owner, method.name, before, property(machine, doc=before.__doc__))
    return NativeMethod(method.owner, method.name, python, machine)


def _counts_references(found: Sequence[NativeMethod]) -> bool:
    """Return whether the code of a flush finds out that only the list of pending tensors refers to a tensor."""
    taken = next((method.machine for method in found if method.name == "_take_pending"), None)
    if taken is None:
        return False
    trace, aval = Trace(), Aval((), np.dtype(float))
    kept = Tensor(trace, 0, aval)
    trace.pending = [kept, Tensor(trace, 1, aval)]
    _, alive, needed = taken(trace)
    return len(alive) == 1 and alive[0] is kept and needed == (0,)


def _described(function: Any) -> str:
    """Return the docstring of a Python method after its signature in the format that `inspect` and `help` read."""
    parameters = inspect.signature(function).parameters.values()
    given = str(inspect.Signature([p.replace(annotation=p.empty) for p in parameters]))
    return f"{function.__name__}{given.replace('(self', '($self', 1)}\n--\n\n{inspect.getdoc(function) or ''}"
