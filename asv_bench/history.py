"""Time some benchmarks on several commits: ``python asv_bench/history.py COMMIT... [--rounds N]``.

Each commit is checked out into a temporary folder, which precedes the installed package on the path. The commits
take turns, so that a slow minute of the machine affects all of them. ``docs/executed/benchmark_history.py`` draws the
results, which are stored in ``asv_bench/history.json``: the median of the rounds for each commit and benchmark, in µs
of processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "history.json"
BENCHMARKS = {
    "steps.LinearRegression.step": (),
    "steps.Digits.time_step": ("compiled",),
    "function.DigitsStep.time_step": (),
    "function.Overhead.time_arrays": (),
    "transforms.Rosenbrock.time_value_and_grad": ("function", 1000),
    "transforms.Rosenbrock.time_hessian": ("recorded", 10),
}
"""Methods of the classes in ``asv_bench/benchmarks``, each with its parameters."""
TIMED = """
import importlib, json, sys, time, timeit
module, name, method = sys.argv[1].split(".")
arguments = json.loads(sys.argv[2])
benchmark = getattr(importlib.import_module("benchmarks." + module), name)()
benchmark.setup(*arguments)
call = lambda: getattr(benchmark, method)(*arguments)
number = max(timeit.Timer(call).autorange()[0] // 8, 1)
print(min(timeit.repeat(call, repeat=15, number=number, timer=time.process_time)) / number * 1e6)
"""


def git(*arguments: str) -> str:
    """Return the output of a git command in this repository."""
    return subprocess.run(
        ["git", *arguments], cwd=HERE, check=True, capture_output=True, text=True
    ).stdout.strip()


def microseconds(checkout: Path, benchmark: str) -> float | None:
    """Return the best processor time of a benchmark in a new process, in µs; None if the commit cannot run it."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(checkout / "src"), str(HERE)]),
        "JITTAPE_CACHE_DIR": str(checkout / "cache"),
    }
    command = [sys.executable, "-c", TIMED, benchmark, json.dumps(BENCHMARKS[benchmark])]
    done = subprocess.run(command, env=environment, cwd=checkout, capture_output=True, text=True)
    return float(done.stdout) if done.returncode == 0 else None


def main() -> None:
    """Time all benchmarks on the commits and write the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    commits = [git("rev-parse", "--short", commit) for commit in asked.commits]
    with tempfile.TemporaryDirectory() as folder:
        checkouts = {commit: Path(folder) / commit for commit in commits}
        for commit, checkout in checkouts.items():
            git("worktree", "add", "--detach", str(checkout), commit)
        times: dict[str, dict[str, list[float]]] = {
            commit: {name: [] for name in BENCHMARKS} for commit in commits
        }
        for benchmark in BENCHMARKS:
            for _ in range(asked.rounds):
                for commit, checkout in checkouts.items():
                    time = microseconds(checkout, benchmark)
                    times[commit][benchmark] += [] if time is None else [time]
            print(
                benchmark,
                [round(statistics.median(t[benchmark] or [0]), 2) for t in times.values()],
                flush=True,
            )
        for checkout in checkouts.values():
            git("worktree", "remove", "--force", str(checkout))
    rows = [
        {
            "commit": commit,
            "date": git("show", "--no-patch", "--format=%cI", commit),
            "subject": git("show", "--no-patch", "--format=%s", commit),
            "times": {
                name: round(statistics.median(times), 3) for name, times in times[commit].items() if times
            },
        }
        for commit in commits
    ]
    command = " ".join(["python asv_bench/history.py", *asked.commits, f"--rounds {asked.rounds}"])
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    RESULTS.write_text(json.dumps({"command": command, "machine": machine, "commits": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
