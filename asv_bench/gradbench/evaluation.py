"""Base class of the evaluations: a workload whose program is written once for all libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradbench.libraries import LIBRARIES, Library
from workloads.base import Side, Workload, flat

__all__ = ["Evaluation"]


class Evaluation(Workload):
    """A row of the table.

    Attributes
    ----------
    title : str
        Name in GradBench.
    sizes : tuple of str
        Attributes that are sizes.
    arguments : tuple
        Arguments of the program, set by `data`.
    """

    title: str
    sizes: tuple[str, ...] = ()
    goal = "fastest"
    arguments: tuple[Any, ...]

    @property
    def name(self) -> str:  # type: ignore[override]
        return ", ".join([self.title, *(f"{size}={getattr(self, size):,}" for size in self.sizes)])

    def objective(self, library: Library) -> Callable[..., Any]:
        """Return the function that is differentiated."""
        raise NotImplementedError

    def program(self, library: Library) -> Callable[..., Any]:
        """Return what GradBench times: derivatives of the objective, or what is computed from them."""
        raise NotImplementedError

    def side(self, name: str) -> Side:
        library = LIBRARIES[name]()
        program = library.compiled(self.program(library))
        arguments = [library.array(a) for a in self.arguments]
        return Side(lambda: program(*arguments), lambda result: [library.numpy(v) for v in flat(result)])

    def numpy(self) -> None:
        return None

    def jittape(self) -> Side:
        return self.side("jittape")

    def jax(self) -> Side:
        return self.side("jax")

    def torch(self) -> Side:
        return self.side("torch")

    def autograd(self) -> Side:
        return self.side("autograd")
