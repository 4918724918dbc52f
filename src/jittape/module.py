"""`Module`: a named collection of Variables, found by looking through attributes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from jittape.recording.variable import Variable

__all__ = ["Module"]


_REMEDY = (
    "Build it with the sizes, dtypes and attribute names that it had when the file was written; layers make their "
    "Variables at the first call, or when they are given input_dim"
)
"""What to do about weights that do not fit."""


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

    def save_weights(self, path: str | os.PathLike[str]) -> None:
        """Write the values of all Variables to a file.

        Parameters
        ----------
        path : str or path
            Ends in ``.npz``, or in ``.safetensors`` where the package safetensors is installed. A file of that name is
            replaced at once when the new one is complete.

        Raises
        ------
        WeightsError
            If the name ends otherwise, there are no Variables, or the format has no such dtype.
        ImportError
            If the package safetensors is needed and not installed.
        OSError
            If the file cannot be written. What stood there before is still there.

        Notes
        -----
        A Variable goes by the way of attributes, positions and keys that leads to it; one that is found in several
        places is written once. Trainable or not, all are written.

        Examples
        --------
        >>> import jittape as jt, numpy as np, os, tempfile
        >>> net = jt.nn.Sequential([jt.nn.Dense(2, input_dim=3), jt.nn.Dense(1, input_dim=2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "net.npz")
        ...     net.save_weights(path)
        ...     with np.load(path) as file:
        ...         print(*file)
        layers.0.kernel layers.0.bias layers.1.kernel layers.1.bias
        """
        from jittape.weights import save  # zipfile takes 12 ms to import

        save(path, repr(self.name), _named(self))

    def load_weights(self, path: str | os.PathLike[str]) -> None:
        """Assign to all Variables what `save_weights` wrote; to all of them or none.

        Parameters
        ----------
        path : str or path
            Ends in ``.npz`` or ``.safetensors``.

        Raises
        ------
        WeightsError
            If the file is damaged or of another kind, or its names, shapes and dtypes are not those of the Variables.
        ImportError
            If the package safetensors is needed and not installed.
        OSError
            If the file cannot be read.

        Examples
        --------
        >>> import jittape as jt, os, tempfile
        >>> one, other = jt.nn.Dense(1, input_dim=2), jt.nn.Dense(1, input_dim=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "layer.npz")
        ...     one.save_weights(path)
        ...     other.load_weights(path)
        >>> bool(jt.reduce_all(one.kernel == other.kernel))
        True
        """
        from jittape.weights import load  # zipfile takes 12 ms to import

        load(path, repr(self.name), _named(self), _REMEDY)

    def __repr__(self) -> str:
        count = sum(v.size for v in self.trainable_variables)
        return f"<{type(self).__name__} {self.name!r}: {len(self.variables)} variables, {count} trainable numbers>"


def _parts(root: Module, names: dict[int, str] | None = None) -> Iterator[Any]:
    """Everything of interest below `root`, in order, `root` first; shared parts come up once.

    The way to each, as ``layers.0.kernel``, is put into `names` by its identity.
    """
    seen: set[int] = set()
    stack: list[Any] = [root]
    while stack:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        inside: Any
        if isinstance(part, Variable):
            yield part
            continue
        if isinstance(part, Module):
            yield part
            inside = vars(part)
        elif isinstance(part, (list, tuple, dict)):
            inside = part
        else:
            continue
        if names is not None:
            way = f"{names[id(part)]}." if part is not root else ""
            for key, one in inside.items() if isinstance(inside, dict) else enumerate(inside):
                names.setdefault(id(one), f"{way}{key}")
        stack.extend(reversed(list(inside.values()) if isinstance(inside, dict) else inside))


def _named(root: Module) -> dict[str, Variable]:
    """The Variables below `root` by the way to each."""
    names: dict[int, str] = {}
    found: dict[str, Variable] = {}
    for part in _parts(root, names):
        if isinstance(part, Variable) and found.setdefault(names[id(part)], part) is not part:
            raise ValueError(
                f"two Variables of {root.name!r} go by the name {names[id(part)]!r}: use other keys in the dict there"
            )
    return found
