"""Time of a step on a cluster of two processes, and of many fits. Needs ``pip install 'dask[distributed]'``."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from typing import Any

import dask.array
import dask.config
import numpy as np
from distributed import Client, LocalCluster

import jittape as jt

WEIGHTS, BLOCKS = 100_000, 4
FEW_MEASUREMENTS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
}
"""Settings with which Dask itself needs less of the two cores."""


def loss(w: Any, block: Any) -> Any:
    return jt.reduce_sum((block[0] * w - block[1]) ** 2)


def fitted(seed: int) -> float:
    jt.config.threads = 1
    x = np.linspace(0.0, 5.0, 200)
    y = np.random.default_rng(seed).poisson(50.0 * np.exp(-x / 1.5) + 4.0)
    found = jt.fit(
        lambda p, x: p["height"] * jt.exp(-x / p["life"]) + p["floor"],
        (x, y),
        {"height": 40.0, "life": 1.0, "floor": 1.0},
        loss="poisson",
    )
    return found.params["life"]


def fit_all(seeds: range) -> None:
    for seed in seeds:
        fitted(seed)


def seconds_in_processes(count: int) -> float:
    """Return the time that 1,000 fits take in `count` processes without Dask."""
    shares = [range(start, 400, count) for start in range(count)]
    with multiprocessing.get_context("spawn").Pool(count) as pool:
        pool.map(fit_all, [range(32)] * count, 1)
        start = time.perf_counter()
        pool.map(fit_all, shares, 1)
        return 2.5 * (time.perf_counter() - start)


def median_ms(call: Any, count: int = 100) -> float:
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def main() -> None:
    dask.config.set(FEW_MEASUREMENTS)
    w = np.ones(WEIGHTS)
    rows = np.random.default_rng(0).normal(size=(2 * BLOCKS, WEIGHTS))
    local = jt.value_and_grad(loss)
    kernels = median_ms(
        lambda: [local(w, rows[2 * i : 2 * i + 2]) for i in range(BLOCKS // 2)]
    )
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, direct_to_workers=True),
    ):
        data = dask.array.from_array(rows, chunks=(2, -1))
        gradient = jt.dask.value_and_grad(loss)
        start = time.perf_counter()
        gradient(w, data)
        print(f"first step {time.perf_counter() - start:.2f} s")
        step = median_ms(lambda: gradient(w, data))
        print(
            f"step of {WEIGHTS} weights: {step:.2f} ms; kernels of one worker's blocks here: {kernels:.2f} ms"
        )
        jt.dask.map(fitted, range(64), progress=False)
        start = time.perf_counter()
        jt.dask.map(fitted, range(1000), progress=False)
        both = time.perf_counter() - start
    alone, apart = seconds_in_processes(1), seconds_in_processes(2)
    print(
        f"1,000 fits: {alone:.2f} s in one process, {both:.2f} s on two workers ({50 * alone / both:.0f} % of linear), "
        f"{apart:.2f} s in two processes without Dask ({50 * alone / apart:.0f} %)"
    )


if __name__ == "__main__":
    main()
