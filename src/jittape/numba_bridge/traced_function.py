"""A function traced for the bridge: its program, and the structures of its arguments and results.

What `jt.function` leaves to each call (the values of Variables, numbers read from a setting) is settled here, once:
there is no Python at work when the compiled function is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jittape.autodiff.tape import GradientTape
from jittape.core.buffers import Buffer
from jittape.core.builder import Builder, literal
from jittape.core.primitive import recording_with
from jittape.core.program import Aval, Op, Program
from jittape.core.simplify import simplify
from jittape.core.traced_scalar import TracedScalar
from jittape.functions.signature import TensorSpec
from jittape.functions.trace_report import recorded_because
from jittape.primitives.identity import identity
from jittape.recording.function_trace import Leaf, Look, RandomInput, Tracing
from jittape.recording.nested import flatten
from jittape.recording.operators import Operators
from jittape.recording.variable import Variable

__all__ = ["Argument", "Result", "Traced", "trace", "with_gradient"]

Result = int | tuple["Result", ...]
"""The number of an output of the program, or a tuple of such."""

Argument = Aval | tuple["Argument", ...]
"""Shape and dtype of an argument, or a tuple of such."""


Leaves = tuple[int | np.ndarray[Any, Any], ...]


@dataclass(frozen=True)
class Traced:
    """A function traced for arguments of known shapes and dtypes.

    Attributes
    ----------
    name : str
        Of the function.
    program : Program
        Simplified. Inputs that nothing needs have gone.
    leaves : tuple
        For every input of the program the number of the leaf of the arguments that it is, or a constant array.
    parameters : tuple of str
        The names of the arguments.
    arguments : tuple of Argument
    result : Result
    """

    name: str
    program: Program
    leaves: Leaves
    parameters: tuple[str, ...]
    arguments: tuple[Argument, ...]
    result: Result


def trace(function: Callable[..., Any], name: str, parameters: Sequence[str], specs: Sequence[Any]) -> Traced:
    """Run `function` once with stand-ins for arguments as `specs` says.

    Raises
    ------
    TypeError
        If it does something that only Python can do at each call, or returns what is no tensor.
    """
    arguments = tuple([_argument(name, parameter, s) for parameter, s in zip(parameters, specs, strict=True)])
    avals: list[Aval] = []
    numbered = tuple([_numbered(argument, avals) for argument in arguments])
    tracing = Tracing(name, avals, may_create=False)
    with tracing:
        tensors = tracing.placeholders(list(enumerate(avals)))
        try:
            with recording_with(tracing):
                returned = function(*[_rebuilt(argument, tensors) for argument in numbered])
                slots: list[int] = []
                result = _result(name, tracing, returned, slots)
        except Look as look:
            raise _cannot(name, recorded_because(look) + "; use jt.where there") from None
        if tracing.look is not None:
            raise _cannot(name, recorded_because(tracing.look) + "; use jt.where there")
        for variable, *_ in tracing.assigned.values():
            raise _cannot(name, f"it assigns the Variable {variable.name!r}; return the new value instead")
        if tracing.prints:
            raise _cannot(name, "it prints")
        program, sources = tracing.program(tuple(slots))
    leaves = _leaves(name, program, sources)
    program, leaves = _with_literals(program, leaves)
    program = simplify(program)
    return Traced(name, program, leaves, tuple(parameters), arguments, result)


def _cannot(name: str, why: str) -> TypeError:
    return TypeError(f"{name} cannot be compiled for Numba: {why}")


# ---- arguments and results -------------------------------------------------------------------------------------------


def _argument(name: str, parameter: str, spec: Any) -> Argument:
    if isinstance(spec, TensorSpec):
        return spec.aval
    if isinstance(spec, (tuple, list)):
        return tuple([_argument(name, parameter, part) for part in spec])
    raise TypeError(
        f"{name}: the spec of argument {parameter!r} must be a jt.TensorSpec or a tuple of them, got {spec!r}; "
        "bind what is no array with functools.partial or a lambda"
    )


def _numbered(argument: Argument, avals: list[Aval]) -> Any:
    """The structure of `argument` with a list holding the number of a leaf for each; the leaves go to `avals`."""
    if isinstance(argument, Aval):
        avals.append(argument)
        return [len(avals) - 1]
    return tuple([_numbered(part, avals) for part in argument])


def _rebuilt(numbered: Any, tensors: Any) -> Any:
    if isinstance(numbered, list):
        return tensors[numbered[0]]
    return tuple([_rebuilt(part, tensors) for part in numbered])


def _result(name: str, tracing: Tracing, returned: Any, slots: list[int]) -> Result:
    """The structure of what was returned; the slots of its tensors go to `slots`."""
    if type(returned) in (tuple, list):
        return tuple([_result(name, tracing, part, slots) for part in returned])
    number = (bool, int, float, complex, np.ndarray, np.generic, TracedScalar)
    if not isinstance(returned, (Operators, *number)):
        raise _cannot(
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
            raise _cannot(name, "it draws random numbers; pass them as an argument")
        elif isinstance(source, Variable):
            leaves.append(np.array(source._computed().array))
        elif isinstance(source, Buffer):
            leaves.append(source.array)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                leaves.append(
                    np.array(source.now if isinstance(source, TracedScalar) else source).astype(dtype)
                )
    return tuple(leaves)


def _with_literals(program: Program, leaves: Leaves) -> tuple[Program, Leaves]:
    """Constant numbers as a part of the program: so the start of a slice is known when the loop is compiled."""
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
    """A function that returns the value of `function` and its gradients with respect to the arguments `argnums`."""

    def value_and_grad(*args: Any) -> Any:
        chosen = args[argnums] if isinstance(argnums, int) else tuple([args[i] for i in argnums])
        leaves, rebuild = flatten(chosen)
        for leaf in leaves:
            if leaf.dtype.kind not in "fc":
                raise TypeError(
                    f"{name}: a gradient is asked for an argument of dtype {leaf.dtype.name}; see argnums"
                )
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(leaves)
            value = function(*args)
        if not isinstance(value, Operators) or value.shape != ():
            found = f"shape {value.shape}" if isinstance(value, Operators) else type(value).__name__
            raise TypeError(f"{name} must return one scalar tensor to have a gradient, it returned {found}")
        return value, rebuild(tape.gradient(value, leaves, unconnected_gradients="zero"))

    return value_and_grad
