"""The user's line: where in the source an op is recorded, and what of jittape is called there."""

from __future__ import annotations

import os
import re
import sys
from types import FrameType
from typing import Any, TypeVar

from jittape.program import SourceLine

__all__ = ["argument_of_user", "call_of_user", "named", "stack_level", "user_line"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_DEMO = _PACKAGE + "demo" + os.sep


def user_line() -> SourceLine | None:
    """The innermost line of the running stack that is not jittape's own; the demo counts as a user's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_PACKAGE) or file.startswith(_DEMO):
            return SourceLine(file, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back
    return None


def call_of_user() -> str:
    """The name of the function of jittape that the user's own line has called."""
    frame: FrameType | None = sys._getframe(1)
    name = ""
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        name = frame.f_code.co_name
        frame = frame.f_back
    return name.strip("_")


def stack_level() -> int:
    """The `stacklevel` with which the caller's warning names the user's line."""
    frame = sys._getframe(1)
    level = 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    return level


# ---- errors name what the user called ------------------------------------------------------------------------------
#
# A function is made of others: `relu` of `maximum`, `clip_by_value` of `minimum`. What goes wrong there is found deep
# inside, where nobody knows who asked. The running stack does, and looking at it costs nothing until there is an error.

_LABEL = re.compile(r"^\[[^\]]*\] ")
_OPERATORS = {
    "and": "bitwise_and",
    "array": "numpy",
    "eq": "equal",
    "floordiv": "floor_divide",
    "ge": "greater_equal",
    "gt": "greater",
    "iadd": "assign_add",
    "imul": "assign",
    "isub": "assign_sub",
    "itruediv": "assign",
    "le": "less_equal",
    "lshift": "left_shift",
    "lt": "less",
    "mul": "multiply",
    "ne": "not_equal",
    "neg": "negative",
    "or": "bitwise_or",
    "pos": "positive",
    "rshift": "right_shift",
    "sub": "subtract",
    "truediv": "divide",
    "xor": "bitwise_xor",
}
"""Special methods whose names are not those of the function that they stand for."""


def _called_frame() -> FrameType | None:
    """The frame of the public function of jittape that the user's line has called, directly or through a layer."""
    frame: FrameType | None = sys._getframe(1)
    called = None
    while frame is not None:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if not file.startswith(_PACKAGE) or file.startswith(_DEMO):
            return called
        if name.startswith("__") or not name.startswith(("_", "<")):
            if name != "__call__" or called is None or called.f_code.co_name == "convert_to_tensor":
                called = frame
        frame = frame.f_back
    return called


def _name_of(frame: FrameType) -> str:
    name = frame.f_code.co_name
    if name in ("__init__", "__call__"):
        return type(frame.f_locals["self"]).__name__
    if name == "__array_ufunc__":
        return f"np.{frame.f_locals['ufunc'].__name__}"
    if name == "__array_function__":
        return f"np.{frame.f_locals['func'].__name__}"
    if not name.startswith("__"):
        return name
    bare = name.strip("_")
    reflected = bare[1:] if bare[:1] == "r" and bare not in ("rshift", "round") else bare
    return _OPERATORS.get(reflected, reflected)


def argument_of_user(value: Any) -> str:
    """The name of the argument that the user has given as `value`, as a message begins; empty if that is not known."""
    frame = _called_frame()
    if frame is None or frame.f_code.co_name.startswith("__array"):
        return ""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    found = [name for name in names if frame.f_locals.get(name) is value]
    return f"{found[0]}: " if found and found[0] != "self" else ""


Error = TypeVar("Error", bound=Exception)


def named(error: Error) -> Error:
    """`error`, its message headed by the name of the function that the user has called instead of an inner one."""
    frame = _called_frame()
    if frame is not None and len(error.args) == 1 and isinstance(error.args[0], str):
        error.args = (f"[{_name_of(frame)}] {_LABEL.sub('', error.args[0])}",)
    return error
