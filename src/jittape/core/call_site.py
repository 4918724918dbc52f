"""What a running line is doing at this moment: which function it calls, and with which argument.

Python tells a method such as ``__float__`` nothing about its caller: ``float(t)`` and ``math.exp(t)`` look alike. The
caller's frame knows the instruction that runs, and from there the bytecode leads back to the name of the function.
"""

from __future__ import annotations

import dis
import os
import sysconfig
from functools import lru_cache
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

from jittape.core.user_calls import is_of_user

__all__ = ["UNKNOWN", "Site", "is_own", "line_at", "resolved", "site_of", "sites"]

UNKNOWN: Any = object()
"""What cannot be found out without running code."""

_LIBRARIES = tuple([os.path.abspath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib")])
_PACKAGES = (
    f"{os.sep}site-packages{os.sep}",
    f"{os.sep}dist-packages{os.sep}",
    "<frozen ",
    "<__array_function__",
)
_CALLS = {"PRECALL": 2, "CALL": 2, "CALL_KW": 3}
"""Instructions that call, and how many values they take besides the arguments."""
_NUMBERS = (("float",), ("int",), ("complex",))
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
_NAMES = (*_GLOBALS, "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_INDEXING = ("BINARY_SUBSCR", "BINARY_SLICE")
_ARITHMETIC = ("BINARY_OP", "UNARY_NEGATIVE", "UNARY_POSITIVE")


class Name(NamedTuple):
    """A name and the attributes behind it, as the line has them: ``np.linalg.norm``."""

    parts: tuple[str, ...]
    is_global: bool


class Site(NamedTuple):
    """What an instruction does.

    Attributes
    ----------
    action : str
        ``"call"``, ``"store"`` (to a part of an array), ``"operator"`` or ``"other"``.
    name : Name or None
        Of the function called; None if it has no name.
    operator : str
        For an operator.
    argument : Name or None
        The first argument of the call, if it is a name.
    indexed : bool
        Whether an element of `argument` is given, in place of itself.
    computed : bool
        Whether the first argument is the result of arithmetic.
    number : str
        ``"float"``, ``"int"`` or ``"complex"`` where the user's own line calls what has that global name.
    """

    action: str
    name: Name | None = None
    operator: str = ""
    argument: Name | None = None
    indexed: bool = False
    computed: bool = False
    number: str = ""

    def __str__(self) -> str:
        return "" if self.name is None else ".".join(self.name.parts)


@lru_cache(maxsize=1024)
def _is_library(file: str) -> bool:
    """Whether `file` belongs to Python or to an installed package."""
    return file.startswith(_LIBRARIES) or any([part in file for part in _PACKAGES])


def line_at(code: CodeType, offset: int) -> int:
    """The line of the instruction at `offset`."""
    lines = [line for begin, end, line in code.co_lines() if begin <= offset < end and line is not None]
    return lines[0] if lines else code.co_firstlineno


sites: dict[tuple[int, int], tuple[Site, CodeType]] = {}
"""The sites met so far, by the identity of the code object, which is kept, and the instruction."""
_SITES = 4096
"""Maximum number of sites remembered."""


def site_of(frame: FrameType) -> Site:
    """What the instruction that `frame` is at does."""
    code = frame.f_code
    key = (id(code), frame.f_lasti)
    known = sites.get(key)
    if known is None:
        if len(sites) >= _SITES:
            sites.clear()
        site = _read(code, frame.f_lasti)
        name = site.name
        if name is not None and name.is_global and is_own(frame) and name.parts in _NUMBERS:
            site = site._replace(number=name.parts[0])
        known = sites[key] = (site, code)
    return known[0]


def is_own(frame: FrameType) -> bool:
    """Whether `frame` runs code that is written for jittape: the user's, or an installed module that imports it."""
    if not is_of_user(frame):
        return False
    return not _is_library(frame.f_code.co_filename) or _imports_jittape(frame.f_globals)


def _imports_jittape(names: dict[str, Any]) -> bool:
    for value in list(names.values()):
        if isinstance(value, (ModuleType, FunctionType, type)):
            module = value.__name__ if isinstance(value, ModuleType) else value.__module__
            if str(module).partition(".")[0] == "jittape":
                return True
    return False


def resolved(frame: FrameType, name: Name | None) -> Any:
    """The object that `name` has in `frame`, found without running the user's code; else `UNKNOWN`."""
    if name is None:
        return UNKNOWN
    first, *rest = name.parts
    found: Any = UNKNOWN
    if not (name.is_global and frame.f_code.co_flags & CO_OPTIMIZED):
        found = frame.f_locals.get(first, UNKNOWN)
    if found is UNKNOWN:
        found = frame.f_globals.get(first, UNKNOWN)
    if found is UNKNOWN:
        found = frame.f_builtins.get(first, UNKNOWN)
    for part in rest:
        own = vars(found) if isinstance(found, ModuleType) else getattr(found, "__dict__", {})
        found = own.get(part, UNKNOWN)
    return found


# ---- reading bytecode ------------------------------------------------------------------------------------------------


def _read(code: CodeType, offset: int) -> Site:
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "EXTENDED_ARG")]
    at = max([i for i, step in enumerate(steps) if step.offset <= offset])  # its cache follows an instruction
    if steps[at - 1].opname == "PRECALL":  # Python 3.11 calls in two steps
        at -= 1
    step = steps[at]
    if step.opname in ("STORE_SUBSCR", "STORE_SLICE"):
        return Site("store")
    if step.opname == "BINARY_OP":
        return Site("operator", operator=step.argrepr)
    if step.opname == "CALL_FUNCTION_EX":
        begin = _begin(steps, at, 3 + (step.arg or 0) % 2)
        return Site("call", None if begin is None else _name(steps, begin)[0])
    if step.opname not in _CALLS:
        return Site("other")
    return _call(steps, at)


def _call(steps: list[dis.Instruction], at: int) -> Site:
    count, besides = steps[at].arg or 0, _CALLS[steps[at].opname]
    begin = _begin(steps, at, count + besides)
    if begin is None:
        return Site("call")
    end = at - (besides == 3 or steps[at - 1].opname == "KW_NAMES")
    first = _begin(steps, end, count) or begin
    name, after = _name(steps, begin)
    if name is None or any([step.opname != "PUSH_NULL" for step in steps[after:first]]) or after > first:
        method = steps[first - 1]
        return Site(
            "call", Name(("(...)", str(method.argval)), True) if method.opname in _ATTRIBUTES else None
        )
    if count > 1:
        end = _begin(steps, end, count - 1) or end
    argument, behind = _name(steps, first)
    last = steps[end - 1].opname
    indexed = last in _INDEXING
    known = argument if indexed or behind >= end else None
    return Site("call", name, argument=known, indexed=indexed, computed=last in _ARITHMETIC)


def _begin(steps: list[dis.Instruction], at: int, count: int) -> int | None:
    """Where the last `count` values on the stack before the instruction `at` begin to be made."""
    while count > 0:
        at -= 1
        if at < 0:
            return None
        step = steps[at]
        has_argument = step.opcode >= dis.HAVE_ARGUMENT
        count -= dis.stack_effect(step.opcode, step.arg if has_argument else None, jump=False)
        count -= step.opname == "END_FOR"  # a loop comes here by a jump, with one value more
    return at


def _name(steps: list[dis.Instruction], at: int) -> tuple[Name | None, int]:
    """The name that is loaded from instruction `at` on, and the instruction behind it."""
    while steps[at].opname in ("PUSH_NULL", "COPY_FREE_VARS"):
        at += 1
    first = steps[at]
    if first.opname not in _NAMES:
        return None, at
    parts = [str(first.argval[0] if isinstance(first.argval, tuple) else first.argval)]
    at += 1
    while steps[at].opname in _ATTRIBUTES:
        parts.append(str(steps[at].argval))
        at += 1
    return Name(tuple(parts), first.opname in _GLOBALS), at
