"""Python text of a gradient: checks, forward pass, backward pass, results."""

from __future__ import annotations

import builtins
import re
from dataclasses import dataclass
from typing import Any

from numba import types

from jittape.errors import NoGradientError
from jittape.numba_ad import tape_support
from jittape.numba_ad.activity import find_active
from jittape.numba_ad.emit_backward import BackwardPass
from jittape.numba_ad.emit_forward import ForwardPass, Writer
from jittape.numba_ad.emit_tangents import TangentPass
from jittape.numba_ad.lower.build_ir import is_float
from jittape.numba_ad.lower.dead_statements import remove_dead_statements
from jittape.numba_ad.lower.lower_function import lower_function
from jittape.numba_ad.recording_plan import make_plan
from jittape.numba_ad.structured_ir import Array, Constant, Function, Op, Store, Value, walk
from jittape.numba_ad.user_rules import UserRule

__all__ = ["GradientCode", "generate"]


@dataclass(frozen=True)
class GradientCode:
    """Source text of a gradient, the sources it was derived from, and the user's rules that it calls."""

    name: str
    text: str
    sources: tuple[str, ...]
    rules: tuple[UserRule, ...]


def generate(
    function: Any, argument_types: list[Any], argnums: int | tuple[int, ...], returned: str, purpose: str
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
        without the value.
    purpose : str
        Text before error messages.
    """
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    tangent_types = argument_types[: len(numbers)] if returned in ("jvp", "tangent") else []
    argument_types = argument_types[len(tangent_types) :]
    form = lower_function(function, argument_types, purpose)
    remove_dead_statements(form)
    wanted = [_differentiated(form, i, argument_types, purpose) for i in numbers]
    activity = find_active(form, wanted)
    writer = Writer()
    parameters = _parameters(form)
    _prologue(form, parameters, writer, purpose)
    if tangent_types:
        extra = [f"tangent_of_{form.parameters[i]}" for i in numbers]
        _start_tangents(form, wanted, list(zip(extra, tangent_types, strict=True)), writer, purpose)
        _shadows([one for one in form.arguments.values() if one not in wanted], activity, writer, "_d")
        tangents = TangentPass(activity, writer)
        tangents.run(form.body)
        value = f"{_text(form.result)}, " if returned == "jvp" else ""
        writer.line(f"return {value}{tangents.tangent(form.result)}")
    else:
        extra = ["seed"] if returned == "vjp" else []
        _check_result(form, returned, purpose)
        result = _write_reverse(form, activity, wanted, writer, isinstance(argnums, tuple), extra)
        writer.line(
            f"return {_text(form.result)}, {result}"
            if returned == "value_and_gradient"
            else f"return {result}"
        )
    name = f"{form.name}_{returned}"
    signature = ", ".join(extra + list(parameters.values()))
    text = "\n".join([f"def {name}({signature}):", *writer.lines]) + "\n"
    rules = {s.rule for s in walk(form.body) if isinstance(s, Op) and isinstance(s.rule, UserRule)}
    return GradientCode(name, text, tuple(form.sources), tuple(sorted(rules, key=lambda rule: rule.name)))


def _write_reverse(
    form: Function, activity: Any, wanted: list[Any], writer: Writer, is_tuple: bool, seed: list[str]
) -> str:
    """Write the forward and the backward pass; return the text of the gradients."""
    plan = make_plan(form, activity)
    forward = ForwardPass(plan, activity, writer)
    forward.run(form.body)
    writer.line("# backward pass")
    _shadows(list(form.arguments.values()), activity, writer, "_b")
    backward = BackwardPass(plan, activity, writer, forward)
    backward.run(form.body, form.result, seed[0] if seed else "1.0")
    gradients = [_gradient(one, activity, backward) for one in wanted]
    return f"({', '.join(gradients)},)" if is_tuple else gradients[0]


def _text(result: Any) -> str:
    if isinstance(result, tuple):
        return f"({''.join(f'{_text(item)}, ' for item in result)})"
    name: str = result.name
    return name


def _start_tangents(
    form: Function, wanted: list[Any], tangents: list[tuple[str, Any]], writer: Writer, purpose: str
) -> None:
    """Check the tangents of arguments and give them their names; copy those of arrays that the function writes."""
    written = {s.array.root for s in walk(form.body) if isinstance(s, Store)}
    for one, (name, kind) in zip(wanted, tangents, strict=True):
        kind = types.unliteral(kind)
        rank = one.type.ndim if isinstance(one, Array) else 0
        if getattr(kind, "ndim", 0) != rank or not is_float(getattr(kind, "dtype", kind)):
            raise TypeError(
                f"{purpose}: {name} is {kind}, but the argument is {one.type}. Pass a tangent with the argument's shape"
            )
        if rank:
            message = f"{purpose}: {name} must have the shape of the argument"
            writer.begin(f"if {name}.shape != {one.name}.shape:")
            writer.line(f"raise ValueError({message!r})")
            writer.end()
        writer.line(
            f"{one.name}_d = {name}.copy()" if rank and one.root in written else f"{one.name}_d = {name}"
        )


def _differentiated(form: Function, number: int, argument_types: list[Any], purpose: str) -> Any:
    kind = types.unliteral(argument_types[number])
    name = form.parameters[number]
    if not is_float(getattr(kind, "dtype", kind)) or isinstance(kind, types.BaseTuple):
        raise TypeError(
            f"{purpose}: the argument {name} is {kind}; only floats and arrays of floats have gradients. "
            "Pass a float, or remove the argument from argnums"
        )
    return form.arguments[name]


def _check_result(form: Function, returned: str, purpose: str) -> None:
    result = form.result
    if isinstance(result, (Value, Constant)) and is_float(result.type):
        return
    if isinstance(result, Array) and is_float(result.type.dtype) and returned == "vjp":
        return
    shown = result.type if hasattr(result, "type") else "a tuple" if isinstance(result, tuple) else "None"
    raise NoGradientError(
        f"{purpose}: {form.name} returns {shown}, but the result must be a float. Return one float, such as the sum of "
        "what you want to differentiate"
    )


def _parameters(form: Function) -> dict[str, str]:
    reserved = {"np", "math", "floats", "ints", "floats_at", "ints_at", "seed"}
    reserved |= {*tape_support.__all__, *dir(builtins)}
    found = {}
    for name in form.parameters:
        clash = name in reserved or re.fullmatch(r".*_\d+(_[bcd]|_most)?|tangent_of_.*", name) is not None
        found[name] = f"argument_{name}_" if clash else name
    return found


def _prologue(form: Function, parameters: dict[str, str], writer: Writer, purpose: str) -> None:
    for path, one in form.arguments.items():
        name, bracket, rest = path.partition("[")
        writer.line(f"{one.name} = {parameters[name]}{bracket}{rest}")
    written = {s.array.root for s in walk(form.body) if isinstance(s, Store)}
    arrays = [(path, one) for path, one in form.arguments.items() if isinstance(one, Array)]
    for position, (path, one) in enumerate(arrays):
        for other_path, other in arrays[position + 1 :]:
            if one.root in written or other.root in written:
                message = (
                    f"{purpose}: the arguments {path} and {other_path} of {form.name} overlap in memory, and the "
                    "function writes one of them; pass a copy"
                )
                writer.begin(f"if overlap({one.name}, {other.name}):")
                writer.line(f"raise ValueError({message!r})")
                writer.end()


def _shadows(arguments: list[Any], activity: Any, writer: Writer, suffix: str) -> None:
    for one in arguments:
        if isinstance(one, Array) and one in activity:
            writer.line(f"{one.name}{suffix} = np.zeros({one.name}.shape, dtype=np.{one.type.dtype})")


def _gradient(one: Any, activity: Any, backward: BackwardPass) -> str:
    if isinstance(one, Array):
        return (
            f"{one.name}_b" if one in activity else f"np.zeros({one.name}.shape, dtype=np.{one.type.dtype})"
        )
    value = f"{one.name}_b" if one in backward.started else "0.0"
    return f"np.{one.type}({value})"
