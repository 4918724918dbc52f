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
import os
import re
import stat
import sys
import warnings
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from jittape.compile.cache.batch_file import BATCH_NAME, Batch, packed, unpacked
from jittape.compile.cache.environment import environment, host_content, host_name, is_unchanged
from jittape.compile.cache.private_files import (
    BINARY,
    Damaged,
    digest,
    is_of_a_handler,
    is_private,
    read_private,
    suppress_file_errors,
)
from jittape.core.cache_directory import DIRECTORY_VARIABLE, as_path, directory_name
from jittape.core.config import config
from jittape.core.locks import cached_property, lock
from jittape.core.tuning import tuning
from jittape.core.user_calls import stack_level
from jittape.errors import CacheWarning
from jittape.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DiskCache", "current"]


class DiskCache:
    """The cache in one folder, for one environment.

    Parameters
    ----------
    root : str or Path
        The folder of all environments.
    parts : mapping
        The named parts of the environment.
    """

    def __init__(self, root: str | Path, parts: Mapping[str, str]) -> None:
        self.parts = dict(parts)
        key = digest(repr(sorted(self.parts.items())).encode(), 8).hex()
        self._root, self._folder = os.fspath(root), os.path.join(root, f"v1-{key}")
        self.used: dict[str, None] = {}
        """Names of the batches that this process has read or written, in order."""
        self._lock = lock()
        self._usable = True
        self._host_noted = False
        self._unchecked = sys.maxsize // 2
        self._numbers = iter(range(sys.maxsize))

    @cached_property
    def root(self) -> Path:
        """The folder of all environments."""
        return as_path(self._root)

    @cached_property
    def folder(self) -> Path:
        """The folder of this environment."""
        return as_path(self._folder)

    # ---- reading ---------------------------------------------------------------------------------------------------

    def find(self, name: str) -> Batch | None:
        """Return the batch with the function `name`; None if there is no trusted one."""
        with self._lock:
            try:
                return self._find(name) if self._usable and self._trusted() else None
            except OSError as error:
                if is_of_a_handler(error):
                    raise
                self._give_up(str(error))
                return None

    def _find(self, name: str) -> Batch | None:
        pointer = os.path.join(self._folder, name)
        try:
            target = read_private(pointer).decode("ascii", "replace")
            if not re.fullmatch(BATCH_NAME, target):
                raise Damaged
            batch = self.read_batch(target)
            if name not in batch.names:
                raise Damaged
            self.used[target] = None
        except FileNotFoundError:
            return None
        except Damaged:
            _unlink(pointer)
            return None
        with suppress_file_errors():
            os.utime(os.path.join(self._folder, target))  # the most recently used batch is evicted last
        return batch

    def discard(self, name: str) -> None:
        """Delete the batch of the function `name`, which could not be loaded."""
        with suppress_file_errors(Damaged):
            pointer = self.folder / name
            target = read_private(pointer).decode("ascii", "replace")
            pointer.unlink(missing_ok=True)
            if re.fullmatch(BATCH_NAME, target):
                (self.folder / target).unlink(missing_ok=True)

    def read_batch(self, target: str) -> Batch:
        """Return the batch in the file `target`; a damaged file is deleted and raises `Damaged`."""
        path = os.path.join(self._folder, target)
        try:
            return unpacked(read_private(path), self.parts)
        except Damaged:
            _unlink(path)
            raise

    def _trusted(self) -> bool:
        """Return whether the folders exist, belong to the user, and only the user may write to them."""
        for folder in (self._root, self._folder):
            try:
                found = os.stat(folder)
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

    def publish(self, *batches: Batch) -> None:
        """Store batches; an error leaves the cache unchanged, except for the batches before."""
        with self._lock:
            try:
                if self._usable:
                    self._publish(batches)
            except FileNotFoundError:
                pass  # another process has just cleared the cache
            except FileExistsError as error:
                self._give_up(f"{error.filename} is no folder")
            except OSError as error:
                if is_of_a_handler(error):
                    raise
                self._give_up(str(error))

    def _publish(self, batches: Iterable[Batch]) -> None:
        self.root.parent.mkdir(parents=True, exist_ok=True)
        try:
            self.root.mkdir(mode=0o700, exist_ok=True)
        except FileNotFoundError:  # in spite of the folder above, as in /proc
            raise OSError(f"the folder {self._root} cannot be created") from None
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if not (self._trusted() and is_unchanged()):
            return
        self._write_host()
        for batch in batches:
            self._write_batch(batch)

    def _write_batch(self, batch: Batch) -> None:
        from jittape.compile.cache.cache_folder import BLOCK, drop_oldest

        content = packed(batch, self.parts)
        target = f"batch-{digest(content).hex()}"
        self._write(target, content)
        self.used[target] = None
        for name in batch.names:
            self._write(name, target.encode())
        # Other processes write too: check the size at the first batch, then after every sixteenth of the budget.
        self._unchecked += len(content) + BLOCK * len(batch.names)
        if self._unchecked > config.cache_size // 16:
            self._unchecked = 0
            drop_oldest(self.root)

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
            with suppress_file_errors():
                temporary.unlink(missing_ok=True)
            raise

    def note_host(self) -> None:
        """Write what the next process would ask LLVM, unless it is on disk or the cache is empty."""
        with self._lock, suppress_file_errors():
            if os.path.isdir(self._folder) and self._trusted():
                self._write_host()

    def _write_host(self) -> None:
        if self._host_noted:
            return
        self._host_noted = True
        name = host_name()
        is_known = name is None or os.path.exists(os.path.join(self._root, name))
        content = None if is_known else host_content()
        if content is not None:
            from jittape.compile.cache.cache_folder import drop_old_hosts

            self._write(f"../{name}", content)
            drop_old_hosts(self.root)

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
    root = directory_name() if config.cache else None
    return None if root is None else _opened(root, tuning.label)


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


@cache
def _opened(root: str, thresholds: str) -> DiskCache | None:
    try:
        parts = {"jittape": __version__, **environment(root)}
    except OSError as error:
        if is_of_a_handler(error):
            raise
        return None  # the package is in an archive, or was edited
    cache = DiskCache(root, parts | ({"thresholds": thresholds} if thresholds else {}))
    cache.note_host()  # the kernels may be on disk already, and nothing else will be written
    return cache
