"""`Module`: a named collection of Variables in attributes."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from jittape.core.name_scopes import current_prefix, name_scope
from jittape.html_report import html_table
from jittape.recording.variable import Variable

__all__ = ["Module", "parts_of", "snake_case"]


_REMEDY = (
    "Build it with the sizes, dtypes and attribute names that it had when the file was written; layers make their "
    "Variables at the first call, or when they are given input_dim"
)
"""Remedy in errors about weights that do not match."""

Method = TypeVar("Method", bound=Callable[..., Any])


class Module:
    """Base class of objects that own Variables.

    The Variables of a Module are those in its attributes, also in Modules, lists, tuples and dicts, each once. Their
    order is that of TensorFlow: by the names of the attributes and the keys of dicts, and those of Modules come last.
    In `jt.keras`, it is the order in which the attributes were set.

    Parameters
    ----------
    name : str, optional
        By default the name of the class in snake case: a ``DenseBlock`` is a ``dense_block``.

    Raises
    ------
    ValueError
        If the name is not a Python identifier.

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

    _name: str | None = None  # for a subclass that does not call this constructor
    _scope: str | None = None

    _keeps_order = False
    """Whether the Variables are in the order in which the attributes were set, the trainable ones first."""

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not (isinstance(name, str) and name.isidentifier()):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python identifiers (e.g. a valid "
                "class name)."
            )
        self._name = name
        self._scope = f"{current_prefix()}{self.name}/"

    @property
    def name(self) -> str:
        """The given name, or the name of the class in snake case."""
        return self._name or snake_case(type(self).__name__)

    @property
    def name_scope(self) -> name_scope:
        """A context that puts the name of this Module, within the scope of its creation, in front of names.

        Examples
        --------
        >>> import jittape as jt
        >>> class Line(jt.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         with self.name_scope:
        ...             self.m = jt.Variable(1.0, name="m")
        >>> Line().m.name
        'line/m:0'
        """
        return name_scope(self._scope or f"{self.name}/")

    @classmethod
    def with_name_scope(cls, method: Method) -> Method:
        """Return a method that runs in the `name_scope` of its Module; a decorator.

        Examples
        --------
        >>> import jittape as jt
        >>> class Line(jt.Module):
        ...     @jt.Module.with_name_scope
        ...     def __call__(self, x):
        ...         if not hasattr(self, "m"):
        ...             self.m = jt.Variable(1.0, name="m")
        ...         return self.m * x
        >>> line = Line()
        >>> float(line(2.0)), line.m.name
        (2.0, 'line/m:0')
        """

        @functools.wraps(method)
        def scoped(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped  # type: ignore[return-value]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All Variables of this Module and those within it."""
        return tuple([part for part in parts_of(self) if isinstance(part, Variable)])

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
        return tuple([part for part in parts_of(self) if isinstance(part, Module) and part is not self])

    def save_weights(self, path: str | os.PathLike[str]) -> None:
        """Write the values of all Variables to a file.

        Parameters
        ----------
        path : str or path
            Ends in ``.npz``, or in ``.safetensors`` if the package safetensors is installed. An existing file is
            replaced atomically when the new one is complete.

        Raises
        ------
        WeightsError
            If the extension is another one, there are no Variables, or the format does not support a dtype.
        ImportError
            If the package safetensors is required and not installed.
        OSError
            If the file cannot be written. A previous file remains.

        Notes
        -----
        The name of a weight is the path of attributes, positions and keys to its Variable. A Variable with several
        paths is written once. Trainable and other Variables are written.

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
        from jittape.weights import save  # importing zipfile takes 12 ms

        save(path, repr(self.name), _named(self))

    def load_weights(self, path: str | os.PathLike[str]) -> None:
        """Load the values that `save_weights` wrote, into all Variables or none.

        Parameters
        ----------
        path : str or path
            Ends in ``.npz`` or ``.safetensors``.

        Raises
        ------
        WeightsError
            If the file is damaged, has another format, or its names, shapes and dtypes do not match the Variables.
        ImportError
            If the package safetensors is required and not installed.
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
        from jittape.weights import load  # importing zipfile takes 12 ms

        load(path, repr(self.name), _named(self), _REMEDY)

    def __repr__(self) -> str:
        count = sum(v.size for v in self.trainable_variables)
        return f"<{type(self).__name__} {self.name!r}: {len(self.variables)} variables, {count} trainable numbers>"

    def _repr_html_(self) -> str:
        rows = [
            (path, f"{variable.dtype.name}{list(variable.shape)}", f"{variable.size:,}", variable.trainable)
            for path, variable in _named(self).items()
        ]
        return html_table(repr(self).strip("<>"), rows, ("variable", "shape", "numbers", "trainable"))


def snake_case(name: str) -> str:
    """Return the name of a class in snake case, as TensorFlow writes it: ``Conv2D`` becomes ``conv2_d``."""
    apart = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", apart).lower()


def parts_of(root: Module, names: dict[int, str] | None = None) -> Iterator[Any]:
    """Yield the Modules and Variables below `root`, `root` first, each once; Variables come before Modules.

    `names` gets the path to each, such as ``layers.0.kernel``, by its identity.
    """
    seen: set[int] = set()
    stack: list[Any] = [root]
    while stack:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, Variable):
            continue
        way = f"{names[id(part)]}." if names is not None and part is not root else ""
        variables, modules = list[Any](), list[Any]()
        for path, one in _within(part, way):
            (variables if isinstance(one, Variable) else modules).append(one)
            if names is not None:
                names.setdefault(id(one), path)
        if part._keeps_order:
            variables.sort(key=lambda variable: not variable.trainable)
        stack += reversed([*variables, *modules])


def _within(module: Module, way: str) -> Iterator[tuple[str, Any]]:
    """Yield the Variables and Modules in attributes and their containers, with their paths, which begin with `way`."""
    seen: set[int] = set()
    stack = [(f"{way}{key}", one) for key, one in reversed(_items(vars(module), module._keeps_order))]
    while stack:
        path, part = stack.pop()
        if isinstance(part, (Variable, Module)):
            yield path, part
        elif isinstance(part, (list, tuple, dict)) and id(part) not in seen:
            seen.add(id(part))
            items = _items(part, module._keeps_order) if isinstance(part, dict) else list(enumerate(part))
            stack += [(f"{path}.{key}", one) for key, one in reversed(items)]


def _items(of: dict[Any, Any], keeps_order: bool) -> list[tuple[Any, Any]]:
    """Return the items of a dict, by their keys if those have an order and `keeps_order` is false."""
    items = list(of.items())
    if not keeps_order:
        with suppress(TypeError):
            items.sort(key=lambda item: item[0])
    return items


def _named(root: Module) -> dict[str, Variable]:
    """Return the Variables below `root` by their paths."""
    names: dict[int, str] = {}
    found: dict[str, Variable] = {}
    for part in parts_of(root, names):
        if isinstance(part, Variable) and found.setdefault(names[id(part)], part) is not part:
            raise ValueError(
                f"two Variables of {root.name!r} go by the name {names[id(part)]!r}: use other keys in the dict there"
            )
    return found
