"""The argument marshaller: one call of machine code that checks arguments, fills the slot table, runs it and returns.

Reading the address of an ndarray from Python takes 1.2 µs, its shape and dtype 0.1 µs; a Numba function takes 45 ns
for each ndarray argument and must be compiled for every list of argument types. The argument marshaller is compiled
once or loaded from disk, as kernels are. It takes the *tuple* of arguments and reads the objects' memory at the
offsets of `native.object_layout`: the type of an object, the address, shape, dtype and flags of an ndarray, the value
of a float, the contents of a Tensor, Buffer or Variable. If there is no layout there is no marshaller, and Python does
its work.

The marshaller also reads the Variables before the run and assigns to them after the run. With 60 Variables that takes
0.4 µs, in Python it took 2 µs. It makes the returned Tensors: two take 0.1 µs, in Python 0.48 µs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from jittape.compile.cache.kernel_cache import registry
from jittape.compile.llvm.built_in_functions import as_function
from jittape.compile.llvm.definition import Definition
from jittape.core.buffers import Buffer
from jittape.functions.marshal_plan import TENSOR_SLOTS
from jittape.native.built_in import built_in
from jittape.native.object_layout import object_layout, slot_places
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable
from jittape.runtime.counters import counters
from jittape.runtime.result_memory import ResultMemory
from jittape.runtime.workspace import PoisonedWorkspace, Workspace

if TYPE_CHECKING:
    from llvmlite import ir

    from jittape.functions.concrete_function import Concrete

__all__ = ["OFTEN", "is_worth_compiling", "marshaller", "simple_call", "simple_path"]

OFTEN = 64
"""Number of calls after which machine code takes a call of a `Function` from its beginning."""
_WAITS = 16
"""Number of calls without an attempt of `simple_call` after two in vain; after one, results may come in batches."""
_PATIENCE = 32
"""Number of calls of a function for which machine code is compiled, in 50 ms; it saves 10 to 30 µs per call."""

_SLOTS: tuple[tuple[type, tuple[str, ...]], ...] = (
    (Variable, ("_buffer", "_trace", "_assigned_in")),
    (Tensor, TENSOR_SLOTS),
)
_MEMORY: tuple[tuple[type, tuple[str, ...]], ...] = (
    (Workspace, ("_arena", "_results", "address")),
    (ResultMemory, ("_misses", "_sets", "large")),
)


def marshaller() -> (
    Callable[[tuple[Any, ...], tuple[Any, ...], tuple[Buffer, ...], int, int, int], Any] | None
):
    """Return ``run(arguments, held, results, plan, cells, calls)``; None if there is no object layout.

    The last three arguments are addresses; `calls` is the address of a driver's table. The GIL is held while objects
    are read and released while the table runs. A separate call for the run would add 0.15 µs to 0.45 µs.

    `run` returns an `Outcome`, or the call's result if everything is done and the plan has a `Form` for the result. An
    error that ends the run, as Ctrl-C does in a loop, leaves the Variables unchanged.
    """
    return None if object_layout() is None else _functions()[0]


def simple_call() -> Callable[..., Any] | None:
    """Return ``call(arguments, states, calls, Workspace, PoisonedWorkspace.poison, False, 0)``, the fastest call.

    `states` is the list of free states of the fast path. The results are small, and the run cannot fail. The call
    returns an `Outcome`, and has changed nothing, if there is no free state or no free memory for the results, if an
    argument does not fit, or if a trace has read a Variable that the call assigns.
    """
    return None if object_layout() is None else _functions()[1]


def simple_path(
    concrete: Concrete, general: Callable[[tuple[Any, ...]], Any], free: list[Any], calls: int
) -> Callable[[tuple[Any, ...]], Any]:
    """Return a function that has machine code do all of a call where it can, and else calls `general`.

    It is a function of its own, as the many variables of `general` would add 0.08 µs. When such calls have come again
    and again, machine code takes the call of the `Function` itself. It finds `simple_call`, the arguments after the
    leaves and this function in `Concrete.simple_path`, and asks whether this is still `Concrete.fast_call`.
    """
    simple: Any = simple_call()
    whole, poison, waits, failed_at = Workspace, PoisonedWorkspace.poison, 0, 0

    def call(leaves: tuple[Any, ...]) -> Any:
        nonlocal waits, failed_at
        if waits:
            waits -= 1
            return general(leaves)
        result = simple(leaves, free, calls, whole, poison, False, 0)
        if result.__class__ is int:
            concrete.simple_path = None
            waits = _WAITS if concrete.visits <= failed_at + 1 else 0
            failed_at = concrete.visits
            return general(leaves)
        counters.compiled_runs += 1
        counters.last = concrete
        concrete.visits += 1
        if not concrete.visits % OFTEN and isinstance(concrete.structure, int):
            concrete.simple_path = path
        return result

    path = (simple, free, calls, whole, poison, False, 0, call)
    return call


@cache
def _functions() -> list[Callable[..., Any]]:
    """Return both functions, which are compiled together."""
    return [as_function(address) for address in registry.addresses_of_module(_definitions())]


def is_worth_compiling(calls: int) -> bool:
    """Return whether machine code should handle the arguments of a function after so many calls.

    That is soon if nothing has to be compiled for it.
    """
    return calls >= _PATIENCE or all(
        [registry.has(definition, on_disk=calls == 2) for definition in _definitions()]
    )


@cache
def _definitions() -> list[Definition]:
    """Return the definitions of both functions; none if there is no `ObjectLayout`."""
    if object_layout() is None:
        return []
    made = (
        _definition("marshaller", _emit, _SLOTS),
        _definition("simplecall", _emit_simple_call, _SLOTS + _MEMORY),
    )
    return [definition for definition in made if definition is not None]


def _definition(
    name: str,
    emit: Callable[[ir.Function, Mapping[str, int]], None],
    slots: tuple[tuple[type, tuple[str, ...]], ...],
) -> Definition | None:
    found = [(kind.__name__, slot_places(kind, names)) for kind, names in slots]
    return built_in(
        name, emit, {f"{owner}.{slot}": at for owner, places in found for slot, at in places.items()}
    )


def _emit_simple_call(function: ir.Function, places: Mapping[str, int]) -> None:
    from jittape.functions.machine_code.emit_simple_call import SimpleCall

    SimpleCall(function, places).emit()


def _emit(function: ir.Function, places: Mapping[str, int]) -> None:
    from jittape.functions.machine_code.emit_marshaller import Marshaller

    Marshaller(function, places).emit()
