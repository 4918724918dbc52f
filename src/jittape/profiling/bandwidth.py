"""The memory bandwidth of this machine, measured once per process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from time import perf_counter

import numpy as np

from jittape.core.config import config

__all__ = ["measured_bandwidth"]

_NBYTES = 32 * 2**20
"""Size of an array that is copied, in bytes: larger than most caches."""
_ROUNDS = 5


@cache
def measured_bandwidth() -> float:
    """Return the bytes per second that `jt.config.threads` threads read and write together while they copy arrays.

    The best of five copies counts; they take 0.1 s.
    """
    threads = config.threads
    source, target = np.ones(_NBYTES, np.uint8), np.zeros(_NBYTES, np.uint8)
    parts = list(zip(np.array_split(source, threads), np.array_split(target, threads), strict=True))
    best = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(_ROUNDS):
            began = perf_counter()
            list(pool.map(lambda part: np.copyto(part[1], part[0]), parts))
            best = min(best, perf_counter() - began)
    return 2 * _NBYTES / best
