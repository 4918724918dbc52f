"""Files of checkpoints: reading single values, and the file that names the latest checkpoint of a folder."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jittape.core.dtypes import as_dtype
from jittape.core.user_calls import named, shown
from jittape.errors import NotFoundError, WeightsError
from jittape.recording.variable import Variable
from jittape.weights import Entry, WeightsPath, opened, publish, write

__all__ = [
    "CheckpointReader",
    "CheckpointState",
    "as_path",
    "file_of",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "opened_checkpoint",
    "require_file",
    "stored_path",
    "write_checkpoint",
    "write_state",
]

_ALIASES = "_CHECKPOINTABLE_OBJECT_GRAPH"
"""Name of the array with further paths of objects; TensorFlow's checkpoints have their graph of objects there."""

STATE_FILE = "checkpoint"
"""Name of the file in a folder that names its checkpoints."""


def as_path(argument: str, value: Any) -> str:
    """Return `value`, given as `argument`, as the name of a file or folder."""
    if not isinstance(value, (str, os.PathLike)):
        raise named(TypeError(f"{argument} must be a path, a str or os.PathLike, got {shown(value)}"))
    return os.fspath(value)


def file_of(path: WeightsPath) -> str:
    """Return the name of the file of a checkpoint: ``.npz`` is appended unless it is there."""
    name = as_path("the name of the checkpoint", path)
    return name if name.endswith(".npz") else f"{name}.npz"


def _existing(path: WeightsPath) -> str:
    """Return the file of a checkpoint, or of the latest one in a folder."""
    name = as_path("the name of the checkpoint", path)
    if os.path.isdir(name):
        latest = latest_checkpoint(name)
        if latest is None:
            raise _not_found("there is no checkpoint in the folder", name)
        name = latest
    return require_file(name)


def require_file(path: WeightsPath) -> str:
    """Return the name of the existing file of a checkpoint.

    Raises
    ------
    IsADirectoryError, NotFoundError
        With the remedy.
    """
    name = as_path("the name of the checkpoint", path)
    if os.path.isdir(name):
        raise IsADirectoryError(
            errno.EISDIR, "a checkpoint is a file; jt.train.latest_checkpoint(folder) names the latest", name
        )
    found = file_of(name)
    if not os.path.exists(found):
        raise _not_found(
            "no checkpoint with this name: double-check the path, which may lack the number of the checkpoint, the "
            "'-1' in 'ckpt-1'",
            found,
        )
    return found


def _not_found(text: str, path: str) -> NotFoundError:
    error = NotFoundError(text)
    error.errno, error.strerror, error.filename = errno.ENOENT, text, path
    return error


# ---- files -----------------------------------------------------------------------------------------------------------


def write_checkpoint(path: str, variables: Mapping[str, Variable], aliases: Mapping[str, str]) -> None:
    """Write the values of Variables, and the further paths of objects with their first path."""
    if aliases:
        text = np.frombuffer(json.dumps(aliases).encode(), np.uint8)
        variables = {**variables, _ALIASES: Variable(text, trainable=False)}
    write(path, variables)


@contextmanager
def opened_checkpoint(path: str) -> Iterator[tuple[dict[str, Entry], dict[str, str]]]:
    """Return a context with the arrays of a checkpoint by path, and the further paths of objects."""
    with opened(path) as entries:
        text = entries.pop(_ALIASES, None)
        yield entries, {} if text is None else json.loads(text.read().tobytes())


def stored_path(path: str, stored: Container[str], aliases: Mapping[str, str]) -> str | None:
    """Return the path in the checkpoint of the value at `path`, which may lead through further paths of objects."""
    tried = set[str]()
    while path not in stored:
        tried.add(path)
        ends = [len(path), *[i for i in range(len(path) - 1, 0, -1) if path[i] == "."]]
        end = next((end for end in ends if path[:end] in aliases), None)
        if end is None:
            return None
        path = (aliases[path[:end]] + path[end:]).removeprefix(".")  # the root has an empty path
        if path in tried:
            return None
    return path


# ---- single values ---------------------------------------------------------------------------------------------------


class CheckpointReader:
    """The values of a checkpoint by their paths, see `load_checkpoint`.

    Parameters
    ----------
    path : str or path
        Path of a checkpoint, or its folder.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = jt.train.Checkpoint(v=jt.Variable([1.0, 2.0])).save(os.path.join(folder, "ckpt"))
    ...     print(jt.train.CheckpointReader(folder).get_tensor("v"))
    [1. 2.]
    """

    def __init__(self, path: WeightsPath) -> None:
        self._file = _existing(path)
        with opened_checkpoint(self._file) as (entries, _):
            self._avals = {
                name: (list(entry.shape), as_dtype(entry.dtype)) for name, entry in entries.items()
            }

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return the shapes by path."""
        return {name: shape for name, (shape, _) in self._avals.items()}

    def get_variable_to_dtype_map(self) -> dict[str, np.dtype[Any]]:
        """Return the dtypes by path."""
        return {name: dtype for name, (_, dtype) in self._avals.items()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Return whether the checkpoint has a value of this path."""
        return tensor_str in self._avals

    def get_tensor(self, tensor_str: str) -> np.ndarray[Any, Any]:
        """Return a value as an array.

        Raises
        ------
        KeyError
            If there is none.
        """
        if tensor_str not in self._avals:
            raise KeyError(f"{self._file} has no value {tensor_str!r}; it has {list(self._avals)}")
        with opened(self._file) as entries:
            return np.array(entries[tensor_str].read())


def load_checkpoint(ckpt_dir_or_file: WeightsPath) -> CheckpointReader:
    """Return a reader of a checkpoint.

    Parameters
    ----------
    ckpt_dir_or_file : str or path
        A checkpoint, or a folder, which means its latest one.

    Raises
    ------
    NotFoundError
        If there is none.
    WeightsError
        If the file is damaged.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = jt.train.Checkpoint(v=jt.Variable([1.0, 2.0])).save(os.path.join(folder, "ckpt"))
    ...     reader = jt.train.load_checkpoint(folder)
    ...     print(reader.get_variable_to_shape_map(), reader.get_tensor("v"))
    {'v': [2], 'save_counter': []} [1. 2.]
    """
    return CheckpointReader(ckpt_dir_or_file)


def load_variable(ckpt_dir_or_file: WeightsPath, name: str) -> np.ndarray[Any, Any]:
    """Return one value of a checkpoint as an array; see `load_checkpoint`.

    Parameters
    ----------
    ckpt_dir_or_file : str or path
        Path of a checkpoint, or its folder.
    name : str
        Path of the value.

    Raises
    ------
    NotFoundError
        If there is no such checkpoint.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = jt.train.Checkpoint(v=jt.Variable([1.0, 2.0])).save(os.path.join(folder, "ckpt"))
    ...     print(jt.train.load_variable(folder, "v"))
    [1. 2.]
    """
    return CheckpointReader(ckpt_dir_or_file).get_tensor(name)


def list_variables(ckpt_dir_or_file: WeightsPath) -> list[tuple[str, list[int]]]:
    """Return the sorted paths of the values of a checkpoint, with their shapes; see `load_checkpoint`.

    Parameters
    ----------
    ckpt_dir_or_file : str or path
        Path of a checkpoint, or its folder.

    Raises
    ------
    NotFoundError
        If there is no such checkpoint.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = jt.train.Checkpoint(step=jt.Variable(3)).save(os.path.join(folder, "ckpt"))
    ...     jt.train.list_variables(path)
    [('save_counter', []), ('step', [])]
    """
    return sorted(CheckpointReader(ckpt_dir_or_file).get_variable_to_shape_map().items())


# ---- the latest checkpoint -------------------------------------------------------------------------------------------


class CheckpointState(NamedTuple):
    """The checkpoints of a folder.

    Attributes
    ----------
    model_checkpoint_path : str
        The latest checkpoint.
    all_model_checkpoint_paths : tuple of str
        All checkpoints that are managed, the oldest first.
    all_model_checkpoint_timestamps : tuple of float
        Their times in seconds since 1970.
    last_preserved_timestamp : float
        Time of the last checkpoint that is kept for good, or of the first one.
    """

    model_checkpoint_path: str
    all_model_checkpoint_paths: tuple[str, ...] = ()
    all_model_checkpoint_timestamps: tuple[float, ...] = ()
    last_preserved_timestamp: float = 0.0


def write_state(folder: WeightsPath, state: CheckpointState) -> None:
    """Write the file that names the checkpoints of `folder`, in TensorFlow's format, atomically."""
    root = os.path.abspath(folder)
    lines = [f"model_checkpoint_path: {_relative(state.model_checkpoint_path, root)}"]
    lines += [
        f"all_model_checkpoint_paths: {_relative(path, root)}" for path in state.all_model_checkpoint_paths
    ]
    lines += [f"all_model_checkpoint_timestamps: {time!r}" for time in state.all_model_checkpoint_timestamps]
    lines.append(f"last_preserved_timestamp: {state.last_preserved_timestamp!r}")
    publish(Path(root, STATE_FILE), lambda file: file.writelines([f"{line}\n".encode() for line in lines]))


def _relative(path: str, root: str) -> str:
    """Return a path as text in quotes, relative if it is in the folder `root`."""
    whole = os.path.abspath(path)
    return json.dumps(os.path.basename(whole) if os.path.dirname(whole) == root else whole)


def get_checkpoint_state(checkpoint_dir: WeightsPath) -> CheckpointState | None:
    """Return the checkpoints that `Checkpoint.save` or a `CheckpointManager` noted in a folder; None if there are none.

    Parameters
    ----------
    checkpoint_dir : str or path
        A folder.

    Raises
    ------
    WeightsError
        If the file ``checkpoint`` of the folder cannot be understood.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = jt.train.Checkpoint(v=jt.Variable([1.0, 2.0])).save(os.path.join(folder, "ckpt"))
    ...     print(os.path.basename(jt.train.get_checkpoint_state(folder).model_checkpoint_path))
    ckpt-1
    """
    folder = as_path("checkpoint_dir", checkpoint_dir)
    source = os.path.join(folder, STATE_FILE)
    if not os.path.isfile(source):
        return None
    values: dict[str, list[Any]] = {}
    with open(source, encoding="utf-8") as file:
        try:
            for line in file:
                name, value = re.fullmatch(r"(\w+): (.*)\n?", line).groups()  # type: ignore[union-attr]
                values.setdefault(name, []).append(json.loads(value))
            (latest,) = values["model_checkpoint_path"]
        except (ValueError, AttributeError, KeyError) as error:
            raise WeightsError(
                f"{source} does not name checkpoints as jittape and TensorFlow write it; remove it, and restore a "
                "checkpoint by its own name"
            ) from error
    return CheckpointState(
        os.path.join(folder, latest),
        tuple([os.path.join(folder, path) for path in values.get("all_model_checkpoint_paths", ())]),
        tuple(values.get("all_model_checkpoint_timestamps", ())),
        *values.get("last_preserved_timestamp", ())[:1],
    )


def latest_checkpoint(checkpoint_dir: WeightsPath, latest_filename: None = None) -> str | None:
    """Return the path of the latest checkpoint in a folder; None if there is none.

    Parameters
    ----------
    checkpoint_dir : str or path
    latest_filename : None
        Other names of the file that names the latest checkpoint are not supported.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(jt.train.latest_checkpoint(folder))
    ...     _ = jt.train.Checkpoint(v=jt.Variable(1.0)).save(os.path.join(folder, "ckpt"))
    ...     print(os.path.basename(jt.train.latest_checkpoint(folder)))
    None
    ckpt-1
    """
    if latest_filename is not None:
        raise ValueError(f"[latest_checkpoint] latest_filename must be None, got {latest_filename!r}")
    state = get_checkpoint_state(checkpoint_dir)
    if state is None or not os.path.exists(file_of(state.model_checkpoint_path)):
        return None
    return state.model_checkpoint_path
