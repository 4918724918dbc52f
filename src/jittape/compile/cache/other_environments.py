"""Kernels on disk that this process cannot use, because they were compiled for another environment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from jittape.compile.cache.cache_folder import environment_of, folders
from jittape.compile.cache.object_store import current

__all__ = ["Elsewhere", "known_elsewhere"]


class Elsewhere(NamedTuple):
    """Kernels that are on disk for another environment.

    Attributes
    ----------
    kernels : int
        Number of the kernels.
    parts : mapping of str to (str, str)
        The parts of the environment that differ: their values there and here.
    """

    kernels: int
    parts: dict[str, tuple[str, str]]


def known_elsewhere(names: Iterable[str]) -> list[Elsewhere]:
    """Return the environments other than the current one that have some of these kernels on disk, the most first."""
    cache, names = current(), list(names)
    found: list[Elsewhere] = []
    for folder in [] if cache is None else folders(cache.root):
        known = [name for name in names if (folder / name).is_file()]
        if cache is None or not known or folder == cache.folder:
            continue
        there = environment_of(folder, known[0])
        if there is not None:
            every = sorted({*there, *cache.parts})
            pairs = {part: (there.get(part, ""), cache.parts.get(part, "")) for part in every}
            differing = {part: values for part, values in pairs.items() if values[0] != values[1]}
            found.append(Elsewhere(len(known), differing))
    return sorted(found, key=lambda one: -one.kernels)
