"""Base class of the evaluations: a workload whose program is written once for all libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradbench.hand_written import HAND_WRITTEN
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
    kept_by_hand : object
        Arrays whose memory the code written by hand uses.
    """

    title: str
    sizes: tuple[str, ...] = ()
    goal = "fastest"
    arguments: tuple[Any, ...]
    kept_by_hand: Any = None

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

    def hand(self) -> Side | None:
        """C with derivatives written by hand, for some of the evaluations."""
        made = HAND_WRITTEN.get(self.title)
        if made is None:
            return None
        run, values, self.kept_by_hand = made(self)
        return None if run is None else Side(run, values)

    def jittape(self) -> Side:
        return self.side("jittape")

    def jax(self) -> Side:
        return self.side("jax")

    def torch(self) -> Side:
        return self.side("torch")

    def autograd(self) -> Side:
        return self.side("autograd")
