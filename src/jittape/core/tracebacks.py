"""Tracebacks of uncaught errors that end on the user's line, without the frames of jittape."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from jittape.core.config import config
from jittape.core.user_calls import is_of_user
from jittape.errors import CompileError, ProgramError

__all__ = ["install", "of_user"]

_INTERNAL = (ProgramError, CompileError, AssertionError, SystemError)
"""Internal errors; they are printed with the whole traceback."""
_BELOW = frozenset(("llvmlite", "numba", "numpy", "optree", "scipy"))
"""Packages whose frames are hidden too if jittape called them."""
_NOTE = "(frames of jittape are hidden; `jt.config.full_tracebacks = True` shows them)"


def of_user(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of jittape and of what jittape calls; None if nothing is left."""
    entries: list[TracebackType] = []
    hidden = False
    while traceback is not None:
        module = str(traceback.tb_frame.f_globals.get("__name__")).partition(".")[0]
        hidden = not is_of_user(traceback.tb_frame) or (hidden and module in _BELOW)
        if not hidden:
            entries.append(traceback)
        traceback = traceback.tb_next
    kept: TracebackType | None = None
    for entry in reversed(entries):
        kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def install() -> None:
    """Print uncaught errors without the frames of jittape, unless other code already customizes their printing."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _print_uncaught
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((Exception,), _show_in_notebook)


def _shorten(error: BaseException) -> None:
    """Remove the frames of jittape from the traceback of a user's error, and add a note about it."""
    if config.full_tracebacks or isinstance(error, _INTERNAL) or not isinstance(error, Exception):
        return
    kept = of_user(error.__traceback__)
    if kept is not None and _length(kept) < _length(error.__traceback__):
        error.__traceback__ = kept
        error.add_note(_NOTE)


def _length(traceback: TracebackType | None) -> int:
    count = 0
    while traceback is not None:
        count, traceback = count + 1, traceback.tb_next
    return count


def _print_uncaught(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    _shorten(error)
    sys.__excepthook__(kind, error, error.__traceback__)


def _show_in_notebook(
    shell: Any, kind: type[BaseException], error: BaseException, traceback: Any, tb_offset: int | None = None
) -> None:
    _shorten(error)
    shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)
