"""Machine code on disk, by function name.

Functions that are compiled together are stored as a *batch*: one object file after the names of its functions. Every
function has a *pointer*, a small file with the function's name that holds the name of the batch. Both are in a folder
for the *environment*, which is all that determines machine code besides the text of a kernel::

    ~/.cache/jittape/                mode 0700
      v1-6c0b2f1d9a3e4f57/           the hash of the environment's named parts
        kab12cd34ef56ab78            -> batch-...
        batch-9d2f...                checksum, header (environment, names), object code

The cache is safe. A file is written under a temporary name and published by a rename. Everything has a checksum; a
damaged entry is deleted and compiled again. Code that another user owns or may write is not loaded. If the disk cannot
be used, jittape warns once and does without. Start with `DiskCache.find` and `DiskCache.publish`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import sys
import time
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jittape.compile.cache.environment import HOST_FILE, environment, host_content, host_name
from jittape.compile.cache.private_files import BINARY, DIGEST_SIZE, Damaged, digest, is_private, read_private
from jittape.core.config import config
from jittape.core.locks import lock
from jittape.core.tuning import tuning
from jittape.core.user_calls import stack_level
from jittape.errors import CacheWarning
from jittape.value_classes import NamedTuple
from jittape.version import __version__

__all__ = [
    "Batch",
    "DiskCache",
    "Summary",
    "cache_directory",
    "clear",
    "current",
    "environment_of",
    "folders",
    "summarize",
]

DIRECTORY_VARIABLE = "JITTAPE_CACHE_DIR"

_MAGIC = b"jittape1"
_HEADER_START = len(_MAGIC) + DIGEST_SIZE + 4
_BLOCK = 4096
_HOST_FILES = 16
"""Maximum number of files about hosts: each change of the package or of the machine makes one."""

_FOLDER = r"v1-[0-9a-f]{16}"
_BATCH = r"batch-[0-9a-f]{32}"
_POINTER = r"k[0-9a-f]{16}|[a-z]+(_[0-9]+)*"
_PLAN = r"p[0-9a-f]{32}"
_TEMPORARY = r"temporary-[0-9]+-[0-9]+"


class Batch(NamedTuple):
    """Functions that were compiled together: their names and the object file."""

    names: tuple[str, ...]
    code: bytes


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


class DiskCache:
    """The cache in one folder, for one environment.

    Parameters
    ----------
    root : Path
        The folder of all environments.
    parts : mapping
        The named parts of the environment.
    """

    def __init__(self, root: Path, parts: Mapping[str, str]) -> None:
        self.root = root
        self.parts = dict(parts)
        self.folder = root / f"v1-{digest(json.dumps(self.parts, sort_keys=True).encode(), 8).hex()}"
        self.used: dict[str, None] = {}
        """Names of the batches that this process has read or written, in order."""
        self._lock = lock()
        self._usable = True
        self._host_noted = False
        self._unchecked = sys.maxsize // 2
        self._numbers = iter(range(sys.maxsize))

    # ---- reading ---------------------------------------------------------------------------------------------------

    def find(self, name: str) -> Batch | None:
        """Return the batch with the function `name`; None if there is no trusted one."""
        with self._lock:
            try:
                return self._find(name) if self._usable and self._trusted() else None
            except OSError as error:
                self._give_up(str(error))
                return None

    def _find(self, name: str) -> Batch | None:
        pointer = self.folder / name
        try:
            target = read_private(pointer).decode("ascii", "replace")
            if not re.fullmatch(_BATCH, target):
                raise Damaged
            batch = self.read_batch(target)
            if name not in batch.names:
                raise Damaged
            self.used[target] = None
        except FileNotFoundError:
            return None
        except Damaged:
            pointer.unlink(missing_ok=True)
            return None
        with contextlib.suppress(OSError):
            os.utime(self.folder / target)  # the most recently used batch is evicted last
        return batch

    def discard(self, name: str) -> None:
        """Delete the batch of the function `name`, which could not be loaded."""
        with contextlib.suppress(OSError, Damaged):
            pointer = self.folder / name
            target = read_private(pointer).decode("ascii", "replace")
            pointer.unlink(missing_ok=True)
            if re.fullmatch(_BATCH, target):
                (self.folder / target).unlink(missing_ok=True)

    def read_batch(self, target: str) -> Batch:
        """Return the batch in the file `target`; a damaged file is deleted and raises `Damaged`."""
        path = self.folder / target
        try:
            return _unpacked(read_private(path), self.parts)
        except Damaged:
            path.unlink(missing_ok=True)
            raise

    def _trusted(self) -> bool:
        """Return whether the folders exist, belong to the user, and only the user may write to them."""
        for folder in (self.root, self.folder):
            try:
                found = folder.stat()
            except FileNotFoundError:
                return False
            if not stat.S_ISDIR(found.st_mode):
                self._give_up(f"{folder} is no folder")
                return False
            if not is_private(found):
                self._give_up(f"{folder} belongs to another user, or others may write to it")
                return False
        return True

    # ---- writing ---------------------------------------------------------------------------------------------------

    def publish(self, batch: Batch) -> None:
        """Store a batch; an error leaves the cache unchanged."""
        with self._lock:
            try:
                if self._usable:
                    self._publish(batch)
            except FileNotFoundError:
                pass  # another process has just cleared the cache
            except FileExistsError as error:
                self._give_up(f"{error.filename} is no folder")
            except OSError as error:
                self._give_up(str(error))

    def _publish(self, batch: Batch) -> None:
        self.root.parent.mkdir(parents=True, exist_ok=True)
        for folder in (self.root, self.folder):
            folder.mkdir(mode=0o700, exist_ok=True)
        if not self._trusted():
            return
        self._write_host()
        packed = _packed(batch, self.parts)
        target = f"batch-{digest(packed).hex()}"
        self._write(target, packed)
        self.used[target] = None
        for name in batch.names:
            self._write(name, target.encode())
        # Other processes write too: check the size at the first batch, then after every sixteenth of the budget.
        self._unchecked += len(packed) + _BLOCK * len(batch.names)
        if self._unchecked > config.cache_size // 16:
            self._unchecked = 0
            self._drop_oldest()

    def _write(self, name: str, content: bytes) -> None:
        """Write a file and publish it by an atomic rename."""
        temporary = self.folder / f"temporary-{os.getpid()}-{next(self._numbers)}"
        try:
            # A process killed here long ago may have had the same number.
            temporary.unlink(missing_ok=True)
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(temporary, self.folder / name)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise

    def note_host(self) -> None:
        """Write what the next process would ask LLVM, unless it is on disk or the cache is empty."""
        with self._lock, contextlib.suppress(OSError):
            if self.folder.is_dir() and self._trusted():
                self._write_host()

    def _write_host(self) -> None:
        if self._host_noted:
            return
        self._host_noted = True
        name = host_name()
        content = None if name is None or (self.root / name).exists() else host_content()
        if content is not None:
            self._write(f"../{name}", content)
            known = [path for path in self.root.iterdir() if re.fullmatch(HOST_FILE, path.name)]
            for path in sorted(known, key=lambda path: path.stat().st_mtime_ns)[:-_HOST_FILES]:
                path.unlink(missing_ok=True)

    def _drop_oldest(self) -> None:
        """Bring the cache below its budget: evict batches, least recently used first, with their pointers."""
        total = _drop_leftovers(self.root)
        if total <= config.cache_size:
            return
        batches = sorted(_entries(self.root, _BATCH), key=lambda entry: entry[1].st_mtime_ns)
        for path, found in batches:
            # Evicts a quarter more than needed, so that the next batches fit.
            if total <= config.cache_size * 3 // 4:
                break
            total -= _size_on_disk(found)
            with contextlib.suppress(OSError, ValueError, KeyError, Damaged):
                names = _header_of(read_private(path))["kernels"]
                for name in names:
                    pointer = path.parent / name
                    if read_private(pointer) == path.name.encode():
                        pointer.unlink()
                        total -= _BLOCK
            path.unlink(missing_ok=True)

    # ---- errors ----------------------------------------------------------------------------------------------------

    def _give_up(self, reason: str) -> None:
        self._usable = False
        warnings.warn(
            f"compiled kernels are not kept on disk: {reason}. Choose another folder with {DIRECTORY_VARIABLE}, "
            "or turn the cache off with jt.config.cache = False.",
            CacheWarning,
            stacklevel=stack_level(),
        )


# ---- which cache -----------------------------------------------------------------------------------------------------


def current() -> DiskCache | None:
    """Return the current cache; None if it is turned off or has no folder."""
    root = cache_directory() if config.cache else None
    return None if root is None else _opened(root, tuning.label)


def cache_directory() -> Path | None:
    """Return the folder: ``JITTAPE_CACHE_DIR`` (None if that is empty), else a folder in the user's cache."""
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    if chosen is not None:
        return _expanded(Path(chosen)).absolute() if chosen else None
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "jittape" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "jittape"
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else home / ".cache") / "jittape"


def _expanded(path: Path) -> Path:
    """Return `path` with a leading ``~`` expanded; unchanged for an unknown user, as in a shell."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


@cache
def _opened(root: Path, thresholds: str) -> DiskCache | None:
    try:
        parts = {"jittape": __version__, **environment(root)}
    except OSError:  # the package is in an archive
        return None
    cache = DiskCache(root, parts | ({"thresholds": thresholds} if thresholds else {}))
    cache.note_host()  # the kernels may be on disk already, and nothing else will be written
    return cache


# ---- for the command line --------------------------------------------------------------------------------------------


def summarize(root: Path) -> Summary:
    """Count the contents of a cache."""
    kernels, batches = len(_entries(root, _POINTER)), len(_entries(root, _BATCH))
    nbytes = sum(_size_on_disk(found) for _, found in _entries(root))
    return Summary(kernels, batches, len(folders(root)), nbytes)


def clear(root: Path) -> None:
    """Delete the files that jittape wrote there, and no others."""
    for path, _ in _entries(root):
        path.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for path in root.iterdir():
            if re.fullmatch(HOST_FILE, path.name):
                path.unlink(missing_ok=True)
    for folder in folders(root):
        with contextlib.suppress(OSError):
            folder.rmdir()


def folders(root: Path) -> list[Path]:
    """Return the folders of the environments below the folder of a cache."""
    try:
        return [path for path in root.iterdir() if re.fullmatch(_FOLDER, path.name) and path.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _entries(root: Path, *kinds: str) -> list[tuple[Path, os.stat_result]]:
    """Return the cache's files with names of these `kinds`, by default all; other processes may delete them."""
    found = []
    for folder in folders(root):
        with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                if any(
                    re.fullmatch(kind, entry.name) for kind in kinds or (_BATCH, _POINTER, _PLAN, _TEMPORARY)
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


# ---- files -----------------------------------------------------------------------------------------------------------


def _packed(batch: Batch, parts: Mapping[str, str]) -> bytes:
    """Return magic, checksum of the rest, length of the header, header, object code."""
    header = json.dumps({"environment": dict(parts), "kernels": batch.names}).encode()
    body = len(header).to_bytes(4, "little") + header + batch.code
    return _MAGIC + digest(body) + body


def _unpacked(content: bytes, parts: Mapping[str, str]) -> Batch:
    checksum = content[len(_MAGIC) : len(_MAGIC) + DIGEST_SIZE]
    if not content.startswith(_MAGIC) or checksum != digest(content[len(_MAGIC) + DIGEST_SIZE :]):
        raise Damaged
    header = _header_of(content)
    if header["environment"] != parts:
        raise Damaged
    length = int.from_bytes(content[_HEADER_START - 4 : _HEADER_START], "little")
    return Batch(tuple(header["kernels"]), content[_HEADER_START + length :])


def _header_of(content: bytes) -> dict[str, Any]:
    """Return the header of a batch: its environment and the names of its kernels."""
    length = int.from_bytes(content[_HEADER_START - 4 : _HEADER_START], "little")
    header: dict[str, Any] = json.loads(content[_HEADER_START : _HEADER_START + length])
    return header


def environment_of(folder: Path, name: str) -> dict[str, str] | None:
    """Return the environment of the batch with the function `name`; None if a file is missing or damaged."""
    with contextlib.suppress(OSError, ValueError, KeyError, Damaged):
        target = read_private(folder / name).decode("ascii", "replace")
        if re.fullmatch(_BATCH, target):
            found: dict[str, str] = _header_of(read_private(folder / target))["environment"]
            return found
    return None


def _size_on_disk(found: os.stat_result) -> int:
    return -(-found.st_size // _BLOCK) * _BLOCK
