"""The user's line: where in the source an op is recorded."""

from __future__ import annotations

import sys
from types import FrameType, TracebackType

from jittape.core.program import SourceLine
from jittape.core.user_calls import frame_of_user, is_of_user

__all__ = ["call_of_user", "line_of_error", "user_line"]


def user_line() -> SourceLine | None:
    """Return the innermost line of the running stack that is not jittape's own; the demo counts as a user's."""
    frame = frame_of_user(sys._getframe(1))
    return (
        None if frame is None else SourceLine(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
    )


def line_of_error(error: BaseException) -> SourceLine | None:
    """The innermost line of the user's that `error` has passed."""
    found: SourceLine | None = None
    at: TracebackType | None = error.__traceback__
    while at is not None:
        if is_of_user(at.tb_frame):
            found = SourceLine(at.tb_frame.f_code.co_filename, at.tb_lineno, at.tb_frame.f_code.co_name)
        at = at.tb_next
    return found


def call_of_user() -> str:
    """The name of the function of jittape that the user's own line has called."""
    frame: FrameType | None = sys._getframe(1)
    name = ""
    while frame is not None and not is_of_user(frame):
        name = frame.f_code.co_name
        frame = frame.f_back
    return name.strip("_")
