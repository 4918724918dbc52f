"""Import of libraries that jittape does not install."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__all__ = ["imported"]


def imported(library: str, name: str) -> ModuleType:
    """Return a library; if it is missing, raise `ImportError` with the line that installs it.

    Parameters
    ----------
    library : str
        Name of the module, which is also that of the package.
    name : str
        Name of the function that needs it, for the error.
    """
    try:
        return import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library.partition(".")[0]:
            raise
        raise ImportError(
            f"[{name}] {library} is not installed: pip install {library}", name=library
        ) from None
