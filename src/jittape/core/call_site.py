"""The call that a frame is executing: which function it calls, and with which argument.

Python gives a method such as ``__float__`` no information about its caller: ``float(t)`` and ``math.exp(t)`` look
alike. The caller's frame has the current instruction, and the bytecode before it contains the name of the function.
"""

from __future__ import annotations

import dis
import os
from functools import cache, lru_cache
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from jittape.core.user_calls import is_of_user
from jittape.value_classes import NamedTuple

__all__ = ["UNKNOWN", "Site", "is_own", "line_at", "resolved", "site_of", "sites"]

UNKNOWN: Any = object()
"""Result of a look-up that would have to run code."""

_PACKAGES = (
    f"{os.sep}site-packages{os.sep}",
    f"{os.sep}dist-packages{os.sep}",
    "<frozen ",
    "<__array_function__",
)
_CALLS = {"PRECALL": 2, "CALL": 2, "CALL_KW": 3}
"""Call instructions, and the number of values besides the arguments that each takes from the stack."""
_NUMBERS = (("float",), ("int",), ("complex",))
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
_NAMES = (*_GLOBALS, "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_INDEXING = ("BINARY_SUBSCR", "BINARY_SLICE")
_ARITHMETIC = ("BINARY_OP", "UNARY_NEGATIVE", "UNARY_POSITIVE")


class Name(NamedTuple):
    """A name and its attributes as written in the source: ``np.linalg.norm``."""

    parts: tuple[str, ...]
    is_global: bool


class Site(NamedTuple):
    """The action of an instruction.

    Attributes
    ----------
    action : str
        ``"call"``, ``"store"`` (to a part of an array), ``"operator"`` or ``"other"``.
    name : Name or None
        Name of the called function; None if the function has no name.
    operator : str
        Sign of the operator.
    argument : Name or None
        The first argument of the call, if it is a name or an element of one.
    indexed : bool
        Whether the first argument is an element of `argument`.
    computed : bool
        Whether the first argument is the result of arithmetic.
    number : str
        ``"float"``, ``"int"`` or ``"complex"`` if the user's own line calls the global of that name.
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
    """Return whether `file` belongs to Python or to an installed package."""
    return file.startswith(_libraries()) or any([part in file for part in _PACKAGES])


@cache
def _libraries() -> tuple[str, ...]:
    """Return the folders of Python's own library."""
    import sysconfig  # takes 1.5 ms

    return tuple([os.path.abspath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib")])


def line_at(code: CodeType, offset: int) -> int:
    """Return the line of the instruction at `offset`."""
    lines = [line for begin, end, line in code.co_lines() if begin <= offset < end and line is not None]
    return lines[0] if lines else code.co_firstlineno


sites: dict[tuple[int, int], tuple[Site, CodeType]] = {}
"""Known sites, by the identity of the code object, which is kept alive, and the offset of the instruction."""
_SITES = 4096
"""Maximum number of sites remembered."""


def site_of(frame: FrameType) -> Site:
    """Return the action of the current instruction of `frame`."""
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
    """Return whether the code of `frame` is written for jittape: the user's, or a module that imports jittape."""
    if not is_of_user(frame):
        return False
    if not _is_library(file := frame.f_code.co_filename):
        return True
    names = frame.f_globals
    module = (file, id(names), len(names))
    if module not in _own_modules:
        if len(_own_modules) >= _SITES:
            _own_modules.clear()
        _own_modules[module] = _imports_jittape(names)
    return _own_modules[module]


_own_modules: dict[tuple[str, int, int], bool] = {}
"""Whether installed modules import jittape, which takes 130 µs to ask of NumPy's; new names make another entry."""


def _imports_jittape(names: dict[str, Any]) -> bool:
    for value in list(names.values()):
        if isinstance(value, (ModuleType, FunctionType, type)):
            module = value.__name__ if isinstance(value, ModuleType) else value.__module__
            if str(module).partition(".")[0] == "jittape":
                return True
    return False


def resolved(frame: FrameType, name: Name | None) -> Any:
    """Return the object that `name` refers to in `frame`, or `UNKNOWN` if looking it up would run the user's code."""
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
    # The cache of an instruction follows it.
    at = max([i for i, step in enumerate(steps) if step.offset <= offset])
    if steps[at - 1].opname == "PRECALL":  # Python 3.11 calls with two instructions
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
    """Return the first instruction that computes the last `count` values on the stack before instruction `at`."""
    while count > 0:
        at -= 1
        if at < 0:
            return None
        step = steps[at]
        has_argument = step.opcode >= dis.HAVE_ARGUMENT
        count -= dis.stack_effect(step.opcode, step.arg if has_argument else None, jump=False)
        count -= step.opname == "END_FOR"  # reached by a jump, with one more value on the stack
    return at


def _name(steps: list[dis.Instruction], at: int) -> tuple[Name | None, int]:
    """Return the name that is loaded from instruction `at` on, and the index of the instruction after it."""
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
