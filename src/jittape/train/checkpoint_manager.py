"""`CheckpointManager`: a folder with the last few checkpoints."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from typing import Any

from jittape.core.argument_checks import NOT_NEGATIVE, optional_number
from jittape.core.user_calls import as_int
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, with_foreign_names
from jittape.train.checkpoint import Checkpoint
from jittape.train.checkpoint_files import (
    CheckpointState,
    as_path,
    file_of,
    get_checkpoint_state,
    latest_checkpoint,
    write_state,
)
from jittape.weights import WeightsPath

__all__ = ["CheckpointManager"]


@with_foreign_names(ATTRIBUTES_LEFT_OUT["train.CheckpointManager"])
class CheckpointManager:
    """A folder with the last few checkpoints of a `Checkpoint`.

    Parameters
    ----------
    checkpoint : Checkpoint
    directory : str or path
        Folder of the files. Checkpoints that an earlier manager of this folder kept are managed further.
    max_to_keep : int or None
        Number of checkpoints to keep; `save` deletes older ones. None keeps all.
    keep_checkpoint_every_n_hours : float, optional
        A checkpoint that would be deleted is kept for good if it is so many hours later than the last one kept so.
    checkpoint_name : str, default "ckpt"
        Start of the file names.
    step_counter : Variable, optional
        Number of steps of the program, for `checkpoint_interval`.
    checkpoint_interval : int, optional
        Minimum number of steps between two checkpoints.
    init_fn : callable, optional
        Function without arguments that `restore_or_initialize` calls if there is no checkpoint.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range.

    Examples
    --------
    >>> import os, tempfile
    >>> step = jt.Variable(0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     manager = jt.train.CheckpointManager(jt.train.Checkpoint(step=step), folder, max_to_keep=2)
    ...     for _ in range(3):
    ...         _ = step.assign_add(1)
    ...         _ = manager.save()
    ...     print([os.path.basename(path) for path in manager.checkpoints])
    ['ckpt-2', 'ckpt-3']
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: WeightsPath,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
    ) -> None:
        if not isinstance(checkpoint, Checkpoint):
            raise TypeError(
                f"[CheckpointManager] checkpoint must be a jt.train.Checkpoint, got {checkpoint!r}"
            )
        if max_to_keep is not None and (not isinstance(max_to_keep, int) or max_to_keep <= 0):
            raise ValueError(f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}.")
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("`step_counter` should be passed if `checkpoint_interval` is not None.")
        self._checkpoint = checkpoint
        self._directory = as_path("directory", directory)
        self._max_to_keep = max_to_keep
        self._hours = optional_number(
            "CheckpointManager", "keep_checkpoint_every_n_hours", keep_checkpoint_every_n_hours, NOT_NEGATIVE
        )
        self._prefix = os.path.join(self._directory, as_path("checkpoint_name", checkpoint_name))
        self._step_counter = step_counter
        self._interval = checkpoint_interval
        self._init_fn = init_fn
        self._last_step: int | None = None
        state = get_checkpoint_state(self._directory) if os.path.isdir(self._directory) else None
        times = () if state is None else state.all_model_checkpoint_timestamps
        paths = () if state is None else state.all_model_checkpoint_paths
        known = dict(zip(paths, times or [time.time()] * len(paths), strict=False))
        self._times = {path: made for path, made in known.items() if os.path.exists(file_of(path))}
        self._last_preserved = time.time() if state is None else state.last_preserved_timestamp

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint that the manager saves and restores."""
        return self._checkpoint

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def checkpoint_interval(self) -> int | None:
        """The minimum number of steps between two checkpoints."""
        return self._interval

    @property
    def checkpoints(self) -> list[str]:
        """The paths of the checkpoints, the oldest first, without those that are kept for good."""
        return list(self._times)

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the latest checkpoint; None if there is none."""
        return next(reversed(self._times), None)

    def save(
        self, checkpoint_number: Any = None, check_interval: bool = True, options: None = None
    ) -> str | None:
        """Write a checkpoint, and delete the oldest one if there are more than `max_to_keep`.

        The earlier checkpoints remain until the new one is complete.

        Parameters
        ----------
        checkpoint_number : int, optional
            Number in its name; the number of saved checkpoints by default.
        check_interval : bool, default True
            Whether `checkpoint_interval` applies.
        options : None
            For compatibility with TensorFlow.

        Returns
        -------
        str or None
            The path; None if `checkpoint_interval` has not passed, or nothing was counted since the last checkpoint.
        """
        step = None if self._interval is None else int(self._step_counter)
        if step is not None and self._last_step is not None:
            passed = step - self._last_step
            if passed == 0 or (check_interval and passed < (self._interval or 0)):
                return None
        number = None if checkpoint_number is None else as_int("checkpoint_number", checkpoint_number)
        path = self._checkpoint._save_as(self._prefix, number)
        self._times.pop(path, None)
        self._times[path] = time.time()
        outdated = self._take_outdated()
        state = CheckpointState(path, tuple(self._times), tuple(self._times.values()), self._last_preserved)
        write_state(self._directory, state)
        for old in outdated:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file_of(old))
        self._last_step = step
        return path

    def _take_outdated(self) -> list[str]:
        """Forget the oldest checkpoints and return those to delete."""
        outdated = []
        while self._max_to_keep is not None and len(self._times) > self._max_to_keep:
            path = next(iter(self._times))
            made = self._times.pop(path)
            if self._hours is not None and made >= self._last_preserved + self._hours * 3600:
                self._last_preserved = made
            else:
                outdated.append(path)
        return outdated

    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint; if there is none, call `init_fn`.

        Returns
        -------
        str or None
            The path of the checkpoint; None if there is none.

        Raises
        ------
        WeightsError
            As `Checkpoint.restore`.
        """
        path = latest_checkpoint(self._directory) if os.path.isdir(self._directory) else None
        if path is not None:
            self._checkpoint.restore(path)
            if self._step_counter is not None:
                self._last_step = int(self._step_counter)
        elif self._init_fn is not None:
            self._init_fn()
        return path
