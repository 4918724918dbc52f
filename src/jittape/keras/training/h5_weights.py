"""Weights of models in HDF5 files, ``.weights.h5``, in Keras's layout: each library reads files of the other."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from jittape.core.dtypes import EXTENSIONS
from jittape.core.name_scopes import snake_case
from jittape.errors import WeightsError
from jittape.interop.optional_library import imported
from jittape.keras.layers.attention import MultiHeadAttention
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.reshaping_layers import Input
from jittape.recording.variable import Variable
from jittape.weights import Entry, load, publish

__all__ = ["is_h5", "load_h5", "paths_in_keras", "save_h5"]

_REMEDY = "Build the model as it was when it was saved, with the layers in the same order and attributes"


def is_h5(path: str | os.PathLike[str]) -> bool:
    """Return whether a file name is that of an HDF5 file."""
    return os.fspath(path).endswith(".h5")


def save_h5(path: str | os.PathLike[str], model: Any) -> None:
    """Write the Variables of a model, atomically.

    Raises
    ------
    ImportError
        If the package h5py is not installed.
    WeightsError
        If the model has no weights, or HDF5 does not have a dtype.
    """
    library = _h5py()
    weights = paths_in_keras(model)
    names = {f"{place}/vars".lstrip("/"): str(layer.name) for place, layer, _ in _places(model)}
    if not weights:
        raise WeightsError(
            f"{model.name!r} has no weights to save in {path}: call it once, or begin with an Input"
        )
    for name, variable in weights.items():
        if variable.dtype.name in EXTENSIONS:
            raise WeightsError(
                f"{path}: HDF5 has no {variable.dtype.name}, the dtype of {name!r}; use an .npz file"
            )

    def write(file: IO[bytes]) -> None:
        with library.File(file, "w") as root:
            for place, name in names.items():
                root.create_group(place).attrs["name"] = name
            for place, variable in weights.items():
                root[place] = variable.numpy()

    publish(Path(os.path.realpath(path)), write)


def load_h5(path: str | os.PathLike[str], model: Any) -> None:
    """Load the Variables of a model, all or none; the state of an optimizer in the file is not read.

    Raises
    ------
    ImportError
        If the package h5py is not installed.
    WeightsError
        If the file is damaged, or its names, shapes and dtypes do not match the Variables.
    OSError
        If the file cannot be read.
    """
    load(path, repr(model.name), paths_in_keras(model), _REMEDY, _opened)


def paths_in_keras(model: Any) -> dict[str, Variable]:
    """Return the Variables of a model by the names that Keras's files give them, such as ``layers/dense/vars/0``."""
    return {
        f"{place}/vars/{i}".lstrip("/"): variable
        for place, _, variables in _places(model)
        for i, variable in enumerate(variables)
    }


def _h5py() -> Any:
    return imported("h5py", "save_weights and load_weights of .h5 files")


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[dict[str, Entry]]:
    library = _h5py()
    open(path, "rb").close()  # errors of the file system stay as they are
    entries: dict[str, Entry] = {}

    def note(name: str, item: Any) -> None:
        if isinstance(item, library.Dataset) and not name.startswith("optimizer/"):
            entries[name] = Entry(tuple(item.shape), item.dtype.name, lambda: np.asarray(item[()]))

    try:
        file = library.File(path, "r")
    except OSError as error:
        raise WeightsError(
            f"{path} is no HDF5 file, or is damaged or incomplete ({error}); nothing was loaded. Save the weights "
            "anew, or take another copy"
        ) from error
    with file:
        file.visititems(note)
        yield entries


# ---- names -----------------------------------------------------------------------------------------------------------


def _places(root: Any) -> Iterator[tuple[str, Any, list[Variable]]]:
    """Yield the place of each layer in a file, the layer, and the Variables that belong to it alone."""
    seen: set[int] = set()

    def visited(layer: Any, place: str) -> Iterator[tuple[str, Any, list[Variable]]]:
        if id(layer) in seen or isinstance(layer, Input):
            return
        seen.add(id(layer))
        if isinstance(layer, MultiHeadAttention):
            yield place, layer, []
            for name, weights in layer.projections.items():
                yield f"{place}/{name}_dense", layer, [weight for weight in weights if weight is not None]
            return
        own = [value for value in vars(layer).values() if isinstance(value, Variable)]
        yield place, layer, sorted(own, key=lambda variable: not variable.trainable)
        for name, child in _children(layer):
            if isinstance(child, Layer):
                yield from visited(child, f"{place}/{name}")
            else:
                counts: Counter[str] = Counter()
                for part in child.values() if isinstance(child, dict) else child:
                    if isinstance(part, Layer):
                        kind = snake_case(type(part))
                        number = counts[kind]
                        counts[kind] += 1
                        named = f"{kind}_{number}" if number else kind
                        yield from visited(part, f"{place}/{name}/{named}")

    return visited(root, "")


def _children(layer: Any) -> list[tuple[str, Any]]:
    """Return the attributes of a layer that hold layers, in Keras's order: by name, private ones last."""
    found = {
        name: value for name, value in vars(layer).items() if isinstance(value, (Layer, list, tuple, dict))
    }
    listed = getattr(layer, "layers", None)
    if not isinstance(listed, (list, tuple)):
        return sorted(found.items(), key=_order)
    if getattr(layer, "_graph", None) is not None or "layers" in found:  # functional, Sequential
        found.pop("layers", None)
        return [("layers", listed), *sorted(found.items(), key=_order)]
    return sorted((found | {"layers": list(_tracked(found))}).items(), key=_order)


def _tracked(value: Any) -> Iterator[Layer]:
    """Yield the layers in nested lists, tuples and dicts, in the order in which Keras tracks them."""
    if isinstance(value, Layer):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _tracked(part)


def _order(item: tuple[str, Any]) -> str:
    return f"~{item[0]}" if item[0].startswith("_") else item[0]
