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
from jittape.numba_ad.build_ir import is_float
from jittape.numba_ad.dead_statements import remove_dead_statements
from jittape.numba_ad.emit_backward import BackwardPass
from jittape.numba_ad.emit_forward import ForwardPass, Writer
from jittape.numba_ad.lower_function import lower_function
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
        ``"gradient"``, ``"value_and_gradient"``, or ``"vjp"``: then the first argument is the cotangent of the result.
    purpose : str
        Text before error messages.
    """
    form = lower_function(function, argument_types, purpose)
    remove_dead_statements(form)
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    wanted = [_differentiated(form, i, argument_types, purpose) for i in numbers]
    _check_result(form, returned, purpose)
    activity = find_active(form, wanted)
    plan = make_plan(form, activity)
    writer = Writer()
    parameters = _parameters(form)
    _prologue(form, parameters, writer, purpose)
    forward = ForwardPass(plan, activity, writer)
    forward.run(form.body)
    seed = "seed" if returned == "vjp" else "1.0"
    writer.line("# backward pass")
    _shadows(form, activity, writer)
    backward = BackwardPass(plan, activity, writer, forward)
    backward.run(form.body, form.result, seed)
    gradients = [_gradient(one, activity, backward) for one in wanted]
    joined = f"({', '.join(gradients)},)" if isinstance(argnums, tuple) else gradients[0]
    result = f"{form.result.name}, {joined}" if returned == "value_and_gradient" else joined
    writer.line(f"return {result}")
    name = f"{form.name}_{returned}"
    signature = ", ".join((["seed"] if returned == "vjp" else []) + list(parameters.values()))
    text = "\n".join([f"def {name}({signature}):", *writer.lines]) + "\n"
    rules = {s.rule for s in walk(form.body) if isinstance(s, Op) and isinstance(s.rule, UserRule)}
    return GradientCode(name, text, tuple(form.sources), tuple(sorted(rules, key=lambda rule: rule.name)))


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
        clash = name in reserved or re.fullmatch(r".*_\d+(_[bc])?", name) is not None
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


def _shadows(form: Function, activity: Any, writer: Writer) -> None:
    for one in form.arguments.values():
        if isinstance(one, Array) and one in activity:
            writer.line(f"{one.name}_b = np.zeros({one.name}.shape, dtype=np.{one.type.dtype})")


def _gradient(one: Any, activity: Any, backward: BackwardPass) -> str:
    if isinstance(one, Array):
        return (
            f"{one.name}_b" if one in activity else f"np.zeros({one.name}.shape, dtype=np.{one.type.dtype})"
        )
    value = f"{one.name}_b" if one in backward.started else "0.0"
    return f"np.{one.type}({value})"
