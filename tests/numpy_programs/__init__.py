"""Programs of a numerical course; `np` is NumPy or `jittape.numpy`.

A program with a parameter `p` returns a number that is smooth in `p` first. All other results are values of any kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy_programs import algebra, data, equations, learning, signals, simulation

__all__ = ["PROGRAMS"]

PROGRAMS: dict[str, Callable[..., Any]] = {
    name: program
    for module in (algebra, data, equations, learning, signals, simulation)
    for name, program in vars(module).items()
    if callable(program) and getattr(program, "__module__", "") == module.__name__ and name[0] != "_"
}
