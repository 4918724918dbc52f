"""The user's line: where in the source an op is recorded."""

from __future__ import annotations

import os
import sys

from jittape.program import SourceLine

__all__ = ["user_line"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_DEMO = _PACKAGE + "demo" + os.sep


def user_line() -> SourceLine | None:
    """The innermost line of the running stack that is not jittape's own; the demo counts as a user's."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_PACKAGE) or file.startswith(_DEMO):
            return SourceLine(file, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back  # type: ignore[assignment]
    return None
