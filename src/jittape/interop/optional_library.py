"""Import of libraries that jittape does not install."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__all__ = ["imported"]


def imported(library: str, name: str, package: str | None = None) -> ModuleType:
    """Return a library; if it is missing, raise `ImportError` with the line that installs it.

    Parameters
    ----------
    library : str
        Name of the module.
    name : str
        Name of the function that needs it, for the error.
    package : str, optional
        Name of the package to install, if it is not that of the module.
    """
    try:
        return import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library.partition(".")[0]:
            raise
        shown = f"'{package}'" if package else library  # shells expand the brackets of extras
        raise ImportError(f"[{name}] {library} is not installed: pip install {shown}", name=library) from None
