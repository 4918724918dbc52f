"""`MethodModule`: methods in machine code that are compiled in one module and read one table of objects."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.compile.cache.kernel_cache import registry
from jittape.compile.cache.private_files import digest
from jittape.compile.llvm.built_in_functions import BY_NAMES, as_method, kept_for_ever
from jittape.compile.llvm.definition import Definition, FunctionKind
from jittape.compile.llvm.symbols import define
from jittape.core.buffers import address_of
from jittape.native.array_functions import array_functions
from jittape.native.built_in import PYTHON_CALL
from jittape.native.object_layout import object_layout, slot_places
from jittape.native.switch import NativeMethod
from jittape.native.vector_calls import can_replace, python_call
from jittape.value_classes import NamedTuple

if TYPE_CHECKING:
    from llvmlite import ir

    from jittape.native.object_code import ObjectCode

__all__ = ["Method", "MethodModule", "SlotsOfClass"]

SlotsOfClass = tuple[str, type, tuple[str, ...]]
"""The prefix of the names of a class's slots, the class, and the slots that machine code reads."""
_HOLDS_COLLECTOR = sys.version_info < (3, 12)
"""Whether an allocation may run finalizers: see `ObjectCode.collector_held`, which takes 2 % of a step."""


class Method(NamedTuple):
    """A method to write in machine code: its calling convention, and the function that emits it with its arguments.

    The function is named by its module in a package `machine_code`, as all of these modules import LLVM.
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


class MethodModule:
    """Methods and other functions in machine code.

    Parameters
    ----------
    package : str
        The package of the modules that emit the code.
    table : str
        Symbol of the table of the objects that the code refers to.
    methods : sequence of Method
        They are in Python when the module is made.
    emitters : sequence of str
        Functions that emit code called as ``(function, arguments, count, names)``.
    slots : sequence of SlotsOfClass
        Slots of objects that the code reads.
    known : mapping of str to any
        Objects that the code refers to.

    Attributes
    ----------
    python : dict of str to function
        The Python methods by their labels.
    objects : ndarray of int64
        The addresses of the objects in `known`.
    """

    def __init__(
        self,
        package: str,
        table: str,
        methods: Sequence[Method],
        emitters: Sequence[str],
        slots: Sequence[SlotsOfClass],
        known: Mapping[str, Any],
    ) -> None:
        self.package = package
        self.table = table
        self.methods = methods
        self.emitters = emitters
        self.slots = slots
        self.python = {method.label: method.python for method in methods}
        self.known = {**known, **self.python}
        self.objects = np.array([id(value) for value in self.known.values()], np.int64)

    def compiled(self) -> tuple[list[NativeMethod], list[int]] | None:
        """Return the methods, and the addresses of the other functions; None if the layout of objects is unknown.

        Raises
        ------
        CompileError
            If LLVM cannot compile them.
        """
        layout, functions = object_layout(), array_functions()
        if layout is None or not functions or not can_replace():
            return None
        places = layout._asdict()
        try:
            for prefix, kind, names in self.slots:
                places |= {prefix + name: at for name, at in slot_places(kind, names).items()}
        except ValueError:
            return None
        kept_for_ever(self.known)
        define(self.table, address_of(kept_for_ever(self.objects)))
        define(PYTHON_CALL, python_call())
        for name, address in functions.items():
            define(name, address)
        addresses = registry.addresses_of_module(self._definitions(places))
        made = [
            _native(method, self.python[method.label], address)
            for method, address in zip(self.methods, addresses, strict=False)
            # unless another package has replaced the method
            if self.python[method.label].__module__ == method.owner.__module__
        ]
        return made, addresses[len(self.methods) :]

    def _definitions(self, places: Mapping[str, int]) -> list[Definition]:
        where = int.from_bytes(digest(repr((self.package, places, _HOLDS_COLLECTOR)).encode(), 8))
        new = partial(_writer, places, tuple(self.known), self.table)
        kinds = [
            FunctionKind.METHOD_BY_NAMES if method.flags == BY_NAMES else FunctionKind.METHOD
            for method in self.methods
        ]
        emitters = [partial(self._emit, method.emitter, *method.arguments) for method in self.methods]
        kinds += [FunctionKind.METHOD_BY_NAMES] * len(self.emitters)
        emitters += [partial(self._emit, emitter) for emitter in self.emitters]
        return [
            Definition(f"method_{number}_{where}", kind, partial(_define_held, emitter, new))
            for number, (kind, emitter) in enumerate(zip(kinds, emitters, strict=True))
        ]

    def _emit(self, emitter: str, *arguments: Any) -> None:
        module, _, name = emitter.partition(".")
        getattr(import_module(f"{self.package}.{module}"), name)(*arguments)


def _writer(
    places: Mapping[str, int], known: tuple[str, ...], table: str, function: ir.Function
) -> ObjectCode:
    from jittape.native.object_code import ObjectCode

    for attribute in ("optsize", "noinline", "nounwind"):
        function.attributes.add(attribute)
    return ObjectCode(function, places, known, table=table, holds_collector=_HOLDS_COLLECTOR)


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


def _native(method: Method, python: Any, address: int) -> NativeMethod:
    """Return a method, or a property whose getter is machine code."""
    machine = as_method(method.owner, method.name, address, method.flags, _described(python))
    before = vars(method.owner)[method.name]
    if isinstance(before, property):
        return NativeMethod(method.owner, method.name, before, property(machine, doc=before.__doc__))
    return NativeMethod(method.owner, method.name, python, machine)


def _described(function: Any) -> str:
    """Return the docstring of a Python method after its signature in the format that `inspect` and `help` read."""
    parameters = [p.replace(annotation=p.empty) for p in inspect.signature(function).parameters.values()]
    shown = [p.replace(default=p.default.value) if isinstance(p.default, Enum) else p for p in parameters]
    given = str(inspect.Signature(shown))
    return f"{function.__name__}{given.replace('(self', '($self', 1)}\n--\n\n{inspect.getdoc(function) or ''}"
