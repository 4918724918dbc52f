"""Thresholds of the compiler, lowered so that small programs are cut, tiled and divided as large ones are."""

from __future__ import annotations

import random
from contextlib import AbstractContextManager

from jittape.core.tuning import tuning

CHOICES = {
    "mask_block_elements": (3, 1 << 15),
    "split_cost_limit": (4, 16, 40, 120, 768),
    "split_piece_cost": (1, 4, 12, 40, 128),
    "row_tile_cached_bytes": (1, 256, 4096, 1 << 20),
    "row_tile_bytes": (64, 512, 4096),
    "row_tile_step_bytes": (1, 128, 1024),
    "row_tile_groups_limit": (2, 4, 64),
    "row_tile_min_groups": (1, 2, 8),
    "row_tile_gemm_extent": (2, 64),
    "parallel_work_ns": (1, 100, 1000, 20_000),
    "task_ns": (1, 20, 200, 10_000),
    "sum_chunk_elements": (2, 8, 1024),
    "min_task_rows": (2, 4, 64),
    "scan_task_elements": (1, 4, 2048),
    "long_sum_task_rows": (2, 16, 256),
    "long_sum_rows": (4, 16, 1024),
    "grouped_min_elements": (1, 1 << 13),
    "recompute_cost_limit": (0, 8, 100),
    "recompute_scalar_cost_limit": (0, 60),
    "recompute_uses_limit": (1, 2, 8),
    "recompute_gathers_limit": (0, 1, 3),
    "recompute_loads_limit": (0, 2, 5),
    "strided_reads_before_copy": (1, 2, 4),
    "partition_rounds": (0, 1, 6),
    "small_gemm_extent": (1, 3, 8),
    "tiny_gemm_multiplications": (1, 1 << 12),
    "tiled_gemm_multiplications": (1, 1 << 12, 1 << 25),
    "tiled_gemm_least": ((5, 40), (1, 1)),
    "bytecode_min_ops": (2, 8, 256),
    "transposed_columns_limit": (2, 16),
    "transposed_rows_per_column": (1, 8),
    "transposed_min_elements": (1, 1 << 15),
    "transposed_broadcast_factor": (1, 4),
    "diagonal_terms_limit": (2, 32),
    "diagonal_min_elements": (1, 64),
    "diagonal_sparsity": (1, 4),
}


def lowered(rng: random.Random) -> AbstractContextManager[None]:
    """Choose all thresholds at random, for a while."""
    return tuning.override(**{name: rng.choice(values) for name, values in CHOICES.items()})
