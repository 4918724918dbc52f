"""The number of lines of jittape that Python executes: a measure of work that is the same in each run."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import jittape as jt

__all__ = ["lines_of"]

PACKAGE = str(Path(jt.__file__).parent)


def lines_of(run: Callable[[], Any]) -> int:
    """Return the number of lines of jittape that `run` executes."""
    count = 0

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        return line if frame.f_code.co_filename.startswith(PACKAGE) else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        run()
    finally:
        sys.settrace(before)
    return count
