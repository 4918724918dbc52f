"""The folder of gradients on disk: its contents and their removal, for the command line. Numba is not needed."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from jittape.numba_ad.stored_gradients import FOLDER

__all__ = ["clear_gradients", "limit_gradients", "summarize_gradients"]

_OWN = re.compile(r"jittape_gradient_\w+\.(py|files)|[0-9a-f]{32}\.(json|checked)|tmp[a-z0-9_]{8}")
_BY_NUMBA = re.compile(r"jittape_gradient_\w+\..*(nbi|nbc|pyc)")


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
    folder = root / FOLDER
    for path in list(_files(root)):
        path.unlink(missing_ok=True)
    for one in (folder / "__pycache__", folder):
        with contextlib.suppress(OSError):
            one.rmdir()


def limit_gradients(root: Path, most: int, newest: str) -> None:
    """Delete the least recently used gradients if all files take more than `most` bytes.

    A quarter more than needed is deleted, so that the next gradients fit. The module called `newest` remains. The time
    of an entry is that of its last use; Numba compares the time of a module with that of its machine code.
    """
    files: dict[str, list[Path]] = defaultdict(list)
    used: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for path in _files(root):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            module = (
                json.loads(path.read_bytes())["module"]
                if path.suffix in (".json", ".checked")
                else path.name.partition(".")[0]
            )
            found = path.stat()
            files[module].append(path)
            sizes[module] += found.st_size
            used[module] = max(used[module], found.st_mtime_ns)
    total = sum(sizes.values())
    if total <= most:
        return
    for module in sorted(files, key=used.__getitem__):
        if total <= most * 3 // 4:
            break
        if module != newest:
            total -= sizes[module]
            for path in files[module]:
                path.unlink(missing_ok=True)


def _files(root: Path) -> Iterator[Path]:
    folder = root / FOLDER
    for place, names in ((folder, _OWN), (folder / "__pycache__", _BY_NUMBA)):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            yield from [path for path in place.iterdir() if names.fullmatch(path.name) and path.is_file()]
