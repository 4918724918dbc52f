"""Texts of concrete functions, in the form of TensorFlow's ``pretty_printed_signature``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from jittape.core.program import DYNAMIC_DIM, Aval
from jittape.functions.argument_binding import complete_arguments
from jittape.functions.concrete_function import Concrete
from jittape.functions.signature import Call, TensorSpec, declared_parameters, static_value
from jittape.functions.trace_report import Uncompiled
from jittape.functions.variable_arguments import VariableKind
from jittape.recording.variable import Variable

__all__ = ["outer_variables", "pretty_signature"]


class _Text(str):
    """The text of a leaf."""


def pretty_signature(
    python: Callable[..., Any],
    skip: int,
    trace: Concrete | Uncompiled,
    keys: Sequence[Any] | None = None,
    outputs: Any = None,
) -> str:
    """Return the parameters, the results and the Variables from outside of a trace of `python`.

    `keys` and `outputs` take the place of those of the trace.
    """
    values = {} if isinstance(trace, Uncompiled) else {n.leaf: value for n, value in trace.specialized}
    leaves = [_Text(_leaf_text(key, values.get(i))) for i, key in enumerate(keys or trace.keys)]
    args, kwargs = Call((), trace.structure).unflatten(leaves)
    args, kwargs = complete_arguments(python, skip, args, kwargs)
    lines = ["Input Parameters:", *_parameter_lines(python, skip, args, kwargs), "Output Type:"]
    if isinstance(trace, Uncompiled):
        return "\n".join([*lines, "  unknown: the function is recorded at each call", "Captures:", "  None"])
    outputs = trace.structured_result() if outputs is None else outputs
    captures = [f"  {v._label}: Variable {v._aval}" for v in outer_variables(trace)]
    return "\n".join([*lines, f"  {_text(outputs)}", "Captures:", *(captures or ["  None"])])


def outer_variables(trace: Concrete | Uncompiled) -> tuple[Variable, ...]:
    """Return the Variables from outside that a compiled function reads or assigns."""
    used = [] if isinstance(trace, Uncompiled) else [*trace.sources, *trace.assigned]
    return tuple({id(v): v for v in used if isinstance(v, Variable)}.values())


def _leaf_text(key: Any, value: Any) -> str:
    if isinstance(key, Aval):
        return repr(TensorSpec([None if n == DYNAMIC_DIM else n for n in key.shape], key.dtype))
    if isinstance(key, VariableKind):
        return str(key)
    if isinstance(key, type):
        return key.__name__ if value is None else f"Literal[{value!r}]"
    return f"Literal[{static_value(key)!r}]"


def _parameter_lines(
    python: Callable[..., Any], skip: int, args: Sequence[Any], kwargs: dict[str, Any]
) -> list[str]:
    parameters = declared_parameters(python)[skip:]
    lines = []
    for i, value in enumerate(args):
        variadic = i >= len(parameters) or parameters[i].kind is inspect.Parameter.VAR_POSITIONAL
        name = f"args_{i}" if variadic else parameters[i].name
        kind = "POSITIONAL_ONLY" if variadic else parameters[i].kind.name
        lines.append(f"  {name} ({kind}): {_text(value)}")
    return [*lines, *[f"  {name} (KEYWORD_ONLY): {_text(value)}" for name, value in kwargs.items()]]


def _text(value: Any) -> str:
    if isinstance(value, (_Text, TensorSpec)):
        return str(value)
    if isinstance(value, dict):
        return f"Dict[{', '.join([f'[{key!r}, {_text(part)}]' for key, part in value.items()])}]"
    if isinstance(value, (list, tuple)):
        name = "List" if isinstance(value, list) else "Tuple"
        return f"{name}[{', '.join(map(_text, value))}]"
    return f"Literal[{value!r}]"
