"""`Checkpoint`: the values of the Variables of several objects in one file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from jittape.core.attachments import attached
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, with_foreign_names
from jittape.recording.variable import Variable
from jittape.train.checkpoint_files import (
    CheckpointState,
    as_path,
    file_of,
    require_file,
    write_checkpoint,
    write_state,
)
from jittape.train.load_status import CheckpointLoadStatus, InitializationOnlyStatus
from jittape.train.restoration import Restoration, restore
from jittape.train.trackable import Owner, parts_of_object, require_trackable, variables_at
from jittape.weights import WeightsPath

__all__ = ["Checkpoint"]


@with_foreign_names(ATTRIBUTES_LEFT_OUT["train.Checkpoint"])
class Checkpoint(Owner):
    """Objects whose Variables are saved in one file and restored from it.

    Parameters
    ----------
    root : Module, optimizer or Checkpoint, optional
        Object whose own attributes are those of the checkpoint.
    **kwargs
        Objects by name: Variables, Modules, layers, models, metrics, optimizers with their state, generators of
        `jt.random`, iterators of a `jt.data.Dataset`, other checkpoints, and lists and dicts of them. They are
        attributes of the checkpoint, and more can be set.

    Raises
    ------
    ValueError
        For an object that has no Variables, such as a number, an array, or a dataset.

    Notes
    -----
    A checkpoint is an ``.npz`` file like those of `Module.save_weights`: the name of a value is its path of attributes,
    positions and keys. A Variable with several paths is written once. The paths given to the methods lack the
    extension, as in TensorFlow.

    Examples
    --------
    >>> import os, tempfile
    >>> net, step = jt.nn.Dense(1, input_dim=2), jt.Variable(5)
    >>> checkpoint = jt.train.Checkpoint(step=step, model=net, optimizer=jt.optimizers.Adam(0.1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = checkpoint.save(os.path.join(folder, "ckpt"))
    ...     _ = step.assign(0)
    ...     status = checkpoint.restore(path)
    >>> os.path.basename(path), int(step), int(checkpoint.save_counter)
    ('ckpt-1', 5, 1)
    """

    _counter: Variable | None = None
    _restoration: Restoration | None = None

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        if root is not None:
            require_trackable("root", root)
            if isinstance(root, (Variable, list, tuple, dict)):
                raise ValueError(
                    f"`Checkpoint` needs an object with attributes as its root, got {root!r}: pass it by name, as in "
                    "Checkpoint(values=...)"
                )
        self._root = root
        for name, value in sorted(kwargs.items()):
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            if name == "save_counter":
                raise ValueError("`save_counter` counts the calls of Checkpoint.save: choose another name")
            require_trackable(name, value)
        object.__setattr__(self, name, value)
        attached(self)

    @property
    def save_counter(self) -> Variable:
        """Number of the calls of `save`, an int64 Variable."""
        if self._counter is None:
            self._counter = Variable(0, trainable=False, name="save_counter", dtype="int64")
        return self._counter

    def parts(self) -> Iterable[tuple[str, Any]]:
        """Return the names and the objects of the checkpoint."""
        found = dict(parts_of_object(self._root) or ())
        for name, value in vars(self).items():
            if not name.startswith("_") and found.setdefault(name, value) is not value:
                raise ValueError(
                    f"the root of the checkpoint has another object named {name!r}: choose another name"
                )
        if self._counter is not None:
            found["save_counter"] = self._counter
        return found.items()

    # ---- writing -----------------------------------------------------------------------------------------------------

    def save(self, file_prefix: WeightsPath, options: None = None) -> str:
        """Write the next checkpoint of a series and note it as the latest one of its folder.

        Parameters
        ----------
        file_prefix : str or path
            `save_counter` is appended to it: ``"ckpt"`` gives ``"ckpt-1"``, in the file ``ckpt-1.npz``. Missing folders
            are created.
        options : None
            For compatibility with TensorFlow.

        Returns
        -------
        str
            The path for `restore`.

        Raises
        ------
        OSError
            If the file cannot be written. Earlier checkpoints remain, and so does the counter.
        """
        path = self._save_as(as_path("file_prefix", file_prefix), None)
        write_state(os.path.dirname(path), CheckpointState(path, (path,)))
        return path

    def _save_as(self, prefix: str, number: int | None) -> str:
        """Count a checkpoint and write it; `number` is its own by default."""
        self.save_counter.assign_add(1)
        try:
            path = f"{prefix}-{int(self.save_counter) if number is None else number}"
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            return self.write(path)
        except BaseException:
            self.save_counter.assign_sub(1)
            raise

    def write(self, file_prefix: WeightsPath, options: None = None) -> str:
        """Write a checkpoint under this name, without a number.

        The file is complete or not there: it is written under another name and renamed. An existing one is replaced.

        Parameters
        ----------
        file_prefix : str or path
            Name of the file, without its extension ``.npz``.
        options : None
            For compatibility with TensorFlow.

        Returns
        -------
        str
            `file_prefix`, for `read` and `restore`.
        """
        aliases: dict[str, str] = {}
        variables = variables_at(self, aliases)
        write_checkpoint(file_of(file_prefix), variables, aliases)
        return as_path("file_prefix", file_prefix)

    # ---- reading -----------------------------------------------------------------------------------------------------

    def restore(
        self, save_path: WeightsPath | None, options: None = None
    ) -> CheckpointLoadStatus | InitializationOnlyStatus:
        """Assign the values of a checkpoint to the Variables of the same paths.

        Values of Variables that do not exist yet are assigned when these are created: the weights of a layer by its
        first call, the state of an optimizer by its first step, and Variables set as attributes of a Module.

        Parameters
        ----------
        save_path : str, path or None
            As `save` or `latest_checkpoint` returned it. None restores nothing.
        options : None
            For compatibility with TensorFlow.

        Returns
        -------
        CheckpointLoadStatus or InitializationOnlyStatus
            Object with checks: ``status.assert_consumed()``.

        Raises
        ------
        WeightsError
            If a shape or a dtype differs, no Variable has a path of the file, or the file is damaged. The message names
            the Variables, and nothing is changed.
        NotFoundError
            If there is no such file.
        """
        if save_path is None:
            return InitializationOnlyStatus()
        self.save_counter  # noqa: B018 - it is restored too
        return self.read(save_path)

    def read(self, save_path: WeightsPath, options: None = None) -> CheckpointLoadStatus:
        """Restore a checkpoint that `write` wrote; as `restore`, without `save_counter`."""
        restoration = restore(require_file(save_path), self)
        if self._restoration is not None:
            self._restoration.end()
        self._restoration = restoration
        restoration.listen(self)
        return CheckpointLoadStatus(restoration, self)
