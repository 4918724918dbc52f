"""The Python functions that run in a call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

__all__ = ["called_code"]


def called_code(run: Callable[[], Any]) -> list[CodeType]:
    """Return the code of the Python functions that run in ``run()``, in order of their calls; its own comes first."""
    called: list[CodeType] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            called.append(frame.f_code)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return called
