"""Source lines of the user's code that recorded an op or raised an error."""

from __future__ import annotations

import sys
from types import FrameType, TracebackType

from jittape.core.program import CallLine, SourceLine
from jittape.core.user_calls import called_name, frame_of_user, is_of_user, numpy_call

__all__ = ["call_of_user", "line_of_error", "recording_line", "user_line"]


def user_line() -> SourceLine | None:
    """Return the innermost line of the running stack outside jittape; the demo counts as the user's code."""
    frame = frame_of_user(sys._getframe(1))
    return (
        None if frame is None else SourceLine(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
    )


def recording_line() -> SourceLine | None:
    """Return `user_line` with the function of jittape that it calls, for an op that is recorded."""
    line = user_line()
    if line is None:
        return None
    call = CallLine(*line)
    call.called = called_name()
    return call


def line_of_error(error: BaseException) -> SourceLine | None:
    """Return the innermost line of the user's code in the traceback of `error`."""
    found: SourceLine | None = None
    at: TracebackType | None = error.__traceback__
    while at is not None:
        if is_of_user(at.tb_frame):
            found = SourceLine(at.tb_frame.f_code.co_filename, at.tb_lineno, at.tb_frame.f_code.co_name)
        at = at.tb_next
    return found


def call_of_user() -> str:
    """Return the name of the jittape function that the user's code called."""
    frame: FrameType | None = sys._getframe(1)
    name = ""
    while frame is not None and not is_of_user(frame):
        name = numpy_call(frame) or frame.f_code.co_name
        frame = frame.f_back
    return name.strip("_")
