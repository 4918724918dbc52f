"""The folder of gradients on disk: its contents and their removal, for the command line. Numba is not needed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

__all__ = [
    "clear_gradients", "content_of", "digest", "gradient_folder", "intact_code", "limit_gradients", "note_code",
    "read_file", "summarize_gradients", "write_atomically",
]  # fmt: skip

# Texts, which only removals compile: a process that loads gradients does without, which saves 0.3 ms.
_OWN = r"jittape_gradient_\w+\.(py|files)|[0-9a-f]{32}\.(json|checked)|tmp[a-z0-9_]{8}"
_BY_NUMBA = r"jittape_gradient_\w+\..*(nbi|nbc|pyc)"


def gradient_folder(root: Path) -> Path:
    """Return the folder of gradients in the folder of the cache."""
    return root / "njit_gradients"


def digest(content: bytes) -> str:
    """Return the checksum of the content of a file."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def read_file(path: str) -> bytes:
    """Return the content of a file: `Path.read_bytes` takes twice as long for small ones."""
    with open(path, "rb", buffering=0) as file:
        return file.read()


def content_of(path: str) -> bytes | None:
    """Return the content of a file; None if there is none."""
    try:
        return read_file(path)
    except FileNotFoundError:
        return None


def write_atomically(path: Path, text: str) -> None:
    """Write a file that other processes see as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(temporary).replace(path)


def note_code(folder: Path, module: str, places: set[Path]) -> None:
    """Store the checksums of the files of bytecode and machine code of a module."""
    found = {path.name: digest(path.read_bytes()) for place in places for path in place.glob(f"{module}.*")}
    write_atomically(folder / f"{module}.files", json.dumps(found))


def intact_code(folder: Path, module: str, place: Path) -> dict[str, bytes]:
    """Return the contents of the bytecode and machine code of a module; delete them if `note_code` found others.

    Python and Numba do not check these files: they raise any error, or run what they find.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        noted = json.loads(read_file(f"{folder}/{module}.files"))
        contents = {name: content_of(f"{place}/{name}") for name in noted}
        present = {name: content for name, content in contents.items() if content is not None}
        if all(digest(content) == noted[name] for name, content in present.items()):
            return present
    for path in place.glob(f"{module}.*"):
        path.unlink(missing_ok=True)
    return {}


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
    folder = gradient_folder(root)
    for place, names in ((folder, _OWN), (folder / "__pycache__", _BY_NUMBA)):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            yield from [path for path in place.iterdir() if re.fullmatch(names, path.name) and path.is_file()]
