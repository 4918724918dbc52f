"""Exits: values that leave a tape as arrays or Python numbers while the tape records.

The tape does not record computations with such a value, so no gradient flows through their results. An explicit
conversion on the user's own line, as ``x.numpy()`` or ``float(x)``, gives no warning; gradient diagnostics mention it.
If the user's line passes a tensor to another package's function that converts it (``math.exp(t)``, ``np.sum([t, t])``,
SciPy), jittape warns.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import numpy as np

from jittape.core.call_site import UNKNOWN, Site, is_own, line_at, resolved, site_of, sites
from jittape.core.config import config
from jittape.core.dtypes import is_differentiable
from jittape.core.primitive import active
from jittape.core.user_calls import is_of_user
from jittape.errors import TapeExitWarning

__all__ = [
    "MATH",
    "Exits",
    "described",
    "first_order_excused",
    "leave",
    "look",
    "read",
    "reflected_conversions",
    "refuse_conversion",
    "refused_conversions",
]

_ARRAY = "np.asarray()"
"""Name of a conversion by ``__array__``; the source line says which function calls it."""
_LIMIT = 10_000
"""Maximum number of exits that a trace remembers."""
_NUMBERS = (float, int, complex)
_ARRAYS = (np.asarray, np.array, np.asanyarray, np.ascontiguousarray)
_SHOWING = frozenset(
    ("IPython", "_pytest", "logging", "matplotlib", "pprint", "pytest", "rich", "tqdm", "unittest")
)
"""Packages that show values and compute nothing that has a gradient."""
_WITHOUT_GRADIENT = frozenset(("ceil", "floor", "isclose", "isfinite", "isinf", "isnan", "trunc"))
"""Functions of `math` whose results have no gradient by definition."""
MATH = {
    "acos": "jt.acos",
    "acosh": "jt.acosh",
    "asin": "jt.asin",
    "asinh": "jt.asinh",
    "atan": "jt.atan",
    "atan2": "jt.atan2",
    "atanh": "jt.atanh",
    "cos": "jt.cos",
    "cosh": "jt.cosh",
    "erf": "jt.math.erf",
    "erfc": "jt.math.erfc",
    "exp": "jt.exp",
    "expm1": "jt.math.expm1",
    "fabs": "jt.abs",
    "fmod": "jt.mod",
    "fsum": "jt.reduce_sum",
    "hypot": "jt.norm",
    "lgamma": "jt.math.lgamma",
    "log": "jt.math.log",
    "log1p": "jt.math.log1p",
    "pow": "jt.pow",
    "sin": "jt.sin",
    "sinh": "jt.sinh",
    "sqrt": "jt.sqrt",
    "tan": "jt.tan",
    "tanh": "jt.tanh",
}
"""The jittape operation for each function of `math`."""
_STACKING = (np.array, np.asarray, np.asanyarray, np.stack, np.full)
"""NumPy functions that jt.stack replaces."""
_VECTORIZED = np.vectorize.__call__.__qualname__


Exits = dict[tuple[int, int, int], tuple[str, CodeType, Any]]
"""Exits by slot, identity of the code object and instruction: the conversion, the code object and the Variable or None.

If the trace has not read a Variable, the slot is the negative identity of the Variable.
"""


def described(key: tuple[int, int, int], exit: tuple[str, CodeType, Any]) -> str:
    """Return the conversion and its line as text."""
    how, code, _ = exit
    return f"{how} at line {line_at(code, key[2])} of {code.co_filename}"


reflected_conversions: set[int] = set()
"""Identities of the code objects of operators that call the tensor's reflected one if the tensor is no array."""
refused_conversions: dict[int, tuple[str, str]] = {}
"""By identity of the code object of a function that converts tensors: what it does, and what to use instead."""
_NEAR = 4
"""Number of frames in which a conversion looks for a refused one."""


def refuse_conversion() -> None:
    """Raise `TypeError` if the caller's caller converts a tensor for a function in `refused_conversions`."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_NEAR):
        if frame is None:
            return
        found = refused_conversions.get(id(frame.f_code))
        if found is not None:
            raise TypeError(
                f"{found[0]} would convert the tensor to an array, without a gradient; {found[1]}"
            )
        frame = frame.f_back


class _Excused(threading.local):
    intervals: tuple[Any, ...] = ()


_excused = _Excused()


@contextmanager
def first_order_excused() -> Iterator[None]:
    """Allow exits from the innermost tape inside a function with a custom gradient, which needs no recorded ops.

    An outer tape differentiates the custom gradient and misses such values, so it still reports exits.
    """
    before = _excused.intervals
    recorder: Any = active.recorder
    recording = [weak for weak in recorder.intervals if getattr(weak(), "recording", False)]
    _excused.intervals = (*before, *recording[-1:])
    try:
        yield
    finally:
        _excused.intervals = before


def look(trace: Any, value: Any, how: str) -> None:
    """Note an explicit exit by the caller's caller, while `trace` records for a tape."""
    frame = sys._getframe(2)
    if is_of_user(frame):
        _note(trace, value, how, frame)


def read(value: Any) -> np.ndarray[Any, Any]:
    """Return a tensor's value for a function whose results have no gradient, as ``np.histogram``; note its line."""
    if active.recorder.intervals:
        user, called = _user_frames(sys._getframe(1))
        _note(active.recorder, value, _name_of(site_of(user), called, "numpy()"), user)
    array: np.ndarray[Any, Any] = value._computed().view()
    return array


def leave(trace: Any, value: Any, how: str) -> None:
    """Note that the caller's caller converts the tensor `value`, and warn if the conversion is implicit."""
    frame = sys._getframe(2)
    known = sites.get((id(frame.f_code), frame.f_lasti))
    if known is not None and known[0].number and known[0].number not in frame.f_globals:
        _note(trace, value, how, frame)  # float(x) on a known line: 0.5 µs instead of 3 µs
    else:
        _leave(trace, value, how, frame)


def _taped(recorder: Any, value: Any) -> Any:
    """Return the trace, outside the body or function that `recorder` traces, whose tapes may follow `value`."""
    around = (recorder.outermost, value._trace)
    return next((t for t in around if t is not None and t.traced_in is None and t.intervals), None)


def _leave(trace: Any, value: Any, how: str, frame: FrameType) -> None:
    if trace.traced_in is not None:
        trace = _taped(trace, value)
        if trace is None:
            return
    own = is_own(frame)
    user, called = (frame, None) if own else _user_frames(frame)
    site = site_of(user)
    function = resolved(user, site.name)
    if own and _is_explicit(site, function, user, value):
        _note(trace, value, how, user)
        return
    if _only_shows(site, function, how, frame, called):
        return
    name = _name_of(site, called, how)
    _note(trace, value, name, user)
    if (
        config._on_tape_exit != "ignore"
        and is_differentiable(value.aval.dtype)
        and _is_followed(trace, value)
    ):
        _warn(
            f"{name} takes the value of a tensor that depends on what a tape watches, so no gradient flows through "
            f"the result: {remedy_for(name, site, function)}; to leave the tape on purpose, write x.numpy()",
            user,
        )


def _warn(text: str, user: FrameType) -> None:
    """Warn at the line of the frame `user`, or raise the warning if the settings say so."""
    if config._on_tape_exit == "raise":
        raise TapeExitWarning(text)
    level, frame = 1, sys._getframe()
    while frame is not user and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, TapeExitWarning, stacklevel=level)


def _note(trace: Any, value: Any, how: str, frame: FrameType) -> None:
    slot, held = value._slot, None
    if value._trace is not trace or slot < 0:
        if trace.traced_in is not None:
            trace = _taped(trace, value)
            if trace is None:
                return
        if hasattr(value, "_assigned_in"):
            slot, held = -id(value), value
        elif known := trace.slots_of(value):
            slot = known[-1]
        else:
            return  # a constant
    exits = trace.exits
    if exits is None:
        exits = trace.exits = {}
    if len(exits) < _LIMIT:
        code = frame.f_code
        exits[slot, id(code), frame.f_lasti] = (how, code, held)


def _is_followed(trace: Any, value: Any) -> bool:
    """Return whether the value depends on something that a recording tape watches."""
    return any(
        [
            weak not in _excused.intervals and getattr(weak(), "recording", False) and weak().follows(value)
            for weak in trace.intervals
        ]
    )


# ---- the caller ------------------------------------------------------------------------------------------------------


def _user_frames(frame: FrameType) -> tuple[FrameType, FrameType]:
    """Return the innermost frame of the user's own code and the frame that it called."""
    called, at = frame, frame.f_back
    while at is not None:
        if is_own(at):
            return at, called
        called, at = at, at.f_back
    return frame, frame


def _is_explicit(site: Site, function: Any, frame: FrameType, value: Any) -> bool:
    """Return whether the line converts the tensor explicitly: ``float(x)``, ``np.asarray(x)``."""
    if site.action != "call" or function is UNKNOWN:
        return False
    if any([function is kind for kind in _NUMBERS]):
        return True
    if not (
        any([function is f for f in _ARRAYS])
        or (isinstance(function, type) and issubclass(function, np.generic))
    ):
        return False
    if site.computed or site.argument is None:
        return site.computed
    argument = resolved(frame, site.argument)
    return hasattr(argument, "aval") if site.indexed else argument is value


def _only_shows(site: Site, function: Any, how: str, frame: FrameType, called: FrameType | None) -> bool:
    """Return whether the value is only shown, or is used for something that has no gradient."""
    if how != _ARRAY and site_of(frame).operator.startswith("%"):  # a text such as "%.3f" % loss
        return True
    if getattr(function, "__module__", "") == "math" and function.__name__ in _WITHOUT_GRADIENT:
        return True
    at: FrameType | None = frame if called is not None else None
    while at is not None:
        if _package(at) in _SHOWING or at.f_globals.get("__name__", "").startswith("numpy.testing"):
            return True
        at = None if at is called else at.f_back
    return False


def _package(frame: FrameType) -> str:
    name: str = frame.f_globals.get("__name__", "?")
    return name.partition(".")[0]


def _name_of(site: Site, called: FrameType | None, how: str) -> str:
    """Return the function that takes the value, as the user's line calls it."""
    if site.name is not None:
        return str(site)
    if site.action == "store":
        return "an assignment to a part of an array"
    if called is not None and site.action == "operator" and called.f_code.co_varnames:
        operand = called.f_locals.get(called.f_code.co_varnames[0])
        return f"`{type(operand).__name__} {site.operator} tensor`"
    if called is not None:
        return f"{_package(called)}.{called.f_code.co_qualname}"
    return "this line" if how == _ARRAY else how


def remedy_for(name: str, site: Site, function: Any) -> str:
    """Return the code to write instead at `site`, where `function`, shown as `name`, takes a tensor off the tape."""
    module = getattr(function, "__module__", None) or ""
    if module == "math" and function.__name__ in MATH:
        return f"{MATH[function.__name__]} records"
    if site.action == "store":
        return "jt.stack([...]) records, and so does an assignment to a part of a tensor, `t = jt.zeros(n); t[i] = x`"
    if any([function is f for f in _STACKING]):
        return "jt.stack([...]) records"
    if name.endswith(_VECTORIZED) or isinstance(function, np.vectorize):
        return "jittape.numpy.vectorize records, and so do jt.vectorized_map and ops on the whole tensor"
    if function is np.bincount or function is np.histogram:
        return "jt.tensor_scatter_nd_add records"
    if module.partition(".")[0] == "numpy":
        return f"stack the tensors first, `{site}(jt.stack([...]))`, which records"
    return "write it with jittape operations, or give it a gradient with jt.custom_gradient"
