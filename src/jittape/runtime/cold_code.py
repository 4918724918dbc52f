"""Release of the executables that have not run lately, so that their machine code can be unloaded."""

from __future__ import annotations

from collections import deque
from typing import Any
from weakref import ref

__all__ = ["compiled_paths", "executables_for_one_run", "let_release", "release_cold"]

_paths: list[ref[Any]] = []
"""Each `PathExecutable` that has been compiled; some may be gone or released, or appear again after that."""
_for_one_run: list[ref[deque[Any]]] = []
"""The executables of each variant that wait for another length."""


def let_release(path: Any) -> None:
    """Let `release_cold` release a path that was compiled."""
    _follow_registry()
    _paths.append(ref(path))


def executables_for_one_run() -> deque[Any]:
    """Return a new deque, which `release_cold` clears."""
    _follow_registry()
    made: deque[Any] = deque()
    _for_one_run[:] = [known for known in _for_one_run if known() is not None]
    _for_one_run.append(ref(made))
    return made


def _follow_registry() -> None:
    from jittape.compile.cache.kernel_cache import registry  # imports LLVM, as compiling has done

    registry.relieve = release_cold


def compiled_paths() -> list[Any]:
    """Return each `PathExecutable` that is compiled now, the oldest first."""
    paths = dict.fromkeys([known() for known in list(_paths)])
    return [path for path in paths if path is not None and path._compiled is not None]


def release_cold() -> None:
    """Release half of the compiled paths: first those that have not run since the last call, then the oldest.

    A released path is compiled again at its next run.
    """
    for waiting in list(_for_one_run):
        executables = waiting()
        if executables is not None:
            executables.clear()
    paths = compiled_paths()
    # The sort is stable: equal paths stay in the order of compilation.
    paths.sort(key=lambda path: path.visits != path._visits_before)
    count = -(-len(paths) // 2)
    for path in paths[:count]:
        path._release()
    for path in paths[count:]:
        path._visits_before = path.visits
    _paths[:] = [ref(path) for path in paths[count:]]
