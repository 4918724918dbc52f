"""Thresholds of the compiler, lowered so that small programs are cut, tiled and divided as large ones are."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from jittape.compile import diagonals, operands, partition, products, scalars, split, strips, tasks, turning

CHOICES: Sequence[tuple[ModuleType, str, Sequence[Any]]] = [
    (split, "LIMIT", (4, 16, 40, 120, 768)),
    (split, "PIECE", (1, 4, 12, 40, 128)),
    (strips, "CACHE", (1, 256, 4096, 1 << 20)),
    (strips, "BLOCK", (64, 512, 4096)),
    (strips, "LEAST", (1, 128, 1024)),
    (strips, "GROUPS", (2, 4, 64)),
    (strips, "FEWEST", (1, 2, 8)),
    (strips, "SKINNY", (2, 64)),
    (tasks, "HEAVY", (1, 100, 1000, 20_000)),
    (products, "HEAVY", (1, 100, 20_000)),
    (tasks, "TASK", (1, 20, 200, 10_000)),
    (tasks, "LANES", (2, 8, 1024)),
    (tasks, "LEAST_ROWS", (2, 4, 64)),
    (tasks, "CHUNK_ROWS", (2, 16, 256)),
    (tasks, "MANY_ROWS", (4, 16, 1024)),
    (tasks, "MANY", (1, 1 << 13)),
    (partition, "CHEAP", (0, 8, 100)),
    (partition, "CHEAP_SCALAR", (0, 60)),
    (partition, "MANY", (1, 2, 8)),
    (partition, "MOST_PICKS", (0, 1, 3)),
    (partition, "MANY_LOADS", (0, 2, 5)),
    (partition, "REPEATED", (1, 2, 4)),
    (partition, "PATIENCE", (0, 1, 6)),
    (operands, "TINY", (1, 3, 8)),
    (operands, "NARROW", (1, 12)),
    (scalars, "MANY", (2, 8, 256)),
    (turning, "SHORT", (2, 16)),
    (turning, "LONG", (1, 8)),
    (turning, "LARGE", (1, 1 << 15)),
    (turning, "SMALLER", (1, 4)),
    (diagonals, "MOST_TERMS", (2, 32)),
    (diagonals, "SMALLEST", (1, 64)),
    (diagonals, "FEWER", (1, 4)),
]


@contextmanager
def lowered(rng: random.Random) -> Iterator[None]:
    """Choose all thresholds at random, for a while."""
    before = [(module, name, getattr(module, name)) for module, name, _ in CHOICES]
    try:
        for module, name, values in CHOICES:
            setattr(module, name, rng.choice(values))
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
