"""Break the package on purpose and see whether the tests notice it: ``python tests/mutants.py [--only NAME]``.

Each mutation of `mutations_of_rules` and `mutations_of_passes` is applied to a copy of the project. The tests named for
it run there until the first failure. A run that fails, crashes or does not end kills the mutation. With `--unchanged`
the same tests must first pass on an unchanged copy. `--rst` prints the tables of ``docs/reliability.rst``.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from mutations import Mutation
from mutations_of_passes import PASSES
from mutations_of_rules import RULES

PROJECT = Path(__file__).parent.parent
COPIED = ("src", "tests", "docs", "conftest.py", "pyproject.toml")
PYTEST = ("-q", "-x", "-p", "no:cacheprovider", "-rfE", "--tb=no")
LONGEST = 900
"""Maximum duration of a run, in seconds."""
REQUIRED = 0.95
"""Minimum share of mutations that the tests must notice."""


class Outcome(NamedTuple):
    """The end of a run: the test that failed, or how else the run ended; None if all tests passed."""

    failure: str | None
    seconds: float


def mutated(mutation: Mutation, project: Path = PROJECT) -> str:
    """Return the text of the changed file.

    Raises
    ------
    ValueError
        If the file does not have the old text exactly once.
    """
    text = (project / "src" / "jittape" / mutation.file).read_text(encoding="utf-8")
    found = text.count(mutation.old)
    if found != 1:
        raise ValueError(
            f"[mutants] {mutation.name!r}: {mutation.file} has the old text {found} times; "
            "bring the mutation up to date with the code"
        )
    return text.replace(mutation.old, mutation.new)


def run(tests: str, mutation: Mutation | None = None) -> Outcome:
    """Run tests on a copy of the project, with a mutation or without."""
    with tempfile.TemporaryDirectory(prefix="jittape-mutant-") as folder:
        project = Path(folder)
        for name in COPIED:
            copy = shutil.copytree if (PROJECT / name).is_dir() else shutil.copy2
            copy(PROJECT / name, project / name)
        if mutation is not None:
            (project / "src" / "jittape" / mutation.file).write_text(mutated(mutation), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(project / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pytest", *PYTEST, *shlex.split(tests)]
        start = time.perf_counter()
        try:
            done = subprocess.run(
                command, cwd=project, env=environment, capture_output=True, text=True, timeout=LONGEST
            )
        except subprocess.TimeoutExpired:
            return Outcome(f"no end within {LONGEST} s", LONGEST)
        return Outcome(_failure(done), time.perf_counter() - start)


def _failure(done: subprocess.CompletedProcess[str]) -> str | None:
    """Return the test that failed; None if all passed."""
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (tests/[^ \[]*::\w+)", done.stdout, re.MULTILINE)
    if found is not None:
        return found[1]
    if done.returncode < 0:
        return f"crash: signal {-done.returncode}"
    raise RuntimeError(f"[mutants] pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def _checked(mutation: Mutation) -> Outcome:
    """Run the tests of a mutation and print the outcome."""
    outcome = run(mutation.tests, mutation)
    verdict = "SURVIVED" if outcome.failure is None else f"killed by {outcome.failure}"
    print(f"{mutation.name}: {verdict} ({outcome.seconds:.0f} s)", flush=True)
    return outcome


def _table(mutations: Sequence[Mutation], outcomes: Sequence[Outcome]) -> str:
    """Return rows of a list table."""
    rows = []
    for mutation, outcome in zip(mutations, outcomes, strict=True):
        killer = "survived" if outcome.failure is None else f"``{outcome.failure.removeprefix('tests/')}``"
        rows.append(f"   * - {mutation.name}\n     - {mutation.fault}\n     - {killer}")
    return "\n".join(rows)


def main() -> int:
    """Run the mutations that the command line asks for; return 1 if too many survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", help="name of a mutation; may be repeated")
    parser.add_argument("--jobs", type=int, default=1, help="number of runs at a time")
    parser.add_argument("--rst", action="store_true", help="print the tables of the documentation")
    parser.add_argument("--unchanged", action="store_true", help="first run all tests without a mutation")
    asked = parser.parse_args()
    tables = [[m for m in table if not asked.only or m.name in asked.only] for table in (RULES, PASSES)]
    chosen = [m for table in tables for m in table]
    if not chosen:
        parser.error(f"no mutation is called {asked.only}")
    with ThreadPoolExecutor(asked.jobs) as threads:
        if asked.unchanged:
            tests = list(dict.fromkeys([m.tests for m in chosen]))
            for text, outcome in zip(tests, threads.map(run, tests), strict=True):
                if outcome.failure is not None:
                    print(f"{text}: {outcome.failure} fails without a mutation")
                    return 1
                print(f"without a mutation, {text}: passed ({outcome.seconds:.0f} s)", flush=True)
        outcomes = dict(zip(chosen, threads.map(_checked, chosen), strict=True))
    if asked.rst:
        print("\n\n".join([_table(table, [outcomes[m] for m in table]) for table in tables]))
    killed = sum(outcome.failure is not None for outcome in outcomes.values())
    print(f"{killed} of {len(chosen)} mutations killed")
    return killed < REQUIRED * len(chosen)


if __name__ == "__main__":
    sys.exit(main())
