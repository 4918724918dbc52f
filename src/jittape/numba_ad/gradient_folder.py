"""The folder of gradients on disk: its contents and their removal, for the command line. Numba is not needed."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["clear_gradients", "gradient_folder", "summarize_gradients"]

_OWN = re.compile(r"jittape_gradient_\w+\.py|[0-9a-f]{32}\.json|tmp[a-z0-9_]{8}")
_BY_NUMBA = re.compile(r"jittape_gradient_\w+\..*(nbi|nbc|pyc)")


def gradient_folder(root: Path) -> Path:
    """Return the folder of gradients in the folder of the cache."""
    return root / "njit_gradients"


def summarize_gradients(root: Path) -> tuple[int, int]:
    """Return the number of gradients on disk and the size of all their files in bytes."""
    count = nbytes = 0
    for path in _files(root):
        with contextlib.suppress(FileNotFoundError):
            nbytes += path.stat().st_size
            count += path.suffix == ".py"
    return count, nbytes


def clear_gradients(root: Path) -> None:
    """Delete the files of gradients that jittape and Numba wrote there, and no others."""
    folder = gradient_folder(root)
    for path in list(_files(root)):
        path.unlink(missing_ok=True)
    for one in (folder / "__pycache__", folder):
        with contextlib.suppress(OSError):
            one.rmdir()


def _files(root: Path) -> Iterator[Path]:
    folder = gradient_folder(root)
    for place, names in ((folder, _OWN), (folder / "__pycache__", _BY_NUMBA)):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            yield from [path for path in place.iterdir() if names.fullmatch(path.name) and path.is_file()]
