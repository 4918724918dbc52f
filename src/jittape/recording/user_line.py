"""Source lines of the user's code that recorded an op or raised an error."""

from __future__ import annotations

import sys
from itertools import pairwise
from types import CodeType, FrameType, TracebackType
from typing import Any

from jittape.core.call_site import is_own
from jittape.core.program import CallLine, SourceLine
from jittape.core.user_calls import (
    called_and_user,
    frame_of_user,
    is_of_user,
    name_called_in,
    numpy_call,
)

__all__ = ["call_of_user", "layer_calls", "line_of_error", "own_line", "recording_line", "user_line"]

layer_calls: set[CodeType] = set()
"""Code of the methods whose `self` is a layer, a loss or a metric; the classes add their own."""
_lines: dict[tuple[SourceLine, str, str], CallLine] = {}
"""Lines of recorded ops, by line, function and layer: the 100,000 ops of a loop share the few lines of its body."""
_places: dict[tuple[int, int, int], tuple[CallLine, CodeType, CodeType]] = {}
"""The same lines by running instruction and called function, with the code objects whose addresses are in the keys."""
_NAMED_BY_VARIABLES = (
    "__init__", "__call__", "call", "update_state",
    "__array_ufunc__", "array_ufunc", "__array_function__", "array_function",
)  # fmt: skip
"""Functions for which `name_called_in` depends on the variables of the frame."""
_LINES = 4096
"""Maximum number of lines that are kept."""


def user_line() -> SourceLine | None:
    """Return the innermost line of the running stack outside jittape; the demo counts as the user's code."""
    return _line_of(frame_of_user(sys._getframe(1)))


def own_line() -> SourceLine | None:
    """Return `user_line`, but the line that calls NumPy if NumPy's own code is running."""
    innermost = frame = frame_of_user(sys._getframe(1))
    while frame is not None and not is_own(frame):
        frame = frame.f_back
    return _line_of(frame or innermost)


def _line_of(frame: FrameType | None) -> SourceLine | None:
    if frame is None:
        return None
    code = frame.f_code
    return SourceLine(code.co_filename, frame.f_lineno, code.co_name)


def recording_line() -> SourceLine | None:
    """Return `user_line` with the function of jittape and the layer that it calls, for an op that is recorded."""
    called, frame = called_and_user(sys._getframe(1))
    if frame is None:
        return None
    place = id(frame.f_code), frame.f_lasti, 0 if called is None else id(called.f_code)
    known = _places.get(place)
    if known is not None and not layer_calls:
        return known[0]
    line = _line_of(frame)
    assert line is not None
    key = line, name_called_in(called), _layer_called() if layer_calls else ""
    call = _lines.get(key)
    if call is None:
        call = CallLine(*line)
        _, call.called, layer = key
        if layer:
            call.layer = layer
        if len(_lines) >= _LINES:
            _lines.clear()
        call = _lines.setdefault(key, call)
    if not layer_calls and called is not None and called.f_code.co_name not in _NAMED_BY_VARIABLES:
        if len(_places) >= _LINES:
            _places.clear()
        _places[place] = call, frame.f_code, called.f_code
    return call


def _layer_called() -> str:
    """Return the path of the innermost layer that is called below the user's line; empty if there is none.

    It consists of the attributes and positions from the outermost of these layers on, as in ``encoder.layers[0]``.
    """
    frame: FrameType | None = sys._getframe(1)
    layers: list[Any] = []
    while frame is not None and not is_of_user(frame):
        if frame.f_code in layer_calls:
            layers.insert(0, frame.f_locals["self"])
        frame = frame.f_back
    if not layers:
        return ""
    inner: str = layers[-1].name
    path = ".".join([_place_in(outer, layer) for outer, layer in pairwise(layers)])
    return f"{path} ({inner})" if path else inner


def _place_in(outer: Any, layer: Any) -> str:
    """Return the attribute of `outer` that holds `layer`, with its position in a list; else the name of the layer."""
    for name, value in vars(outer).items():
        if value is layer:
            return name.lstrip("_")
        if isinstance(value, list | tuple):
            found = [i for i, one in enumerate(value) if one is layer]
            if found:
                return f"{name.lstrip('_')}[{found[0]}]"
    return str(layer.name)


def line_of_error(error: BaseException) -> SourceLine | None:
    """Return the innermost line of the user's code in the traceback of `error`."""
    found: SourceLine | None = None
    at: TracebackType | None = error.__traceback__
    while at is not None:
        if is_of_user(at.tb_frame):
            found = SourceLine(at.tb_frame.f_code.co_filename, at.tb_lineno, at.tb_frame.f_code.co_name)
        at = at.tb_next
    return found


def _runs_bodies(frame: FrameType) -> bool:
    """Return whether a loop, a branch or a transform runs the user's function here."""
    return frame.f_globals.get("__name__", "").startswith(("jittape.flow.", "jittape.transforms."))


def call_of_user() -> str:
    """Return the name of the jittape function that the user's code called, or that is itself the body of a loop."""
    frame: FrameType | None = sys._getframe(1)
    name = ""
    while frame is not None and not is_of_user(frame) and not _runs_bodies(frame):
        name = numpy_call(frame) or frame.f_code.co_name
        frame = frame.f_back
    return name.strip("_")
