"""Files with machine code: a magic number, a checksum, a header (environment, names of the functions), object code."""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from typing import Any

from jittape.compile.cache.private_files import DIGEST_SIZE, FORMAT, Damaged, digest
from jittape.value_classes import NamedTuple

__all__ = ["BATCH_NAME", "Batch", "header_of", "packed", "unpacked"]

BATCH_NAME = r"batch-[0-9a-f]{32}"
"""Pattern of the names of the files."""

_MAGIC = b"jittape2"
_HEADER_START = len(_MAGIC) + DIGEST_SIZE + 4


class Batch(NamedTuple):
    """Functions that were compiled together: their names and the object file."""

    names: tuple[str, ...]
    code: bytes


def packed(batch: Batch, parts: Mapping[str, str]) -> bytes:
    """Return magic, checksum of the rest, length of the header, header, object code."""
    header = marshal.dumps({"environment": dict(parts), "kernels": batch.names}, FORMAT)
    body = len(header).to_bytes(4, "little") + header + batch.code
    return _MAGIC + digest(body) + body


def unpacked(content: bytes, parts: Mapping[str, str]) -> Batch:
    """Return the batch in a file of the environment `parts`; another file raises `Damaged`."""
    header = header_of(content)
    if header["environment"] != parts:
        raise Damaged
    length = int.from_bytes(content[_HEADER_START - 4 : _HEADER_START], "little")
    return Batch(header["kernels"], content[_HEADER_START + length :])


def header_of(content: bytes) -> dict[str, Any]:
    """Return the header of a batch: its environment and the names of its kernels; another file raises `Damaged`."""
    checksum = content[len(_MAGIC) : len(_MAGIC) + DIGEST_SIZE]
    if not content.startswith(_MAGIC) or checksum != digest(content[len(_MAGIC) + DIGEST_SIZE :]):
        raise Damaged
    length = int.from_bytes(content[_HEADER_START - 4 : _HEADER_START], "little")
    header: dict[str, Any] = marshal.loads(content[_HEADER_START : _HEADER_START + length])
    return header
