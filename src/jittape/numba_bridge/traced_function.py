"""Functions traced for Numba: the program, and the structures of arguments and results.

`jt.function` reads Variables and numbers from settings at each call. Here they become constants, as no Python runs when
the compiled function is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jittape.autodiff.tape import GradientTape
from jittape.core.buffers import Buffer
from jittape.core.builder import Builder, literal
from jittape.core.dtypes import WIDENED
from jittape.core.primitive import recording_with
from jittape.core.program import Aval, Op, Program
from jittape.core.simplify import simplify
from jittape.core.traced_scalar import TracedScalar
from jittape.core.user_calls import ValueNeeded, shown
from jittape.errors import DTypeError
from jittape.functions.signature import TensorSpec
from jittape.functions.trace_report import recorded_because
from jittape.primitives.identity import identity
from jittape.recording.function_trace import Captured, FunctionTrace, Leaf, RandomInput
from jittape.recording.nested import flatten
from jittape.recording.operators import Operators
from jittape.recording.variable import Variable

__all__ = ["Argument", "Result", "Traced", "trace", "with_gradient"]

Result = int | tuple["Result", ...]
"""Number of an output of the program, or a tuple of results."""

Argument = Aval | tuple["Argument", ...]
"""Shape and dtype of an argument, or a tuple of arguments."""


Leaves = tuple[int | np.ndarray[Any, Any], ...]


@dataclass(frozen=True)
class Traced:
    """A function traced for arguments of known shapes and dtypes.

    Attributes
    ----------
    name : str
        Name of the function.
    program : Program
        Simplified program without unused inputs.
    leaves : tuple
        For each input of the program, the number of its leaf among the arguments, or a constant array.
    parameters : tuple of str
        Names of the arguments.
    arguments : tuple of Argument
        Structures of the arguments.
    result : Result
        Structure of the result.
    """

    name: str
    program: Program
    leaves: Leaves
    parameters: tuple[str, ...]
    arguments: tuple[Argument, ...]
    result: Result


def trace(function: Callable[..., Any], name: str, parameters: Sequence[str], specs: Sequence[Any]) -> Traced:
    """Run `function` once with placeholders for arguments of the shapes and dtypes `specs`.

    Raises
    ------
    TypeError
        If it needs Python at each call, or returns anything but tensors and tuples of them.
    """
    arguments = tuple([_argument(name, parameter, s) for parameter, s in zip(parameters, specs, strict=True)])
    avals: list[Aval] = []
    numbered = tuple([_numbered(argument, avals) for argument in arguments])
    tracing = FunctionTrace(name, avals, may_create=False)
    tracing.changes_shapes = False
    with tracing:
        tensors = tracing.placeholders(list(enumerate(avals)))
        try:
            with recording_with(tracing):
                returned = function(*[_unflatten(argument, tensors) for argument in numbered])
                slots: list[int] = []
                result = _result(name, tracing, returned, slots)
        except ValueNeeded as needed:
            raise _not_compilable(name, f"{recorded_because(needed)}; {needed.remedy}") from None
        if tracing.needed_value is not None:
            reason = recorded_because(tracing.needed_value)
            raise _not_compilable(name, f"{reason}; {tracing.needed_value.remedy}")
        for variable, *_ in tracing.assigned.values():
            raise _not_compilable(
                name, f"it assigns the Variable {variable.name!r}; return the new value instead"
            )
        if tracing.prints:
            raise _not_compilable(name, "it prints")
        program, sources = tracing.program(tuple(slots))
    leaves = _leaves(name, program, sources)
    program, leaves = _with_literals(program, leaves)
    program = simplify(program)
    for aval in program.output_avals():
        _refuse_halves(name, "a result", aval)
    return Traced(name, program, leaves, tuple(parameters), arguments, result)


def _not_compilable(name: str, why: str) -> TypeError:
    return TypeError(f"{name} cannot be compiled for Numba: {why}")


# ---- arguments and results -------------------------------------------------------------------------------------------


def _argument(name: str, parameter: str, spec: Any) -> Argument:
    if isinstance(spec, TensorSpec):
        _refuse_halves(name, f"argument {parameter!r}", spec.aval)
        return spec.aval
    if isinstance(spec, (tuple, list)):
        return tuple([_argument(name, parameter, part) for part in spec])
    if isinstance(spec, Operators | np.ndarray):
        text = f"an array; use jt.TensorSpec({list(spec.shape)}, {spec.dtype.name!r})"
    else:
        text = f"{shown(spec)}; bind other arguments with functools.partial or a lambda"
    raise TypeError(
        f"{name}: the spec of argument {parameter!r} must be a jt.TensorSpec or a tuple of them, got {text}"
    )


def _refuse_halves(name: str, what: str, aval: Aval) -> None:
    if aval.dtype in WIDENED or aval.dtype == np.float16:
        raise DTypeError(
            f"{name}: {what} is {aval.dtype.name}, which Numba and C do not have; make it float32, and cast inside"
        )


def _numbered(argument: Argument, avals: list[Aval]) -> Any:
    """Return the structure of `argument` with ``[number]`` in place of each leaf; append the leaves to `avals`."""
    if isinstance(argument, Aval):
        avals.append(argument)
        return [len(avals) - 1]
    return tuple([_numbered(part, avals) for part in argument])


def _unflatten(numbered: Any, tensors: Any) -> Any:
    if isinstance(numbered, list):
        return tensors[numbered[0]]
    return tuple([_unflatten(part, tensors) for part in numbered])


def _result(name: str, tracing: FunctionTrace, returned: Any, slots: list[int]) -> Result:
    """Return the structure of the function's result; append the slots of its tensors to `slots`."""
    if type(returned) in (tuple, list):
        return tuple([_result(name, tracing, part, slots) for part in returned])
    number = (bool, int, float, complex, np.ndarray, np.generic, TracedScalar)
    if not isinstance(returned, (Operators, *number)):
        raise _not_compilable(
            name, f"it returns {type(returned).__name__}; only tensors and tuples of them can be returned"
        )
    tensor: Any = returned if tracing.owns(returned) else identity(returned)  # type: ignore[arg-type]
    slots.append(tensor._slot)
    return len(slots) - 1


def _leaves(name: str, program: Program, sources: list[Any]) -> Leaves:
    leaves: list[int | np.ndarray[Any, Any]] = []
    for slot, source in zip(program.inputs, sources, strict=True):
        dtype = program.avals[slot].dtype
        if isinstance(source, Leaf):
            leaves.append(source.number)
        elif isinstance(source, RandomInput):
            raise _not_compilable(name, "it draws random numbers; pass them as an argument")
        elif isinstance(source, Variable):
            leaves.append(np.array(source._computed().array))
        elif isinstance(source, Captured):
            leaves.append(source.buffer.array)
        elif isinstance(source, Buffer):
            leaves.append(source.array)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                leaves.append(
                    np.array(source.now if isinstance(source, TracedScalar) else source).astype(dtype)
                )
    return tuple(leaves)


def _with_literals(program: Program, leaves: Leaves) -> tuple[Program, Leaves]:
    """Make constant numbers literals of the program, so that the start of a slice is a compile-time constant."""
    inputs: dict[int, int | np.ndarray[Any, Any]] = {}
    ops: list[Op] = []
    for slot, leaf in zip(program.inputs, leaves, strict=True):
        if isinstance(leaf, int) or leaf.shape != ():
            inputs[slot] = leaf
        else:
            builder = Builder(slot)
            with recording_with(builder):
                literal(leaf.item(), leaf.dtype)
            ops += builder.ops
    literals = Program(tuple(inputs), (*ops, *program.ops), program.outputs, program.avals)
    return literals, tuple(inputs.values())


# ---- gradients -------------------------------------------------------------------------------------------------------


def with_gradient(
    function: Callable[..., Any], name: str, argnums: int | tuple[int, ...]
) -> Callable[..., Any]:
    """Return a function that returns the value of `function` and its gradients with respect to `argnums`."""

    def value_and_grad(*args: Any) -> Any:
        varied = args[argnums] if isinstance(argnums, int) else tuple([args[i] for i in argnums])
        leaves, rebuild = flatten(varied)
        for leaf in leaves:
            if leaf.aval.dtype.kind not in "fc":
                raise TypeError(
                    f"{name}: an argument of dtype {leaf.dtype.name} has no gradient; select others with argnums"
                )
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(leaves)
            value = function(*args)
        if not isinstance(value, Operators) or value.aval.shape != ():
            got = f"shape {value.shape}" if isinstance(value, Operators) else type(value).__name__
            raise TypeError(f"{name} must return one scalar tensor to have a gradient, it returned {got}")
        return value, rebuild(tape.gradient(value, leaves, unconnected_gradients="zero"))

    return value_and_grad
