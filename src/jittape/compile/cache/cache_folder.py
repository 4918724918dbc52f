"""The files in the folder of the cache: counted, deleted, and evicted when they are too large or too many."""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

from jittape.compile.cache.batch_file import BATCH_NAME, header_of
from jittape.compile.cache.environment import HOST_FILE
from jittape.compile.cache.private_files import Damaged, read_private, suppress_file_errors
from jittape.core.config import config
from jittape.core.tuning import tuning
from jittape.value_classes import NamedTuple

__all__ = [
    "BLOCK",
    "Summary",
    "clear",
    "drop_old_hosts",
    "drop_oldest",
    "environment_of",
    "folders",
    "summarize",
]

BLOCK = 4096
"""Bytes of the smallest file on disk."""
_HOST_FILES = 16
"""Maximum number of files about hosts: each change of the package or of the machine makes one."""

_FOLDER = r"v1-[0-9a-f]{16}"
_POINTER = r"k[0-9a-f]{16}|[a-z]+(_[0-9]+)*"
_PLAN = r"p[0-9a-f]{32}"
_TEMPORARY = r"temporary-[0-9]+-[0-9]+"


class Summary(NamedTuple):
    """Contents of a cache.

    Attributes
    ----------
    kernels, batches, environments : int
        Numbers of functions, of files of machine code, and of folders.
    nbytes : int
        Total size on disk.
    """

    kernels: int
    batches: int
    environments: int
    nbytes: int


def summarize(root: Path) -> Summary:
    """Count the contents of a cache."""
    kernels, batches = len(_entries(root, _POINTER)), len(_entries(root, BATCH_NAME))
    nbytes = sum(_size_on_disk(found) for _, found in _entries(root))
    return Summary(kernels, batches, len(folders(root)), nbytes)


def clear(root: Path) -> None:
    """Delete the files that jittape wrote there, and no others."""
    for path, _ in _entries(root):
        path.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for path in _host_files(root):
            path.unlink(missing_ok=True)
    for folder in folders(root):
        with suppress_file_errors():
            folder.rmdir()


def folders(root: Path) -> list[Path]:
    """Return the folders of the environments below the folder of a cache."""
    try:
        return [path for path in root.iterdir() if re.fullmatch(_FOLDER, path.name) and path.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def environment_of(folder: Path, name: str) -> dict[str, str] | None:
    """Return the environment of the batch with the function `name`; None if a file is missing or damaged."""
    with suppress_file_errors(Damaged):
        target = read_private(folder / name).decode("ascii", "replace")
        if re.fullmatch(BATCH_NAME, target):
            found: dict[str, str] = header_of(read_private(folder / target))["environment"]
            return found
    return None


def drop_old_hosts(root: Path) -> None:
    """Delete the oldest files about hosts above the maximum."""
    for path in sorted(_host_files(root), key=lambda path: path.stat().st_mtime_ns)[:-_HOST_FILES]:
        path.unlink(missing_ok=True)


def drop_oldest(root: Path) -> None:
    """Bring the cache below its budget: evict batches, least recently used first, with their pointers."""
    total = _drop_leftovers(root)
    if total <= config.cache_size:
        return
    batches = sorted(_entries(root, BATCH_NAME), key=lambda entry: entry[1].st_mtime_ns)
    for path, found in batches:
        # Evicts a quarter more than needed, so that the next batches fit.
        if total <= config.cache_size * 3 // 4:
            break
        total -= _size_on_disk(found)
        with suppress_file_errors(Damaged):
            names = header_of(read_private(path))["kernels"]
            for name in names:
                pointer = path.parent / name
                if read_private(pointer) == path.name.encode():
                    pointer.unlink()
                    total -= BLOCK
        path.unlink(missing_ok=True)


def _host_files(root: Path) -> list[Path]:
    return [path for path in root.iterdir() if re.fullmatch(HOST_FILE, path.name)]


def _entries(root: Path, *kinds: str) -> list[tuple[Path, os.stat_result]]:
    """Return the cache's files with names of these `kinds`, by default all; other processes may delete them."""
    found = []
    for folder in folders(root):
        with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                if any(
                    re.fullmatch(kind, entry.name)
                    for kind in kinds or (BATCH_NAME, _POINTER, _PLAN, _TEMPORARY)
                ):
                    with contextlib.suppress(FileNotFoundError):
                        found.append((Path(entry.path), entry.stat()))
    return found


def _drop_leftovers(root: Path) -> int:
    """Delete leftovers of killed processes; return the size of the rest on disk."""
    total = 0
    for path, found in _entries(root):
        if re.fullmatch(_TEMPORARY, path.name) and time.time() - found.st_mtime > tuning.stale_file_seconds:
            path.unlink(missing_ok=True)
        else:
            total += _size_on_disk(found)
    return total


def _size_on_disk(found: os.stat_result) -> int:
    return -(-found.st_size // BLOCK) * BLOCK
