"""Python text of a gradient: checks, forward pass, backward pass, results."""

from __future__ import annotations

import builtins
import inspect
import re
from dataclasses import dataclass
from typing import Any

from numba import types

from jittape.errors import NoGradientError
from jittape.numba_ad import linear_algebra_rules, scalar_support, tape_support
from jittape.numba_ad.activity import find_active
from jittape.numba_ad.emit.array_layouts import choose_layouts
from jittape.numba_ad.emit.emit_backward import BackwardPass
from jittape.numba_ad.emit.emit_forward import ForwardPass, Writer
from jittape.numba_ad.emit.emit_tangents import TangentPass
from jittape.numba_ad.emit.join_temporaries import join_temporaries
from jittape.numba_ad.emit.parallel_loops import PartFunction
from jittape.numba_ad.emit.statement_text import zeros_like_text
from jittape.numba_ad.loops.loop_invariants import move_invariants
from jittape.numba_ad.lower.dead_statements import remove_dead_statements, remove_prints
from jittape.numba_ad.lower.lower_function import lower_function
from jittape.numba_ad.lower.numba_types import is_float
from jittape.numba_ad.recording_plan import Plan, make_plan
from jittape.numba_ad.rule_forms import check_rules
from jittape.numba_ad.structured_ir import (
    Alloc,
    Apply,
    Array,
    Constant,
    Function,
    Op,
    Resize,
    Store,
    Value,
    walk,
)
from jittape.numba_ad.unselected_operands import guard_unselected_operands
from jittape.numba_ad.user_rules import UserRule

__all__ = ["CALLED_MODULES", "GradientCode", "generate"]

CALLED_MODULES = (linear_algebra_rules, scalar_support, tape_support)
"""Modules with functions that the generated code calls; it imports those that it needs."""


@dataclass(frozen=True)
class GradientCode:
    """Source text of a gradient, the sources it was derived from, and the user's rules that it calls.

    `written` has the numbers of the arguments whose arrays the gradient may have written in part if there is no memory.
    """

    name: str
    text: str
    sources: tuple[str, ...]
    rules: tuple[UserRule, ...]
    written: tuple[int, ...]


def generate(
    function: Any,
    argument_types: list[Any],
    argnums: int | tuple[int, ...],
    returned: str,
    purpose: str,
    checkpoint: int | str | None = None,
    tangents: int | None = None,
    silent: bool = False,
) -> GradientCode:
    """Return the code of a gradient.

    Parameters
    ----------
    function : callable
        The user's ``@njit`` function.
    argument_types : list
        Numba types of its arguments.
    argnums : int or tuple of int
        Arguments to differentiate with respect to; for a tuple, the code returns a tuple of gradients.
    returned : str
        ``"gradient"``, ``"value_and_gradient"``, ``"vjp"``: then the first argument is the cotangent of the result, or
        ``"jvp"``: then the first arguments are tangents, and value and tangent are returned. ``"tangent"`` is ``"jvp"``
        without the value. ``"kept_bytes"`` is the size of the values that the forward pass of a gradient keeps.
    purpose : str
        Text before error messages.
    checkpoint : int, "sqrt" or "binomial", optional
        Length of the segments of time loops.
    tangents : int, optional
        Number of tangents; each tangent argument has them along a first axis.
    silent : bool, optional
        Whether the code does not print.
    """
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    tangent_types = argument_types[: len(numbers)] if returned in ("jvp", "tangent") else []
    argument_types = argument_types[len(tangent_types) :]
    _check_differentiated(function, numbers, argument_types, purpose)
    form = lower_function(function, argument_types, purpose)
    if silent:
        remove_prints(form.body)
    remove_dead_statements(form)
    move_invariants(form)
    choose_layouts(form)
    wanted = [form.arguments[form.parameters[i]] for i in numbers]
    activity = find_active(form, wanted)
    check_rules(form, activity, purpose, bool(tangent_types))
    plan = None
    name = f"{form.name}_{returned}"
    parts: list[PartFunction] = []
    writer = Writer(form.where.file)
    parameters = _parameters(form)
    _prologue(form, parameters, writer, purpose)
    passive = [path for path, one in form.arguments.items() if one not in activity]
    if passive:
        writer.line(f"# passive: {', '.join(passive)}")
    if tangent_types:
        extra = [f"tangent_of_{form.parameters[i]}" for i in numbers]
        _start_tangents(form, wanted, list(zip(extra, tangent_types, strict=True)), writer, purpose, tangents)
        suffixes = _suffixes(tangents)
        for suffix in suffixes:
            _shadows([one for one in form.arguments.values() if one not in wanted], activity, writer, suffix)
        tangent_pass = TangentPass(activity, writer, suffixes)
        tangent_pass.run(form.body)
        value = f"{_text(form.result)}, " if returned == "jvp" else ""
        writer.line(f"return {value}{tangent_pass.result(form.result)}")
    else:
        extra = ["seed"] if returned == "vjp" else []
        _check_result(form, returned, purpose)
        guard_unselected_operands(form, activity)
        plan = make_plan(form, activity, checkpoint)
        is_tuple = isinstance(argnums, tuple)
        result = _write_reverse(form, plan, wanted, writer, is_tuple, extra, returned, name, parts)
        writer.line(
            f"return {_text(form.result)}, {result}"
            if returned == "value_and_gradient"
            else f"return {result}"
        )
    written = _written_arguments(form, plan)
    signature = ", ".join(extra + list(parameters.values()))
    text = "\n".join([f"def {name}({signature}):", *writer.lines]) + "\n" + "".join(one.text for one in parts)
    text = join_temporaries(text)
    applied = [s.rule for s in walk(form.body) if isinstance(s, Op)]
    applied += [s.rule.user for s in walk(form.body) if isinstance(s, Apply)]
    rules = {rule for rule in applied if isinstance(rule, UserRule)}
    return GradientCode(
        name, text, tuple(form.sources), tuple(sorted(rules, key=lambda rule: rule.name)), written
    )


def _written_arguments(form: Function, plan: Plan | None) -> tuple[int, ...]:
    if plan is None:  # forward mode, which may be that of a gradient
        may_stop = any(isinstance(s, (Alloc, Apply, Resize)) for s in walk(form.body))
    else:
        # Loops that run forward and backward in one pass follow the allocation of the cotangents.
        records = plan.recorded or plan.saved.of_loop or plan.undone.of_loop
        may_stop = bool(records or plan.kept or plan.checkpoints or plan.single_pass.loops)
    roots = {s.array.root for s in walk(form.body) if isinstance(s, Store)} if may_stop else set()
    names = {
        path.partition("[")[0]
        for path, one in form.arguments.items()
        if isinstance(one, Array) and one.root in roots
    }
    return tuple([position for position, name in enumerate(form.parameters) if name in names])


def _write_reverse(
    form: Function,
    plan: Plan,
    wanted: list[Any],
    writer: Writer,
    is_tuple: bool,
    seed: list[str],
    returned: str,
    name: str,
    parts: list[PartFunction],
) -> str:
    """Write the forward and the backward pass; return the text of the gradients. Add functions to `parts`."""
    activity = plan.activity
    forward = ForwardPass(plan, activity, writer, None if returned == "kept_bytes" else name)
    forward.run(form.body)
    if returned == "kept_bytes":
        return forward.kept_bytes()
    writer.line("# backward pass")
    _shadows(list(form.arguments.values()), activity, writer, "_b")
    backward = BackwardPass(form, plan, activity, writer, forward)
    backward.run(seed[0] if seed else "1.0")
    backward.put_back_results()
    parts.extend(forward.parts)
    gradients = [_gradient(one, activity, backward) for one in wanted]
    return f"({', '.join(gradients)},)" if is_tuple else gradients[0]


def _text(result: Any) -> str:
    if isinstance(result, tuple):
        return f"({''.join(f'{_text(item)}, ' for item in result)})"
    name: str = result.name
    return name


def _suffixes(count: int | None) -> tuple[str, ...]:
    return ("_d",) if count is None else tuple([f"_d{i}" for i in range(count)])


def _start_tangents(
    form: Function,
    wanted: list[Any],
    tangents: list[tuple[str, Any]],
    writer: Writer,
    purpose: str,
    count: int | None,
) -> None:
    """Check the tangents of arguments and give them their names; copy those of arrays that the function writes."""
    written = {s.array.root for s in walk(form.body) if isinstance(s, Store)}
    for one, (name, kind) in zip(wanted, tangents, strict=True):
        kind = types.unliteral(kind)
        rank = one.type.ndim if isinstance(one, Array) else 0
        wanted_rank = rank + (count is not None)
        if getattr(kind, "ndim", 0) != wanted_rank or not is_float(getattr(kind, "dtype", kind)):
            several = "" if count is None else f", with {count} tangents along a first axis"
            raise TypeError(
                f"{purpose}: {name} is {kind}, but the argument is {one.type}. Pass floats with the shape of the "
                f"argument{several}"
            )
        if wanted_rank:
            shape = f"{one.name}.shape" if rank else "()"
            if count is not None:
                shape = f"({count},) + {shape}" if rank else f"({count},)"
            first = "" if count is None else f", after a first axis of size {count}"
            message = f"{purpose}: {name} must have the shape of the argument{first}"
            writer.begin(f"if {name}.shape != {shape}:")
            writer.line(f"raise ValueError({message!r})")
            writer.end()
        for i, suffix in enumerate(_suffixes(count)):
            text = name if count is None else f"{name}[{i}]"
            if rank:
                text = _in_order(text, kind.layout, one.type, one.root in written)
            writer.line(f"{one.name}{suffix} = {text}")


def _in_order(text: str, layout: str, kind: Any, copied: bool) -> str:
    """Return the text of a tangent with the order of its argument, so that views of both have the same form."""
    if kind.layout == "F" and kind.ndim > 1:
        return f"{text}.T.copy().T"
    if copied:
        return f"{text}.copy()"
    return f"np.ascontiguousarray({text})" if kind.layout == "C" and layout != "C" else text


def _check_differentiated(
    function: Any, numbers: tuple[int, ...], argument_types: list[Any], purpose: str
) -> None:
    code = function.py_func.__code__
    names = list(inspect.signature(function.py_func).parameters)
    for number, name in [(one, names[one]) for one in numbers if one < len(argument_types)]:
        kind = types.unliteral(argument_types[number])
        if isinstance(kind, types.BaseTuple) or not is_float(getattr(kind, "dtype", kind)):
            raise TypeError(
                f"{purpose}: {code.co_filename}:{code.co_firstlineno}: `def {function.py_func.__name__}`: the argument "
                f"{name} is {kind}; only floats and arrays of floats have gradients. Pass a float, or remove the "
                "argument from argnums"
            )


def _check_result(form: Function, returned: str, purpose: str) -> None:
    result = form.result
    if isinstance(result, (Value, Constant)) and is_float(result.type):
        return
    if isinstance(result, Array) and is_float(result.type.dtype) and returned == "vjp":
        return
    shown = result.type if hasattr(result, "type") else "a tuple" if isinstance(result, tuple) else "None"
    raise NoGradientError(
        f"{purpose}: {_shown(form)}: it returns {shown}, but the result must be a float. Return one float, such "
        "as the sum of what you want to differentiate"
    )


def _shown(form: Function) -> str:
    """Return the place and the name of the user's function."""
    return f"{form.where.file}:{form.where.line}: `{form.where.text}`"


def _parameters(form: Function) -> dict[str, str]:
    reserved = {"np", "math", "njit", "prange", "part", "k", "floats", "ints", "floats_at", "ints_at", "seed"}
    reserved |= {*dir(builtins), *[name for module in CALLED_MODULES for name in module.__all__]}
    found = {}
    for name in form.parameters:
        clash = (
            name in reserved or re.fullmatch(r".*_\d+(_[a-z]+\d*(_n\d+)?)?|tangent_of_.*", name) is not None
        )
        found[name] = f"argument_{name}_" if clash else name
        while clash and found[name] in form.parameters:  # of a function that is such code itself
            found[name] += "_"
    return found


def _prologue(form: Function, parameters: dict[str, str], writer: Writer, purpose: str) -> None:
    for path, one in form.arguments.items():
        name, bracket, rest = path.partition("[")
        writer.line(f"{one.name} = {parameters[name]}{bracket}{rest}")
    written = {s.array.root for s in walk(form.body) if isinstance(s, Store)}
    arrays = [(path, one) for path, one in form.arguments.items() if isinstance(one, Array)]
    for position, (path, one) in enumerate(arrays):
        if one.root in written and one.type.layout == "A":
            message = (
                f"the argument {path} of {form.name} overlaps itself in memory, and the function writes it"
            )
            _refuse_if(f"overlaps_itself({one.name})", f"{purpose}: {message}; pass a copy", writer)
        for other_path, other in arrays[position + 1 :]:
            if one.root in written or other.root in written:
                message = (
                    f"the arguments {path} and {other_path} of {form.name} overlap in memory, and the function writes "
                    "one of them"
                )
                _refuse_if(f"overlap({one.name}, {other.name})", f"{purpose}: {message}; pass a copy", writer)


def _refuse_if(condition: str, message: str, writer: Writer) -> None:
    writer.begin(f"if {condition}:")
    writer.line(f"raise ValueError({message!r})")
    writer.end()


def _shadows(arguments: list[Any], activity: Any, writer: Writer, suffix: str) -> None:
    for one in arguments:
        if isinstance(one, Array) and one in activity:
            writer.line(f"{one.name}{suffix} = {zeros_like_text(one.name, one.type)}")


def _gradient(one: Any, activity: Any, backward: BackwardPass) -> str:
    if isinstance(one, Array):
        return f"{one.name}_b" if one in activity else zeros_like_text(one.name, one.type)
    value = f"{one.name}_b" if one in backward.started else "0.0"
    return f"np.{one.type}({value})"
