"""The folder of the cache; all else about the cache takes 2 ms to import, and gradients of Numba code do without."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DIRECTORY_VARIABLE", "as_path", "cache_directory", "directory_name"]

DIRECTORY_VARIABLE = "JITTAPE_CACHE_DIR"


def cache_directory() -> Path | None:
    """Return the folder: ``JITTAPE_CACHE_DIR`` (None if that is empty), else a folder in the user's cache."""
    found = directory_name()
    return None if found is None else as_path(found)


def directory_name() -> str | None:
    """Return the same as text."""
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    if chosen == "":
        return None
    if chosen is not None:
        expanded = os.path.expanduser(chosen)  # the ``~name`` of an unknown user stays, as in a shell
        return expanded if os.path.isabs(expanded) else os.path.join(os.getcwd(), expanded)
    home = os.path.expanduser("~")
    if home == "~":
        return None
    if sys.platform == "win32":
        return os.path.join(
            os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "jittape", "Cache"
        )
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", "jittape")
    base = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(base if os.path.isabs(base) else os.path.join(home, ".cache"), "jittape")


def as_path(name: str) -> Path:
    """Return a path; `pathlib` takes 2 ms to import, and a process with a filled cache does without."""
    from pathlib import Path

    return Path(name)
