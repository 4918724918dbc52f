"""Files that only the user may write, their checksums, and the errors of files that a cache does without."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from typing import TYPE_CHECKING

from jittape.compile.ir.hashes import blake2b

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

__all__ = [
    "BINARY",
    "DIGEST_SIZE",
    "FORMAT",
    "Damaged",
    "digest",
    "is_of_a_handler",
    "is_private",
    "read_private",
    "suppress_file_errors",
]

BINARY: int = getattr(os, "O_BINARY", 0)  # Windows
DIGEST_SIZE = 16
FORMAT = 2
"""The version of `marshal` that is written: without references, so that equal values are equal bytes.

To import `json` takes 1.3 ms of each process.
"""


class Damaged(Exception):
    """The content of a file was changed."""


class suppress_file_errors(contextlib.suppress):
    """Suppress each `OSError` except those of signal handlers, and errors of `other` types."""

    def __init__(self, *other: type[Exception]) -> None:
        super().__init__(OSError, *other)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        return not is_of_a_handler(error) and bool(super().__exit__(kind, error, traceback))


def is_of_a_handler(error: BaseException | None) -> bool:
    """Return whether a signal handler has raised the error to end what runs; the system's timeouts have a number."""
    return isinstance(error, TimeoutError) and error.errno is None


def digest(content: bytes, size: int = DIGEST_SIZE) -> bytes:
    """Return a checksum of `size` bytes."""
    return blake2b(content, digest_size=size).digest()


def read_private(path: str | Path) -> bytes:
    """Return the content of a file that only the user may write; opening a pipe does not block."""
    handle = os.open(path, os.O_RDONLY | BINARY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise Damaged
        if not is_private(found):
            raise PermissionError(f"{path} belongs to another user, or others may write to it")
        return file.read()


def is_private(found: os.stat_result) -> bool:
    """Return whether only the user may write to a file or folder."""
    if sys.platform == "win32":  # the folder is in the user's profile
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
