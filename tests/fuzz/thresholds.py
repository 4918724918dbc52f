"""Thresholds of the compiler, lowered so that small programs are cut, tiled and divided as large ones are."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from jittape.compile.analysis import gemm_operands, parallelism
from jittape.compile.fuse import partition
from jittape.compile.kernels.gemm import lower_gemm
from jittape.compile.kernels.scalar_vm import bytecode
from jittape.compile.lower import split_nest
from jittape.compile.rewrite import diagonals, layout_transposition
from jittape.compile.schedule import row_tiling

CHOICES: Sequence[tuple[ModuleType, str, Sequence[Any]]] = [
    (split_nest, "LIMIT", (4, 16, 40, 120, 768)),
    (split_nest, "PIECE", (1, 4, 12, 40, 128)),
    (row_tiling, "CACHE", (1, 256, 4096, 1 << 20)),
    (row_tiling, "BLOCK", (64, 512, 4096)),
    (row_tiling, "LEAST", (1, 128, 1024)),
    (row_tiling, "GROUPS", (2, 4, 64)),
    (row_tiling, "FEWEST", (1, 2, 8)),
    (row_tiling, "SKINNY", (2, 64)),
    (parallelism, "HEAVY", (1, 100, 1000, 20_000)),
    (lower_gemm, "HEAVY", (1, 100, 20_000)),
    (parallelism, "TASK", (1, 20, 200, 10_000)),
    (parallelism, "LANES", (2, 8, 1024)),
    (parallelism, "LEAST_ROWS", (2, 4, 64)),
    (parallelism, "CHUNK_ROWS", (2, 16, 256)),
    (parallelism, "MANY_ROWS", (4, 16, 1024)),
    (parallelism, "MANY", (1, 1 << 13)),
    (partition, "CHEAP", (0, 8, 100)),
    (partition, "CHEAP_SCALAR", (0, 60)),
    (partition, "MANY", (1, 2, 8)),
    (partition, "MOST_PICKS", (0, 1, 3)),
    (partition, "MANY_LOADS", (0, 2, 5)),
    (partition, "REPEATED", (1, 2, 4)),
    (partition, "PATIENCE", (0, 1, 6)),
    (gemm_operands, "TINY", (1, 3, 8)),
    (gemm_operands, "NARROW", (1, 12)),
    (bytecode, "MANY", (2, 8, 256)),
    (layout_transposition, "SHORT", (2, 16)),
    (layout_transposition, "LONG", (1, 8)),
    (layout_transposition, "LARGE", (1, 1 << 15)),
    (layout_transposition, "SMALLER", (1, 4)),
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
