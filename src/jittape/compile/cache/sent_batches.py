"""Batches of machine code on their way between processes that share no disk.

Both ends must have the same environment: the same sources of jittape, version of LLVM and processor.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from jittape.compile.cache.batch_file import Batch
from jittape.compile.cache.object_store import current
from jittape.compile.cache.private_files import Damaged, suppress_file_errors
from jittape.compile.ir.hashes import blake2b

__all__ = [
    "keep_batches",
    "lacking_batches",
    "list_batches",
    "listed_batches",
    "read_batches",
    "used_batches",
]


def used_batches() -> tuple[dict[str, str], list[str]] | None:
    """Return the environment of this process, and the names of the batches that it uses; None without a cache."""
    cache = current()
    return None if cache is None else (cache.parts, list(cache.used))


def lacking_batches(environment: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Return the batches that this process could use but does not have; none if its environment is another one."""
    cache = current()
    if cache is None or cache.parts != environment:
        return []
    return [name for name in names if not (cache.folder / name).is_file()]


def read_batches(names: Iterable[str]) -> list[Batch]:
    """Return those of the batches that are on disk."""
    cache, found = current(), list[Batch]()
    for name in names:
        with suppress_file_errors(Damaged):
            if cache is not None:
                found.append(cache.read_batch(name))
    return found


def keep_batches(batches: Iterable[Batch]) -> None:
    """Store batches from a process with the same environment."""
    cache = current()
    for batch in batches:
        if cache is not None:
            cache.publish(batch)


def list_batches(of: bytes, names: Sequence[str]) -> None:
    """Store the names of the batches that some object uses, which is known by its bytes."""
    keep_batches([Batch((_key(of),), json.dumps(list(names)).encode())])


def listed_batches(of: bytes) -> list[str]:
    """Return the names of the batches that an object used in an earlier process."""
    cache = current()
    found = None if cache is None else cache.find(_key(of))
    return [] if found is None else [str(name) for name in json.loads(found.code)]


def _key(of: bytes) -> str:
    return "p" + blake2b(of, digest_size=16).hexdigest()
