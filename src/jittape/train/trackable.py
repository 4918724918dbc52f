"""The objects that a checkpoint holds, and the paths to their Variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jittape.data.dataset_iterator import Iterator as DatasetIterator
from jittape.data.iteration import Iterated
from jittape.module import Module
from jittape.optimizers.statefile import StateFile
from jittape.recording.variable import Variable

__all__ = ["Owner", "parts_of_object", "require_trackable", "variables_at", "walk"]


class Owner:
    """Base class of other objects with parts; `Checkpoint` is one."""

    def parts(self) -> Iterable[tuple[str, Any]]:
        """Return the names and the parts."""
        raise NotImplementedError(f"{type(self).__name__} must define parts()")


def require_trackable(name: str, value: Any) -> None:
    """Raise `ValueError` if a checkpoint cannot hold `value`, given as `name`."""
    if isinstance(value, (Variable, Module, StateFile, Owner, DatasetIterator, list, tuple, Mapping)):
        return
    if isinstance(value, Iterated):
        reason = "a dataset has no position; keep iter(dataset), whose position is saved"
    elif isinstance(value, Iterator):
        reason = (
            "only the position of iter(dataset) is saved. Count the elements in a jt.Variable, and leave out as many "
            "after restoring"
        )
    else:
        reason = "keep a number or an array that belongs to the checkpoint in a jt.Variable"
    raise ValueError(
        f"`Checkpoint` was expecting {name} to be a trackable object (a jt.Variable, jt.Module, layer, model, metric, "
        "optimizer, jt.random.Generator, iterator of a jt.data.Dataset, or a list or dict of them), got "
        f"{value!r}: {reason}"
    )


def walk(root: Any, path: str = "", aliases: dict[str, str] | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the Variables, Modules, optimizers and owners below `root` with their paths, `root` first, each once.

    The further paths of objects that have several are put into `aliases`, with the first one as value.
    """
    seen: dict[int, str] = {}
    stack: list[tuple[str, Any]] = [(path, root)]
    while stack:
        path, value = stack.pop()
        if id(value) in seen:
            if aliases is not None and (parts_of_object(value) or isinstance(value, Variable)):
                aliases[path] = seen[id(value)]
            continue
        seen[id(value)] = path
        parts = parts_of_object(value)
        if parts is None:
            continue
        if not isinstance(value, (list, tuple, Mapping)):
            yield path, value
        prefix = f"{path}." if path else ""
        stack += [(f"{prefix}{name}", part) for name, part in reversed(parts)]


def parts_of_object(value: Any) -> list[tuple[Any, Any]] | None:
    """Return the names and the parts of a trackable object; None for anything else."""
    if isinstance(value, Variable):
        return []
    if isinstance(value, Module):
        return list(vars(value).items())
    if isinstance(value, StateFile):
        return list(value.state_by_name().items())
    if isinstance(value, DatasetIterator):
        return [("state", value.state())]
    if isinstance(value, Owner):
        return list(value.parts())
    if isinstance(value, Mapping):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, (list, tuple)) else None


def variables_at(root: Any, aliases: dict[str, str] | None = None) -> dict[str, Variable]:
    """Return the Variables below `root` by their paths; see `walk`."""
    found: dict[str, Variable] = {}
    for path, value in walk(root, "", aliases):
        if isinstance(value, Variable) and found.setdefault(path, value) is not value:
            raise ValueError(
                f"two Variables of a checkpoint have the path {path!r}: use other names or keys there"
            )
    return found
