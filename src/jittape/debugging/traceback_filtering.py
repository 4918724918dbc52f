"""Whether tracebacks show the frames of jittape, under TensorFlow's names for ``jt.config.full_tracebacks``."""

from __future__ import annotations

from jittape.core.config import config

__all__ = ["disable_traceback_filtering", "enable_traceback_filtering", "is_traceback_filtering_enabled"]


def enable_traceback_filtering() -> None:
    """Hide the frames of jittape in tracebacks, as at first.

    Examples
    --------
    >>> jt.debugging.enable_traceback_filtering()
    >>> jt.debugging.is_traceback_filtering_enabled()
    True
    """
    config.full_tracebacks = False


def disable_traceback_filtering() -> None:
    """Show the frames of jittape in tracebacks; ``jt.config.full_tracebacks = True``.

    Examples
    --------
    >>> jt.debugging.disable_traceback_filtering()
    >>> jt.debugging.is_traceback_filtering_enabled()
    False
    >>> jt.debugging.enable_traceback_filtering()
    """
    config.full_tracebacks = True


def is_traceback_filtering_enabled() -> bool:
    """Return whether tracebacks hide the frames of jittape.

    Examples
    --------
    >>> jt.debugging.is_traceback_filtering_enabled()
    True
    """
    return not config.full_tracebacks
