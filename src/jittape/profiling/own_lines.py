"""The user's own lines: those of no package and not of the standard library."""

from __future__ import annotations

import sys
import sysconfig
from functools import cache
from pathlib import Path
from types import FrameType

from jittape.core.program import SourceLine
from jittape.core.user_calls import is_of_user

__all__ = ["is_own", "own_line"]


def is_own(frame: FrameType) -> bool:
    """Return whether a frame runs the user's own code."""
    file = frame.f_code.co_filename
    if file == "<string>":  # code that packages generate has this name, and so has that of ``python -c``
        return frame.f_globals.get("__name__") == "__main__"
    return is_of_user(frame) and _is_own_file(file)


def own_line() -> SourceLine | None:
    """Return the innermost running line of the user's own code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_own(frame):
        frame = frame.f_back
    if frame is None:
        return None
    return SourceLine(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


@cache
def _is_own_file(file: str) -> bool:
    if file.startswith("<frozen"):
        return False
    path = Path(file)
    return not any(path.is_relative_to(folder) for folder in _FOLDERS) and "site-packages" not in path.parts


def _folders() -> list[Path]:
    paths = sysconfig.get_paths()
    return [Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")]


_FOLDERS = _folders()
