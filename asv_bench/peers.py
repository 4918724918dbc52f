"""Comparison of jittape with hand-written NumPy and Numba, JAX, PyTorch, TensorFlow and autograd.

    make peers                                     everything; takes some ten minutes
    python asv_bench/peers.py --only rosenbrock    rows whose name contains this
    python asv_bench/peers.py --rounds 20 --starts 0   shorter: fewer turns, no processes started
    python asv_bench/peers.py --threads 2          all libraries on two threads
    python asv_bench/peers.py --gradbench          the evaluations of GradBench
    python asv_bench/peers.py --plain-tape         jittape without `jt.function`, beside the compiled others
    python asv_bench/peers.py --processor-time     time of the processor, for a machine that does other work

Libraries that are not installed get a dash. Every gradient is first checked against the others. Then the sides take
turns in the same order, some milliseconds each. The table shows the median turn of each side as a multiple of the
hand-written code's. All sides run on one thread by default. On several threads some rows have no hand-written code;
compare the times of jittape then.
"""

from __future__ import annotations

import argparse
import builtins
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STARTED = float(os.environ.get("PEERS_STARTED", "0"))

EARLY = argparse.ArgumentParser(add_help=False)
EARLY.add_argument("--threads", type=int, default=1, help="of every library")
"""Options that are needed before the libraries are imported."""
THREADS = EARLY.parse_known_args()[0].threads
SETTINGS = {
    **{
        f"{library}_NUM_THREADS": str(THREADS)
        for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "TF_NUM_INTRAOP", "TF_NUM_INTEROP")
    },
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_X64": "1",
    "NPROC": str(THREADS),
    # OpenMP's threads would go on spinning in the others' turns.
    "OMP_WAIT_POLICY": "PASSIVE",
}
if THREADS == 1:
    SETTINGS["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
if not STARTED:
    # Before anything is imported that reads them.
    os.environ.update(SETTINGS)
# Triton, PyTorch's compiler for graphics cards, brings an LLVM that aborts the process beside TensorFlow's.
sys.modules["triton"] = None  # type: ignore[assignment]

import numpy as np  # noqa: E402

from gradbench import EVALUATIONS  # noqa: E402
from workloads.base import SIDES, Side, Workload, relative_error  # noqa: E402
from workloads.rows import ROWS  # noqa: E402

MODULES = {"hand": "numba", "jittape": "jittape", "numpy": "numpy"} | {
    name: name for name in ("jax", "torch", "tensorflow", "autograd")
}
TURN = 2e-3
"""Minimum duration of a turn, in seconds."""
WARM = 0.1
"""Duration, in seconds, of the untimed warm-up, which loads everything that only loops use."""
SLOW = 1.0
"""Duration, in seconds, of a run from which the second run of a peer is its only one that is timed."""
FIRST_USE = ("jittape", "jax")
"""Sides whose first use is timed in separate processes."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter, parents=[EARLY]
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="TEXT", help="rows with TEXT in the name"
    )
    parser.add_argument("--without", action="append", default=[], choices=SIDES, help="a side to leave out")
    parser.add_argument("--rounds", type=int, default=100, help="turns of each side")
    parser.add_argument("--seconds", type=float, default=8.0, help="for the turns of a row, at most")
    parser.add_argument("--starts", type=int, default=3, help="processes started for each first use")
    parser.add_argument("--gradbench", action="store_true", help="the evaluations of GradBench as rows")
    parser.add_argument("--plain-tape", action="store_true", help="jittape without `jt.function`")
    parser.add_argument("--processor-time", action="store_true", help="measure the time of the processor")
    parser.add_argument("--json", type=Path, help="also write the times here")
    parser.add_argument("--first-use", nargs=2, metavar=("SIDE", "ROW"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.first_use:
        print(json.dumps(first_use(*options.first_use)))
        return
    prepare(options.threads)
    Workload.plain_tape = options.plain_tape
    sides = [s for s in SIDES if s not in options.without and importlib.util.find_spec(MODULES[s])]
    table = EVALUATIONS if options.gradbench else ROWS
    rows = [row for row in table if all(text in row.name for text in options.only)]
    print(
        f"threads: {options.threads}; sides: {', '.join(sides)}; a turn lasts at least {TURN * 1e3:.0f} ms\n"
    )
    print(heading(), flush=True)
    measured = []
    for row in rows:
        times = measure(row, sides, options)
        starts = (
            {s: started(s, row, options.starts) for s in FIRST_USE if s in sides} if options.starts else {}
        )
        measured.append({"row": row.name, "goal": row.goal, "times": times, "starts": starts})
        print(line(row, times, starts), flush=True)
        if options.json:
            options.json.write_text(json.dumps(measured, indent=1))


def prepare(threads: int) -> None:
    """Apply settings that have no environment variable."""
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(threads)
    import jittape

    jittape.config.threads = threads
    Workload.threads = threads


def measure(row: Workload, names: list[str], options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return the median and the minimum time of a run of each side, in µs."""
    row.data()
    if row.threads > 1 and not row.by_hand_on_threads:
        names = [name for name in names if name != "hand"]
    sides = {name: side for name in names if (side := getattr(row, name)()) is not None}
    clock = time.process_time if options.processor_time else time.perf_counter
    perhaps = [name for name, duration in check(row, sides, clock).items() if duration > SLOW]
    second = {name: turn(sides[name], 1, clock) for name in perhaps if name != "jittape"}
    times = {name: [second[name] * 1e6] if second.get(name, 0.0) > SLOW else [] for name in sides}
    sides = {name: side for name, side in sides.items() if not times[name]}
    repeats = {name: repeats_of(side) for name, side in sides.items()}
    end = time.perf_counter() + options.seconds
    while len(times["jittape"]) < 5 or (len(times["jittape"]) < options.rounds and time.perf_counter() < end):
        for name, side in sides.items():
            times[name].append(turn(side, repeats[name], clock) / repeats[name] * 1e6)
    return {name: {"median": statistics.median(t), "least": min(t)} for name, t in times.items()}


def check(row: Workload, sides: dict[str, Side], clock: Callable[[], float]) -> dict[str, float]:
    """Compare the results of every side with NumPy's, or the first side's; return the seconds of the first runs."""
    results, durations = {}, {}
    for name, side in sides.items():
        begin = clock()
        result = side.run()
        durations[name] = clock() - begin
        results[name] = [np.array(v) for v in side.values(result)]
    wanted = results.get("numpy") or next(iter(results.values()))
    for name, values in results.items():
        error = relative_error(values, wanted)
        if not error <= row.tolerance:
            raise AssertionError(f"{row.name}: {name} is {error:.2g} off")
    return durations


def repeats_of(side: Side) -> int:
    """Return the number of runs per turn, after a warm-up."""
    repeats = 1
    turn(side, 3)
    end = time.perf_counter() + WARM
    while time.perf_counter() < end:
        turn(side, 1)
    while turn(side, repeats) < TURN:
        repeats *= 2
    return repeats


def turn(side: Side, repeats: int, clock: Callable[[], float] = time.perf_counter) -> float:
    run = side.run
    result = None
    begin = clock()
    for _ in range(repeats):
        result = run()
    if side.finish is not None:
        side.finish(result)
    return clock() - begin


def started(name: str, row: Workload, count: int) -> dict[str, float]:
    """Return the minimum seconds of `count` processes: first use, cold start, and both with a filled disk cache."""
    command = [sys.executable, __file__, "--first-use", name, row.name]
    least: dict[str, float] = {}
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            for state in ("cold", "filled") if name == "jittape" else ("cold",):
                environment = os.environ | {"PEERS_STARTED": repr(time.time()), "JITTAPE_CACHE_DIR": folder}
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
                for key, value in json.loads(done.stdout).items():
                    key = f"{state} {key}"
                    least[key] = min(least.get(key, value), value)
    return least


def first_use(name: str, row_name: str) -> dict[str, float]:
    """Return the seconds from the start of this process to the first result, with and without imports."""
    row = next(row for row in (*ROWS, *EVALUATIONS) if row.name == row_name)
    begin = time.time()
    row.data()
    made = time.time()
    importlib.import_module(MODULES[name])
    imported = time.time()
    with ImportClock() as late:
        side = getattr(row, name)()
        side.values(side.run())
    end = time.time()
    return {"start": end - STARTED - (made - begin), "first": end - imported - late.seconds}


class ImportClock:
    """Context manager that measures the seconds of imports, which libraries may defer."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._import = builtins.__import__
        self._within = False

    def __enter__(self) -> ImportClock:
        builtins.__import__ = self._timed
        return self

    def __exit__(self, *error: object) -> None:
        builtins.__import__ = self._import

    def _timed(self, *arguments: Any, **options: Any) -> Any:
        if self._within:
            return self._import(*arguments, **options)
        self._within = True
        begin = time.perf_counter()
        try:
            return self._import(*arguments, **options)
        finally:
            self.seconds += time.perf_counter() - begin
            self._within = False


WIDTHS = (44, 11, 11, 9, 10, 9, 8, 8, 9, 9, 9, 17, 24)
LIBRARIES = ("NumPy", "JAX", "PyTorch", "TensorF.", "autogr.")
TITLES = (
    ("", "hand", "jittape", "jittape", "goal", "minima", *LIBRARIES, "first use, s", "cold start, s"),
    ("", "µs", "µs", "/ hand", "", "/ hand", *["/ hand"] * 5, "jittape    JAX", "jittape   disk    JAX"),
)


def heading() -> str:
    return "\n".join(aligned(titles) for titles in TITLES)


def aligned(cells: Any) -> str:
    first, *others = zip(cells, WIDTHS, strict=True)
    return f"{first[0]:{first[1]}}" + "".join(f"{cell:>{width}}" for cell, width in others)


def line(row: Workload, times: dict[str, Any], starts: dict[str, Any]) -> str:
    """Return a row of the table; all but the first columns are multiples of the hand-written code's time."""
    base = times.get("hand", times["jittape"])
    ours = times["jittape"]
    peers = [ratio(times[name]["median"] / base["median"]) if name in times else "-" for name in SIDES[2:]]
    us, jax = starts.get("jittape", {}), starts.get("jax", {})
    first = [seconds(us.get("cold first")), seconds(jax.get("cold first"))]
    start = [seconds(us.get("cold start")), seconds(us.get("filled start")), seconds(jax.get("cold start"))]
    cells = [
        row.name,
        f"{base['median']:.4g}" if "hand" in times else "-",
        f"{ours['median']:.4g}",
        ratio(ours["median"] / base["median"]) if "hand" in times else "-",
        row.goal,
        ratio(ours["least"] / base["least"]) if "hand" in times else "-",
        *peers,
        "".join(f"{cell:>7}" for cell in first),
        "".join(f"{cell:>7}" for cell in start),
    ]
    return aligned(cells)


def ratio(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    main()
