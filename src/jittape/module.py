"""`Module`: a named collection of Variables, found by looking through attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jittape.recording.variable import Variable

__all__ = ["Module"]


class Module:
    """Base class of things that own Variables.

    Variables, Modules, and lists, tuples and dicts of them that are set as attributes are found, each once, in the
    order in which the attributes were set.

    Parameters
    ----------
    name : str, optional
        The class's name if not given.

    Examples
    --------
    >>> import jittape as jt
    >>> class Line(jt.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.m, self.b = jt.Variable(1.0), jt.Variable(0.0)
    ...     def __call__(self, x):
    ...         return self.m * x + self.b
    >>> line = Line()
    >>> len(line.trainable_variables), float(line(2.0))
    (2, 2.0)
    """

    _name: str | None = None  # for a subclass that does not call our constructor

    def __init__(self, name: str | None = None) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """The name given, or the class's."""
        return self._name or type(self).__name__

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All Variables of this Module and those within it."""
        return tuple([part for part in _parts(self) if isinstance(part, Variable)])

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The Variables that are trainable."""
        return tuple([v for v in self.variables if v.trainable])

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        """The Variables that are not trainable."""
        return tuple([v for v in self.variables if not v.trainable])

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All Modules within this one."""
        return tuple([part for part in _parts(self) if isinstance(part, Module) and part is not self])

    def __repr__(self) -> str:
        count = sum(v.size for v in self.trainable_variables)
        return f"<{type(self).__name__} {self.name!r}: {len(self.variables)} variables, {count} trainable numbers>"


def _parts(root: Module) -> Iterator[Any]:
    """Everything of interest below `root`, in order, `root` first; shared parts come up once."""
    seen: set[int] = set()
    stack: list[Any] = [root]
    while stack:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Variable):
            yield part
        elif isinstance(part, Module):
            yield part
            stack.extend(reversed(list(vars(part).values())))
        elif isinstance(part, (list, tuple)):
            stack.extend(reversed(part))
        elif isinstance(part, dict):
            stack.extend(reversed(list(part.values())))
