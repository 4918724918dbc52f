"""Measure the goals of `goals.SECTIONS` on several commits: ``python asv_bench/history.py COMMIT... [--rounds N]``.

Each commit is checked out into a temporary folder, which precedes the installed package on the path. The commits
take turns, so that a slow minute of the machine affects all of them. ``docs/executed/benchmark_history.py`` draws the
results, which are stored in ``asv_bench/history.json``: the median of the rounds for each commit and goal. Times are
processor times, with those of processes that a benchmark starts. A commit has no number for what it cannot run.
Goals beside JAX need JAX.
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

import llvmlite.binding as llvm

from goals import SECTIONS, Goal

HERE = Path(__file__).parent
RESULTS = HERE / "history.json"
MEASURE = """
import importlib, json, resource, sys, timeit

def clock():
    own, children = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime

module, name, method = sys.argv[1].split(".")
arguments = json.loads(sys.argv[2])
benchmark = getattr(importlib.import_module("benchmarks." + module), name)()
if hasattr(benchmark, "setup"):
    benchmark.setup(*arguments)
call = lambda: getattr(benchmark, method)(*arguments)
if method.startswith("track_"):
    print(call())
else:
    number = getattr(benchmark, "number", 0) or max(timeit.Timer(call).autorange()[0] // 8, 1)
    repeat = getattr(benchmark, "repeat", 15)
    print(min(timeit.repeat(call, repeat=repeat, number=number, timer=clock)) / number)
if hasattr(benchmark, "teardown"):
    benchmark.teardown(*arguments)
"""


def git(*arguments: str) -> str:
    """Return the output of a git command in this repository."""
    return subprocess.run(
        ["git", *arguments], cwd=HERE, check=True, capture_output=True, text=True
    ).stdout.strip()


def measured(checkout: Path, goal: Goal) -> float | None:
    """Return the number of a benchmark in a new process, in the goal's unit; None if the commit cannot run it."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(checkout / "src"), str(HERE)]),
        "JITTAPE_CACHE_DIR": str(checkout / "cache"),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a process starts with bytecode, as users' processes do
    command = [sys.executable, "-c", MEASURE, goal.benchmark, json.dumps(goal.parameters)]
    done = subprocess.run(command, env=environment, cwd=checkout, capture_output=True, text=True)
    return float(done.stdout) * goal.scale if done.returncode == 0 else None


def main() -> None:
    """Measure all goals on the commits and write the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    goals = [goal for section in SECTIONS.values() for goal in section]
    commits = [git("rev-parse", "--short", commit) for commit in asked.commits]
    with tempfile.TemporaryDirectory() as folder:
        checkouts = {commit: Path(folder) / commit for commit in commits}
        for commit, checkout in checkouts.items():
            git("worktree", "add", "--detach", str(checkout), commit)
        numbers: dict[str, dict[str, float]] = {commit: {} for commit in commits}
        for goal in goals:
            rounds: dict[str, list[float]] = {commit: [] for commit in commits}
            for _ in range(asked.rounds):
                for commit, checkout in checkouts.items():
                    number = measured(checkout, goal)
                    rounds[commit] += [] if number is None else [number]
            for commit, found in rounds.items():
                if found:
                    numbers[commit][goal.title] = float(f"{statistics.median(found):.4g}")
            print(
                f"{goal.title} ({goal.limit} {goal.unit})",
                [n.get(goal.title) for n in numbers.values()],
                flush=True,
            )
        for checkout in checkouts.values():
            git("worktree", "remove", "--force", str(checkout))
    rows = [
        {
            "commit": commit,
            "date": git("show", "--no-patch", "--format=%cI", commit),
            "subject": git("show", "--no-patch", "--format=%s", commit),
            "numbers": numbers[commit],
        }
        for commit in commits
    ]
    command = " ".join(["python asv_bench/history.py", *asked.commits, f"--rounds {asked.rounds}"])
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores of {llvm.get_host_cpu_name()}"
    RESULTS.write_text(json.dumps({"command": command, "machine": machine, "commits": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
